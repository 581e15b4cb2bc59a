//! Numbers by pair, most of them small: a byte each, and a table for the large ones.

use super::pair_table::PairTable;

/// A byte that says that the number is in the table.
const LARGE: u8 = u8::MAX;

/// A number for each pair of some endpoints, at first 0. Only touched pages take memory.
#[derive(Clone, Debug)]
pub(super) struct Amounts {
    small: Vec<u8>,
    /// The number of bytes per source.
    width: usize,
    large: PairTable,
}

impl Amounts {
    /// Numbers for the pairs of `endpoints` sources with `width` destinations.
    pub(super) fn new(endpoints: usize, width: usize) -> Amounts {
        Amounts { small: vec![0; endpoints * width], width, large: PairTable::new() }
    }
    #[inline]
    pub(super) fn get(&self, pair: u32) -> u32 {
        match self.small[self.place(pair)] {
            LARGE => self.large.get(pair).unwrap_or(0),
            small => small.into(),
        }
    }
    #[inline]
    pub(super) fn set(&mut self, pair: u32, number: u32) {
        let at = self.place(pair);
        let small = u8::try_from(number).unwrap_or(LARGE);
        let before = std::mem::replace(&mut self.small[at], small);
        if small == LARGE {
            self.large.set(pair, number);
        } else if before == LARGE {
            self.large.take(pair);
        }
    }
    fn place(&self, pair: u32) -> usize {
        (pair >> 16) as usize * self.width + (pair & 0xffff) as usize
    }
    /// Memory in bytes.
    #[cfg(test)]
    pub(super) fn bytes(&self) -> usize {
        self.small.capacity() + self.large.bytes()
    }
}
