//! The network as flows see it: directed links by number, and the path between two hosts.

use super::lanes::{Lane, Lanes};
use slotline_net::id::{HostId, NodeId, PortId};
use slotline_net::prefetch::prefetch;
use slotline_net::route::Routes;
use slotline_net::time::Time;
use slotline_net::topology::{Graph, Wiring};
use slotline_net::units::Rate;
use std::sync::Arc;

/// The state of one path lookup.
#[derive(Clone, Copy, Debug)]
struct Lookup {
    at: NodeId,
    goal: NodeId,
    dst: HostId,
    entropy: u16,
}

impl Lookup {
    fn is_under_way(&self) -> bool {
        self.at != self.goal
    }
}

/// The directed links that leave each node, by port, and the routes in force.
#[derive(Clone, Debug)]
pub struct Fabric {
    wiring: Wiring,
    routes: Arc<Routes>,
    /// Number of the first link that leaves each node, and the number of all.
    first: Vec<u32>,
    lanes: Lanes,
    /// By link, the node at its far end.
    far: Vec<NodeId>,
    /// The nodes of all hosts.
    hosts: Vec<NodeId>,
}

impl Fabric {
    /// The links of `graph`, all up.
    pub fn new(graph: &Graph, routes: Arc<Routes>) -> Fabric {
        let wiring = graph.wiring();
        let mut first = vec![0];
        let (mut lanes, mut far) = (Lanes::default(), Vec::new());
        for node in (0..graph.nodes.len() as u32).map(NodeId) {
            for wire in wiring.of(node) {
                lanes.push(Lane { rate: wire.lane.rate, delay: wire.lane.delay, down: false });
                far.push(wire.far.node);
            }
            first.push(lanes.len() as u32);
        }
        Fabric { wiring, routes, first, lanes, far, hosts: graph.hosts.clone() }
    }

    /// The far ends of all ports.
    pub fn wiring(&self) -> &Wiring {
        &self.wiring
    }

    /// The routes in force.
    pub fn routes(&self) -> &Routes {
        &self.routes
    }

    /// By link, whether any route uses it.
    pub fn used(&self) -> Vec<bool> {
        self.routes.used(&self.wiring).concat()
    }

    /// Number of nodes.
    pub fn nodes(&self) -> usize {
        self.first.len() - 1
    }

    /// The nodes of all hosts.
    pub fn hosts(&self) -> &[NodeId] {
        &self.hosts
    }

    /// The node of a host.
    pub fn host(&self, host: HostId) -> NodeId {
        self.hosts[host.at()]
    }

    /// The node at the far end of a link.
    pub fn far(&self, link: u32) -> NodeId {
        self.far[link as usize]
    }

    /// The node that a link leaves.
    pub fn near(&self, link: u32) -> NodeId {
        NodeId(self.first.partition_point(|first| *first <= link) as u32 - 1)
    }

    /// The time that a packet of 1,500 bytes takes over an idle link.
    pub fn hop_time(&self, link: u32) -> Time {
        let lane = self.lanes.of(link);
        lane.delay.after(lane.rate.inverse_rate().time_for(1_500))
    }

    /// Number of directed links.
    pub fn links(&self) -> usize {
        self.lanes.len()
    }

    /// The links that leave hosts.
    pub fn first_links(&self) -> impl Iterator<Item = usize> {
        let ends =
            |host: &NodeId| self.first[host.at()] as usize..self.first[host.at() + 1] as usize;
        self.hosts.iter().flat_map(ends)
    }

    /// The number of the directed link that leaves `node` by `port`.
    pub fn link(&self, node: NodeId, port: PortId) -> u32 {
        self.first[node.at()] + u32::from(port.0)
    }

    /// Splits a list by link into lists by node and port.
    pub fn by_port<T: Copy>(&self, of_link: &[T]) -> Vec<Vec<T>> {
        let of_node = |ends: &[u32]| of_link[ends[0] as usize..ends[1] as usize].to_vec();
        self.first.windows(2).map(of_node).collect()
    }

    /// The capacity of a link in bytes per second; zero while it is down.
    pub fn capacity(&self, link: u32) -> f64 {
        let lane = self.lanes.of(link);
        if lane.down { 0.0 } else { lane.rate.0 as f64 / 8.0 }
    }

