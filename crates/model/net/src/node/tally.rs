//! What the parts of a central scheme have counted and found.

use super::Stopped;
use super::fault::Fault;
use crate::histogram::Histogram;
use std::collections::BTreeMap;

/// Named counts of a run, added up over nodes. A name says what is counted, in the plural, with its
/// unit where there is one: `directives`, `control_bytes_sent`, `late_slots`. And faults, by name.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Tally {
    counts: BTreeMap<&'static str, u64>,
    faults: Vec<Fault>,
    times: BTreeMap<&'static str, Histogram>,
    pub(super) stopped: Vec<Stopped>,
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
    /// Adds times, in nanoseconds, to those of that name.
    pub fn times(&mut self, name: &'static str, times: &Histogram) {
        self.times.entry(name).or_default().merge(times);
    }
    /// All times, by name.
    pub fn all_times(&self) -> impl Iterator<Item = (&'static str, &Histogram)> {
        self.times.iter().map(|(name, times)| (*name, times))
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
