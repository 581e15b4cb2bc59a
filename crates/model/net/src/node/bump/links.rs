//! The updates between the bumps of one switch, which may be late or lost.

use super::spec::{BumpSpec, Sharing};
use crate::aqm::Marker;
use crate::aqm::bank::Bank;
use crate::aqm::exchange::{Merger, Reporter};
use crate::id::PortId;
use crate::node::{Counters, counters};
use crate::rng::Stream;
use crate::time::Time;
use crate::wire::bump::{OVERHEAD, Update};
use std::collections::VecDeque;

/// The updates that bumps send to each other, and those in transit on dedicated links. There an update takes a fixed
/// time, or does not arrive.
pub(super) struct Links {
    /// By bump; empty if bumps do not share their tables.
    reporters: Vec<Reporter>,
    /// By receiving bump, then by sending bump.
    mergers: Vec<Vec<Merger>>,
    /// Updates in transit: time of arrival, sender, receiver and bytes.
    under_way: VecDeque<(Time, usize, usize, Vec<u8>)>,
    delay: Time,
    loss: f64,
    stream: Stream,
    sent: u64,
    bytes: u64,
}

impl Links {
    pub fn new(spec: &BumpSpec, bumps: usize, seed: u64, key: u64) -> Links {
        let sharing = if spec.sharing == Sharing::Updates { bumps } else { 0 };
        Links {
            reporters: vec![Reporter::new(spec.update_every); sharing],
            mergers: vec![vec![Merger::default(); sharing]; sharing],
            under_way: VecDeque::new(),
            delay: spec.update_delay,
            loss: spec.update_loss,
            stream: Stream::named(seed, "bump.update-loss", key),
            sent: 0,
            bytes: 0,
        }
    }

    /// A packet has passed `bump`. Returns the update for the other bumps, if one is due.
    pub fn passed(&mut self, bump: usize, len: u16, port: PortId) -> Option<Vec<u8>> {
        let update = self.reporters.get_mut(bump)?.passed(len, port)?.emit();
        let others = self.mergers.len() as u64 - 1;
        self.sent += others;
        self.bytes += others * (update.len().max(46) + usize::from(OVERHEAD)) as u64;
        Some(update)
    }

    /// Sends an update to all other bumps, each on a link of its own.
    pub fn send(&mut self, from: usize, update: &[u8], now: Time) {
        for to in (0..self.mergers.len()).filter(|to| *to != from) {
            if self.loss == 0.0 || self.stream.unit() >= self.loss {
                self.under_way.push_back((now + self.delay, from, to, update.to_vec()));
            }
        }
    }

    /// Merges an update that has arrived.
    pub fn merge(
        &mut self,
        from: usize,
        to: usize,
        update: &[u8],
        tables: &mut [Bank<Marker>],
        at: Time,
    ) {
        if let Ok(update) = Update::parse(update) {
            self.mergers[to][from].take(&update, &mut tables[to], at);
        }
    }

    /// Merges all updates that arrive until `now`, each at its time.
    pub fn deliver(&mut self, tables: &mut [Bank<Marker>], now: Time) {
        while let Some((at, from, to, bytes)) = self.under_way.pop_front_if(|(at, ..)| *at <= now) {
            self.merge(from, to, &bytes, tables, at);
        }
    }

    pub fn add_counters(&self, counters: &mut Counters) {
        if self.reporters.is_empty() {
            return;
        }
        let mergers = || self.mergers.iter().flatten();
        counters.add(counters::BUMP_UPDATES, self.sent);
        counters.add(counters::BUMP_UPDATE_BYTES, self.bytes);
        counters.add(counters::BUMP_UPDATES_MERGED, mergers().map(|merger| merger.merged).sum());
        counters.add(counters::BUMP_UPDATES_LOST, mergers().map(|merger| merger.lost).sum());
    }
}
