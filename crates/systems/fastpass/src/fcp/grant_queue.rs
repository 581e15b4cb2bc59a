//! Grants that wait for a packet.

use crate::wire::fcp::Grant;
use std::collections::VecDeque;

/// Grants in their order, grouped into runs with one base.
#[derive(Clone, Default, Debug)]
pub(super) struct GrantQueue {
    grants: VecDeque<Grant>,
    /// The base and the number of grants of each run.
    runs: VecDeque<(u64, usize)>,
}

impl GrantQueue {
    pub(super) fn clear(&mut self) {
        self.grants.clear();
        self.runs.clear();
    }
    pub(super) fn is_empty(&self) -> bool {
        self.grants.is_empty()
    }
    #[inline]
    pub(super) fn push(&mut self, base: u64, grant: Grant) {
        self.grants.push_back(grant);
        match self.runs.back_mut() {
            Some((last, count)) if *last == base => *count += 1,
            _ => self.runs.push_back((base, 1)),
        }
    }
    /// Some of the first grants, all of one base.
    pub(super) fn front(&self) -> Option<(u64, &[Grant])> {
        let &(base, count) = self.runs.front()?;
        let grants = self.grants.as_slices().0;
        Some((base, &grants[..count.min(grants.len())]))
    }
    /// Removes `count` of the grants of [`GrantQueue::front`].
    pub(super) fn take(&mut self, count: usize) {
        self.grants.drain(..count);
        if self.grants.is_empty() {
            // The buffer is used from its start again, so that the same few cache lines serve each packet.
            self.clear();
            return;
        }
        if let Some(run) = self.runs.front_mut() {
            run.1 -= count;
            if run.1 == 0 {
                self.runs.pop_front();
            }
        }
    }
}
