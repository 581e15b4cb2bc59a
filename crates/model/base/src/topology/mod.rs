//! Networks as plain graphs: nodes, and links with a rate and a delay per direction.

mod builder;
mod cores;
mod fat_tree;
mod graph;
mod hybrid;
mod layout;
mod leaf_spine;
mod racks;
mod roles;
mod spec;
mod star;
mod tree;
mod validate;
mod wiring;

pub use builder::{FASTEST, LONGEST_DELAY};
pub use cores::CoreNetSpec;
pub use fat_tree::FatTreeSpec;
pub use graph::{FabricFormat, GraphFault, GraphLink, GraphPart, GraphSpec};
pub use hybrid::{CircuitNetSpec, Dark, HybridSpec, InnerFull, PacketNetSpec};
pub use leaf_spine::LeafSpineSpec;
pub use racks::{RackSpec, RacksOf};
pub use roles::{RackHosts, RackPorts, Role, Roles};
pub use spec::{LinkOverride, TopologySpec};
pub use star::StarSpec;
pub use tree::TreeSpec;
pub use wiring::{Wire, Wiring};

use crate::id::{HostId, NodeId, PortId};
use crate::rng::name_key;
use crate::time::Time;
use crate::units::Rate;
use std::collections::BTreeSet;

/// The pod number of nodes that are in no pod.
pub const NO_POD: u32 = u32::MAX;

/// The kind of a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NodeKind {
    /// An end host.
    Host,
    /// A switch.
    Switch,
    /// The switch of a control network. No route of the network goes over it.
    Control,
}

/// One node. Neighbours in the network have close numbers, and those of a pod usually follow each other, so contiguous
/// ranges make good shards.
#[derive(Clone, Debug)]
pub struct NodeInfo {
    /// Unique name, for example `h3`, `edge0.1`, `core2`.
    pub name: String,
    /// Its kind.
    pub kind: NodeKind,
    /// 0 for hosts, 1 for the switches next to them, and so on upwards.
    pub tier: u8,
    /// Pod, or the index of the leaf, rack or row; [`NO_POD`] for switches above pods.
    pub pod: u32,
}

/// One end of a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct End {
    /// The node.
    pub node: NodeId,
    /// Its port.
    pub port: PortId,
}

/// The parameters of one direction of a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LinkParams {
    /// Transmission rate.
    pub rate: Rate,
    /// Propagation delay.
    pub delay: Time,
}

/// A full-duplex link. Its two directions may differ.
#[derive(Clone, Debug)]
pub struct Link {
    /// One end.
    pub a: End,
    /// The other.
    pub b: End,
    /// From `a` to `b`.
    pub ab: LinkParams,
    /// From `b` to `a`.
    pub ba: LinkParams,
}

/// A network.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    /// All nodes, by [`NodeId`].
    pub nodes: Vec<NodeInfo>,
    /// All links.
    pub links: Vec<Link>,
    /// The node of each host, by [`HostId`].
    pub hosts: Vec<NodeId>,
}

/// The links and nodes that routes must avoid, because they have failed or are circuits.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Down {
    /// Links, by index into [`Graph::links`]; both directions.
    pub links: BTreeSet<usize>,
    /// Nodes.
    pub nodes: BTreeSet<NodeId>,
}

impl Link {
    /// Both ends.
    pub fn ends(&self) -> [End; 2] {
        [self.a, self.b]
    }
}

impl Graph {
    /// Adds a host with one link to `switch`, on that switch's next free port. Both directions have
    /// the parameters `lane`. The host is the last node and the last host; no other number changes.
    pub fn attach_host(
        &mut self,
        name: impl Into<String>,
        switch: NodeId,
        lane: LinkParams,
    ) -> HostId {
        let used = self.links.iter().flat_map(Link::ends).filter(|end| end.node == switch).count();
        let (node, pod) = (NodeId(self.nodes.len() as u32), self.nodes[switch.at()].pod);
        self.nodes.push(NodeInfo { name: name.into(), kind: NodeKind::Host, tier: 0, pod });
        self.hosts.push(node);
        self.links.push(Link {
            a: End { node, port: PortId(0) },
            b: End { node: switch, port: PortId(used as u16) },
            ab: lane,
            ba: lane,
        });
        HostId(self.hosts.len() as u32 - 1)
    }

