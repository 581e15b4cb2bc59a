//! Links in order of the levels of their turns, where no turn comes before one that has been.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// A link's turn; the lowest comes first.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Turn {
    /// Not negative.
    pub key: f64,
    pub link: u32,
}

impl Eq for Turn {}

impl PartialOrd for Turn {
    #[inline]
    fn partial_cmp(&self, other: &Turn) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Turn {
    /// The bits of numbers that are not negative are in order of the numbers.
    #[inline]
    fn cmp(&self, other: &Turn) -> Ordering {
        let (mine, theirs) = (self.key.to_bits(), other.key.to_bits());
        theirs.cmp(&mine).then(other.link.cmp(&self.link))
    }
}

/// Keys that differ in lower bits than these are in one bucket: 256 buckets to each power of two.
const SHIFT: u32 = 52 - 8;
/// Buckets ahead that are kept apart.
const AHEAD: u64 = 4096;

/// Turns in order. Those that are near are in a small heap; the others lie in buckets until their time
/// comes.
#[derive(Clone, Debug)]
pub(super) struct Queue {
    near: BinaryHeap<Turn>,
    /// The bucket up to which turns are near.
    at: u64,
    ahead: Vec<Vec<Turn>>,
    /// By bucket ahead, whether there is anything in it.
    used: [u64; AHEAD as usize / 64],
    beyond: Vec<Turn>,
    /// The first bucket of those beyond.
    first_beyond: u64,
}

impl Default for Queue {
    fn default() -> Queue {
        Queue {
            near: BinaryHeap::new(),
            at: 0,
            ahead: vec![Vec::new(); AHEAD as usize],
            used: [0; AHEAD as usize / 64],
            beyond: Vec::new(),
            first_beyond: u64::MAX,
        }
    }
}

impl Queue {
    #[inline]
    pub fn push(&mut self, turn: Turn) {
        let bucket = turn.key.to_bits() >> SHIFT;
        if bucket <= self.at {
            self.near.push(turn);
        } else if bucket - self.at < AHEAD {
            let place = (bucket % AHEAD) as usize;
            self.ahead[place].push(turn);
            self.used[place / 64] |= 1 << (place % 64);
        } else {
            self.first_beyond = bucket.min(self.first_beyond);
            self.beyond.push(turn);
        }
    }

    #[inline]
    pub fn pop(&mut self) -> Option<Turn> {
        if self.near.is_empty() {
            self.come_near();
        }
        let turn = self.near.pop();
        if turn.is_none() {
            self.at = 0;
        }
        turn
    }

    /// The key of the first turn; infinite where there is none.
    #[inline]
    pub fn first(&mut self) -> f64 {
        if self.near.is_empty() {
            self.come_near();
        }
        self.near.peek().map_or(f64::INFINITY, |turn| turn.key)
    }

    /// Brings the next turns near, if there are any.
    fn come_near(&mut self) {
        let ahead = self.next_bucket().unwrap_or(u64::MAX);
        let first = ahead.min(self.first_beyond);
        if first == u64::MAX {
            return;
        }
        self.at = first;
        if ahead == first {
            let place = (first % AHEAD) as usize;
            self.used[place / 64] &= !(1 << (place % 64));
            self.near.extend(self.ahead[place].drain(..));
        }
        if self.first_beyond == first {
            self.first_beyond = u64::MAX;
            let turns = std::mem::take(&mut self.beyond);
            turns.into_iter().for_each(|turn| self.push(turn));
        }
    }

    /// The first bucket ahead that has anything in it.
    fn next_bucket(&self) -> Option<u64> {
        let start = (self.at + 1) % AHEAD;
        let (word, bit) = ((start / 64) as usize, start % 64);
        let words = self.used.len();
        for step in 0..=words {
            let at = (word + step) % words;
            let mask = match step {
                0 => u64::MAX << bit,
                step if step == words => (1u64 << bit) - 1,
                _ => u64::MAX,
            };
            let found = self.used[at] & mask;
            if found != 0 {
                let place = at as u64 * 64 + u64::from(found.trailing_zeros());
                return Some(self.at + 1 + (place + AHEAD - start) % AHEAD);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn is_a_heap(
            steps in prop::collection::vec((0.0f64..1.0, any::<bool>(), 0i32..40), 1..400),
        ) {
            let (mut queue, mut plain) = (Queue::default(), BinaryHeap::new());
            let mut now = 0.0;
            for (n, (part, push, power)) in steps.into_iter().enumerate() {
                if push || plain.is_empty() {
                    let key = now + part * 2f64.powi(power - 20);
                    let turn = Turn { key, link: n as u32 };
                    queue.push(turn);
                    plain.push(turn);
                } else {
                    let first = plain.pop();
                    prop_assert_eq!(queue.first(), first.map_or(f64::INFINITY, |turn| turn.key));
                    prop_assert_eq!(queue.pop(), first);
                    now = first.map_or(now, |turn| turn.key);
                }
            }
            while let Some(turn) = plain.pop() {
                prop_assert_eq!(queue.pop(), Some(turn));
            }
            prop_assert_eq!(queue.pop(), None);
        }
    }
}
