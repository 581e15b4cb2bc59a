//! The pairs of endpoints that have demand. Apart from bits for few endpoints, memory grows only with their number.

use super::entry::Entry;

/// Up to this number of endpoints, each pair has two bits: 4 MiB at most. Only touched pages take memory.
const DENSE: usize = 4_096;

/// The active pairs, and what they requested since they became active. This is read when a pair requests
/// slots and when it is done, never for a single slot.
#[derive(Clone, Debug)]
pub(super) struct ActivePairs {
    /// With few endpoints, two words for 64 destinations of a source each: which pairs are active, and which
    /// have requested more since. The table has the amounts. With many endpoints this is empty, and all
    /// active pairs are in the table.
    dense: Vec<[u64; 2]>,
    /// The number of words per source.
    words: usize,
    table: PairTable,
    active: usize,
}

impl ActivePairs {
    pub(super) fn new(endpoints: usize) -> ActivePairs {
        let words = if endpoints <= DENSE { endpoints.div_ceil(64) } else { 0 };
        let dense = vec![[0; 2]; words * endpoints];
        ActivePairs { dense, words, table: PairTable::new(), active: 0 }
    }
    /// Adds demand to an active pair, or makes the pair active. Returns whether it is new. Returns `None` and
    /// changes nothing if the pair would wait for more slots than can be counted.
    #[inline]
    pub(super) fn request(&mut self, pair: u32, slots: u32) -> Option<bool> {
        let (at, bit) = self.place(pair);
        let new = match self.dense.get_mut(at) {
            Some(row) if row[0] & bit == 0 => {
                row[0] |= bit;
                true
            }
            _ => self.request_in_table(pair, slots, at, bit)?,
        };
        self.active += usize::from(new);
        Some(new)
    }
    #[inline]
    pub(super) fn is_active(&self, pair: u32) -> bool {
        let (at, bit) = self.place(pair);
        match self.dense.get(at) {
            Some(row) => row[0] & bit != 0,
            None => self.table.get(pair).is_some(),
        }
    }
    /// Activates pairs. Those that were not active are moved to `to`, in order; the others stay.
    pub(super) fn activate_all(&mut self, entries: &mut Vec<Entry>, to: &mut Vec<Entry>) {
        let old = to.len();
        to.resize(old + entries.len(), Entry::default());
        let mut new = 0;
        for at in 0..entries.len() {
            let entry = entries[at];
            to[old + new] = entry;
            entries[at - new] = entry;
            new += usize::from(self.activate(entry.key()));
        }
        to.truncate(old + new);
        entries.truncate(entries.len() - new);
    }
    /// Activates a pair. Returns whether it was not active before.
    #[inline(always)]
    pub(super) fn activate(&mut self, pair: u32) -> bool {
        let (at, bit) = self.place(pair);
        let new = match self.dense.get_mut(at) {
            Some(row) => {
                let was = row[0];
                row[0] |= bit;
                was & bit == 0
            }
            None => self.table.insert(pair),
        };
        self.active += usize::from(new);
        new
    }
    fn request_in_table(&mut self, pair: u32, slots: u32, at: usize, bit: u64) -> Option<bool> {
        let row = self.dense.get_mut(at);
        let since = self.table.get(pair);
        let new = since.is_none() && row.is_none();
        self.table.set(pair, if new { 0 } else { since.unwrap_or(0).checked_add(slots)? });
        if let Some(row) = row {
            row[1] |= bit;
        }
        Some(new)
    }
    /// Deactivates pairs that are done. Those that have requested more meanwhile stay active and go to
    /// `resumed`.
    #[inline(always)]
    pub(super) fn finish(&mut self, pairs: impl Iterator<Item = u32>, resumed: &mut Vec<u32>) {
        let mut finished = 0;
        pairs.for_each(|pair| {
            let (at, bit) = place(self.words, pair);
            let asked = match self.dense.get_mut(at) {
                Some(row) => {
                    row[0] &= row[1] | !bit;
                    row[1] & bit != 0
                }
                None => self.table.get(pair) != Some(0) || self.table.take(pair).is_none(),
            };
            finished += usize::from(!asked);
            if asked {
                resumed.push(pair);
            }
        });
        self.active -= finished;
    }
    /// Ends a pair. Returns the slots that it requested meanwhile; it stays active if there are any.
    #[inline]
    pub(super) fn finish_pair(&mut self, pair: u32) -> u32 {
        let (at, bit) = self.place(pair);
        let more = match self.dense.get_mut(at) {
            Some(row) if row[1] & bit == 0 => {
                row[0] ^= bit;
                0
            }
            _ => self.finish_in_table(pair, at, bit),
        };
        self.active -= usize::from(more == 0);
        more
    }
    fn finish_in_table(&mut self, pair: u32, at: usize, bit: u64) -> u32 {
        let more = self.table.take(pair).unwrap_or(0);
        match self.dense.get_mut(at) {
            Some(row) => row[1] ^= bit,
            None if more > 0 => self.table.set(pair, 0),
            None => {}
        }
        more
    }
    /// Takes the slots that an active pair requested meanwhile. Takes none if there are more than `most`.
    pub(super) fn take_requested(&mut self, pair: u32, most: u32) -> u32 {
        let more = self.requested_since(pair);
        if more == 0 || more > most {
            return 0;
        }
        let (at, bit) = self.place(pair);
        if let Some(row) = self.dense.get_mut(at) {
            row[1] ^= bit;
            self.table.take(pair);
        } else {
            self.table.set(pair, 0);
        }
        more
    }
    /// The number of active pairs.
    pub(super) fn len(&self) -> usize {
        self.active
    }
    /// The number that [`ActivePairs::finish_pair`] would return.
    pub(super) fn requested_since(&self, pair: u32) -> u32 {
        self.table.get(pair).unwrap_or(0)
    }
    /// Memory in bytes.
    #[cfg(test)]
    pub(super) fn bytes(&self) -> usize {
        self.dense.capacity() * 16 + self.table.entries.capacity() * 8
    }
    fn place(&self, pair: u32) -> (usize, u64) {
        place(self.words, pair)
    }
}

