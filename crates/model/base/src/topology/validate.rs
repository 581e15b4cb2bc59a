//! Checks that a graph is a network.

use super::{Graph, Link, NodeKind};
use crate::error::SpecError;
use std::collections::BTreeSet;

impl Graph {
    /// Checks that this is a valid network: names are unique; ports of a node are numbered
    /// from zero without gaps, each used once; links join two different nodes, at least one of them a
    /// switch, at rates above zero; every host is listed in order of its node and has a link.
    pub fn validate(&self) -> Result<(), SpecError> {
        let problem = self.naming_problem().or_else(|| self.host_problem());
        let problem =
            problem.or_else(|| self.links.iter().find_map(|link| self.link_problem(link)));
        let problem = problem.or_else(|| self.port_problem());
        problem.map_or(Ok(()), |message| Err(SpecError::new("fabric", message)))
    }

    fn naming_problem(&self) -> Option<String> {
        let mut seen = BTreeSet::new();
        let twice = self.nodes.iter().find(|node| !seen.insert(node.name.as_str()))?;
        Some(format!("two nodes are named `{}`: names must be unique", twice.name))
    }

    fn host_problem(&self) -> Option<String> {
        let is_host = |at: &usize| self.nodes[*at].kind == NodeKind::Host;
        let hosts: Vec<usize> = (0..self.nodes.len()).filter(is_host).collect();
        if !hosts.iter().copied().eq(self.hosts.iter().map(|node| node.at())) {
            return Some(
                "the list of hosts must name every host once, in order of its node".into(),
            );
        }
        let linked: BTreeSet<usize> =
            self.links.iter().flat_map(Link::ends).map(|end| end.node.at()).collect();
        let lonely = hosts.into_iter().find(|at| !linked.contains(at))?;
        Some(format!("host `{}` has no link: it needs at least one", self.nodes[lonely].name))
    }

    fn link_problem(&self, link: &Link) -> Option<String> {
        let [Some(a), Some(b)] = link.ends().map(|end| self.nodes.get(end.node.at())) else {
            return Some(format!("link {link:?} ends at a node that does not exist"));
        };
        let says = |what: &str| Some(format!("link `{}-{}` {what}", a.name, b.name));
        if link.a.node == link.b.node {
            return says("leads back to its own node");
        }
        if a.kind == NodeKind::Host && b.kind == NodeKind::Host {
            return says("joins two hosts: put a switch between them");
        }
        if link.ab.rate.0 == 0 || link.ba.rate.0 == 0 {
            return says("has a rate of zero: it must be above zero");
        }
        None
    }

    /// Whether the ports of each node are numbered from zero, each once.
    fn ports_are_numbered(&self) -> bool {
        let first = self.first_ports();
        let mut used = vec![false; 2 * self.links.len()];
        self.links.iter().flat_map(Link::ends).all(|end| {
            let place = first[end.node.at()] + end.port.at();
            place < first[end.node.at() + 1] && !std::mem::replace(&mut used[place], true)
        })
    }

    fn port_problem(&self) -> Option<String> {
        if self.ports_are_numbered() {
            return None;
        }
        let mut ends: Vec<_> = self.links.iter().flat_map(Link::ends).collect();
        ends.sort_by_key(|end| (end.node, end.port));
        let mut expected = (None, 0);
        for end in ends {
            expected = if expected.0 == Some(end.node) {
                (expected.0, expected.1 + 1)
            } else {
                (Some(end.node), 0)
            };
            if end.port.at() != expected.1 {
                let (name, port) = (&self.nodes[end.node.at()].name, end.port.0);
                return Some(format!(
                    "port {port} of `{name}` comes where port {} should: number ports from 0, each once",
                    expected.1
                ));
            }
        }
        None
    }
}
