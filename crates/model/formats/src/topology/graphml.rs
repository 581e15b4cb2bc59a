//! GraphML: one flat graph, with attributes as `data`.

use super::attributes::{Attribute, HOW_DELAY, HOW_RATE, named_by, role, speed};
use super::draft::{Draft, Edge, Node};
use super::{Fabric, ReadError};
use crate::error::FormatError;
use crate::lines::Lines;
use crate::tree::short;
use roxmltree::{Document, Node as Element};
use slotline_net::topology::GraphSpec;
use std::collections::BTreeMap;

pub(super) fn read(text: &str, asked: &GraphSpec) -> Result<Fabric, ReadError> {
    let document = Document::parse(text).map_err(|error| {
        FormatError::new(error.pos().row as usize, format!("this is not XML: {error}"))
    })?;
    let mut reader = Reader { lines: Lines::new(text), keys: BTreeMap::new(), text };
    let graph = reader.graph(document.root_element())?;
    let mut draft = Draft::new([HOW_RATE, HOW_DELAY, ""]);
    let directed = reader.direction(graph, "edgedefault", None)?;
    let (mut one_way, mut both_ways) = (Vec::new(), Vec::new());
    for element in reader.children(graph, &["desc", "data", "node", "edge"])? {
        match element.tag_name().name() {
            "node" => reader.node(&mut draft, element, asked.names.as_deref())?,
            "edge" => {
                let edge = reader.edge(&mut draft, element)?;
                let directed = reader.direction(element, "directed", Some(directed))?;
                if directed { one_way.push(edge) } else { both_ways.push(edge) }
            }
            _ => {}
        }
    }
    both_ways.into_iter().try_for_each(|edge| draft.link(edge))?;
    draft.directed(one_way)?;
    draft.finish(asked)
}

/// A key, which defines the meaning of `data`.
struct Key {
    name: String,
    /// `node`, `edge`, `all`, …
    of: String,
    default: Option<String>,
    line: usize,
}

struct Reader<'a> {
    text: &'a str,
    lines: Lines,
    keys: BTreeMap<String, Key>,
}

