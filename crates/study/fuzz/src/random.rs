//! Draws from a random stream.

use slotline_net::rng::Stream;

/// Random draws for fuzzers.
pub(crate) trait Draw {
    /// True once in `n` times on average.
    fn once_in(&mut self, n: u64) -> bool;
    /// A number below `n`, or zero if `n` is zero.
    fn index(&mut self, n: usize) -> usize;
    /// One of `items`, which are not empty.
    fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T;
    /// A length up to `most`; short ones are more frequent.
    fn length(&mut self, most: usize) -> usize;
    /// `n` random bytes.
    fn noise(&mut self, n: usize) -> Vec<u8>;
}

impl Draw for Stream {
    fn once_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }
    fn index(&mut self, n: usize) -> usize {
        self.below(n as u64) as usize
    }
    fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.index(items.len())]
    }
    fn length(&mut self, most: usize) -> usize {
        let bound = 1 << self.index(usize::BITS as usize - most.leading_zeros() as usize + 1);
        self.index(bound.min(most) + 1)
    }
    fn noise(&mut self, n: usize) -> Vec<u8> {
        (0..n).map(|_| self.bits() as u8).collect()
    }
}

/// The random stream that belongs to an input.
pub(crate) fn stream_of(input: &[u8], name: &str) -> Stream {
    let key =
        input.iter().fold(0u64, |key, byte| key.wrapping_mul(257).wrapping_add(u64::from(*byte)));
    Stream::named(key, name, input.len() as u64)
}
