//! What the parts of a central scheme have counted.

use std::collections::BTreeMap;

/// Named counts of a run, added up over nodes. A name says what is counted, in the plural, with its
/// unit where there is one: `directives`, `control_bytes_sent`, `late_slots`.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Tally(BTreeMap<&'static str, u64>);

impl Tally {
    /// Adds to a count, which begins with zero.
    pub fn add(&mut self, name: &'static str, count: u64) {
        *self.0.entry(name).or_default() += count;
    }
    /// Raises a high-water mark.
    pub fn most(&mut self, name: &'static str, value: u64) {
        let mark = self.0.entry(name).or_default();
        *mark = value.max(*mark);
    }
    /// All counts, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, u64)> {
        self.0.iter().map(|(name, count)| (*name, *count))
    }
}