    /// Requests the properties of a link.
    pub(super) fn prefetch(&self, link: u32) {
        self.lanes.prefetch(link);
    }

    /// Takes a link down or up.
    pub fn set_down(&mut self, link: u32, down: bool) {
        self.lanes.set(link, Lane { down, ..*self.lanes.of(link) });
    }

    /// Changes the rate of a link.
    pub fn set_rate(&mut self, link: u32, rate: Rate) {
        self.lanes.set(link, Lane { rate, ..*self.lanes.of(link) });
    }

    /// The rate of a link, whether it is up or down.
    pub fn rate(&self, link: u32) -> Rate {
        self.lanes.of(link).rate
    }

    /// Replaces the routes.
    pub fn set_routes(&mut self, routes: Arc<Routes>) {
        self.routes = routes;
    }

    /// Replaces `out` with the links from `src` to `dst` for packets of this entropy; none if there is no path.
    pub fn path(&self, src: HostId, dst: HostId, entropy: u16, out: &mut Vec<u32>) {
        let mut traveller = self.traveller(src, dst, entropy);
        out.clear();
        while traveller.is_under_way() {
            self.leave(&mut traveller, out);
            self.cross(&mut traveller, out);
        }
    }

    /// Like [`Fabric::path`], for several pairs at once. What a step of one lookup reads is requested during the same
    /// step of the others, so the processor waits for the memory of all of them together.
    pub fn paths(&self, pairs: &[(HostId, HostId, u16)], out: &mut [Vec<u32>]) {
        let start = |&(src, dst, entropy): &_| self.traveller(src, dst, entropy);
        let mut travellers: Vec<Lookup> = pairs.iter().map(start).collect();
        out.iter_mut().for_each(Vec::clear);
        while travellers.iter().any(Lookup::is_under_way) {
            travellers.iter().for_each(|lookup| self.routes.prefetch(lookup.at, lookup.dst));
            for (traveller, out) in travellers.iter_mut().zip(&mut *out) {
                self.leave(traveller, out);
                if let Some(&link) = out.last() {
                    prefetch(&self.far, link);
                }
            }
            for (traveller, out) in travellers.iter_mut().zip(&mut *out) {
                self.cross(traveller, out);
            }
        }
    }

    fn traveller(&self, src: HostId, dst: HostId, entropy: u16) -> Lookup {
        let [at, goal] = [src, dst].map(|host| self.hosts[host.at()]);
        Lookup { at, goal, dst, entropy }
    }

    /// Chooses the next link. If there is none, the lookup ends without a path.
    fn leave(&self, traveller: &mut Lookup, out: &mut Vec<u32>) {
        if !traveller.is_under_way() {
            return;
        }
        let Lookup { at, dst, entropy, .. } = *traveller;
        match self.routes.next(at, dst, entropy) {
            Some(port) => out.push(self.link(at, port)),
            None => {
                out.clear();
                traveller.goal = at;
            }
        }
    }

    /// Goes to the end of the link that was chosen last.
    fn cross(&self, traveller: &mut Lookup, path: &[u32]) {
        if let Some(&link) = path.last().filter(|_| traveller.is_under_way()) {
            traveller.at = self.far[link as usize];
        }
    }

    /// The time from the sender's last byte of a flow until the receiver has it: the delays, and the time of a
    /// packet of `last` bytes at each link but the slowest, because switches store and forward.
    pub fn latency(&self, path: impl Iterator<Item = u32>, last: u64) -> Time {
        let (mut sum, mut slowest) = (Time::ZERO, Time::ZERO);
        for link in path {
            let lane = self.lanes.of(link);
            let sending = lane.rate.inverse_rate().time_for(last);
            slowest = slowest.max(sending);
            sum = sum.after(lane.delay).after(sending);
        }
        sum.since(slowest)
    }

    /// The transit time of a packet of `bytes` over idle links.
    pub fn crossing(&self, path: impl Iterator<Item = u32>, bytes: u64) -> Time {
        let crossed = |sum: Time, link: u32| {
            let lane = self.lanes.of(link);
            sum.after(lane.delay).after(lane.rate.inverse_rate().time_for(bytes))
        };
        path.fold(Time::ZERO, crossed)
    }
}
