//! The bytes that wait between hosts and the room of receivers, from which rounds are planned.

use super::round::Assignment;
use slotline_net::id::HostId;

/// The bytes that wait from each host to each other host, and the free receive buffers (§4.1, §4.2).
///
/// A host that has once had demand takes 8 bytes for each other host.
#[derive(Clone, Debug)]
pub struct Demand {
    hosts: usize,
    rows: Vec<Row>,
    free: Vec<u64>,
    sizes: Box<Sizes>,
}

/// The demand of one host. Its lists are empty until the host has demand.
#[derive(Clone, Debug, Default)]
struct Row {
    bytes: Vec<u64>,
    /// The destinations with waiting bytes, 64 to a word.
    waiting: Vec<u64>,
    pairs: u32,
}

/// The pairs with waiting bytes, by the number of binary digits of their bytes.
pub(crate) type Sizes = [Size; 65];

/// The pairs with the same number of binary digits.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(crate) struct Size {
    pub pairs: u64,
    pub bytes: u128,
}

impl Size {
    fn add(&mut self, bytes: u64) {
        self.pairs += u64::from(bytes > 0);
        self.bytes += u128::from(bytes);
    }
    fn remove(&mut self, bytes: u64) {
        self.pairs -= u64::from(bytes > 0);
        self.bytes -= u128::from(bytes);
    }
}

/// The members of a set, 64 to a word, ascending.
fn members(words: &[u64]) -> impl Iterator<Item = u32> {
    let of = |(at, &word): (usize, &u64)| {
        (0..64).filter(move |bit| word >> bit & 1 == 1).map(move |bit| at as u32 * 64 + bit)
    };
    words.iter().enumerate().flat_map(of)
}

fn digits(bytes: u64) -> usize {
    (u64::BITS - bytes.leading_zeros()) as usize
}

impl Demand {
    /// No demand among `hosts` hosts, whose receive buffers are not limited.
    pub fn new(hosts: usize) -> Demand {
        Demand {
            hosts,
            rows: vec![Row::default(); hosts],
            free: vec![u64::MAX; hosts],
            sizes: Box::new([Size::default(); 65]),
        }
    }
    /// The number of hosts.
    pub fn hosts(&self) -> usize {
        self.hosts
    }
    /// The sum of all waiting bytes.
    pub fn total(&self) -> u128 {
        self.sizes.iter().map(|size| size.bytes).sum()
    }
    /// The bytes that wait from `src` to `dst`; 0 if one of them is unknown.
    pub fn get(&self, src: HostId, dst: HostId) -> u64 {
        self.rows.get(src.at()).and_then(|row| row.bytes.get(dst.at())).copied().unwrap_or(0)
    }
    /// Sets the bytes that wait from `src` to `dst`. Returns whether both are known and not the same host; otherwise
    /// nothing changes.
    pub fn set(&mut self, src: HostId, dst: HostId, bytes: u64) -> bool {
        let known = src.at() < self.hosts && dst.at() < self.hosts && src != dst;
        if known {
            self.put(src.at(), dst.at(), bytes);
        }
        known
    }
    /// Replaces all destinations of `src`, with their waiting bytes.
    pub fn replace(&mut self, src: HostId, waiting: &[(HostId, u64)]) {
        let mut gone: Vec<u64> = self.rows.get(src.at()).map_or(&[][..], |row| &row.waiting).into();
        for &(dst, bytes) in waiting {
            if self.set(src, dst, bytes)
                && let Some(word) = gone.get_mut(dst.at() / 64)
            {
                *word &= !(1 << (dst.0 % 64));
            }
        }
        members(&gone).for_each(|dst| self.put(src.at(), dst as usize, 0));
    }
    /// Removes all demand of `src`.
    pub fn clear(&mut self, src: HostId) {
        for dst in self.destinations(src) {
            self.put(src.at(), dst.at(), 0);
        }
    }
    /// The destinations for which `src` has waiting bytes, ascending.
    pub fn destinations(&self, src: HostId) -> Vec<HostId> {
        let words = self.rows.get(src.at()).map_or(&[][..], |row| &row.waiting);
        members(words).map(HostId).collect()
    }
    /// The free bytes of the receive buffer of `host`; all ones if it is not limited.
    pub fn room(&self, host: HostId) -> u64 {
        self.free.get(host.at()).copied().unwrap_or(0)
    }
    /// Sets the free bytes of the receive buffer of `host`, if it is known.
    pub fn set_room(&mut self, host: HostId, free: u64) {
        if let Some(room) = self.free.get_mut(host.at()) {
            *room = free;
        }
    }
    /// Subtracts the bytes of these assignments from waiting bytes and room, but not below zero. This is for a report
    /// that was made before the assignments were carried out.
    pub fn withdraw(&mut self, assignments: &[Assignment]) {
        for assignment in assignments {
            let left = self.get(assignment.src, assignment.dst).saturating_sub(assignment.bytes);
            self.set(assignment.src, assignment.dst, left);
            let room = self.room(assignment.dst);
            if room != u64::MAX {
                self.set_room(assignment.dst, room.saturating_sub(assignment.bytes));
            }
        }
    }

