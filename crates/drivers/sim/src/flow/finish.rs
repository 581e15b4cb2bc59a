//! The results of a finished run.

use super::engine::Engine;
use super::network::{FlowOutcome, Volume};
use crate::parallel::Watch;
use slotline_net::rng::mix64;
use slotline_net::time::Time;
use slotline_net::workload::Carrier;
use std::sync::atomic::Ordering;

impl Engine {
    pub(super) fn finish(mut self, watch: &Watch) -> FlowOutcome {
        self.rates.advance(self.now);
        self.book_all();
        watch.reached.store(self.now, Ordering::Relaxed);
        watch.completed.store(self.completed, Ordering::Relaxed);
        self.deliver_parts();
        let volume = self.volume();
        assert!(volume.holds(), "bytes were lost or invented: {volume:?}");
        let links = 0..self.fabric.links() as u32;
        let carried: Vec<u64> = links.map(|link| self.carried(link).round() as u64).collect();
        let mut outcome = FlowOutcome {
            ports: self.fabric.by_port(&carried),
            flows: self.flows,
            samples: self.samples,
            counts: self.scheduled.as_ref().map_or_else(Vec::new, |scheme| scheme.counts()),
            events: self.events,
            effort: self.rates.effort(),
            completed: self.completed,
            volume,
            reached: Time::ps(self.now),
            digest: 0,
        };
        outcome.digest = digest(&outcome);
        outcome
    }

    /// Counts the bytes that have arrived of unfinished flows.
    fn deliver_parts(&mut self) {
        for (key, _) in self.senders.all() {
            let sender = *self.senders.of(key);
            self.last_path(key);
            let latency = self.fabric.latency(self.path.iter().copied(), 0);
            let (wire, _) = self.plan.wire_bytes(sender.flow);
            let on_its_way = self.rates.rate(key) * latency.as_secs_f64();
            let not_there = self.rates.left(key) + on_its_way;
            let share = (1.0 - not_there / wire as f64).clamp(0.0, 1.0);
            let payload = self.plan.traffic.flows[sender.flow as usize].bytes;
            self.flows[sender.flow as usize].delivered = (payload as f64 * share) as u64;
        }
    }

    /// The byte counts, from links on one side and from flows on the other.
    fn volume(&self) -> Volume {
        let mut volume = Volume::default();
        for (conn, info) in (0..).zip(&self.plan.traffic.conns) {
            let sent = self.senders.sent(conn);
            for flow in info.first.0..info.first.0 + info.count {
                let passage = &self.flows[flow as usize];
                let wire = self.plan.wire_bytes(flow).0;
                volume.offered += if passage.started < Time::MAX { wire } else { 0 };
                if passage.finished < Time::MAX {
                    volume.delivered += wire;
                } else if flow - info.first.0 < sent {
                    volume.under_way += wire;
                }
            }
        }
        for (key, _) in self.senders.all() {
            volume.under_way += self.senders.of(key).booked_of_flow();
        }
        (volume.missed, volume.roundable) = (self.missed, self.roundable);
        volume.parts = self.senders.parts;
        volume.sent = self.fabric.first_links().map(|link| self.carried(link as u32)).sum();
        volume
    }

    /// Whether all of a connection's flows are datagrams.
    pub(super) fn is_udp(&self, conn: u32) -> bool {
        self.plan.traffic.conns[conn as usize].carrier != Carrier::Tcp
    }
}

/// Computes the digest of all visible results, in canonical order.
fn digest(outcome: &FlowOutcome) -> u64 {
    let mut hash = 0u64;
    let mut add = |value: u64| hash = mix64(hash.rotate_left(5) ^ value);
    outcome.ports.iter().flatten().copied().for_each(&mut add);
    for flow in &outcome.flows {
        [flow.started.as_ps(), flow.finished.as_ps(), flow.delivered]
            .into_iter()
            .for_each(&mut add);
    }
    outcome.samples.fingerprint(&mut add);
    outcome.counts.iter().map(|(_, count)| *count).for_each(&mut add);
    [outcome.completed, outcome.reached.as_ps()].into_iter().for_each(&mut add);
    hash
}
