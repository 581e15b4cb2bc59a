//! Which pairs of endpoints have demand, in memory that grows with their number alone.

/// No pair: an endpoint never asks for itself.
const FREE: u64 = u64::MAX;

/// A table of active pairs with open addressing and linear probing, at most a quarter full. An entry is the
/// pair (upper half) and the slots that it asked for since it became active (lower half). It is looked
/// up when a pair asks and when it is done, never for a single slot.
#[derive(Clone, Debug)]
pub(super) struct ActivePairs {
    entries: Vec<u64>,
    used: usize,
    shift: u32,
}

impl ActivePairs {
    pub(super) fn new() -> ActivePairs {
        ActivePairs { entries: vec![FREE; 16], used: 0, shift: 60 }
    }
    /// Adds demand to an active pair, or makes the pair active. Returns whether it is new; `None`, and
    /// nothing changed, where the pair waits for more slots than can be counted.
    pub(super) fn ask(&mut self, pair: u32, slots: u32) -> Option<bool> {
        let at = self.find(pair);
        if self.entries[at] != FREE {
            let more = (self.entries[at] as u32).checked_add(slots)?;
            self.entries[at] = u64::from(pair) << 32 | u64::from(more);
            return Some(false);
        }
        self.entries[at] = u64::from(pair) << 32;
        self.used += 1;
        if self.used * 4 > self.entries.len() {
            self.grow();
        }
        Some(true)
    }
    /// The slots that an active pair asked for since: it stays active if there are any.
    pub(super) fn done(&mut self, pair: u32) -> u32 {
        let at = self.find(pair);
        let more = self.entries[at] as u32;
        if more > 0 {
            self.entries[at] = u64::from(pair) << 32;
        } else {
            self.remove(at);
        }
        more
    }
    /// Takes the slots that an active pair asked for since; none of them if there are more than `most`.
    pub(super) fn join(&mut self, pair: u32, most: u32) -> u32 {
        let at = self.find(pair);
        let more = Some(self.entries[at] as u32).filter(|&more| more <= most).unwrap_or(0);
        self.entries[at] -= u64::from(more);
        more
    }
    /// Pairs that are active.
    pub(super) fn len(&self) -> usize {
        self.used
    }
    /// What [`ActivePairs::done`] would return.
    pub(super) fn asked_since(&self, pair: u32) -> u32 {
        Some(self.entries[self.find(pair)]).filter(|&e| e != FREE).map_or(0, |entry| entry as u32)
    }
    fn home(&self, pair: u32) -> usize {
        (u64::from(pair).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> self.shift) as usize
    }
    fn next(&self, at: usize) -> usize {
        (at + 1) & (self.entries.len() - 1)
    }
    /// Where the pair is, or would be.
    fn find(&self, pair: u32) -> usize {
        let mut at = self.home(pair);
        while self.entries[at] != FREE && (self.entries[at] >> 32) as u32 != pair {
            at = self.next(at);
        }
        at
    }
    /// Frees an entry and moves those behind it up, so that no search ends too early (Knuth, volume 3,
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
        /// Few different pairs, so that entries collide, move and come back.
        #[test]
        fn behaves_like_a_map(steps in prop::collection::vec((0u32..200, 0u32..4), 0..2_000)) {
            let (mut table, mut map) = (ActivePairs::new(), BTreeMap::new());
            for (pair, slots) in steps {
                let pair = pair * 0x0101_0001;
                if slots == 3 && let Some(more) = map.get_mut(&pair) {
                    let joins = if *more <= 5 { std::mem::take(more) } else { 0 };
                    prop_assert_eq!(table.join(pair, 5), joins);
                } else if slots > 0 {
                    prop_assert_eq!(table.ask(pair, slots), Some(!map.contains_key(&pair)));
                    map.entry(pair).and_modify(|more| *more += slots).or_insert(0);
                } else if let Some(more) = map.remove(&pair) {
                    prop_assert_eq!(table.done(pair), more);
                    if more > 0 {
                        map.insert(pair, 0);
                    }
                }
                prop_assert_eq!(table.len(), map.len());
            }
            for (pair, more) in map {
                prop_assert_eq!(table.asked_since(pair), more);
            }
        }
    }
}
