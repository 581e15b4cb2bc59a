//! The time at which each peer needs attention.

use slotline_base::time::Time;
use std::collections::BTreeSet;

/// One deadline for each peer that has one. The peer stores it, too, to find the entry again.
#[derive(Default)]
pub(crate) struct Timers(BTreeSet<(Time, u32)>);

impl Timers {
    /// Moves the deadline of `peer` from `old` to `new`; [`Time::MAX`] means no deadline.
    pub fn set(&mut self, peer: u32, old: &mut Time, new: Time) {
        if *old == new {
            return;
        }
        self.0.remove(&(*old, peer));
        if new < Time::MAX {
            self.0.insert((new, peer));
        }
        *old = new;
    }
    /// The earliest deadline.
    pub fn next(&self) -> Option<Time> {
        self.0.first().map(|(time, _)| *time)
    }
    /// A peer whose deadline has come.
    pub fn due(&self, now: Time) -> Option<u32> {
        self.0.first().filter(|(time, _)| *time <= now).map(|(_, peer)| *peer)
    }
}
