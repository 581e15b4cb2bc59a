//! Networks as plain graphs: nodes, and links with a rate and a delay per direction.

use crate::id::{HostId, NodeId, PortId};
use crate::time::Time;
use crate::units::Rate;

/// Host or switch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NodeKind {
    /// An end host.
    Host,
    /// A switch.
    Switch,
}

/// One node. Nodes are numbered so that neighbours in the network are neighbours in number (all of a
/// pod together): contiguous ranges make good shards.
#[derive(Clone, Debug)]
pub struct NodeInfo {
    /// Unique name, for example `h3`, `edge0.1`, `core2`.
    pub name: String,
    /// What it is.
    pub kind: NodeKind,
    /// 0 for hosts, 1 for the switches next to them, and so on upwards.
    pub tier: u8,
    /// Pod, or the index of the leaf or rack; `u32::MAX` for switches above pods.
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

/// One direction of a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Lane {
    /// Transmission rate.
    pub rate: Rate,
    /// Propagation delay.
    pub delay: Time,
}

/// A full-duplex link; the two directions may differ.
#[derive(Clone, Debug)]
pub struct Link {
    /// One end.
    pub a: End,
    /// The other.
    pub b: End,
    /// From `a` to `b`.
    pub ab: Lane,
    /// From `b` to `a`.
    pub ba: Lane,
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
