//! Timeslot allocation (§3): a batch of 64 timeslots at a time, each of them a matching of sources to
//! destinations.
//!
//! One word per source and one per destination say which slots of the batch are free. Pairs wait in one
//! queue, the least recently served first. A batch goes through the queue in rounds: a visit takes the
//! lowest slots that are free at both ends, at most a quantum. A pair leaves the batch when all is
//! granted, or when its ends have no free slot in common: words only lose slots, so no later visit in
//! the batch could succeed, and each slot that stays free is one that no waiting pair can use.
//!
//! **Nobody starves** under [`Policy::MaxMin`]. Who got nothing in a batch comes first in the next, in
//! the old order, and new pairs come last. A pair goes without only if pairs ahead of it took all 64
//! slots from its two ends; they are behind it afterwards. With `n` endpoints at most 2n - 4 pairs can
//! be ahead at these ends, and each takes a quantum `q`: after ⌈(2n - 4) q / 64⌉ batches without a slot
//! it gets one. [`Policy::ShortestFirst`] gives no such promise, as its name says.

use super::active::ActivePairs;
use super::keys::Keys;
use std::cell::Cell;

/// Timeslots in a batch.
pub const BATCH: u32 = 64;
/// The largest number of endpoints: numbers have 16 bits.
pub const MOST_ENDPOINTS: usize = 1 << 16;

/// Who is served first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Policy {
    /// The least recently served pair, and so many slots per visit: 1 comes closest to max-min fairness
    /// (§3.1), more is faster.
    MaxMin {
        /// Slots per visit: 1 to 64.
        quantum: u32,
    },
    /// The pair that waits for the fewest slots, and all of them: short flows end early (§3.1). Demand
    /// that joins a waiting pair counts once the pair's earlier demand is granted.
    ShortestFirst,
}

/// What an endpoint may send in a batch. A pair may come twice in a batch, with different slots.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Grant {
    /// The sending endpoint.
    pub src: u16,
    /// The receiving endpoint.
    pub dst: u16,
    /// Bit `i`: slot `i` of the batch.
    pub slots: u64,
}

/// Why an allocator cannot be made, or a demand not be taken. A refused demand changes nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum DemandError {
    /// Too few or too many endpoints.
    #[error("{0} endpoints; from 2 to 65,536 can be served")]
    Endpoints(usize),
    /// A quantum outside the batch.
    #[error("a quantum of {0} slots; it is from 1 to 64")]
    Quantum(u32),
    /// A number that no endpoint has.
    #[error("endpoint {endpoint} does not exist; there are {endpoints}, counted from 0")]
    Unknown {
        /// The number.
        endpoint: u16,
        /// How many there are.
        endpoints: usize,
    },
    /// A demand for the endpoint itself.
    #[error("endpoint {0} wants slots to itself; traffic within an endpoint needs none")]
    Itself(u16),
    /// More slots than a pair can wait for.
    #[error("{src} to {dst} waits for more slots than 32 bits can count")]
    TooMuch {
        /// The source.
        src: u16,
        /// The destination.
        dst: u16,
    },
}

/// An active pair and what is granted to it in this batch. Two words, as a visit reads and writes it whole.
#[derive(Clone, Copy, Debug, Default)]
struct Pair {
    /// From the top: 32 bits of slots left, 16 of source, 16 of destination.
    head: u64,
    granted: u64,
}

impl Pair {
    const fn new(key: u32, left: u32) -> Pair {
        Pair { head: (left as u64) << 32 | key as u64, granted: 0 }
    }
    const fn key(&self) -> u32 {
        self.head as u32
    }
    const fn src(&self) -> u16 {
        (self.head >> 16) as u16
    }
    const fn dst(&self) -> u16 {
        self.head as u16
    }
    const fn left(&self) -> u32 {
        (self.head >> 32) as u32
    }
    #[inline]
    const fn grant(&mut self, slots: u64, count: u32) {
        self.head -= (count as u64) << 32;
        self.granted |= slots;
    }
}

const fn key(src: u16, dst: u16) -> u32 {
    (src as u32) << 16 | dst as u32
}

/// Free slots of each endpoint in one direction. As long as there are numbers, so that no access needs
/// a check; what no endpoint uses is never touched and takes no memory.
type Words = Box<[u64; MOST_ENDPOINTS]>;

/// The timeslot allocator. It takes no memory for pairs without demand.
#[derive(Clone, Debug)]
pub struct Allocator {
    endpoints: usize,
    policy: Policy,
    free_src: Words,
    free_dst: Words,
    active: ActivePairs,
    /// Pairs that demand joined since they were last lent.
    joined: Keys,
    /// Waiting for the next batch, in order.
    waiting: Vec<Pair>,
    /// In this batch: first those that may still get slots, then those that cannot.
    batch: Vec<Pair>,
    served: Vec<Pair>,
    done: Vec<Pair>,
}

