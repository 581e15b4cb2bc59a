//! A round: the assignments of each slot.

use slotline_net::id::HostId;
use slotline_net::time::Time;
use slotline_net::units::Rate;

/// `src` may send to `dst` for one slot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Assignment {
    /// The sending host.
    pub src: HostId,
    /// The destination.
    pub dst: HostId,
    /// The highest rate: that of the narrowest link of the path, minus the reserved share.
    pub rate: Rate,
    /// The most bytes to send. They wait, the receiver has room for them, and they fit into the slot.
    pub bytes: u64,
}

/// Slots one after another. Within a slot, no link carries more than its scheduled rate (§4, step 3).
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Round {
    /// How long hosts may send in each slot. A guard time follows.
    pub slot: Time,
    /// The unused time after each slot.
    pub guard: Time,
    assignments: Vec<Assignment>,
    /// By slot, the index of the end of its assignments.
    ends: Vec<u32>,
}

impl Round {
    /// The number of slots.
    pub fn len(&self) -> usize {
        self.ends.len()
    }
    /// Whether there are no slots.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }
    /// The assignments of slot `at`; none after the last slot.
    pub fn slot_at(&self, at: usize) -> &[Assignment] {
        let Some(&end) = self.ends.get(at) else { return &[] };
        let start = at.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.assignments[start as usize..end as usize]
    }
    /// The assignments of each slot.
    pub fn slots(&self) -> impl Iterator<Item = &[Assignment]> {
        (0..self.len()).map(|at| self.slot_at(at))
    }
    /// All assignments from slot `at` on.
    pub fn from_slot(&self, at: usize) -> &[Assignment] {
        let start = at.checked_sub(1).map_or(Some(0), |before| self.ends.get(before).copied());
        start.map_or(&[], |start| &self.assignments[start as usize..])
    }
    /// The assignments from this index on.
    pub(crate) fn tail(&self, at: usize) -> &[Assignment] {
        &self.assignments[at..]
    }
    /// All assignments, slot by slot.
    pub fn assignments(&self) -> &[Assignment] {
        &self.assignments
    }
    /// How long the round lasts, guard times included.
    pub fn span(&self) -> Time {
        (self.slot + self.guard).times(self.len() as u64)
    }

    pub(crate) fn clear(&mut self, slot: Time, guard: Time) {
        (self.slot, self.guard) = (slot, guard);
        self.assignments.clear();
        self.ends.clear();
    }
    /// The index at which the open slot begins.
    pub(crate) fn open(&self) -> usize {
        self.ends.last().copied().unwrap_or(0) as usize
    }
    pub(crate) fn push(&mut self, assignment: Assignment) -> usize {
        self.assignments.push(assignment);
        self.assignments.len() - 1
    }
    pub(crate) fn assignment(&mut self, at: usize) -> &mut Assignment {
        &mut self.assignments[at]
    }
    /// Removes the latest assignment.
    pub(crate) fn pop(&mut self) -> Option<Assignment> {
        self.assignments.pop()
    }
    /// Ends the open slot.
    pub(crate) fn close(&mut self) {
        self.ends.push(self.assignments.len() as u32);
    }
}
