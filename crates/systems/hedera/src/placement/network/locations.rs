//! Which hosts share an edge switch or a pod, found from the paths between them.

use slotline_net::id::HostId;
use slotline_net::scheme::Network;
use std::collections::BTreeMap;

/// The edge switches and pods of hosts.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(in crate::placement) struct HostLocations {
    /// By host, its edge switch.
    pub edge: Vec<u32>,
    /// By edge switch, its hosts, in order.
    pub hosts: Vec<Vec<u32>>,
    /// By edge switch, its pod. There is one pod if paths have no third tier.
    pub pod: Vec<u32>,
    /// By pod, its edge switches, in order.
    pub edges: Vec<Vec<u32>>,
}

/// What the paths of all hosts of an edge switch, or of all edge switches of a pod, have in common.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Key {
    /// They share the switch or pod of the first host.
    First,
    /// They use this link.
    By(u32),
    /// This host reaches no other.
    Alone(u32),
}

impl HostLocations {
    /// The locations of the hosts of `network`. They follow from the paths to the first host: paths from the same
    /// edge switch have their second link in common, and paths from the same pod their third.
    pub fn new(network: &Network) -> HostLocations {
        let mut links = Vec::new();
        let hosts = network.hosts() as u32;
        let mut keys = Vec::with_capacity(hosts as usize);
        let mut longest = 0;
        for host in 0..hosts {
            network.numbered_path(HostId(host), HostId(0), 0, &mut links);
            longest = longest.max(links.len());
            let third = if links.len() == 6 { Key::By(links[2]) } else { Key::First };
            keys.push(match links.len() {
                _ if host == 0 => (Key::First, Key::First),
                0 => (Key::Alone(host), Key::Alone(host)),
                2 => (Key::First, Key::First),
                _ => (Key::By(links[1]), third),
            });
        }
        let mut locations = HostLocations::default();
        let (mut edges, mut pods) = (BTreeMap::new(), BTreeMap::new());
        for (host, (edge, pod)) in (0..hosts).zip(keys) {
            let pod = if longest == 6 { pod } else { Key::First };
            let edge = *edges.entry(edge).or_insert_with(|| {
                let pod = *pods.entry(pod).or_insert_with(|| {
                    locations.edges.push(Vec::new());
                    locations.edges.len() as u32 - 1
                });
                locations.edges[pod as usize].push(locations.hosts.len() as u32);
                locations.pod.push(pod);
                locations.hosts.push(Vec::new());
                locations.hosts.len() as u32 - 1
            });
            locations.hosts[edge as usize].push(host);
            locations.edge.push(edge);
        }
        locations
    }
    /// The locations in `pods` pods of `edges` edge switches with `hosts` hosts each, numbered in order.
    pub fn regular(pods: u32, edges: u32, hosts: u32) -> HostLocations {
        let list = |count: u32, of: u32| {
            (0..count).map(|at| (at * of..(at + 1) * of).collect()).collect::<Vec<Vec<u32>>>()
        };
        HostLocations {
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
    /// The edge switches of two hosts, and whether they share a pod.
    pub fn of(&self, src: HostId, dst: HostId) -> (u32, u32, bool) {
        let (a, b) = (self.edge[src.at()], self.edge[dst.at()]);
        (a, b, self.pod[a as usize] == self.pod[b as usize])
    }
}
