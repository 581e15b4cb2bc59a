//! A priority queue of times, most of which are later than the first one: a radix heap.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::iter::successors;

/// A time, and the item that it belongs to.
pub type Entry = (u64, u32);

/// The number of buckets.
const BUCKETS: usize = u64::BITS as usize;
/// With more entries than this up to `base`, a lower base is chosen.
const MANY: usize = 32;
/// The number of entries that [`Agenda::next`] finds.
const SOON: usize = 8;

/// Entries by time, the earliest first. Of entries with equal times, the one with the lowest item comes first.
#[derive(Clone, Debug)]
pub struct Agenda {
    /// The entries up to `base`.
    first: BinaryHeap<Reverse<Entry>>,
    base: u64,
    /// The later ones, by the highest bit in which their times differ from `base`: those of a bucket are later than
    /// those of the buckets before it.
    buckets: [Vec<Entry>; BUCKETS],
    /// A bit for each bucket that is not empty.
    used: u64,
    len: usize,
}

impl Default for Agenda {
    fn default() -> Agenda {
        let buckets = std::array::from_fn(|_| Vec::new());
        Agenda { first: BinaryHeap::new(), base: 0, buckets, used: 0, len: 0 }
    }
}

impl Agenda {
    /// The number of entries.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Adds an entry.
    #[inline]
    pub fn push(&mut self, entry: Entry) {
        self.len += 1;
        self.place(entry);
        if self.first.len() > MANY {
            self.lower();
        }
    }

    /// The first entry.
    #[inline]
    pub fn first(&mut self) -> Option<Entry> {
        while self.first.is_empty() && self.used != 0 {
            self.open();
        }
        self.first.peek().map(|Reverse(entry)| *entry)
    }

    /// Removes the first entry, if [`Agenda::first`] has returned one.
    pub fn pop(&mut self) {
        self.len -= usize::from(self.first.pop().is_some());
    }

    /// Some of the entries that come next after the first one.
    pub fn next(&self) -> impl Iterator<Item = Entry> {
        let first = self.first.as_slice().iter().skip(1).map(|Reverse(entry)| entry);
        let used = successors(Some(self.used), |used| Some(used & used.wrapping_sub(1)));
        let lowest = used.map_while(|used| self.buckets.get(used.trailing_zeros() as usize));
        first.chain(lowest.flatten()).take(SOON).copied()
    }

    /// Removes the entries that `keep` does not accept.
    pub fn retain(&mut self, mut keep: impl FnMut(Entry) -> bool) {
        self.first.retain(|Reverse(entry)| keep(*entry));
        self.buckets.iter_mut().for_each(|bucket| bucket.retain(|entry| keep(*entry)));
        self.len = self.first.len() + self.buckets.iter().map(Vec::len).sum::<usize>();
        for (at, bucket) in self.buckets.iter().enumerate() {
            self.used &= !(u64::from(bucket.is_empty()) << at);
        }
    }

    #[inline]
    fn place(&mut self, entry: Entry) {
        if entry.0 <= self.base {
            return self.first.push(Reverse(entry));
        }
        let bucket = (entry.0 ^ self.base).ilog2() as usize;
        self.used |= 1 << bucket;
        self.buckets[bucket].push(entry);
    }

    /// Makes the earliest time the base, and moves the entries near it.
    fn lower(&mut self) {
        let earliest = self.first.peek().map(|Reverse((time, _))| *time);
        let Some(time) = earliest.filter(|time| *time < self.base) else { return };
        let near = (time ^ self.base).ilog2() as usize;
        let mut entries: Vec<Entry> = self.first.drain().map(|Reverse(entry)| entry).collect();
        self.buckets[..near].iter_mut().for_each(|bucket| entries.append(bucket));
        self.used &= u64::MAX << near;
        self.base = time;
        entries.into_iter().for_each(|entry| self.place(entry));
    }

    /// Distributes the entries of the first bucket that has any: the earliest of them become first.
    fn open(&mut self) {
        let at = self.used.trailing_zeros() as usize;
        let mut bucket = std::mem::take(&mut self.buckets[at]);
        self.used &= self.used - 1;
        self.base = bucket.iter().map(|(time, _)| *time).min().unwrap_or(self.base);
        bucket.drain(..).for_each(|entry| self.place(entry));
        self.buckets[at] = bucket;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn is_a_sorted_list(
            steps in prop::collection::vec((0u8..5, 0u32..20, 0u64..50, 0u32..60), 1..400),
        ) {
            let (mut agenda, mut plain) = (Agenda::default(), Vec::new());
            for (what, item, time, shift) in steps {
                match what {
                    0 => {
                        let first = agenda.first();
                        agenda.pop();
                        prop_assert_eq!(first, plain.first().copied());
                        plain.drain(..plain.len().min(1));
                    }
                    1 if item == 0 => {
                        agenda.retain(|(time, item)| (time + u64::from(item)) % 3 > 0);
                        plain.retain(|(time, item)| (time + u64::from(*item)) % 3 > 0);
                    }
                    _ => {
                        agenda.push((time << shift, item));
                        plain.push((time << shift, item));
                        plain.sort_unstable();
                    }
                }
                prop_assert_eq!(agenda.len(), plain.len());
            }
            while let Some(first) = agenda.first() {
                prop_assert_eq!(first, plain.remove(0));
                agenda.pop();
            }
            prop_assert!(plain.is_empty());
        }
    }
}
