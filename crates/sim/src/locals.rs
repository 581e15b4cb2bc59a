//! A node's own events within the present window, the earliest first.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// When, of which kind, and the token.
pub(crate) type Local = (u64, u32, u32);

const NONE: Local = (u64::MAX, u32::MAX, u32::MAX);

/// Mostly there is one at a time, when a port is free again: it is kept out of the heap.
pub(crate) struct Locals {
    first: Local,
    others: BinaryHeap<Reverse<Local>>,
}

impl Default for Locals {
    fn default() -> Locals {
        Locals { first: NONE, others: BinaryHeap::new() }
    }
}

impl Locals {
    /// Adds one.
    #[inline]
    pub fn push(&mut self, event: Local) {
        let later = self.first.max(event);
        self.first = self.first.min(event);
        if later != NONE {
            self.others.push(Reverse(later));
        }
    }
    /// Takes the first, if it is before `until`.
    #[inline]
    pub fn pop_before(&mut self, until: u64) -> Option<Local> {
        let first = self.first;
        if first.0 >= until {
            return None;
        }
        self.first =
            if self.others.is_empty() { NONE } else { self.others.pop().map_or(NONE, |next| next.0) };
        Some(first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Against a sorted list.
        #[test]
        fn the_first_comes_first(steps in prop::collection::vec((any::<bool>(), 0u64..9, 0u32..3), 0..200)) {
            let (mut locals, mut list) = (Locals::default(), Vec::new());
            for (push, time, code) in steps {
                if push {
                    locals.push((time, code, 7));
                    list.push((time, code, 7));
                    list.sort_unstable();
                } else {
                    let want = list.first().copied().filter(|first| first.0 < time);
                    prop_assert_eq!(locals.pop_before(time), want);
                    list.drain(..usize::from(want.is_some()));
                }
            }
        }
    }
}
