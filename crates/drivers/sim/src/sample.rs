//! Periodic samples of ports.

use crate::calendar::Windows;
use crate::item::Item;
use crate::line::Discipline;
use crate::links::own;
use crate::node_events::NodeEvent;
use crate::shard::Shard;
use slotline_net::id::{NodeId, PortId};
use slotline_net::node::Node;
use slotline_net::time::Time;
use std::sync::Arc;

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

impl Shard {
    /// Handles the events of all sampled nodes, also of those that have none, with the samples of this window.
    #[cold]
    pub fn handle_sampled(&mut self, items: &mut Vec<Item>, windows: Windows) {
        let shared = Arc::clone(&self.links.shared);
        let (first, interval) = (self.next_samples.0, shared.sampler.interval);
        let end = self.links.window_end.min(shared.end);
        let times: Vec<u64> = (first..end).step_by(interval as usize).collect();
        self.samples_before = self.samples.len();
        let after = self.samples_before + times.len() * self.sampled_ports;
        self.samples.resize(after, Sample::BLANK);
        let mine = self.first_node..self.first_node + self.places.len();
        for node in shared.sampler.nodes().filter(|node| mine.contains(node)) {
            self.collect(node - self.first_node, items);
            for time in &times {
                self.links.node_events.push(NodeEvent::new(*time, own::SAMPLE, 0));
            }
            self.handle(node - self.first_node, items);
        }
        let next = first + times.len() as u64 * interval;
        self.next_samples = window_of(if next < shared.end { next } else { u64::MAX }, windows);
    }

    /// Takes the samples of a node's ports at `time`.
    pub fn sample<N: Node + ?Sized>(&mut self, id: usize, node: &mut N, time: u64) {
        let shared = Arc::clone(&self.links.shared);
        let turn = ((time - self.next_samples.0) / shared.sampler.interval) as usize;
        let first = self.samples_before + turn * self.sampled_ports;
        for Sampled { series, place, port } in shared.sampler.of(id) {
            let index = shared.layout.first[id] + u32::from(port.0);
            let until = self.links.sends_until(index);
            let (line, _) = self.links.line(index);
            let pulled = line.discipline() == Discipline::Pulled;
            let unsent = line.bytes_between(time, until);
            let queued = if pulled { node.queued(*port) } else { unsent };
            let sent = line.bytes().saturating_sub(unsent);
            self.samples[first + place] = Sample { time, series: *series, queued, sent };
        }
        self.events += 1;
    }
}

/// A time and its window; the highest numbers for the time that never comes.
pub(crate) fn window_of(time: u64, windows: Windows) -> (u64, u64) {
    (time, if time == u64::MAX { u64::MAX } else { windows.of(time) })
}