    /// Adds a switch that no route uses, with a link to each of `members`, whose last port this becomes. Both directions
    /// have the parameters `lane`. The switch is the last node; its port n leads to member n.
    pub fn attach_control_switch(
        &mut self,
        name: impl Into<String>,
        members: &[NodeId],
        lane: LinkParams,
    ) -> NodeId {
        let (node, ports) = (NodeId(self.nodes.len() as u32), self.ports());
        let info = NodeInfo { name: name.into(), kind: NodeKind::Control, tier: 0, pod: NO_POD };
        self.nodes.push(info);
        let link = |(&member, port): (&NodeId, u16)| Link {
            a: End { node: member, port: PortId(ports[member.at()]) },
            b: End { node, port: PortId(port) },
            ab: lane,
            ba: lane,
        };
        self.links.extend(members.iter().zip(0..).map(link));
        node
    }

    /// The number of ports of each node.
    pub fn ports(&self) -> Vec<u16> {
        let mut ports = vec![0; self.nodes.len()];
        self.links.iter().flat_map(Link::ends).for_each(|end| ports[end.node.at()] += 1);
        ports
    }

    /// The index of each node's first port among the ports of all nodes, and the number of all.
    fn first_ports(&self) -> Vec<usize> {
        let mut first = vec![0];
        for (node, ports) in self.ports().into_iter().enumerate() {
            first.push(first[node] + usize::from(ports));
        }
        first
    }

    /// The far ends of all ports of all nodes, for a graph that [`Graph::validate`] accepts.
    pub fn wiring(&self) -> Wiring {
        Wiring::new(self)
    }

    /// The keys of all hosts for hashes and random streams, by [`HostId`]. They are computed from the hosts' names.
    pub fn host_keys(&self) -> Vec<u64> {
        self.hosts.iter().map(|node| name_key(&self.nodes[node.at()].name)).collect()
    }

    /// The first link of the first host, in the direction from its `a` to its `b`.
    pub fn first_lane(&self) -> Option<LinkParams> {
        let host = self.hosts.first()?;
        let first = End { node: *host, port: PortId(0) };
        let own = |link: &&Link| link.ends().contains(&first);
        self.links.iter().find(own).map(|link| link.ab)
    }

    /// The node with this name.
    pub fn node_named(&self, name: &str) -> Option<NodeId> {
        let at = self.nodes.iter().position(|node| node.name == name)?;
        Some(NodeId(at as u32))
    }

    /// The first link between the two nodes named in `"h3-edge0.1"`, in either order; see
    /// [`Graph::links_named`].
    pub fn link_named(&self, name: &str) -> Option<usize> {
        self.links_named(name).first().map(|&(link, _)| link)
    }

    /// The name of a link, by which [`Graph::link_named`] finds it: the names of its two nodes, and its number if there
    /// are parallel links.
    pub fn link_name(&self, link: usize) -> String {
        let [a, b] = [self.links[link].a.node, self.links[link].b.node];
        let pair = format!("{}-{}", self.nodes[a.at()].name, self.nodes[b.at()].name);
        let parallel = self.links_between(a, b);
        let nth = parallel.iter().position(|&(other, _)| other == link).unwrap_or(0);
        if parallel.len() > 1 { format!("{pair}#{nth}") } else { pair }
    }

    /// All parallel links between the two nodes named in `"leaf0-spine1"`, in either order, or only the n-th of them
    /// (from 0) for `"leaf0-spine1#n"`. The flag is true if the name runs from the link's `b` to its `a`.
    pub fn links_named(&self, name: &str) -> Vec<(usize, bool)> {
        let (pair, nth) = match name.split_once('#') {
            Some((pair, nth)) => (pair, Some(nth)),
            None => (name, None),
        };
        // Names may contain dashes.
        let ends = pair.match_indices('-').filter_map(|(at, _)| {
            let (from, to) = (&pair[..at], &pair[at + 1..]);
            Some((self.node_named(from.trim())?, self.node_named(to.trim())?))
        });
        let mut found = ends.map(|(from, to)| self.links_between(from, to));
        let parallel = found.find(|links| !links.is_empty()).unwrap_or_default();
        match nth.map(|n| n.trim().parse::<usize>()) {
            None => parallel,
            Some(n) => n.ok().and_then(|n| parallel.get(n).copied()).into_iter().collect(),
        }
    }

    fn links_between(&self, from: NodeId, to: NodeId) -> Vec<(usize, bool)> {
        let along = |link: &Link| match (link.a.node, link.b.node) {
            (a, b) if (a, b) == (from, to) => Some(false),
            (a, b) if (b, a) == (from, to) => Some(true),
            _ => None,
        };
        let found = self.links.iter().enumerate();
        found.filter_map(|(at, link)| along(link).map(|flipped| (at, flipped))).collect()
    }
}

#[cfg(test)]
mod tests;

#[cfg(test)]
mod graph_tests;
