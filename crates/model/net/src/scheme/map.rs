//! The map of a network. A central scheduler's view is made from it whenever routes or rates change.

use super::network::Network;
use crate::id::{NodeId, PortId};
use crate::node::host::pair_entropy;
use crate::route::Routes;
use crate::topology::{End, Wiring};
use crate::units::Rate;
use std::sync::Arc;

/// The present state of the network. A [`Network`] is made from it whenever it changes.
#[derive(Clone)]
pub struct Map {
    hosts: usize,
    wiring: Wiring,
    routes: Arc<Routes>,
    seed: u64,
    /// Number of the first directed link that leaves each node: one per port, in order.
    first: Arc<[u32]>,
    capacity: Vec<Rate>,
}

impl Map {
    /// A network of `nodes` nodes, of which `hosts` are hosts. Hosts choose paths by pairs.
    pub fn new(
        nodes: usize,
        hosts: usize,
        wiring: &Wiring,
        routes: &Arc<Routes>,
        seed: u64,
    ) -> Map {
        let mut first = vec![0u32];
        let mut capacity = Vec::new();
        for node in (0..nodes as u32).map(NodeId) {
            capacity.extend(wiring.of(node).iter().map(|wire| wire.lane.rate));
            first.push(capacity.len() as u32);
        }
        let (wiring, routes) = (wiring.clone(), Arc::clone(routes));
        Map { hosts, wiring, routes, seed, first: first.into(), capacity }
    }
    /// The number of the directed link that leaves by `port`.
    pub fn link(&self, node: NodeId, port: PortId) -> u32 {
        self.first[node.at()] + u32::from(port.0)
    }
    /// The number of hosts, stations included.
    pub fn hosts(&self) -> usize {
        self.hosts
    }
    /// The numbers of both directed links of the cable at a port; `None` if there is no such port.
    pub fn cable(&self, end: End) -> Option<[u32; 2]> {
        let known = end.node.at() + 1 < self.first.len();
        let far = known.then(|| self.wiring.of(end.node).get(end.port.at())).flatten()?.far;
        Some([end, far].map(|end| self.link(end.node, end.port)))
    }
    /// Replaces the routes.
    pub fn reroute(&mut self, routes: &Arc<Routes>) {
        self.routes = Arc::clone(routes);
    }
    /// Changes the rate of the link that leaves by `end`.
    pub fn set_rate(&mut self, end: End, rate: Rate) {
        let link = self.link(end.node, end.port);
        self.capacity[link as usize] = rate;
    }
    /// The directed links, and the path that packets of each pair of hosts take if hosts use equal-cost multipath by
    /// pairs. If routes are pinned, it has all equal paths by their numbers.
    pub fn network(&self) -> Network {
        let Map { wiring, routes, seed, first, .. } = self.clone();
        let keys: Vec<u64> = routes.host_nodes().iter().map(|&node| wiring.key(node)).collect();
        let links = move |src, dst, entropy, out: &mut Vec<u32>| {
            let before = out.len();
            let arrives = routes.visit(&wiring, (src, dst), entropy, |end| {
                out.push(first[end.node.at()] + u32::from(end.port.0));
            });
            if !arrives {
                out.truncate(before);
            }
        };
        let numbered = links.clone();
        let network = Network::new(self.hosts, self.capacity.clone(), move |src, dst, out| {
            links(src, dst, pair_entropy(seed, keys[src.at()], keys[dst.at()]), out);
        });
        if !self.routes.is_pinned() {
            return network;
        }
        let Map { wiring, routes, .. } = self.clone();
        network.with_numbered_paths(move |src, dst| routes.numbers(&wiring, src, dst), numbered)
    }
}
