//! The deadlines of many sessions, to find the one that is due next.

use slotline_net::time::Time;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A deadline for each number. A replaced deadline stays in the heap until its time comes.
pub(super) struct Deadlines {
    deadlines: Vec<Time>,
    heap: BinaryHeap<Reverse<(Time, u32)>>,
}

impl Deadlines {
    pub fn new(numbers: usize) -> Deadlines {
        Deadlines { deadlines: vec![Time::MAX; numbers], heap: BinaryHeap::new() }
    }
    /// Replaces a deadline. `None` removes it.
    pub fn set(&mut self, number: u32, deadline: Option<Time>) {
        let deadline = deadline.unwrap_or(Time::MAX);
        let known = std::mem::replace(&mut self.deadlines[number as usize], deadline);
        if deadline < Time::MAX && deadline != known {
            self.heap.push(Reverse((deadline, number)));
        }
    }
    /// The next deadline.
    pub fn next(&mut self) -> Option<Time> {
        while let Some(&Reverse((at, number))) = self.heap.peek() {
            if self.deadlines[number as usize] == at {
                return Some(at);
            }
            self.heap.pop();
        }
        None
    }
    /// Returns a number whose deadline has come, and removes the deadline.
    pub fn pop(&mut self, now: Time) -> Option<u32> {
        self.next().filter(|&at| at <= now)?;
        let Reverse((_, number)) = self.heap.pop()?;
        self.deadlines[number as usize] = Time::MAX;
        Some(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn as_a_search_of_all(steps in prop::collection::vec((0u32..8, prop::option::of(0u64..50), any::<bool>()), 1..200)) {
            let mut due = Deadlines::new(8);
            let mut plain = [None; 8];
            for (number, at, pops) in steps {
                let at = at.map(Time::us);
                due.set(number, at);
                plain[number as usize] = at;
                let first = plain.iter().flatten().min().copied();
                prop_assert_eq!(due.next(), first);
                if pops && let Some(first) = first {
                    let popped = due.pop(first).unwrap();
                    prop_assert_eq!(plain[popped as usize].take(), Some(first));
                }
            }
        }
    }
}
