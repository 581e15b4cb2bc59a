//! The state of both ends of a pair: one word for each endpoint.

use super::active::ActivePairs;
use super::entry::Entry;
use super::{MOST_ENDPOINTS, first_slots};
use std::ops::Range;

/// Four words for each possible endpoint number, and a table. The fixed size makes index checks unnecessary,
/// and all words are found from one address. Pages that no endpoint uses are never touched and take no
/// memory.
type Words = Box<[u64; SHARES + 64]>;

/// The indices at which the free slots of sources and of destinations begin.
const FREE: [usize; 2] = [0, MOST_ENDPOINTS];
/// The indices at which the counts of active pairs of sources and of destinations begin.
const PAIRS: [usize; 2] = [2 * MOST_ENDPOINTS, 3 * MOST_ENDPOINTS];
/// The index at which the table of shares begins. Its entry `n` is the number of slots of a batch that each of
/// `n` pairs at one end can have.
const SHARES: usize = 4 * MOST_ENDPOINTS;

/// The free slots and pair counts of all sources and destinations.
#[derive(Clone, Debug)]
pub(super) struct Ends {
    words: Words,
    /// The slots of a batch.
    batch: u64,
    /// Whether the pairs at each end are counted. Equal shares need the counts.
    counts: bool,
}

impl Ends {
    /// Makes the state of all ends for batches of `slots` slots. `least` is the smallest share, where shares are used.
    pub(super) fn new(least: Option<u32>, slots: u32) -> Ends {
        let mut words = vec![0; SHARES + 64];
        for (pairs, share) in (1..).zip(&mut words[SHARES + 1..]) {
            *share = (slots / pairs).max(least.unwrap_or(1)).into();
        }
        let words = words.into_boxed_slice().try_into().expect("the lengths are equal");
        Ends { words, batch: first_slots(slots), counts: least.is_some() }
    }
    /// Frees all slots of the batch at this number of endpoints.
    pub(super) fn reset(&mut self, endpoints: usize) {
        FREE.iter().for_each(|&from| self.words[from..][..endpoints].fill(self.batch));
    }
    /// The slots that are free at both ends.
    #[inline(always)]
    pub(super) fn free(&self, entry: Entry) -> u64 {
        self.free_between(entry.src(), entry.dst())
    }
    /// The slots that are free at a source and at a destination.
    #[inline(always)]
    pub(super) fn free_between(&self, src: u16, dst: u16) -> u64 {
        self.words[FREE[0] + usize::from(src)] & self.words[FREE[1] + usize::from(dst)]
    }
    #[inline(always)]
    pub(super) fn take(&mut self, entry: Entry, slots: u64) {
        let [src, dst] = entry.places(FREE);
        self.words[src] ^= slots;
        self.words[dst] ^= slots;
    }
    /// The slots in which any of these lanes is free, as sources (side 0) or as destinations (1).
    pub(super) fn any_free(&self, side: usize, lanes: Range<usize>) -> u64 {
        self.words[FREE[side]..][lanes].iter().fold(0, |free, lane| free | lane)
    }
    /// Takes each of these slots from one of the lanes in which it is free.
    pub(super) fn take_any(&mut self, side: usize, lanes: Range<usize>, slots: u64) {
        let mut wanted = slots;
        for free in &mut self.words[FREE[side]..][lanes] {
            let taken = *free & wanted;
            *free ^= taken;
            wanted ^= taken;
        }
        debug_assert!(wanted == 0, "a slot is free in one of the lanes");
    }
    #[inline(always)]
    pub(super) fn join(&mut self, entry: Entry) {
        if self.counts {
            entry.places(PAIRS).into_iter().for_each(|at| self.words[at] += 1);
        }
    }
    #[inline(always)]
    pub(super) fn leave(&mut self, entry: Entry) {
        self.leave_if(true, entry);
    }
    #[inline(always)]
    pub(super) fn leave_if(&mut self, leaves: bool, entry: Entry) {
        if self.counts {
            entry.places(PAIRS).into_iter().for_each(|at| self.words[at] -= u64::from(leaves));
        }
    }
    /// Whether the pairs at each end are counted.
    pub(super) const fn counts(&self) -> bool {
        self.counts
    }
    pub(super) fn stop_counting(&mut self) {
        self.counts = false;
    }
    /// Counts these pairs, and from now on those that come and go.
    pub(super) fn count(&mut self, endpoints: usize, pairs: impl Iterator<Item = Entry>) {
        PAIRS.iter().for_each(|&from| self.words[from..][..endpoints].fill(0));
        self.counts = true;
        pairs.for_each(|entry| self.join(entry));
    }
    /// The active pairs of each endpoint: as a source (upper half) and as a destination.
    pub(super) fn loads(&self, endpoints: usize) -> impl Iterator<Item = u64> {
        let [src, dst] = PAIRS.map(|from| &self.words[from..][..endpoints]);
        src.iter().zip(dst).map(|(src, dst)| src << 32 | dst)
    }
    /// Changes the counts by the loads of other partitions.
    pub(super) fn change(&mut self, loads: &[u64], change: impl Fn(&mut u64, u64)) {
        let (src, dst) = self.words[PAIRS[0]..].split_at_mut(MOST_ENDPOINTS);
        for ((src, dst), &load) in src.iter_mut().zip(dst).zip(loads) {
            change(src, load >> 32);
            change(dst, load & u64::from(u32::MAX));
        }
    }
}

/// The number of slots that a first visit takes: an equal share of the end with more pairs, and at least the
/// quantum. Max-min fairness gives the pair at least the equal share.
#[inline(always)]
pub(super) fn fair_share(entry: Entry, ends: &Ends) -> u32 {
    let [src, dst] = entry.places(PAIRS).map(|at| ends.words[at]);
    ends.words[SHARES + src.max(dst).min(63) as usize] as u32
}

/// Adds a request to its active pair. Returns whether the sum can be counted.
#[cold]
pub(super) fn join(entry: Entry, active: &mut ActivePairs, ends: &mut Ends) -> bool {
    let joins = active.request(entry.key(), entry.left()).is_some();
    if joins {
        ends.leave(entry);
    }
    joins
}
