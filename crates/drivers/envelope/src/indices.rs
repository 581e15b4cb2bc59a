//! The indices of sessions and handshakes in headers, and the peers to which they belong.

use slotline_base::rng::Stream;
use std::collections::VecDeque;

/// The number of low bits of an index that are its place in the table. The other bits are random.
const PLACE_BITS: u32 = 20;
/// The largest number of indices at a time.
pub(crate) const MOST: usize = 1 << PLACE_BITS;

#[derive(Clone, Copy)]
struct Entry {
    index: u32,
    peer: u32,
    used: bool,
}

pub(crate) struct Indices {
    entries: Vec<Entry>,
    free: VecDeque<u32>,
    random: Stream,
}

impl Indices {
    pub fn new(seed: u64) -> Indices {
        let random = Stream::named(seed, "envelope.indices", 0);
        Indices { entries: Vec::new(), free: VecDeque::new(), random }
    }
    /// A new index for `peer`.
    pub fn insert(&mut self, peer: u32) -> u32 {
        let place = self.free.pop_front().unwrap_or_else(|| self.extend());
        let index = place | (self.random.bits() as u32) << PLACE_BITS;
        self.entries[place as usize] = Entry { index, peer, used: true };
        index
    }
    fn extend(&mut self) -> u32 {
        assert!(self.entries.len() < MOST, "the number of peers limits that of indices");
        self.entries.push(Entry { index: 0, peer: 0, used: false });
        (self.entries.len() - 1) as u32
    }
    /// The peer of an index.
    pub fn find(&self, index: u32) -> Option<u32> {
        let entry = self.entries.get(place(index))?;
        (entry.used && entry.index == index).then_some(entry.peer)
    }
    pub fn remove(&mut self, index: u32) {
        if self.find(index).is_some() {
            self.entries[place(index)].used = false;
            self.free.push_back(place(index) as u32);
        }
    }
}

fn place(index: u32) -> usize {
    index as usize % MOST
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indices_are_found_until_removed() {
        let mut indices = Indices::new(7);
        let all: Vec<u32> = (0..100).map(|peer| indices.insert(peer)).collect();
        for (peer, &index) in (0..).zip(&all) {
            assert_eq!(indices.find(index), Some(peer));
            assert_eq!(indices.find(index ^ 1 << 31), None);
        }
        indices.remove(all[3]);
        indices.remove(all[3]);
        assert_eq!(indices.find(all[3]), None);
        let again = indices.insert(500);
        assert_eq!(indices.find(again), Some(500));
        assert_eq!(indices.find(all[4]), Some(4));
        assert_eq!(indices.insert(501) as usize % MOST, 100);
    }
}
