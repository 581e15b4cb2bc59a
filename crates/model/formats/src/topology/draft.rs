//! What all readers of graphs have in common: nodes and links with their lines become a network.

use super::{Fabric, ReadError, fail};
use crate::error::FormatError;
use crate::tree::short;
use slotline_net::error::SpecError;
use slotline_net::time::Time;
use slotline_net::topology::{GraphFault, GraphLink, GraphPart, GraphSpec};
use slotline_net::units::Rate;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// The role of a node according to its file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Host,
    Switch,
    /// The file has no role that is known; the text states what it has.
    Unknown(String),
}

/// A node as it is in the file.
pub(super) struct Node {
    /// The id by which links refer to it.
    pub id: String,
    pub name: String,
    pub line: usize,
    pub role: Role,
}

/// Rate and delay of one direction, as far as the file gives them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Speed {
    pub rate: Option<Rate>,
    pub delay: Option<Time>,
}

/// A link, or one direction of it, between two nodes given by their ids.
pub(super) struct Edge {
    pub a: String,
    pub b: String,
    pub line: usize,
    pub speed: Speed,
}

/// A network under construction.
pub(super) struct Draft {
    nodes: Vec<Node>,
    index: BTreeMap<String, usize>,
    links: Vec<(GraphLink, usize)>,
    /// Content of the file that is not used.
    pub unread: BTreeSet<String>,
    /// What was assumed about nodes.
    pub assumed: BTreeSet<String>,
    /// How a file of this format gives the rate and the delay of a link, and what makes a node a host, for messages.
    how: [&'static str; 3],
}

impl Draft {
    pub fn new(how: [&'static str; 3]) -> Draft {
        Draft {
            nodes: Vec::new(),
            index: BTreeMap::new(),
            links: Vec::new(),
            unread: BTreeSet::new(),
            assumed: BTreeSet::new(),
            how,
        }
    }

    pub fn node(&mut self, node: Node) -> Result<(), FormatError> {
        if let Some(&first) = self.index.get(&node.id) {
            let (id, first) = (short(&node.id), self.nodes[first].line);
            return fail(node.line, format!("node `{id}` is given twice, first in line {first}"));
        }
        self.index.insert(node.id.clone(), self.nodes.len());
        self.nodes.push(node);
        Ok(())
    }

    /// Whether there is a node `id`.
    pub fn has(&self, id: &str) -> bool {
        self.index.contains_key(id)
    }

    /// Makes the node `id` a switch.
    pub fn is_switch(&mut self, id: &str) {
        if let Some(&at) = self.index.get(id) {
            self.nodes[at].role = Role::Switch;
        }
    }

    /// Removes the nodes without links, if there are links. Returns their names.
    pub fn drop_unlinked(&mut self) -> Vec<String> {
        if self.links.is_empty() {
            return vec![];
        }
        let linked: BTreeSet<&String> =
            self.links.iter().flat_map(|(link, _)| [&link.a, &link.b]).collect();
        let nodes = std::mem::take(&mut self.nodes);
        let (kept, dropped): (Vec<Node>, Vec<Node>) =
            nodes.into_iter().partition(|node| linked.contains(&node.name));
        self.index = kept.iter().enumerate().map(|(at, node)| (node.id.clone(), at)).collect();
        self.nodes = kept;
        dropped.into_iter().map(|node| node.name).collect()
    }

    /// Whether there are nodes, and all of them are switches.
    pub fn has_only_switches(&self) -> bool {
        !self.nodes.is_empty() && self.nodes.iter().all(|node| node.role == Role::Switch)
    }

    /// The hosts among `candidates` that have several links, one of them to another host, by their names.
    pub fn joined_hosts(&self, candidates: &BTreeSet<String>) -> Vec<String> {
        let mut links: BTreeMap<&str, usize> = BTreeMap::new();
        for (link, _) in &self.links {
            *links.entry(&link.a).or_default() += 1;
            *links.entry(&link.b).or_default() += 1;
        }
        let joined = self.links.iter().filter(|(link, _)| self.joins_hosts(link));
        let ends: BTreeSet<&String> = joined.flat_map(|(link, _)| [&link.a, &link.b]).collect();
        let several = |name: &&String| links.get(name.as_str()).is_some_and(|links| *links > 1);
        ends.into_iter()
            .filter(|name| candidates.contains(*name))
            .filter(several)
            .cloned()
            .collect()
    }

    fn name(&self, id: &str, line: usize) -> Result<String, FormatError> {
        let found = self.index.get(id).map(|&at| self.nodes[at].name.clone());
        found.ok_or_else(|| {
            let message =
                format!("a link ends at `{}`, which is not a node of this file", short(id));
            FormatError::new(line, message)
        })
    }

    /// Adds a link with equal directions.
    pub fn link(&mut self, edge: Edge) -> Result<(), FormatError> {
        self.two_way(edge, Speed::default())
    }

    /// Adds a link. Values that are missing in `back` are those of the other direction.
    pub fn two_way(&mut self, edge: Edge, back: Speed) -> Result<(), FormatError> {
        let link = GraphLink {
            a: self.name(&edge.a, edge.line)?,
            b: self.name(&edge.b, edge.line)?,
            rate: edge.speed.rate,
            delay: edge.speed.delay,
            reverse_rate: back.rate.filter(|&rate| edge.speed.rate != Some(rate)),
            reverse_delay: back.delay.filter(|&delay| edge.speed.delay != Some(delay)),
        };
        self.links.push((link, edge.line));
        Ok(())
    }

    /// Adds directed edges. The n-th edge from one node to another and the n-th edge back are one link.
    pub fn directed(&mut self, edges: Vec<Edge>) -> Result<(), FormatError> {
        let mut open: BTreeMap<(String, String), VecDeque<Edge>> = BTreeMap::new();
        let mut pairs = Vec::new();
        for edge in edges {
            let back = open.get_mut(&(edge.b.clone(), edge.a.clone()));
            match back.and_then(VecDeque::pop_front) {
                Some(first) if first.a != first.b => pairs.push((first, edge.speed)),
                _ => open.entry((edge.a.clone(), edge.b.clone())).or_default().push_back(edge),
            }
        }
        one_way(open.into_values().flatten())?;
        pairs.sort_by_key(|(first, _)| first.line);
        pairs.into_iter().try_for_each(|(first, back)| self.two_way(first, back))
    }

    /// Builds the network.
    pub fn finish(self, asked: &GraphSpec) -> Result<Fabric, ReadError> {
        let (hosts, switches): (Vec<&Node>, Vec<&Node>) = self.split(asked)?;
        let names = |nodes: &[&Node]| nodes.iter().map(|node| node.name.clone()).collect();
        let spec = GraphSpec {
            hosts: names(&hosts),
            switches: names(&switches),
            link: self.links.iter().map(|(link, _)| link.clone()).collect(),
            attach_hosts: asked.attach_hosts,
            ..rest(asked)
        };
        if let Err(fault) = spec.graph() {
            let line = match fault.part {
                GraphPart::Host(at) => hosts.get(at).map(|node| node.line),
                GraphPart::Switch(at) => switches.get(at).map(|node| node.line),
                GraphPart::Link(at, _) => self.links.get(at).map(|(_, line)| *line),
                GraphPart::Key(_) => None,
            };
            return Err(self.blame(fault, line));
        }
        let (unread, assumed) =
            (self.unread.into_iter().collect(), self.assumed.into_iter().collect());
        Ok(Fabric { spec: compact(spec), unread, assumed })
    }

    fn blame(&self, fault: GraphFault, line: Option<usize>) -> ReadError {
        let Some(line) = line else {
            return ReadError::Asked(fault.into());
        };
        let how = match fault.part {
            GraphPart::Link(at, "rate") if self.links[at].0.rate.is_none() => self.how[0],
            GraphPart::Link(at, "delay") if self.links[at].0.delay.is_none() => self.how[1],
            GraphPart::Link(at, "b") if self.joins_hosts(&self.links[at].0) => self.how[2],
            _ => "",
        };
        ReadError::File(FormatError::new(line, fault.message + how))
    }

    fn joins_hosts(&self, link: &GraphLink) -> bool {
        let is_host =
            |name: &str| self.nodes.iter().any(|node| node.name == name && node.role == Role::Host);
        link.a != link.b && is_host(&link.a) && is_host(&link.b)
    }

    /// Hosts and switches, each in the order of the file, or hosts in the order of the request.
    fn split(&self, asked: &GraphSpec) -> Result<(Vec<&Node>, Vec<&Node>), ReadError> {
        if !asked.hosts.is_empty() {
            return self.split_by_list(&asked.hosts);
        }
        let (mut hosts, mut switches) = (Vec::new(), Vec::new());
        for node in &self.nodes {
            let list = match (&node.role, asked.attach_hosts) {
                (Role::Host, None) => &mut hosts,
                (Role::Host, Some(_)) => return Err(both(node).into()),
                (Role::Switch, _) | (_, Some(_)) => &mut switches,
                (Role::Unknown(what), None) => return Err(unknown_role(node, what).into()),
            };
            list.push(node);
        }
        if self.nodes.is_empty() {
            return Err(FormatError::new(1, "this file has no nodes").into());
        }
        if hosts.is_empty() && asked.attach_hosts.is_none() {
            return Err(no_host(self.nodes[0].line).into());
        }
        Ok((hosts, switches))
    }

    fn split_by_list(&self, list: &[String]) -> Result<(Vec<&Node>, Vec<&Node>), ReadError> {
        let mut hosts: Vec<&Node> = Vec::new();
        for pattern in list {
            let fits = |node: &&Node| matches(pattern, &node.name);
            let found: Vec<&Node> = self.nodes.iter().filter(fits).collect();
            if found.is_empty() {
                return Err(ReadError::Asked(self.no_such_host(pattern)));
            }
            let several = pattern.contains('*');
            let is_new =
                |node: &&Node| !several || !hosts.iter().any(|host| host.name == node.name);
            let found: Vec<&Node> = found.into_iter().filter(is_new).collect();
            hosts.extend(found);
        }
        let listed: BTreeSet<&str> = hosts.iter().map(|node| node.name.as_str()).collect();
        let others = self.nodes.iter().filter(|node| !listed.contains(&*node.name));
        Ok((hosts, others.collect()))
    }

    fn no_such_host(&self, pattern: &str) -> SpecError {
        let mut names: Vec<&str> = self.nodes.iter().map(|node| node.name.as_str()).collect();
        names.sort_unstable();
        let some: Vec<String> =
            names.into_iter().take(6).map(|name| format!("`{}`", short(name))).collect();
        let message = format!(
            "`hosts` names `{pattern}`, but nodes of this file are called {}",
            some.join(", ")
        );
        SpecError::new("hosts", message)
    }
}

/// Whether `name` fits `pattern`, in which each `*` is for any characters.
fn matches(pattern: &str, name: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else { return pattern == name };
    let Some(mut left) = name.strip_prefix(first) else { return false };
    let mut parts: Vec<&str> = rest.split('*').collect();
    let last = parts.pop().unwrap_or_default();
    for part in parts {
        let Some(at) = left.find(part) else { return false };
        left = &left[at + part.len()..];
    }
    left.ends_with(last)
}

/// Refuses edges without an edge in the opposite direction.
fn one_way(left: impl Iterator<Item = Edge>) -> Result<(), FormatError> {
    left.min_by_key(|edge| edge.line).map_or(Ok(()), |edge| {
        let (a, b) = (short(&edge.a), short(&edge.b));
        let why = format!(
            "the edge from `{a}` to `{b}` has no edge in the opposite direction: links carry both ways, so add it, or \
             write the graph undirected"
        );
        fail(edge.line, why)
    })
}

/// The part of the request that stays in the resolved fabric.
fn rest(asked: &GraphSpec) -> GraphSpec {
    let GraphSpec { rate, delay, host_rate, host_delay, .. } = *asked;
    let overrides = asked.overrides.clone();
    GraphSpec { rate, delay, host_rate, host_delay, overrides, ..GraphSpec::default() }
}

fn both(node: &Node) -> FormatError {
    let message = format!(
        "node `{}` is a host, but `attach-hosts` is for files without hosts: leave it out, or make \
         this node a switch",
        short(&node.name)
    );
    FormatError::new(node.line, message)
}

fn unknown_role(node: &Node, what: &str) -> FormatError {
    let message = format!(
        "node `{}` {what}: say for every node in the file whether it is a host or a switch, or name \
         the hosts with `hosts`, or link hosts to every node with `attach-hosts`",
        short(&node.name)
    );
    FormatError::new(node.line, message)
}

fn no_host(line: usize) -> FormatError {
    let message = "no node of this file is a host: name the hosts with `hosts`, or link some to every \
         node with `attach-hosts`";
    FormatError::new(line, message)
}

/// The same network, with the most common rate and delay of links as defaults, unless the scenario sets them.
fn compact(mut spec: GraphSpec) -> GraphSpec {
    let asked = spec.rate.is_some() || spec.host_rate.is_some();
    if asked || spec.delay.is_some() || spec.host_delay.is_some() {
        return spec;
    }
    let mut counts = BTreeMap::new();
    for link in &spec.link {
        *counts.entry((link.rate, link.delay)).or_insert(0) += 1;
    }
    let usual = counts.into_iter().max_by_key(|&(_, count)| count).map(|(lane, _)| lane);
    (spec.rate, spec.delay) = usual.unwrap_or_default();
    let (rate, delay) = (spec.rate, spec.delay);
    for link in &mut spec.link {
        link.rate = link.rate.filter(|_| link.rate != rate);
        link.delay = link.delay.filter(|_| link.delay != delay);
    }
    spec
}
