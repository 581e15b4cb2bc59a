//! A set of pairs that may contain a few more than were inserted: a Bloom filter with one hash, small enough
//! for a cache.

/// The number of words of 64 bits: 8 KiB.
const WORDS: usize = 1 << 10;

/// The set. A query costs a multiplication and one memory access.
#[derive(Clone, Debug)]
pub(super) struct PairFilter {
    bits: Box<[u64; WORDS]>,
}

impl PairFilter {
    pub(super) fn new() -> PairFilter {
        PairFilter { bits: Box::new([0; WORDS]) }
    }
    pub(super) fn insert(&mut self, key: u32) {
        let (word, bit) = PairFilter::place(key);
        self.bits[word] |= bit;
    }
    /// Whether the set may contain `key`: true for every key that was inserted, and for some others.
    pub(super) fn may_contain(&self, key: u32) -> bool {
        let (word, bit) = PairFilter::place(key);
        self.bits[word] & bit != 0
    }
    pub(super) fn clear(&mut self) {
        self.bits.fill(0);
    }
    fn place(key: u32) -> (usize, u64) {
        let hash = key.wrapping_mul(0x9e37_79b1) >> 16;
        (hash as usize / 64 % WORDS, 1 << (hash % 64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_in_it_is_found_and_little_else() {
        let mut keys = PairFilter::new();
        let in_it = |i: u32| i * 0x0001_0003;
        (0..1_000).for_each(|i| keys.insert(in_it(i)));
        assert!((0..1_000).all(|i| keys.may_contain(in_it(i))));
        let wrong =
            (0..10_000).filter(|&i| keys.may_contain(0x00a0_0007 + i * 0x0001_0002)).count();
        assert!(wrong < 400, "{wrong} of 10,000");
        keys.clear();
        assert!(!(0..1_000).any(|i| keys.may_contain(in_it(i))));
    }
}
