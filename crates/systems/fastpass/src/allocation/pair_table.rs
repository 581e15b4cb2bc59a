//! Numbers by pair of endpoints, for few of many possible pairs.

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
    pub(super) fn insert(&mut self, pair: u32) -> bool {
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
    /// Memory in bytes.
    #[cfg(test)]
    pub(super) fn bytes(&self) -> usize {
        self.entries.capacity() * 8
    }
}
