//! JSON as networkx's `node_link_data` writes it.

use super::attributes::{Attribute, HOW_DELAY, HOW_RATE, named_by, role, speed};
use super::draft::{Draft, Edge, Node};
use super::{Fabric, ReadError, fail};
use crate::error::FormatError;
use crate::json;
use crate::tree::{Entry, Tree, Value, get, short};
use slotline_net::topology::GraphSpec;
use std::collections::BTreeMap;

pub(super) fn read(text: &str, asked: &GraphSpec) -> Result<Fabric, ReadError> {
    let tree = json::parse(text)?;
    let top = tree.map("a node-link file")?;
    check_top(top)?;
    let mut draft = Draft::new([HOW_RATE, HOW_DELAY, ""]);
    let nodes = get(top, "nodes").ok_or_else(|| lacks(&tree, "nodes"))?;
    for node in nodes.list("`nodes`")? {
        add_node(&mut draft, node, asked.names.as_deref())?;
    }
    let edges = edges(&tree, top)?.list("the list of links")?;
    let edges: Vec<Edge> = edges.iter().map(|e| edge(&mut draft, e)).collect::<Result<_, _>>()?;
    check_parallel(&edges, top)?;
    if flag(top, "directed")?.ok_or_else(|| lacks(&tree, "directed"))? {
        draft.directed(edges)?;
    } else {
        edges.into_iter().try_for_each(|edge| draft.link(edge))?;
    }
    draft.finish(asked)
}

const TOP: [&str; 6] = ["directed", "multigraph", "graph", "nodes", "links", "edges"];

fn check_top(top: &[Entry]) -> Result<(), FormatError> {
    let strange = top.iter().find(|entry| !TOP.contains(&entry.key.as_str()));
    strange.map_or(Ok(()), |entry| {
        let known = TOP.map(|key| format!("`{key}`")).join(", ");
        let key = short(&entry.key);
        fail(entry.line, format!("`{key}` is not understood: expected one of {known}"))
    })
}

fn lacks(tree: &Tree, key: &str) -> FormatError {
    let example = match key {
        "directed" => "true or false, as networkx writes it".to_string(),
        "nodes" => "[{\"id\": \"a\"}, …]".to_string(),
        _ => "[{\"source\": \"a\", \"target\": \"b\"}, …]".to_string(),
    };
    FormatError::new(tree.line, format!("`{key}` is missing: it should be {example}"))
}

/// The list of links. Its key is `links` in networkx 2, and `edges` in networkx 3.4 and later.
fn edges<'a>(tree: &Tree, top: &'a [Entry]) -> Result<&'a Tree, FormatError> {
    match (get(top, "links"), get(top, "edges")) {
        (Some(links), None) => Ok(links),
        (None, Some(edges)) => Ok(edges),
        (None, None) => Err(lacks(tree, "edges")),
        (Some(_), Some(edges)) => fail(edges.line, "both `links` and `edges`: leave one out"),
    }
}

fn flag(top: &[Entry], key: &str) -> Result<Option<bool>, FormatError> {
    match get(top, key).map(|tree| (&tree.value, tree.line)) {
        None => Ok(None),
        Some((Value::Flag(yes), _)) => Ok(Some(*yes)),
        Some((_, line)) => Err(FormatError::new(line, format!("`{key}` must be true or false"))),
    }
}

/// Attributes other than `known`.
fn attributes(entries: &[Entry], known: &[&str]) -> Vec<Attribute> {
    let others = entries.iter().filter(|entry| !known.contains(&entry.key.as_str()));
    let value = |tree: &Tree| {
        tree.as_plain().unwrap_or_else(|| match &tree.value {
            Value::Flag(yes) => yes.to_string(),
            Value::Null => "null".into(),
            _ => "…".into(),
        })
    };
    others
        .map(|e| Attribute { name: e.key.clone(), value: value(&e.tree), line: e.tree.line })
        .collect()
}

/// An id: text or a number, as networkx has them.
fn id(entries: &[Entry], key: &str, line: usize) -> Result<String, FormatError> {
    let tree = get(entries, key)
        .ok_or_else(|| FormatError::new(line, format!("`{key}` is missing here")))?;
    tree.plain(&format!("`{key}`"))
}

fn add_node(draft: &mut Draft, node: &Tree, names: Option<&str>) -> Result<(), FormatError> {
    let entries = node.map("a node")?;
    let id = id(entries, "id", node.line)?;
    let mut attributes = attributes(entries, &["id"]);
    let name = match names {
        None => id.clone(),
        Some(names) => named_by(&attributes, names, &id, node.line)?,
    };
    attributes.retain(|attribute| names != Some(&attribute.name));
    let role = role(&attributes, &mut draft.unread)?;
    draft.node(Node { id, name, line: node.line, role })
}

fn edge(draft: &mut Draft, tree: &Tree) -> Result<Edge, FormatError> {
    let entries = tree.map("a link")?;
    let [a, b] = ["source", "target"].map(|key| id(entries, key, tree.line));
    let attributes = attributes(entries, &["source", "target", "key"]);
    let speed = speed(&attributes, &mut draft.unread)?;
    Ok(Edge { a: a?, b: b?, line: tree.line, speed })
}

/// Checks that a graph that is not a multigraph has one link between two nodes, or one in each direction.
fn check_parallel(edges: &[Edge], top: &[Entry]) -> Result<(), FormatError> {
    if flag(top, "multigraph")? != Some(false) {
        return Ok(());
    }
    let directed = flag(top, "directed")? == Some(true);
    let mut known = BTreeMap::new();
    for edge in edges {
        let (a, b) = (edge.a.as_str(), edge.b.as_str());
        let ends = if directed { (a, b) } else { (a.min(b), a.max(b)) };
        if let Some(first) = known.insert(ends, edge.line) {
            return Err(second(edge, first));
        }
    }
    Ok(())
}

fn second(edge: &Edge, first: usize) -> FormatError {
    let (a, b) = (short(&edge.a), short(&edge.b));
    let message = format!(
        "`{a}` and `{b}` are linked a second time, first in line {first}, but `multigraph` is false: make \
         it true, or leave one out"
    );
    FormatError::new(edge.line, message)
}
