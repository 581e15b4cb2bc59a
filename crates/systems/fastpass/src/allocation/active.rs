//! The pairs of endpoints that have demand. Apart from bits for few endpoints, memory grows only with their number.

use super::amounts::Amounts;
use super::entry::Entry;
use super::pair_table::PairTable;

/// Up to this number of endpoints, each pair has two bits and a byte: 20 MiB at most. Only touched pages take memory.
const DENSE: usize = 4_096;

/// The active pairs, and what they requested since they became active. This is read when a pair requests
/// slots and when it is done, never for a single slot.
#[derive(Clone, Debug)]
pub(super) struct ActivePairs {
    /// With few endpoints, two words for 64 destinations of a source each: which pairs are active, and which
    /// have requested more since. With many endpoints this is empty.
    dense: Vec<[u64; 2]>,
    /// The number of words per source.
    words: usize,
    /// With few endpoints, what pairs have requested since.
    amounts: Amounts,
    /// With many endpoints, all active pairs, and what they have requested since.
    table: PairTable,
    active: usize,
}

impl ActivePairs {
    pub(super) fn new(endpoints: usize) -> ActivePairs {
        let words = if endpoints <= DENSE { endpoints.div_ceil(64) } else { 0 };
        ActivePairs {
            dense: vec![[0; 2]; words * endpoints],
            words,
            amounts: Amounts::new(endpoints, words * 64),
            table: PairTable::new(),
            active: 0,
        }
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
            Some(row) => {
                self.amounts.set(pair, self.amounts.get(pair).checked_add(slots)?);
                row[1] |= bit;
                false
            }
            None => self.request_in_table(pair, slots)?,
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
    fn request_in_table(&mut self, pair: u32, slots: u32) -> Option<bool> {
        let since = self.table.get(pair);
        self.table.set(pair, since.map_or(Some(0), |since| since.checked_add(slots))?);
        Some(since.is_none())
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
            // Half of the pairs have asked where queues are long, so this is not a branch.
            resumed.push(pair);
            resumed.truncate(resumed.len() - usize::from(!asked));
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
            Some(row) => {
                row[1] ^= bit;
                let more = self.amounts.get(pair);
                self.amounts.set(pair, 0);
                more
            }
            None => self.finish_in_table(pair),
        };
        self.active -= usize::from(more == 0);
        more
    }
    fn finish_in_table(&mut self, pair: u32) -> u32 {
        let more = self.table.take(pair).unwrap_or(0);
        if more > 0 {
            self.table.set(pair, 0);
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
            self.amounts.set(pair, 0);
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
        match self.dense.is_empty() {
            true => self.table.get(pair).unwrap_or(0),
            false => self.amounts.get(pair),
        }
    }
    /// Memory in bytes.
    #[cfg(test)]
    pub(super) fn bytes(&self) -> usize {
        self.dense.capacity() * 16 + self.amounts.bytes() + self.table.bytes()
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