/// The index of a pair's word and its bit. The index is beyond the end where there are no words.
#[inline(always)]
fn place(words: usize, pair: u32) -> (usize, u64) {
    let (src, dst) = ((pair >> 16) as usize, (pair & 0xffff) as usize);
    (src * words + dst / 64, 1 << (dst % 64))
}

/// An unused entry. Its upper half is not a pair, because an endpoint never sends to itself.
const FREE: u64 = u64::MAX;

/// A table of numbers by pair, with open addressing and linear probing, at most a quarter full. An entry is
/// the pair (upper half) and its number.
#[derive(Clone, Debug)]
pub(super) struct PairTable {
    entries: Vec<u64>,
    used: usize,
    shift: u32,
}

impl PairTable {
    pub(super) fn new() -> PairTable {
        PairTable { entries: vec![FREE; 16], used: 0, shift: 60 }
    }
    pub(super) fn get(&self, pair: u32) -> Option<u32> {
        Some(self.entries[self.find(pair)]).filter(|&e| e != FREE).map(|entry| entry as u32)
    }
    /// Adds a pair with 0 unless it is there. Returns whether it was not.
    fn insert(&mut self, pair: u32) -> bool {
        let new = self.get(pair).is_none();
        if new {
            self.set(pair, 0);
        }
        new
    }
    pub(super) fn set(&mut self, pair: u32, number: u32) {
        let at = self.find(pair);
        self.used += usize::from(self.entries[at] == FREE);
        self.entries[at] = u64::from(pair) << 32 | u64::from(number);
        if self.used * 4 > self.entries.len() {
            self.grow();
        }
    }
    pub(super) fn take(&mut self, pair: u32) -> Option<u32> {
        let at = self.find(pair);
        let entry = Some(self.entries[at]).filter(|&entry| entry != FREE)?;
        self.remove(at);
        Some(entry as u32)
    }
    fn home(&self, pair: u32) -> usize {
        (u64::from(pair).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> self.shift) as usize
    }
    fn next(&self, at: usize) -> usize {
        (at + 1) & (self.entries.len() - 1)
    }
    /// The index where the pair is or would be.
    fn find(&self, pair: u32) -> usize {
        let mut at = self.home(pair);
        while self.entries[at] != FREE && (self.entries[at] >> 32) as u32 != pair {
            at = self.next(at);
        }
        at
    }
    /// Frees an entry and moves later entries up, so that no search ends too early (Knuth, volume 3,
    /// algorithm 6.4 R).
    fn remove(&mut self, mut hole: usize) {
        let mask = self.entries.len() - 1;
        let mut at = self.next(hole);
        while self.entries[at] != FREE {
            let home = self.home((self.entries[at] >> 32) as u32);
            if at.wrapping_sub(home) & mask >= at.wrapping_sub(hole) & mask {
                self.entries[hole] = self.entries[at];
                hole = at;
            }
            at = self.next(at);
        }
        self.entries[hole] = FREE;
        self.used -= 1;
    }
    fn grow(&mut self) {
        let larger = vec![FREE; self.entries.len() * 2];
        self.shift -= 1;
        for entry in std::mem::replace(&mut self.entries, larger) {
            if entry != FREE {
                let at = self.find((entry >> 32) as u32);
                self.entries[at] = entry;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        /// The pairs are few, so that entries collide, move and come back. They have bits in some cases only.
        #[test]
        fn behaves_like_a_map(
            few: bool, steps in prop::collection::vec((0u32..200, 0u32..4), 0..2_000)
        ) {
            let endpoints = if few { 256 } else { 65_536 };
            let (mut active, mut map) = (ActivePairs::new(endpoints), BTreeMap::new());
            for (pair, slots) in steps {
                let pair = (pair << 16) | ((pair * 7 + 1) % 256);
                if slots == 3 && let Some(more) = map.get_mut(&pair) {
                    let joins = if *more <= 5 { std::mem::take(more) } else { 0 };
                    prop_assert_eq!(active.take_requested(pair, 5), joins);
                } else if slots > 0 {
                    prop_assert_eq!(active.request(pair, slots), Some(!map.contains_key(&pair)));
                    map.entry(pair).and_modify(|more| *more += slots).or_insert(0);
                } else if let Some(more) = map.remove(&pair) {
                    prop_assert_eq!(active.finish_pair(pair), more);
                    if more > 0 {
                        map.insert(pair, 0);
                    }
                }
                prop_assert_eq!(active.len(), map.len());
            }
            for (pair, more) in map {
                prop_assert_eq!(active.requested_since(pair), more);
            }
        }
    }
}
