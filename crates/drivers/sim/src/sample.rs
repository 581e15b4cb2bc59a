//! Periodic samples of ports.

use slotline_net::id::{NodeId, PortId};
use slotline_net::time::Time;

/// One sample of one port.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sample {
    /// The time, in ps.
    pub time: u64,
    /// Index into [`crate::Network::sampled`].
    pub series: u32,
    /// Bytes not yet sent.
    pub queued: u64,
    /// Bytes sent since the start.
    pub sent: u64,
}

/// The sampled ports, by node.
pub(crate) struct Sampler {
    pub interval: u64,
    by_node: Vec<(usize, Vec<(u32, PortId)>)>,
}

impl Sampler {
    pub fn new(interval: Time, ports: &[(NodeId, PortId)]) -> Sampler {
        let mut all: Vec<_> = (0u32..).zip(ports).map(|(s, (n, p))| (n.at(), s, *p)).collect();
        all.sort_unstable();
        let mut by_node: Vec<(usize, Vec<(u32, PortId)>)> = Vec::new();
        for (node, series, port) in all.into_iter().filter(|_| interval > Time::ZERO) {
            match by_node.last_mut() {
                Some((last, ports)) if *last == node => ports.push((series, port)),
                _ => by_node.push((node, vec![(series, port)])),
            }
        }
        Sampler { interval: interval.as_ps(), by_node }
    }
    pub fn nodes(&self) -> impl Iterator<Item = usize> {
        self.by_node.iter().map(|(node, _)| *node)
    }
    pub fn of(&self, node: usize) -> &[(u32, PortId)] {
        match self.by_node.binary_search_by_key(&node, |(n, _)| *n) {
            Ok(at) => &self.by_node[at].1,
            Err(_) => &[],
        }
    }
}