impl Reader<'_> {
    fn line(&self, element: Element<'_, '_>) -> usize {
        self.lines.at(element.range().start.min(self.text.len()))
    }

    fn fail<T>(&self, at: Element<'_, '_>, why: impl Into<String>) -> Result<T, FormatError> {
        Err(FormatError::new(self.line(at), why))
    }

    fn attribute(&self, element: Element<'_, '_>, name: &str) -> Result<String, FormatError> {
        let of = element.tag_name().name();
        element.attribute(name).map(str::to_string).ok_or_else(|| {
            FormatError::new(self.line(element), format!("this `{of}` has no attribute `{name}`"))
        })
    }

    /// The elements in `parent`, all of which must be `known`.
    fn children<'d, 'i>(
        &self,
        parent: Element<'d, 'i>,
        known: &[&str],
    ) -> Result<Vec<Element<'d, 'i>>, FormatError> {
        let children: Vec<_> = parent.children().filter(|child| child.is_element()).collect();
        let strange = children.iter().find(|child| !known.contains(&child.tag_name().name()));
        let Some(strange) = strange else {
            return Ok(children);
        };
        let (name, of) = (strange.tag_name().name(), parent.tag_name().name());
        let why = match name {
            "hyperedge" => "hyperedges are not understood: a link has two ends".to_string(),
            "graph" => {
                "a graph inside a node or a second graph is not understood: flatten it".into()
            }
            _ => format!(
                "`{}` in `{of}` is not understood: expected {}",
                short(name),
                known.join(", ")
            ),
        };
        self.fail(*strange, why)
    }

    /// Reads the keys and returns the one graph.
    fn graph<'d, 'i>(&mut self, root: Element<'d, 'i>) -> Result<Element<'d, 'i>, FormatError> {
        if root.tag_name().name() != "graphml" {
            let name = short(root.tag_name().name());
            return self.fail(root, format!("this is not GraphML: it begins with `{name}`"));
        }
        let mut graph = None;
        for element in self.children(root, &["desc", "key", "data", "graph"])? {
            match element.tag_name().name() {
                "key" => self.key(element)?,
                "graph" if graph.replace(element).is_some() => {
                    return self.fail(element, "a second graph: one file has one");
                }
                _ => {}
            }
        }
        graph.map_or_else(|| self.fail(root, "there is no `graph` in this file"), Ok)
    }

    fn key(&mut self, element: Element<'_, '_>) -> Result<(), FormatError> {
        let id = self.attribute(element, "id")?;
        let default = element.children().find(|child| child.tag_name().name() == "default");
        let key = Key {
            // Keys without a name belong to drawing programs.
            name: element.attribute("attr.name").unwrap_or(&id).to_string(),
            of: element.attribute("for").unwrap_or("all").to_string(),
            default: default.map(content),
            line: self.line(element),
        };
        let line = key.line;
        match self.keys.insert(id.clone(), key) {
            None => Ok(()),
            Some(first) => {
                let message =
                    format!("key `{}` is given twice, first in line {}", short(&id), first.line);
                Err(FormatError::new(line, message))
            }
        }
    }

    /// Whether edges are directed, by the attribute `name`.
    fn direction(
        &self,
        element: Element<'_, '_>,
        name: &str,
        usual: Option<bool>,
    ) -> Result<bool, FormatError> {
        let yes = if name == "directed" { ["true", "false"] } else { ["directed", "undirected"] };
        match (element.attribute(name), usual) {
            (None, Some(usual)) => Ok(usual),
            (Some(value), _) if value == yes[0] => Ok(true),
            (Some(value), _) if value == yes[1] => Ok(false),
            _ => self.fail(element, format!("`{name}` must be \"{}\" or \"{}\"", yes[0], yes[1])),
        }
    }

    /// The data of a node or an edge, with the defaults of keys that it does not have.
    fn data(&self, element: Element<'_, '_>) -> Result<Vec<Attribute>, FormatError> {
        let of = element.tag_name().name();
        let mut found: BTreeMap<&str, Attribute> = BTreeMap::new();
        let known: &[&str] =
            if of == "node" { &["desc", "data", "port"] } else { &["desc", "data"] };
        let children = self.children(element, known)?;
        for data in children.into_iter().filter(|child| child.tag_name().name() == "data") {
            let id = self.attribute(data, "key")?;
            let Some((id, key)) = self.keys.get_key_value(&id) else {
                return self.fail(data, format!("no `key` above says what `{}` means", short(&id)));
            };
            let attribute =
                Attribute { name: key.name.clone(), value: content(data), line: self.line(data) };
            if found.insert(id, attribute).is_some() {
                return self.fail(data, format!("`{}` is given twice here", short(&key.name)));
            }
        }
        let line = self.line(element);
        for (id, key) in self.keys.iter().filter(|(_, key)| key.of == of || key.of == "all") {
            if let Some(value) = key.default.clone() {
                let usual = || Attribute { name: key.name.clone(), value, line };
                found.entry(id).or_insert_with(usual);
            }
        }
        Ok(found.into_values().collect())
    }

    fn node(
        &self,
        draft: &mut Draft,
        element: Element<'_, '_>,
        names: Option<&str>,
    ) -> Result<(), FormatError> {
        let (id, line) = (self.attribute(element, "id")?, self.line(element));
        let mut attributes = self.data(element)?;
        let name = match names {
            None => id.clone(),
            Some(names) => named_by(&attributes, names, &id, line)?,
        };
        attributes.retain(|attribute| names != Some(&attribute.name));
        let role = role(&attributes, &mut draft.unread)?;
        draft.node(Node { id, name, line, role })
    }

    fn edge(&self, draft: &mut Draft, element: Element<'_, '_>) -> Result<Edge, FormatError> {
        let [a, b] = ["source", "target"].map(|end| self.attribute(element, end));
        let speed = speed(&self.data(element)?, &mut draft.unread)?;
        Ok(Edge { a: a?, b: b?, line: self.line(element), speed })
    }
}

/// The text in an element.
fn content(element: Element<'_, '_>) -> String {
    let text = element.descendants().filter(|node| node.is_text()).filter_map(|node| node.text());
    text.collect::<String>().trim().to_string()
}
