//! Totals per destination, and which of them the other end still has to be told.

use crate::wire::fcp::Total;
use std::collections::{BTreeMap, BTreeSet};

#[derive(Clone, Copy, Default, Debug)]
struct Entry {
    slots: u64,
    /// The latest packet that reported it; 0: none that counts.
    reported_in: u64,
}

/// Counts that only grow within an epoch.
#[derive(Clone, Default, Debug)]
pub(super) struct Totals {
    entries: BTreeMap<u32, Entry>,
    due: BTreeSet<u32>,
}

impl Totals {
    pub(super) fn get(&self, dst: u32) -> u64 {
        self.entries.get(&dst).map_or(0, |entry| entry.slots)
    }
    pub(super) fn is_due(&self) -> bool {
        !self.due.is_empty()
    }
    /// Counts `slots` more; nobody has to be told.
    pub(super) fn count(&mut self, dst: u32, slots: u64) {
        let entry = self.entries.entry(dst).or_default();
        entry.slots = entry.slots.saturating_add(slots);
    }
    /// Counts `slots` more, which has to be reported.
    pub(super) fn raise(&mut self, dst: u32, slots: u64) {
        self.count(dst, slots);
        self.due.insert(dst);
    }
    /// Has this total reported again.
    pub(super) fn report(&mut self, dst: u32) {
        self.due.insert(dst);
    }
    /// At most `most` of what has to be reported, as told in packet `number`.
    pub(super) fn take(&mut self, most: usize, number: u64) -> Vec<Total> {
        let taken: Vec<u32> = self.due.iter().copied().take(most).collect();
        taken.iter().map(|&dst| self.told(dst, number)).collect()
    }
    fn told(&mut self, dst: u32, number: u64) -> Total {
        self.due.remove(&dst);
        let entry = self.entries.entry(dst).or_default();
        entry.reported_in = number;
        Total { dst, slots: entry.slots }
    }
    /// Packet `number`, which reported this total, may not have arrived. A later one replaces it.
    pub(super) fn lost(&mut self, dst: u32, number: u64) {
        if self.entries.get(&dst).is_some_and(|entry| entry.reported_in == number) {
            self.due.insert(dst);
        }
    }
    /// A new epoch: each total becomes `left` of it, and is reported unless that is nothing.
    pub(super) fn restart(&mut self, left: impl Fn(u32, u64) -> u64) {
        let old = std::mem::take(self);
        for (dst, entry) in old.entries {
            match left(dst, entry.slots) {
                0 => {}
                slots => self.raise(dst, slots),
            }
        }
    }
}
