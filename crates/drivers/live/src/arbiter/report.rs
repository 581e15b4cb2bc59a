//! What an arbiter tells of itself.

use super::time::Source;
use super::topology::Topology;
use super::{Arbiter, PRESENT};
use crate::clock::Local;
use crate::seat::Seat;
use crate::status::ArbiterStatus;
use slotline_net::node::Counters;
use slotline_net::time::Time;
use std::collections::BTreeMap;

impl Arbiter {
    /// The state at `now`.
    pub fn status(&mut self, now: Local) -> ArbiterStatus {
        let mut counters = Default::default();
        let report = self.seat.as_ref().map(Seat::report).unwrap_or_default();
        let line = self.line.report(PRESENT, now);
        self.seat.iter().for_each(|seat| seat.node().add_counters(&mut counters));
        let time = self.source.as_mut().and_then(|source| source.now(now));
        ArbiterStatus {
            rank: self.setup.rank,
            term: self.election.as_ref().map(|election| election.standing().0),
            active: self.is_active(),
            epoch: self.source.as_ref().map_or(0, Source::epoch),
            time_ns: time.map_or(0, Time::as_ns),
            peers: line.present,
            drained_hosts: self.drained.values().cloned().collect(),
            received: self.received,
            sent: report.sent,
            lost_messages: report.lost + line.lost,
            recording: self.setup.recorder.as_ref().map(|recorder| match recorder.fault() {
                Some(error) => error.to_string(),
                None => "ok".into(),
            }),
            refused: line.refused,
            over_quota: line.over_quota,
            latest_ns: report.latest.as_ns(),
            other_scenario: self.strangers(),
            topology: self.topology.as_ref().map(Topology::status),
            faults: counters.faults().iter().map(|fault| self.setup.parts.status(fault)).collect(),
            counters: self.counted(&counters),
        }
    }

    /// The counters of the scheme, and those of the election.
    fn counted(&self, counters: &Counters) -> BTreeMap<&'static str, u64> {
        let mut named = crate::status::named(counters);
        if let Some(election) = &self.election {
            let (take_overs, silence) = election.history();
            named.insert("lease_lapses", election.lapses());
            named.insert("take_overs", take_overs);
            named.insert("take_over_silence_ns", silence.as_nanos() as u64);
        }
        named
    }
}
