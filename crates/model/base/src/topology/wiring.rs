//! The far ends of all ports of a graph.

use super::{End, Graph, Link, LinkParams};
use crate::id::NodeId;
use crate::rng::{name_key, pair_key};
use std::collections::BTreeMap;
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
    /// The key of the port for random streams: the names of both nodes, and the number among parallel links.
    pub key: u64,
}

/// The wires of every node, by port. Copies share them.
#[derive(Clone, Debug)]
pub struct Wiring {
    first: Arc<[usize]>,
    wires: Arc<[Wire]>,
    keys: Arc<[u64]>,
}

impl Wiring {
    pub(super) fn new(graph: &Graph) -> Wiring {
        let keys: Arc<[u64]> = graph.nodes.iter().map(|node| name_key(&node.name)).collect();
        let both = |(link, l): (usize, &Link)| {
            let there = Wire { link, far: l.b, lane: l.ab, key: 0 };
            [(l.a, there), (l.b, Wire { link, far: l.a, lane: l.ba, key: 0 })]
        };
        let mut ends: Vec<_> = graph.links.iter().enumerate().flat_map(both).collect();
        ends.sort_by_key(|(near, _)| (near.node, near.port));
        set_keys(&mut ends, &keys);
        let mut first = vec![0; graph.nodes.len() + 1];
        for (node, ports) in graph.ports().into_iter().enumerate() {
            first[node + 1] = first[node] + usize::from(ports);
        }
        let wires = ends.into_iter().map(|(_, wire)| wire).collect();
        Wiring { first: first.into(), wires, keys }
    }

    /// The key of `node` for hashes and random streams, computed from its name. It does not change when nodes are added
    /// or removed.
    pub fn key(&self, node: NodeId) -> u64 {
        self.keys[node.at()]
    }

    /// The wires of `node`, indexed by [`crate::id::PortId`].
    pub fn of(&self, node: NodeId) -> &[Wire] {
        &self.wires[self.first[node.at()]..self.first[node.at() + 1]]
    }
}

/// Sets the keys of all wires, which are in order of their ports.
fn set_keys(wires: &mut [(End, Wire)], keys: &[u64]) {
    let mut parallel: BTreeMap<(NodeId, NodeId), u64> = BTreeMap::new();
    for (near, wire) in wires {
        let (from, to) = (near.node, wire.far.node);
        let nth = parallel.entry((from, to)).or_default();
        wire.key = pair_key(pair_key(keys[from.at()], keys[to.at()]), *nth);
        *nth += 1;
    }
}
