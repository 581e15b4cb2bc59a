//! The far ends of all ports of a graph.

use super::{End, Graph, Link, LinkParams};
use crate::id::NodeId;
use std::sync::Arc;

/// One direction of a link, from the port that sends into it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Wire {
    /// Index into [`Graph::links`].
    pub link: usize,
    /// Its far end.
    pub far: End,
    /// Rate and delay of this direction.
    pub lane: LinkParams,
}

/// The wires of every node, by port. Copies share them.
#[derive(Clone, Debug)]
pub struct Wiring {
    first: Arc<[usize]>,
    wires: Arc<[Wire]>,
}

impl Wiring {
    pub(super) fn new(graph: &Graph) -> Wiring {
        let both = |(link, l): (usize, &Link)| {
            let (there, back) =
                (Wire { link, far: l.b, lane: l.ab }, Wire { link, far: l.a, lane: l.ba });
            [(l.a, there), (l.b, back)]
        };
        let mut ends: Vec<_> = graph.links.iter().enumerate().flat_map(both).collect();
        ends.sort_by_key(|(near, _)| (near.node, near.port));
        let mut first = vec![0; graph.nodes.len() + 1];
        for (node, ports) in graph.ports().into_iter().enumerate() {
            first[node + 1] = first[node] + usize::from(ports);
        }
        Wiring { first: first.into(), wires: ends.into_iter().map(|(_, wire)| wire).collect() }
    }

    /// The wires of `node`, indexed by [`crate::id::PortId`].
    pub fn of(&self, node: NodeId) -> &[Wire] {
        &self.wires[self.first[node.at()]..self.first[node.at() + 1]]
    }
}