impl Allocator {
    /// An allocator for so many endpoints.
    ///
    /// # Errors
    /// A number of endpoints or a quantum out of range.
    pub fn new(endpoints: usize, policy: Policy) -> Result<Allocator, DemandError> {
        if !(2..=MOST_ENDPOINTS).contains(&endpoints) {
            return Err(DemandError::Endpoints(endpoints));
        }
        if let Policy::MaxMin { quantum } = policy
            && !(1..=BATCH).contains(&quantum)
        {
            return Err(DemandError::Quantum(quantum));
        }
        Ok(Allocator {
            endpoints,
            policy,
            free_src: words(),
            free_dst: words(),
            active: ActivePairs::new(),
            joined: Keys::new(),
            waiting: Vec::new(),
            batch: Vec::new(),
            served: Vec::new(),
            done: Vec::new(),
        })
    }
    /// `src` wants to send to `dst` in so many slots more.
    ///
    /// # Errors
    /// Endpoints that do not exist or are the same; more slots than can be counted.
    pub fn add_demand(&mut self, src: u16, dst: u16, slots: u32) -> Result<(), DemandError> {
        let endpoints = self.endpoints;
        if let Some(&endpoint) = [src, dst].iter().find(|&&e| usize::from(e) >= endpoints) {
            return Err(DemandError::Unknown { endpoint, endpoints });
        }
        if src == dst {
            return Err(DemandError::Itself(src));
        }
        if slots == 0 {
            return Ok(());
        }
        let new = self.active.ask(key(src, dst), slots);
        if new.ok_or(DemandError::TooMuch { src, dst })? {
            self.waiting.push(Pair::new(key(src, dst), slots));
        } else {
            self.joined.insert(key(src, dst));
        }
        Ok(())
    }
    /// Pairs that wait for slots.
    pub fn active_pairs(&self) -> usize {
        self.active.len()
    }
    /// What each active pair waits for: source, destination, slots.
    pub fn backlog(&self) -> impl Iterator<Item = (u16, u16, u64)> {
        self.waiting.iter().map(|pair| {
            let since = self.active.asked_since(pair.key());
            (pair.src(), pair.dst(), u64::from(pair.left()) + u64::from(since))
        })
    }
    /// Allocates the next 64 timeslots and appends them to `out`.
    pub fn allocate_batch(&mut self, out: &mut Vec<Grant>) {
        self.free_src[..self.endpoints].fill(!0);
        self.free_dst[..self.endpoints].fill(!0);
        if self.policy == Policy::ShortestFirst {
            self.waiting.sort_unstable_by_key(|pair| pair.head);
        }
        std::mem::swap(&mut self.waiting, &mut self.batch);
        while !self.batch.is_empty() {
            let pairs = self.batch.len();
            self.batch.resize(2 * pairs + 1, Pair::default());
            self.rounds(pairs);
            self.settle(pairs, out);
            self.resume();
        }
    }
    /// Hands out all pairs that wait, in order, each as a word: from the top 32 bits of slots, 16 of
    /// source, 16 of destination. They stay this allocator's: their demand is still added here, and they
    /// have to come back ([`Allocator::take_back`]) before its next batch.
    pub fn lend(&mut self, out: &mut Vec<u64>) {
        let Allocator { waiting, active, joined, .. } = self;
        out.extend(waiting.drain(..).map(|pair| {
            let joins = joined.may_hold(pair.key());
            let more = if joins { active.join(pair.key(), u32::MAX - pair.left()) } else { 0 };
            pair.head + (u64::from(more) << 32)
        }));
        joined.clear();
    }
    /// Serves pairs of another allocator with what is free in this one's last batch. Those with all slots
    /// granted come first, with none left; the others stay in the order of service.
    pub fn serve(&mut self, guests: &mut Vec<u64>, out: &mut Vec<Grant>) {
        let done = granted(guests);
        if self.policy == Policy::ShortestFirst {
            guests[done..].sort_unstable();
        }
        let pairs = guests.len() - done;
        let own = std::mem::take(&mut self.waiting);
        self.batch.extend(guests.drain(done..).map(|head| Pair { head, granted: 0 }));
        self.batch.resize(2 * pairs + 1, Pair::default());
        self.rounds(pairs);
        self.settle(pairs, out);
        guests.extend(self.done.drain(..).chain(self.waiting.drain(..)).map(|pair| pair.head));
        self.batch.clear();
        self.waiting = own;
    }
    /// Takes back what was lent. Pairs that go on with demand that joined them come last.
    pub fn take_back(&mut self, pairs: &[u64]) {
        let (done, waiting) = pairs.split_at(granted(pairs));
        self.waiting.extend(waiting.iter().map(|&head| Pair { head, granted: 0 }));
        for &key in done {
            let left = self.active.done(key as u32);
            if left > 0 {
                self.waiting.push(Pair::new(key as u32, left));
            }
        }
    }
    fn rounds(&mut self, pairs: usize) {
        match self.policy {
            Policy::MaxMin { quantum: 1 } => self.rounds_of(pairs, |free, _| lowest_one(free)),
            Policy::MaxMin { quantum: 4 } => self.rounds_of(pairs, lowest_four),
            Policy::MaxMin { quantum } => {
                self.rounds_of(pairs, |free, left| lowest(free, left.min(quantum)));
            }
            Policy::ShortestFirst => self.rounds_of(pairs, lowest),
        }
    }
    /// Visits the pairs until all are gone. `take` picks from the free slots as many as may be granted.
    fn rounds_of(&mut self, pairs: usize, take: impl Fn(u64, u32) -> (u64, u32)) {
        let Allocator { free_src, free_dst, batch, .. } = self;
        let (mut live, mut gone) = (pairs, pairs);
        while live > 0 {
            (live, gone) = round(batch, live, gone, free_src, free_dst, &take);
        }
    }
    /// Writes the grants of those that are gone; who waits on does so in the order of service. Free of
    /// branches, as a visit.
    fn settle(&mut self, pairs: usize, out: &mut Vec<Grant>) {
        let (start, first) = (out.len(), self.waiting.len());
        out.resize(start + pairs + 1, Grant::default());
        let sorted = [(first, &mut self.waiting), (0, &mut self.served), (0, &mut self.done)];
        let [mut waiting, mut served, mut done] = sorted.map(|(from, places)| {
            places.resize(from + pairs + 1, Pair::default());
            Filler { places: &mut places[from..], filled: 0 }
        });
        let mut grants = Filler { places: &mut out[start..], filled: 0 };
        for pair in &self.batch[pairs..2 * pairs] {
            let (slots, head) = (pair.granted, pair.head);
            let (got, wants) = (slots != 0, pair.left() != 0);
            grants.put(Grant { src: pair.src(), dst: pair.dst(), slots }, got);
            waiting.put(Pair { head, granted: 0 }, !got);
            served.put(Pair { head, granted: 0 }, got & wants);
            done.put(*pair, !wants);
        }
        let filled = [grants.filled, waiting.filled, served.filled, done.filled];
        out.truncate(start + filled[0]);
        self.waiting.truncate(first + filled[1]);
        self.waiting.extend_from_slice(&self.served[..filled[2]]);
        self.done.truncate(filled[3]);
    }
    /// Pairs that are done stop being active, or go on in this batch with what they asked for since.
    fn resume(&mut self) {
        self.batch.clear();
        for pair in &self.done {
            let left = self.active.done(pair.key());
            if left > 0 {
                self.batch.push(Pair::new(pair.key(), left));
            }
        }
    }
}

