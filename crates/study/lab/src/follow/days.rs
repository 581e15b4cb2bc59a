//! The days in which circuits were up, for packets that waited for a circuit.

use crate::collect::Scene;
use slotline_net::id::{HostId, NodeId};
use slotline_net::node::Note;
use slotline_net::time::Time;
use std::collections::BTreeMap;

/// Days from the switch of one rack to that of another: ordered time spans with gaps between them.
#[derive(Default)]
pub(super) struct Days {
    spans: BTreeMap<(NodeId, NodeId), Vec<(u64, u64)>>,
    /// Whether packets wait at ports, and not for circuits.
    by_port: bool,
}

impl Days {
    /// Reads the days from `notes`, which are in order of time.
    pub fn of(notes: &[(Time, Note)], scene: &Scene) -> Days {
        // The first host of a rack stands for the rack.
        let switch = |host: HostId| scene.wiring.of(scene.graph.hosts[host.at()])[0].far.node;
        let mut days = Days { by_port: scene.by_port, ..Days::default() };
        for (from, note) in notes {
            if let Note::Circuit { host, dst, until } = *note {
                days.add((switch(host), switch(dst)), from.as_ps(), until.as_ps());
            }
        }
        days
    }

    fn add(&mut self, pair: (NodeId, NodeId), from: u64, until: u64) {
        let spans = self.spans.entry(pair).or_default();
        match spans.last_mut().filter(|last| last.1 >= from) {
            Some(last) => last.1 = last.1.max(until),
            None => spans.push((from, until)),
        }
    }

    /// The time between `from` and `until` without a circuit, in picoseconds.
    pub fn dark(&self, pair: (NodeId, NodeId), from: u64, until: u64) -> u64 {
        if self.by_port {
            return 0;
        }
        let spans = self.spans.get(&pair).map_or(&[][..], Vec::as_slice);
        let first = spans.partition_point(|span| span.1 <= from);
        let within = spans[first..].iter().take_while(|span| span.0 < until);
        let lit: u64 = within.map(|span| span.1.min(until).saturating_sub(span.0.max(from))).sum();
        until.saturating_sub(from).saturating_sub(lit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parallel_circuits_count_once() {
        let (pair, back) = ((NodeId(1), NodeId(2)), (NodeId(2), NodeId(1)));
        let mut days = Days::default();
        for (from, until) in [(10, 30), (20, 40), (40, 50), (70, 80)] {
            days.add(pair, from, until);
        }
        assert_eq!(days.dark(pair, 0, 100), 50);
        assert_eq!(days.dark(pair, 15, 75), 20);
        assert_eq!(days.dark(pair, 45, 50), 0);
        assert_eq!(days.dark(pair, 90, 90), 0);
        assert_eq!(days.dark(back, 0, 100), 100);
    }
}