    /// The destinations of `src` with waiting bytes, 64 to a word; empty if there are none.
    pub(crate) fn waiting(&self, src: usize) -> &[u64] {
        let row = &self.rows[src];
        if row.pairs == 0 { &[] } else { &row.waiting }
    }
    pub(crate) fn at(&self, src: usize, dst: usize) -> u64 {
        self.rows[src].bytes[dst]
    }
    /// The hosts with room in their buffer, 64 to a word.
    pub(crate) fn with_room(&self) -> impl Iterator<Item = u64> {
        let bit = |word: u64, &free: &u64| word >> 1 | u64::from(free > 0) << 63;
        self.free.chunks(64).map(move |free| free.iter().fold(0, bit) >> (64 - free.len()))
    }
    /// Takes at most `most` bytes of a pair, as far as they wait and there is room. Returns how many were taken, and how
    /// many are left.
    pub(crate) fn take(&mut self, src: usize, dst: usize, most: u64) -> (u64, u64) {
        let waits = self.at(src, dst);
        let bytes = waits.min(self.free[dst]).min(most);
        self.put(src, dst, waits - bytes);
        if self.free[dst] != u64::MAX {
            self.free[dst] -= bytes;
        }
        (bytes, waits - bytes)
    }
    /// Undoes [`Demand::take`].
    pub(crate) fn give_back(&mut self, src: usize, dst: usize, bytes: u64) {
        self.put(src, dst, self.at(src, dst) + bytes);
        if self.free[dst] != u64::MAX {
            self.free[dst] += bytes;
        }
    }
    /// The demands by size.
    pub(crate) fn sizes(&self) -> &Sizes {
        &self.sizes
    }
    fn put(&mut self, src: usize, dst: usize, bytes: u64) {
        let row = &mut self.rows[src];
        if row.bytes.is_empty() {
            if bytes == 0 {
                return;
            }
            row.bytes = vec![0; self.hosts];
            row.waiting = vec![0; self.hosts.div_ceil(64)];
        }
        let before = std::mem::replace(&mut row.bytes[dst], bytes);
        if before == bytes {
            return;
        }
        let (from, to) = (digits(before), digits(bytes));
        if from == to {
            self.sizes[to].bytes = self.sizes[to].bytes - u128::from(before) + u128::from(bytes);
            return;
        }
        self.sizes[from].remove(before);
        self.sizes[to].add(bytes);
        if (before == 0) != (bytes == 0) {
            row.waiting[dst / 64] ^= 1 << (dst % 64);
            row.pairs = if bytes == 0 { row.pairs - 1 } else { row.pairs + 1 };
        }
    }
}