/// How many of the lent pairs have all slots granted: the first ones.
fn granted(pairs: &[u64]) -> usize {
    pairs.partition_point(|&head| head >> 32 == 0)
}

fn words() -> Words {
    vec![0; MOST_ENDPOINTS].into_boxed_slice().try_into().expect("it has that length")
}

/// One visit to each of the first `live` pairs. Those that can get more are moved to the front, the
/// others to `gone` and behind; returns how many can, and where the next one that is gone belongs. Free
/// of branches that depend on the data: half of them would be mispredicted.
#[inline(never)]
fn round(
    batch: &mut [Pair],
    live: usize,
    mut gone: usize,
    free_src: &mut [u64; MOST_ENDPOINTS],
    free_dst: &mut [u64; MOST_ENDPOINTS],
    take: &impl Fn(u64, u32) -> (u64, u32),
) -> (usize, usize) {
    let places = Cell::from_mut(batch).as_slice_of_cells();
    let mut kept = 0;
    for place in &places[..live] {
        let mut pair = place.get();
        let src = &mut free_src[usize::from(pair.src())];
        let dst = &mut free_dst[usize::from(pair.dst())];
        let free = *src & *dst;
        let (taken, count) = take(free, pair.left());
        *src ^= taken;
        *dst ^= taken;
        pair.grant(taken, count);
        let stays = (free != taken) & (pair.left() != 0);
        places[if stays { kept } else { gone }].set(pair);
        kept += usize::from(stays);
        gone += usize::from(!stays);
    }
    (kept, gone)
}

/// Fills places one after another, without a branch: the last place, at least, stays unused.
struct Filler<'a, T> {
    places: &'a mut [T],
    filled: usize,
}

impl<T> Filler<'_, T> {
    /// Appends the value if it is to be kept.
    #[inline]
    fn put(&mut self, value: T, keep: bool) {
        self.places[self.filled] = value;
        self.filled += usize::from(keep);
    }
}

/// The lowest free slot, and how many that is.
#[inline]
const fn lowest_one(free: u64) -> (u64, u32) {
    (free & free.wrapping_neg(), (free != 0) as u32)
}

/// The lowest four free slots, at most `most`, and how many these are; without a branch.
#[inline]
fn lowest_four(free: u64, most: u32) -> (u64, u32) {
    let (mut rest, mut count) = (free, 0);
    for i in 0..4 {
        let without = rest & rest.wrapping_sub(1);
        count += u32::from((rest != 0) & (i < most));
        rest = if i < most { without } else { rest };
    }
    (free ^ rest, count)
}

/// The lowest free slots, at most `most`, and how many these are.
#[inline]
fn lowest(free: u64, most: u32) -> (u64, u32) {
    let (mut rest, mut count) = (free, 0);
    while rest != 0 && count < most {
        rest &= rest - 1;
        count += 1;
    }
    (free ^ rest, count)
}

#[cfg(test)]
#[path = "allocate_tests.rs"]
mod tests;
