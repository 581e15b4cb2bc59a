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
        Ok(Fabric { spec: compact(spec), unread: self.unread.into_iter().collect() })
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
        let by_name: BTreeMap<&str, &Node> = self.nodes.iter().map(|n| (&*n.name, n)).collect();
        let find = |name: &String| {
            by_name.get(name.as_str()).copied().ok_or_else(|| {
                let some: Vec<String> =
                    by_name.keys().take(6).map(|name| format!("`{}`", short(name))).collect();
                let message = format!(
                    "`hosts` names `{name}`, but nodes of this file are called {}",
                    some.join(", ")
                );
                ReadError::Asked(SpecError::new("hosts", message))
            })
        };
        let hosts = list.iter().map(find).collect::<Result<Vec<&Node>, ReadError>>()?;
        let listed: BTreeSet<&str> = list.iter().map(String::as_str).collect();
        let others = self.nodes.iter().filter(|node| !listed.contains(&*node.name));
        Ok((hosts, others.collect()))
    }
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
