//! The state of one switch: the failures that it knows, and the tags that it sends.

use super::NodeAvoid;
use crate::id::{HostId, NodeId, PortId};
use crate::route::Routes;
use crate::topology::{Graph, NodeKind};
use std::collections::{BTreeMap, BTreeSet};

/// A message to a neighbour: whether the sender has a path to the hosts of switch `dst`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tag {
    /// The switch with the hosts.
    pub dst: NodeId,
    /// Whether the sender has lost all paths; false: it has a path again.
    pub lost: bool,
}

/// The shortest paths of the network without failures.
pub struct ShortestPaths<'a> {
    routes: &'a Routes,
    /// A host of each switch that has hosts.
    hosts: BTreeMap<NodeId, HostId>,
}

impl<'a> ShortestPaths<'a> {
    /// The shortest paths of `graph`, for which `routes` were made.
    pub fn new(graph: &Graph, routes: &'a Routes) -> ShortestPaths<'a> {
        let is_host = |node: NodeId| graph.nodes[node.at()].kind == NodeKind::Host;
        let number: BTreeMap<NodeId, HostId> =
            (0..).zip(&graph.hosts).map(|(host, node)| (*node, HostId(host))).collect();
        let ends = graph.links.iter().flat_map(|link| [(link.a, link.b), (link.b, link.a)]);
        let homes = ends.filter(|(a, b)| is_host(a.node) && !is_host(b.node));
        let hosts = homes.map(|(host, home)| (home.node, number[&host.node])).collect();
        ShortestPaths { routes, hosts }
    }
    /// The ports by which `node` may send to the hosts of `dst`.
    fn ports(&self, node: NodeId, dst: NodeId) -> impl Iterator<Item = PortId> + '_ {
        let host = self.hosts.get(&dst);
        host.into_iter().flat_map(move |&host| self.routes.choices(node, host).iter())
    }
}

/// One switch. It has no clock: the caller reports sessions and tags, and sends the tags that it returns.
#[derive(Clone, Debug)]
pub struct Speaker {
    node: NodeId,
    /// By port: whether a switch is at the far end.
    neighbours: Vec<bool>,
    avoid: NodeAvoid,
    /// Ports whose neighbour receives nothing from this switch.
    unreachable: BTreeSet<PortId>,
    /// The switches to whose hosts it has no path.
    lost: BTreeSet<NodeId>,
}

impl Speaker {
    /// A switch whose sessions are up. `neighbours`: by port, whether there is a switch.
    pub fn new(node: NodeId, neighbours: Vec<bool>) -> Speaker {
        let (unreachable, lost) = (BTreeSet::new(), BTreeSet::new());
        Speaker { node, neighbours, avoid: NodeAvoid::default(), unreachable, lost }
    }
    /// The ports that it avoids.
    pub fn avoid(&self) -> &NodeAvoid {
        &self.avoid
    }

    /// The neighbour at `port` receives from this switch, or no longer does. Appends the tags to send.
    pub fn session_state(
        &mut self,
        port: PortId,
        up: bool,
        paths: &ShortestPaths<'_>,
        out: &mut Vec<(PortId, Tag)>,
    ) {
        if !up {
            self.unreachable.insert(port);
            self.avoid.tagged.retain(|(from, _)| *from != port);
            return;
        }
        self.unreachable.remove(&port);
        // A neighbour whose session was down has missed earlier tags.
        let missed = self.lost.iter().filter(|dst| !self.is_on_path(port, **dst, paths));
        out.extend(missed.map(|&dst| (port, Tag { dst, lost: true })));
    }

    /// Packets may leave by `port`, or no longer may. Appends the tags to send.
    pub fn port_state(
        &mut self,
        port: PortId,
        up: bool,
        paths: &ShortestPaths<'_>,
        out: &mut Vec<(PortId, Tag)>,
    ) {
        if up {
            self.avoid.down.remove(&port);
        } else {
            self.avoid.down.insert(port);
        }
        paths.hosts.keys().for_each(|&dst| self.update(dst, paths, out));
    }

    /// The neighbour at `port` has sent a tag. Appends the tags to send.
    pub fn receive(
        &mut self,
        port: PortId,
        tag: Tag,
        paths: &ShortestPaths<'_>,
        out: &mut Vec<(PortId, Tag)>,
    ) {
        if tag.lost {
            self.avoid.tagged.insert((port, tag.dst));
        } else {
            self.avoid.tagged.remove(&(port, tag.dst));
        }
        self.update(tag.dst, paths, out);
    }

    /// Whether `port` is on a shortest path to the hosts of `dst`.
    fn is_on_path(&self, port: PortId, dst: NodeId, paths: &ShortestPaths<'_>) -> bool {
        paths.ports(self.node, dst).any(|path| path == port)
    }

    /// Checks whether there is a path to the hosts of `dst`. If this has changed, it sends a tag to the
    /// neighbours that may route through this switch.
    fn update(&mut self, dst: NodeId, paths: &ShortestPaths<'_>, out: &mut Vec<(PortId, Tag)>) {
        if dst == self.node {
            return;
        }
        let lost = !paths.ports(self.node, dst).any(|port| self.avoid.usable(port, dst));
        if lost == self.lost.contains(&dst) {
            return;
        }
        if lost {
            self.lost.insert(dst);
        } else {
            self.lost.remove(&dst);
        }
        let ports = (0..).map(PortId).zip(&self.neighbours).filter(|(_, switch)| **switch);
        let notified = ports.map(|(port, _)| port).filter(|port| !self.unreachable.contains(port));
        out.extend(
            notified
                .filter(|port| !self.is_on_path(*port, dst, paths))
                .map(|port| (port, Tag { dst, lost })),
        );
    }
}
