//! What the parts of a central scheme have counted and found.

use super::fault::Fault;
use std::collections::BTreeMap;

/// Named counts of a run, added up over nodes. A name says what is counted, in the plural, with its
/// unit where there is one: `directives`, `control_bytes_sent`, `late_slots`. And faults, by name.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Tally {
    counts: BTreeMap<&'static str, u64>,
    faults: Vec<Fault>,
}

impl Tally {
    /// Adds to a count, which begins with zero.
    pub fn add(&mut self, name: &'static str, count: u64) {
        *self.counts.entry(name).or_default() += count;
    }
    /// Raises a high-water mark.
    pub fn most(&mut self, name: &'static str, value: u64) {
        let mark = self.counts.entry(name).or_default();
        *mark = value.max(*mark);
    }
    /// Notes a part that was found to be faulty.
    pub fn fault(&mut self, fault: Fault) {
        self.faults.push(fault);
    }
    /// All counts, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, u64)> {
        self.counts.iter().map(|(name, count)| (*name, *count))
    }
    /// All faults, in the order they were found.
    pub fn faults(&self) -> Vec<Fault> {
        let mut faults = self.faults.clone();
        faults.sort_unstable();
        faults
    }
}
