//! The timeslots that a host was granted and that have not begun. If a host sends several packets per timeslot,
//! each timeslot has as many successive numbers.

use slotline_net::id::HostId;
use slotline_net::prefetch::prefetch;

/// A granted timeslot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Granted {
    pub slot: u64,
    pub dst: HostId,
    pub path: u16,
}

const WORD: u64 = 64;

/// A ring of timeslots, with one bit for each granted timeslot, its destination and its path.
pub(super) struct GrantedSlots {
    words: Vec<u64>,
    what: Vec<(HostId, u16)>,
    /// The first timeslot that may be stored.
    first: u64,
    /// The end of the stored timeslots.
    end: u64,
}

impl GrantedSlots {
    /// Makes room for timeslots up to `ahead` after the next.
    pub fn new(ahead: u64) -> GrantedSlots {
        let words = ahead.div_ceil(WORD).next_power_of_two().max(2) as usize;
        let what = vec![(HostId(0), 0); words * WORD as usize];
        GrantedSlots { words: vec![0; words], what, first: 0, end: 0 }
    }
    /// Requests the next timeslot.
    #[inline]
    pub fn expect(&self) {
        let at = self.at(self.first);
        prefetch(&self.what, at as u32);
        prefetch(&self.words, (at as u64 / WORD) as u32);
    }
    /// The destination of the next timeslot, if none was removed since it was looked for.
    #[inline]
    pub fn first(&self) -> Option<HostId> {
        (self.first < self.end).then(|| self.what[self.at(self.first)].0)
    }
    const fn len(&self) -> u64 {
        self.what.len() as u64
    }
    fn bit(&self, slot: u64) -> (usize, u64) {
        ((slot / WORD) as usize & (self.words.len() - 1), 1 << (slot % WORD))
    }
    fn at(&self, slot: u64) -> usize {
        (slot & (self.len() - 1)) as usize
    }
    /// Stores a timeslot. Returns false if its place is taken, or it is over or too far ahead.
    pub fn put(&mut self, granted: Granted) -> bool {
        let Granted { slot, dst, path } = granted;
        if self.next().is_none() {
            // Nothing is stored, so the ring can begin anywhere.
            (self.first, self.end) = (slot, slot);
        }
        let (word, bit) = self.bit(slot);
        let (first, end) = (self.first.min(slot), self.end.max(slot + 1));
        if end - first > self.len() || self.words[word] & bit != 0 {
            return false;
        }
        (self.first, self.end) = (first, end);
        self.words[word] |= bit;
        let at = self.at(slot);
        self.what[at] = (dst, path);
        true
    }
    /// The earliest timeslot stored.
    pub fn next(&mut self) -> Option<Granted> {
        while self.first < self.end {
            let (word, _) = self.bit(self.first);
            let rest = self.words[word] >> (self.first % WORD);
            if rest != 0 {
                self.first += u64::from(rest.trailing_zeros());
                let (dst, path) = self.what[self.at(self.first)];
                return (self.first < self.end).then_some(Granted { slot: self.first, dst, path });
            }
            self.first = (self.first / WORD + 1) * WORD;
        }
        None
    }
    /// Removes the earliest timeslot.
    pub fn pop(&mut self) -> Option<Granted> {
        let granted = self.next()?;
        let (word, bit) = self.bit(granted.slot);
        self.words[word] &= !bit;
        self.first = granted.slot + 1;
        Some(granted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        #[test]
        fn as_an_ordered_map(steps in prop::collection::vec((0u64..600, 0u32..9, 0u8..4), 1..300), start: u32) {
            let mut slots = GrantedSlots::new(256);
            let mut map = BTreeMap::new();
            let mut base = u64::from(start);
            for (ahead, dst, what) in steps {
                if what == 0 {
                    let granted = slots.pop();
                    prop_assert_eq!(granted.map(|g| (g.slot, (g.dst.0, g.path))), map.pop_first());
                    base += 3;
                    continue;
                }
                let slot = base + ahead;
                let granted = Granted { slot, dst: HostId(dst), path: what.into() };
                if slots.put(granted) {
                    prop_assert_eq!(map.insert(slot, (dst, what.into())), None);
                } else {
                    let first = map.keys().next().map_or(slot, |&first| first.min(slot));
                    let last = map.keys().last().map_or(slot, |&last| last.max(slot));
                    // The ring may still include a gap before its first timeslot.
                    prop_assert!(map.contains_key(&slot) || last - first >= 256 - 64 || ahead >= 256 - 64);
                }
                prop_assert_eq!(slots.next().map(|g| g.slot), map.keys().next().copied());
            }
        }
    }
}
