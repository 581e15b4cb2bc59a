//! What a visit to a waiting pair looks at: the pair in one word, and a word for each endpoint.

use super::active::ActivePairs;
use super::entry::Entry;
use super::{BATCH, MOST_ENDPOINTS};

/// A word per endpoint for each of four things, as long as there are numbers, and a table: no access needs a
/// check, and all are found from one place. What no endpoint uses is never touched and takes no memory.
type Words = Box<[u64; SHARES + 64]>;

/// Where slots of the batch begin in which a source is free, and a destination.
const FREE: [usize; 2] = [0, MOST_ENDPOINTS];
/// Where the active pairs of a source are counted, and of a destination.
const PAIRS: [usize; 2] = [2 * MOST_ENDPOINTS, 3 * MOST_ENDPOINTS];
/// Where the table begins of what 1, 2, ... pairs at one end can have of a batch each.
const SHARES: usize = 4 * MOST_ENDPOINTS;

/// Sources and destinations.
#[derive(Clone, Debug)]
pub(super) struct Ends {
    words: Words,
    /// Whether each end's pairs are counted: where anybody asks for an equal share of it.
    counts: bool,
}

impl Ends {
    /// `least` is the smallest share, where anybody asks for one.
    pub(super) fn new(least: Option<u32>) -> Ends {
        let mut words = vec![0; SHARES + 64];
        for (pairs, share) in (1..).zip(&mut words[SHARES + 1..]) {
            *share = (BATCH / pairs).max(least.unwrap_or(1)).into();
        }
        let words = words.into_boxed_slice().try_into().expect("it has that length");
        Ends { words, counts: least.is_some() }
    }
    /// All slots of the batch are free, at so many endpoints.
    pub(super) fn reset(&mut self, endpoints: usize) {
        FREE.iter().for_each(|&from| self.words[from..][..endpoints].fill(!0));
    }
    /// Slots that are free at both ends.
    #[inline(always)]
    pub(super) fn free(&self, entry: Entry) -> u64 {
        let [src, dst] = entry.places(FREE);
        self.words[src] & self.words[dst]
    }
    #[inline(always)]
    pub(super) fn take(&mut self, entry: Entry, slots: u64) {
        let [src, dst] = entry.places(FREE);
        self.words[src] ^= slots;
        self.words[dst] ^= slots;
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
    /// Whether each end's pairs are counted.
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
    /// The active pairs of each endpoint: as a source (upper half), as a destination.
    pub(super) fn loads(&self, endpoints: usize) -> impl Iterator<Item = u64> {
        let [src, dst] = PAIRS.map(|from| &self.words[from..][..endpoints]);
        src.iter().zip(dst).map(|(src, dst)| src << 32 | dst)
    }
    /// Changes them by others' loads.
    pub(super) fn change(&mut self, loads: &[u64], change: impl Fn(&mut u64, u64)) {
        let (src, dst) = self.words[PAIRS[0]..].split_at_mut(MOST_ENDPOINTS);
        for ((src, dst), &load) in src.iter_mut().zip(dst).zip(loads) {
            change(src, load >> 32);
            change(dst, load & u64::from(u32::MAX));
        }
    }
}

/// What a first visit takes: what max-min fairness gives a pair of a batch at least, which is an equal share of the
/// end that has more pairs, or the quantum.
#[inline(always)]
pub(super) fn fair_share(entry: Entry, ends: &Ends) -> u32 {
    let [src, dst] = entry.places(PAIRS).map(|at| ends.words[at]);
    ends.words[SHARES + src.max(dst).min(63) as usize] as u32
}

/// Demand joins that of its pair, which is active. Returns whether there was room for it.
#[cold]
pub(super) fn join(entry: Entry, active: &mut ActivePairs, ends: &mut Ends) -> bool {
    let joins = active.request(entry.key(), entry.left()).is_some();
    if joins {
        ends.leave(entry);
    }
    joins
}
