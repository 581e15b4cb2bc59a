//! The far ends of all ports of a graph.

use super::{End, Graph, Link, LinkParams};
use crate::id::NodeId;
use crate::rng::{name_key, pair_key};
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
        let first = graph.first_ports();
        let mut parallel = Parallel::new(graph.nodes.len());
        let wire = |&number: &usize| {
            let (near, mut wire) = sent_by(graph, number);
            let (from, to) = (near.node, wire.far.node);
            wire.key = pair_key(pair_key(keys[from.at()], keys[to.at()]), parallel.next(from, to));
            wire
        };
        let wires = by_port(graph, &first).iter().map(wire).collect();
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

/// The numbers of all directions of links, in the order of nodes and their ports. A graph of which the ports are numbered from
/// zero needs no sorting.
fn by_port(graph: &Graph, first: &[usize]) -> Vec<usize> {
    let mut numbers = vec![0; 2 * graph.links.len()];
    for (number, near) in graph.links.iter().flat_map(Link::ends).enumerate() {
        let place = first[near.node.at()] + near.port.at();
        debug_assert!(place < first[near.node.at() + 1], "the ports of a node have no gap");
        if let Some(place) = numbers.get_mut(place) {
            *place = number;
        }
    }
    numbers
}

/// One of the directions of all links: the end that sends, and the wire without its key. Each link has two, that from its
/// first end first.
fn sent_by(graph: &Graph, number: usize) -> (End, Wire) {
    let link = number / 2;
    let Link { a, b, ab, ba } = graph.links[link];
    let (near, far, lane) = if number.is_multiple_of(2) { (a, b, ab) } else { (b, a, ba) };
    (near, Wire { link, far, lane, key: 0 })
}

/// Counts the links from a node to each other node, one node after another.
struct Parallel {
    /// By far node, the last node that was counted, and its links so far.
    links: Vec<Option<(NodeId, u64)>>,
}

impl Parallel {
    fn new(nodes: usize) -> Parallel {
        Parallel { links: vec![None; nodes] }
    }
    /// The number of links from one node to another so far.
    fn next(&mut self, from: NodeId, to: NodeId) -> u64 {
        let before = self.links[to.at()].filter(|(node, _)| *node == from);
        let count = before.map_or(0, |(_, count)| count);
        self.links[to.at()] = Some((from, count + 1));
        count
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::PortId;
    use crate::time::Time;
    use crate::topology::{NO_POD, NodeInfo, NodeKind};
    use crate::units::Rate;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    /// A graph in which links take the ports of their ends in any order.
    fn graph(ends: &[(u32, u32, u32)]) -> Graph {
        let node = |at: u32| NodeInfo {
            name: format!("n{at}"),
            kind: NodeKind::Switch,
            tier: 1,
            pod: NO_POD,
        };
        let mut graph = Graph { nodes: (0..8).map(node).collect(), ..Graph::default() };
        let mut order: Vec<_> = ends.iter().enumerate().collect();
        order.sort_by_key(|(at, end)| (end.2, *at));
        let mut ports = [0; 8];
        let mut links = BTreeMap::new();
        for (at, &(a, step, rate)) in order {
            let mut end = |node: u32| {
                ports[node as usize] += 1;
                End { node: NodeId(node), port: PortId(ports[node as usize] - 1) }
            };
            let lane = |more| LinkParams { rate: Rate(u64::from(rate) + more), delay: Time::ZERO };
            let link = Link { a: end(a), b: end((a + step) % 8), ab: lane(1), ba: lane(2) };
            links.insert(at, link);
        }
        graph.links.extend(links.into_values());
        graph
    }

    proptest! {
        /// The reference looks through all links for each port.
        #[test]
        fn each_port_has_its_wire(ends in prop::collection::vec((0u32..8, 1u32..8, 0u32..20), 0..60)) {
            let graph = graph(&ends);
            let wiring = graph.wiring();
            for node in (0..8).map(NodeId) {
                let mut parallel = BTreeMap::new();
                for (port, wire) in (0..).map(PortId).zip(wiring.of(node)) {
                    let link = &graph.links[wire.link];
                    let near = End { node, port };
                    let (far, lane) = if link.a == near { (link.b, link.ab) } else { (link.a, link.ba) };
                    prop_assert!(link.ends().contains(&near));
                    prop_assert_eq!((wire.far, wire.lane), (far, lane));
                    let nth = parallel.entry(far.node).or_insert(0);
                    let pair = pair_key(wiring.key(node), wiring.key(far.node));
                    prop_assert_eq!(wire.key, pair_key(pair, *nth));
                    *nth += 1;
                }
                prop_assert_eq!(wiring.of(node).len(), usize::from(graph.ports()[node.at()]));
            }
        }
    }
}
