//! Which hosts share an edge switch and a pod, found from the paths between them.

use slotline_net::id::HostId;
use slotline_net::scheme::Network;
use std::collections::BTreeMap;

/// Where hosts sit.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Seats {
    /// By host, its edge switch.
    pub edge: Vec<u32>,
    /// By edge switch, its hosts, in order.
    pub hosts: Vec<Vec<u32>>,
    /// By edge switch, its pod. One pod where paths have no third tier.
    pub pod: Vec<u32>,
    /// By pod, its edge switches, in order.
    pub edges: Vec<Vec<u32>>,
}

/// What a way has in common for all hosts of an edge switch, or all edge switches of a pod.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Key {
    /// The same as the first host.
    First,
    /// They leave by this link.
    By(u32),
    /// It reaches nobody.
    Alone(u32),
}

impl Seats {
    /// The seats of the hosts of `network`. All ways are taken to the first host: those from the same
    /// edge switch have their second link in common, those from the same pod their third.
    pub fn new(network: &Network) -> Seats {
        let mut way = Vec::new();
        let hosts = network.hosts() as u32;
        let mut keys = Vec::with_capacity(hosts as usize);
        let mut longest = 0;
        for host in 0..hosts {
            network.numbered_path(HostId(host), HostId(0), 0, &mut way);
            longest = longest.max(way.len());
            let third = if way.len() == 6 { Key::By(way[2]) } else { Key::First };
            keys.push(match way.len() {
                _ if host == 0 => (Key::First, Key::First),
                0 => (Key::Alone(host), Key::Alone(host)),
                2 => (Key::First, Key::First),
                _ => (Key::By(way[1]), third),
            });
        }
        let mut seats = Seats::default();
        let (mut edges, mut pods) = (BTreeMap::new(), BTreeMap::new());
        for (host, (edge, pod)) in (0..hosts).zip(keys) {
            let pod = if longest == 6 { pod } else { Key::First };
            let edge = *edges.entry(edge).or_insert_with(|| {
                let pod = *pods.entry(pod).or_insert_with(|| {
                    seats.edges.push(Vec::new());
                    seats.edges.len() as u32 - 1
                });
                seats.edges[pod as usize].push(seats.hosts.len() as u32);
                seats.pod.push(pod);
                seats.hosts.push(Vec::new());
                seats.hosts.len() as u32 - 1
            });
            seats.hosts[edge as usize].push(host);
            seats.edge.push(edge);
        }
        seats
    }
    /// Those of `pods` pods of `edges` edge switches with `hosts` hosts each, numbered in order.
    pub fn regular(pods: u32, edges: u32, hosts: u32) -> Seats {
        let list = |count: u32, of: u32| {
            (0..count).map(|at| (at * of..(at + 1) * of).collect()).collect::<Vec<Vec<u32>>>()
        };
        Seats {
            edge: (0..pods * edges * hosts).map(|host| host / hosts).collect(),
            hosts: list(pods * edges, hosts),
            pod: (0..pods * edges).map(|edge| edge / edges).collect(),
            edges: list(pods, edges),
        }
    }
    /// The edge switch of a host.
    pub fn edge_of(&self, host: HostId) -> u32 {
        self.edge[host.at()]
    }
    /// Edge switches of both, and whether they share a pod.
    pub fn of(&self, src: HostId, dst: HostId) -> (u32, u32, bool) {
        let (a, b) = (self.edge[src.at()], self.edge[dst.at()]);
        (a, b, self.pod[a as usize] == self.pod[b as usize])
    }
}
