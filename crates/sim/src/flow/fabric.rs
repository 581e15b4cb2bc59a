//! The network as flows see it: directed links by number, and the way between two hosts.

use slotline_net::id::{HostId, NodeId, PortId};
use slotline_net::route::Routes;
use slotline_net::time::Time;
use slotline_net::topology::{Graph, Wiring};
use slotline_net::units::Rate;
use std::sync::Arc;

/// One directed link.
#[derive(Clone, Copy, Debug)]
struct Lane {
    rate: Rate,
    delay: Time,
    down: bool,
}

/// The directed links that leave each node, by port, and the routes in force.
#[derive(Clone, Debug)]
pub struct Fabric {
    wiring: Wiring,
    routes: Arc<Routes>,
    /// Number of the first link that leaves each node, and the number of all.
    first: Vec<u32>,
    lanes: Vec<Lane>,
    /// Nodes of hosts.
    hosts: Vec<NodeId>,
}

impl Fabric {
    /// The links of `graph`, all up.
    pub fn new(graph: &Graph, routes: Arc<Routes>) -> Fabric {
        let wiring = graph.wiring();
        let mut first = vec![0];
        let mut lanes = Vec::new();
        for node in (0..graph.nodes.len() as u32).map(NodeId) {
            let lane = |wire: &slotline_net::topology::Wire| Lane {
                rate: wire.lane.rate,
                delay: wire.lane.delay,
                down: false,
            };
            lanes.extend(wiring.of(node).iter().map(lane));
            first.push(lanes.len() as u32);
        }
        Fabric { wiring, routes, first, lanes, hosts: graph.hosts.clone() }
    }

    /// The graph, seen from its ports.
    pub fn wiring(&self) -> &Wiring {
        &self.wiring
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

    /// What leaves each node, by port, of something there is for each link.
    pub fn by_port<T: Copy>(&self, of_link: &[T]) -> Vec<Vec<T>> {
        let of_node = |ends: &[u32]| of_link[ends[0] as usize..ends[1] as usize].to_vec();
        self.first.windows(2).map(of_node).collect()
    }

    /// What a link carries at most, in bytes per second: nothing while it is down.
    pub fn capacity(&self, link: u32) -> f64 {
        let lane = &self.lanes[link as usize];
        if lane.down { 0.0 } else { lane.rate.0 as f64 / 8.0 }
    }

    /// A link goes down, or carries again.
    pub fn set_down(&mut self, link: u32, down: bool) {
        self.lanes[link as usize].down = down;
    }

    /// A link gets another rate.
    pub fn set_rate(&mut self, link: u32, rate: Rate) {
        self.lanes[link as usize].rate = rate;
    }

    /// A link's rate, be it up or down.
    pub fn rate(&self, link: u32) -> Rate {
        self.lanes[link as usize].rate
    }

    /// Other routes are in force.
    pub fn set_routes(&mut self, routes: Arc<Routes>) {
        self.routes = routes;
    }

    /// Replaces `out` with the links from `src` to `dst` for packets of this entropy; none where there
    /// is no way.
    pub fn way(&self, src: HostId, dst: HostId, entropy: u16, out: &mut Vec<u32>) {
        out.clear();
        let add = |end: slotline_net::topology::End| out.push(self.link(end.node, end.port));
        self.routes.visit(&self.wiring, (src, dst), entropy, add);
    }

    /// From the moment the sender has sent the last byte of a flow until the receiver has it: delays,
    /// and the time that a packet of `last` bytes takes at each link but the slowest, for a
    /// switch sends on what it has whole.
    pub fn latency(&self, way: impl Iterator<Item = u32>, last: u64) -> Time {
        let (mut sum, mut slowest) = (Time::ZERO, Time::ZERO);
        for link in way {
            let lane = &self.lanes[link as usize];
            let sending = lane.rate.pace().time_for(last);
            slowest = slowest.max(sending);
            sum = sum.after(lane.delay).after(sending);
        }
        sum.since(slowest)
    }

    /// How long a packet of `bytes` is under way on idle links.
    pub fn crossing(&self, way: impl Iterator<Item = u32>, bytes: u64) -> Time {
        let crossed = |sum: Time, link: u32| {
            let lane = &self.lanes[link as usize];
            sum.after(lane.delay).after(lane.rate.pace().time_for(bytes))
        };
        way.fold(Time::ZERO, crossed)
    }
}
