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

impl Sample {
    /// A sample that is not taken yet.
    pub(crate) const BLANK: Sample = Sample { time: 0, series: 0, queued: 0, sent: 0 };
}

/// A sampled port.
pub(crate) struct Sampled {
    pub series: u32,
    /// The number of ports of the same shard with lower series.
    pub place: usize,
    pub port: PortId,
}

/// The sampled ports, by node.
pub(crate) struct Sampler {
    pub interval: u64,
    by_node: Vec<(usize, Vec<Sampled>)>,
}

impl Sampler {
    /// Samples of `ports` each `interval`, if that is not zero. `cuts` are the first nodes of shards, and the number of nodes.
    pub fn new(interval: Time, ports: &[(NodeId, PortId)], cuts: &[usize]) -> Sampler {
        let mut counts = vec![0; cuts.len()];
        let sampled = |(series, (node, port)): (u32, &(NodeId, PortId))| {
            let count = &mut counts[cuts.partition_point(|&cut| cut <= node.at()) - 1];
            *count += 1;
            (node.at(), Sampled { series, place: *count - 1, port: *port })
        };
        let ports = if interval > Time::ZERO { ports } else { &[] };
        let mut all: Vec<(usize, Sampled)> = (0..).zip(ports).map(sampled).collect();
        all.sort_by_key(|(node, _)| *node);
        let mut by_node: Vec<(usize, Vec<Sampled>)> = Vec::new();
        for (node, port) in all {
            match by_node.last_mut() {
                Some((last, ports)) if *last == node => ports.push(port),
                _ => by_node.push((node, vec![port])),
            }
        }
        Sampler { interval: interval.as_ps(), by_node }
    }
    /// The time of the first samples; the highest number if there are none.
    pub fn first(&self) -> u64 {
        if self.by_node.is_empty() { u64::MAX } else { self.interval }
    }
    pub fn nodes(&self) -> impl Iterator<Item = usize> {
        self.by_node.iter().map(|(node, _)| *node)
    }
    pub fn of(&self, node: usize) -> &[Sampled] {
        match self.by_node.binary_search_by_key(&node, |(n, _)| *n) {
            Ok(at) => &self.by_node[at].1,
            Err(_) => &[],
        }
    }
}
