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

/// Puts samples into the order of time, then series. Those of a shard are in the order of time, and at one time each series
/// has at most one. Mostly all have one: then its series is its place.
pub(crate) fn sort(samples: &mut [Sample]) {
    if !samples.is_sorted_by_key(|sample| sample.time) {
        samples.sort_by_key(|sample| sample.time);
    }
    let series = samples.iter().map(|sample| sample.series as usize + 1).max().unwrap_or(0);
    let mut given = Vec::with_capacity(series);
    for of_time in samples.chunk_by_mut(|a, b| a.time == b.time) {
        if of_time.len() < series {
            of_time.sort_unstable_by_key(|sample| sample.series);
            continue;
        }
        given.clear();
        given.extend_from_slice(of_time);
        given.iter().for_each(|sample: &Sample| of_time[sample.series as usize] = *sample);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn samples_are_in_order_of_time_and_series(
            taken in prop::collection::btree_set((0u64..20, 0u32..6), 0..120),
            by_time: bool,
            seed: u64,
        ) {
            let sample = |(time, series)| Sample { time, series, queued: time, sent: series.into() };
            let expected: Vec<Sample> = taken.into_iter().map(sample).collect();
            let mut given = expected.clone();
            given.sort_by_key(|sample| {
                let lot = slotline_net::rng::mix64(seed ^ sample.time << 8 ^ u64::from(sample.series));
                (if by_time { sample.time } else { 0 }, lot)
            });
            sort(&mut given);
            prop_assert_eq!(given, expected);
        }
    }
}
