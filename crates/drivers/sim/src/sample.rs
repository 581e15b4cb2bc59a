//! Periodic samples of ports.

use crate::calendar::Windows;
use crate::item::{IDLE, Item, NONE};
use crate::links::own;
use crate::network::Place;
use crate::node_events::NodeEvent;
use crate::shard::Shard;
use slotline_net::id::{NodeId, PortId};
use slotline_net::node::Node;
use slotline_net::time::Time;
use std::sync::Arc;

/// A sampled port.
pub(crate) struct Sampled {
    /// Index into [`crate::Network::sampled`].
    pub number: u32,
    /// The number of sampled ports of the same shard before it. Those of a node follow each other.
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
        let ports = if interval > Time::ZERO { ports } else { &[] };
        let mut all: Vec<(u32, (NodeId, PortId))> = (0..).zip(ports.iter().copied()).collect();
        all.sort_by_key(|(_, (node, _))| *node);
        let sampled = |(number, (node, port)): (u32, (NodeId, PortId))| {
            let count = &mut counts[cuts.partition_point(|&cut| cut <= node.at()) - 1];
            *count += 1;
            (node.at(), Sampled { number, place: *count - 1, port })
        };
        let mut by_node: Vec<(usize, Vec<Sampled>)> = Vec::new();
        for (node, port) in all.into_iter().map(sampled) {
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
    /// Handles the events of all sampled nodes, also of those that have none, with the samples of this window. A node that
    /// has been idle since its last samples is passed over: they would be the same.
    #[cold]
    pub fn handle_sampled(
        &mut self,
        places: &mut [Place],
        items: &mut Vec<Item>,
        windows: Windows,
    ) {
        let shared = Arc::clone(&self.links.shared);
        let (first, interval) = (self.next_samples.0, shared.sampler.interval);
        let end = self.links.window_end.min(shared.end);
        let times: Vec<u64> = (first..end).step_by(interval as usize).collect();
        self.first_turn = self.samples.begin(&times);
        let mine = self.first_node..self.first_node + places.len();
        for node in shared.sampler.nodes().filter(|node| mine.contains(node)) {
            let at = node - self.first_node;
            if self.last[at] == IDLE {
                self.events += times.len() as u64;
                continue;
            }
            self.is_idle = self.last[at] == NONE;
            for time in &times {
                self.links.node_events.push(NodeEvent::new(*time, own::SAMPLE, 0));
            }
            self.handle(places, at as u32, items);
            if self.is_idle {
                self.last[at] = IDLE;
            }
        }
        let next = first + times.len() as u64 * interval;
        self.next_samples = window_of(if next < shared.end { next } else { u64::MAX }, windows);
    }

    /// Takes the samples of a node's ports at `time`.
    pub fn sample<N: Node + ?Sized>(&mut self, id: usize, node: &mut N, time: u64) {
        let shared = Arc::clone(&self.links.shared);
        let later = (time - self.next_samples.0) / shared.sampler.interval;
        let (turn, first) = (self.first_turn + later as usize, shared.layout.first[id]);
        let ports = shared.sampler.of(id);
        let series = self.samples.series_from(ports.first().map_or(0, |port| port.place));
        for (Sampled { port, .. }, series) in ports.iter().zip(series) {
            let (line, until) = self.links.sending(first + u32::from(port.0));
            let pulled = line.is_pulled();
            // Most ports are idle. The number of bytes takes a division.
            let unsent = if until > time { line.bytes_between(time, until) } else { 0 };
            let queued = if pulled { node.queued(*port) } else { unsent };
            let sent = line.bytes().saturating_sub(unsent);
            self.is_idle &= until <= time && queued == 0;
            series.take(turn, queued, sent);
        }
        self.events += 1;
    }
}

/// A time and its window; the highest numbers for the time that never comes.
pub(crate) fn window_of(time: u64, windows: Windows) -> (u64, u64) {
    (time, if time == u64::MAX { u64::MAX } else { windows.of(time) })
}
