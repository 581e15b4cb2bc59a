//! The events of one node that are not packets, within the current window, the earliest first.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// An event: its time, its kind and its token in one number, which sorts in this order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct NodeEvent(u128);

const NONE: NodeEvent = NodeEvent(u128::MAX);

impl NodeEvent {
    #[inline]
    pub fn new(time: u64, code: u32, token: u32) -> NodeEvent {
        NodeEvent(u128::from(time) << 64 | u128::from(code) << 32 | u128::from(token))
    }
    #[inline]
    pub fn time(self) -> u64 {
        (self.0 >> 64) as u64
    }
    #[inline]
    pub fn code(self) -> u32 {
        (self.0 >> 32) as u32
    }
    #[inline]
    pub fn token(self) -> u32 {
        self.0 as u32
    }
}

/// The events. Usually there is one at a time, for the time at which a port is free again. The first event is stored
/// outside the heap.
pub(crate) struct NodeEvents {
    first: NodeEvent,
    others: BinaryHeap<Reverse<NodeEvent>>,
}

impl Default for NodeEvents {
    fn default() -> NodeEvents {
        NodeEvents { first: NONE, others: BinaryHeap::new() }
    }
}

impl NodeEvents {
    /// Adds an event.
    #[inline]
    pub fn push(&mut self, event: NodeEvent) {
        let later = self.first.max(event);
        self.first = self.first.min(event);
        if later != NONE {
            self.others.push(Reverse(later));
        }
    }
    /// Whether there is an event before `until`.
    #[inline]
    pub fn any_before(&self, until: u64) -> bool {
        self.first.time() < until
    }
    /// Takes the first event. There must be one.
    #[inline]
    pub fn pop(&mut self) -> NodeEvent {
        let next = if self.others.is_empty() { None } else { self.others.pop() };
        std::mem::replace(&mut self.first, next.map_or(NONE, |next| next.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Compared with a sorted list.
        #[test]
        fn the_first_comes_first(steps in prop::collection::vec((any::<bool>(), 0u64..9, 0u32..3), 0..200)) {
            let (mut node_events, mut list) = (NodeEvents::default(), Vec::new());
            for (push, time, code) in steps {
                if push {
                    node_events.push(NodeEvent::new(time, code, 7));
                    list.push((time, code, 7));
                    list.sort_unstable();
                } else {
                    let want = list.first().copied().filter(|first| first.0 < time);
                    prop_assert_eq!(node_events.any_before(time), want.is_some());
                    if let Some(want) = want {
                        let got = node_events.pop();
                        prop_assert_eq!((got.time(), got.code(), got.token()), want);
                    }
                    list.drain(..usize::from(want.is_some()));
                }
            }
        }
    }
}
