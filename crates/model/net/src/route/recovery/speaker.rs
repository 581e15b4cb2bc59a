//! What one switch knows of failures, and whom it tells.

use super::NodeAvoid;
use crate::id::{HostId, NodeId, PortId};
use crate::route::Routes;
use crate::topology::{Graph, NodeKind};
use std::collections::{BTreeMap, BTreeSet};

/// A switch says to a neighbour whether it can carry packets to the hosts of switch `dst`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tag {
    /// The switch with the hosts.
    pub dst: NodeId,
    /// It cannot; false: it can again.
    pub lost: bool,
}

/// The shortest paths of the network without failures.
pub struct Ways<'a> {
    routes: &'a Routes,
    /// A host of each switch that has hosts.
    hosts: BTreeMap<NodeId, HostId>,
}

impl<'a> Ways<'a> {
    /// Those of `graph`, for which `routes` were made.
    pub fn new(graph: &Graph, routes: &'a Routes) -> Ways<'a> {
        let is_host = |node: NodeId| graph.nodes[node.at()].kind == NodeKind::Host;
        let number: BTreeMap<NodeId, HostId> =
            (0..).zip(&graph.hosts).map(|(host, node)| (*node, HostId(host))).collect();
        let ends = graph.links.iter().flat_map(|link| [(link.a, link.b), (link.b, link.a)]);
        let homes = ends.filter(|(a, b)| is_host(a.node) && !is_host(b.node));
        let hosts = homes.map(|(host, home)| (home.node, number[&host.node])).collect();
        Ways { routes, hosts }
    }
    /// The ports by which `node` may send to the hosts of `dst`.
    fn ports(&self, node: NodeId, dst: NodeId) -> impl Iterator<Item = PortId> + '_ {
        let host = self.hosts.get(&dst);
        host.into_iter().flat_map(move |&host| self.routes.choices(node, host).iter())
    }
}

/// One switch. It knows no clock: it is told of sessions and tags, and says what to tell whom.
#[derive(Clone, Debug)]
pub struct Speaker {
    node: NodeId,
    /// By port: whether it leads to a switch.
    neighbours: Vec<bool>,
    avoid: NodeAvoid,
    /// Ports at which nobody hears it.
    deaf: BTreeSet<PortId>,
    /// Switches to whose hosts it has no way.
    lost: BTreeSet<NodeId>,
}

impl Speaker {
    /// A switch whose sessions are up. `neighbours`: by port, whether there is a switch.
    pub fn new(node: NodeId, neighbours: Vec<bool>) -> Speaker {
        let (deaf, lost) = (BTreeSet::new(), BTreeSet::new());
        Speaker { node, neighbours, avoid: NodeAvoid::default(), deaf, lost }
    }
    /// What it avoids.
    pub fn avoid(&self) -> &NodeAvoid {
        &self.avoid
    }

    /// The neighbour at `port` hears this switch, or no longer. Appends what to tell.
    pub fn heard(&mut self, port: PortId, up: bool, ways: &Ways<'_>, out: &mut Vec<(PortId, Tag)>) {
        if !up {
            self.deaf.insert(port);
            self.avoid.tagged.retain(|(from, _)| *from != port);
            return;
        }
        self.deaf.remove(&port);
        // A neighbour that is back has missed what it was not told.
        let missed = self.lost.iter().filter(|dst| !self.leads(port, **dst, ways));
        out.extend(missed.map(|&dst| (port, Tag { dst, lost: true })));
    }

    /// Packets may leave by `port`, or no longer. Appends what to tell.
    pub fn session(
        &mut self,
        port: PortId,
        up: bool,
        ways: &Ways<'_>,
        out: &mut Vec<(PortId, Tag)>,
    ) {
        if up {
            self.avoid.down.remove(&port);
        } else {
            self.avoid.down.insert(port);
        }
        ways.hosts.keys().for_each(|&dst| self.look(dst, ways, out));
    }

    /// The neighbour at `port` says something. Appends what to tell.
    pub fn hear(&mut self, port: PortId, tag: Tag, ways: &Ways<'_>, out: &mut Vec<(PortId, Tag)>) {
        if tag.lost {
            self.avoid.tagged.insert((port, tag.dst));
        } else {
            self.avoid.tagged.remove(&(port, tag.dst));
        }
        self.look(tag.dst, ways, out);
    }

    /// Whether `port` is on a shortest path to the hosts of `dst`.
    fn leads(&self, port: PortId, dst: NodeId, ways: &Ways<'_>) -> bool {
        ways.ports(self.node, dst).any(|way| way == port)
    }

    /// Looks whether there is a way to the hosts of `dst`; tells those who could come through here if
    /// that has changed.
    fn look(&mut self, dst: NodeId, ways: &Ways<'_>, out: &mut Vec<(PortId, Tag)>) {
        if dst == self.node {
            return;
        }
        let lost = !ways.ports(self.node, dst).any(|port| self.avoid.usable(port, dst));
        if lost == self.lost.contains(&dst) {
            return;
        }
        if lost {
            self.lost.insert(dst);
        } else {
            self.lost.remove(&dst);
        }
        let ports = (0..).map(PortId).zip(&self.neighbours).filter(|(_, switch)| **switch);
        let told = ports.map(|(port, _)| port).filter(|port| !self.deaf.contains(port));
        out.extend(
            told.filter(|port| !self.leads(*port, dst, ways)).map(|port| (port, Tag { dst, lost })),
        );
    }
}
