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
use super::bits::{lowest, lowest_four, lowest_one};
use super::keys::Keys;
use super::visit::{Ends, Head, Pair, Side, first_shares, first_visits, key, visits};
use std::ops::Range;

/// Timeslots in a batch.
pub const BATCH: u32 = 64;
/// The largest number of endpoints: numbers have 16 bits.
pub const MOST_ENDPOINTS: usize = 1 << 16;
/// So many pairs per endpoint are a crowd.
const CROWD: usize = 12;

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

/// The timeslot allocator. It takes no memory for pairs without demand.
#[derive(Clone, Debug)]
pub struct Allocator {
    pub(super) endpoints: usize,
    pub(super) policy: Policy,
    pub(super) ends: Ends,
    pub(super) active: ActivePairs,
    /// Pairs that demand joined since they were last lent.
    pub(super) joined: Keys,
    /// Waiting for the next batch, in order.
    pub(super) waiting: Vec<Head>,
    /// In this batch: first those that may still get slots, then those that cannot.
    pub(super) pairs: Vec<Pair>,
    done: Vec<u32>,
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
            ends: Ends { src: Side::new(), dst: Side::new() },
            active: ActivePairs::new(endpoints),
            joined: Keys::new(),
            waiting: Vec::new(),
            pairs: Vec::new(),
            done: Vec::new(),
        })
    }
    /// `src` wants to send to `dst` in so many slots more.
    ///
    /// # Errors
    /// Endpoints that do not exist or are the same; more slots than can be counted.
    #[inline]
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
            self.ends.src.join(src, slots);
            self.ends.dst.join(dst, slots);
            self.waiting.push(Head::new(key(src, dst), slots));
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
        self.waiting.iter().map(|head| {
            let since = self.active.asked_since(head.key());
            (head.src(), head.dst(), u64::from(head.left()) + u64::from(since))
        })
    }
    /// Allocates the next 64 timeslots and appends them to `out`.
    pub fn allocate_batch(&mut self, out: &mut Vec<Grant>) {
        self.open();
        let mut from = 0;
        while from < self.waiting.len() {
            from = self.fill(from, true, true, out);
        }
        self.ends.src.relieve(self.endpoints);
        self.ends.dst.relieve(self.endpoints);
    }
    /// All slots of the batch are free.
    pub(super) fn open(&mut self) {
        self.ends.src.renew(self.endpoints);
        self.ends.dst.renew(self.endpoints);
        if self.policy == Policy::ShortestFirst {
            self.waiting.sort_unstable();
        }
    }
    /// Serves the pairs that wait from place `from` on: with `shares`, what is harmless comes first; with
    /// `all`, until nothing is left for them. Returns where those are that wait for what joined them.
    pub(super) fn fill(
        &mut self,
        from: usize,
        shares: bool,
        all: bool,
        out: &mut Vec<Grant>,
    ) -> usize {
        let pairs = self.waiting.len() - from;
        self.make_room(pairs);
        let [none, live, gone] = self.first(from, shares);
        let gone = if all { self.rounds(live, gone) } else { self.stop(live, gone) };
        self.settle(from + none, pairs..gone, out)
    }
    /// Room for pairs at their first visit, and for them again when they are gone.
    pub(super) fn make_room(&mut self, pairs: usize) {
        if self.pairs.len() <= 2 * pairs {
            self.pairs.resize(2 * pairs + 1, Pair::default());
        }
    }
    /// Those that may still get slots are gone, too.
    fn stop(&mut self, live: usize, gone: usize) -> usize {
        self.pairs.copy_within(..live, gone);
        gone + live
    }
    /// The first visit to the pairs that wait, from place `from` on.
    pub(super) fn first(&mut self, from: usize, shares: bool) -> [usize; 3] {
        let Allocator { waiting, pairs, ends, .. } = self;
        let waiting = &mut waiting[from..];
        // Where most endpoints have many pairs, what is harmless is a slot or two: not worth the effort.
        let crowded = !shares || waiting.len() > CROWD * self.endpoints;
        match self.policy {
            Policy::MaxMin { quantum } if !crowded => first_shares(waiting, pairs, ends, quantum),
            Policy::MaxMin { quantum: 1 } => {
                first_visits(waiting, pairs, ends, |free, _| lowest_one(free))
            }
            Policy::MaxMin { quantum } => first_visits(waiting, pairs, ends, |free, head| {
                lowest(free, head.left().min(quantum))
            }),
            Policy::ShortestFirst => {
                first_visits(waiting, pairs, ends, |free, head| lowest(free, head.left()))
            }
        }
    }
    /// Visits pairs until all are gone. Returns where they end.
    pub(super) fn rounds(&mut self, mut live: usize, mut gone: usize) -> usize {
        let Allocator { pairs, ends, .. } = self;
        while live > 0 {
            (live, gone) = match self.policy {
                Policy::MaxMin { quantum: 1 } => {
                    visits(pairs, live, gone, ends, |free, _| lowest_one(free))
                }
                Policy::MaxMin { quantum: 4 } => {
                    visits(pairs, live, gone, ends, |free, head| lowest_four(free, head.left()))
                }
                Policy::MaxMin { quantum } => visits(pairs, live, gone, ends, |free, head| {
                    lowest(free, head.left().min(quantum))
                }),
                Policy::ShortestFirst => {
                    visits(pairs, live, gone, ends, |free, head| lowest(free, head.left()))
                }
            };
        }
        gone
    }
    /// Writes the grants of those that are gone; who waits on does so from place `to` on, in the order of
    /// service. Pairs that are done stop being active, or wait on, in this batch, for what they asked for
    /// since. Returns where these are.
    fn settle(&mut self, to: usize, gone: Range<usize>, out: &mut Vec<Grant>) -> usize {
        let gone = &self.pairs[gone];
        out.extend(gone.iter().map(Pair::grant));
        self.waiting.resize(to + gone.len() + 1, Head::default());
        self.done.resize(self.done.len().max(gone.len() + 1), 0);
        let (waiting, done) = (&mut self.waiting[to..], &mut self.done[..]);
        let (mut wait, mut ended) = (0, 0);
        for Pair { head, .. } in gone {
            let ends = head.left() == 0;
            waiting[wait] = *head;
            wait += usize::from(!ends);
            done[ended] = head.key();
            ended += usize::from(ends);
        }
        self.waiting.truncate(to + wait);
        let done = std::mem::take(&mut self.done);
        self.resume(done[..ended].iter().copied());
        self.done = done;
        to + wait
    }
    /// These pairs have all that they waited for: they stop being active, or wait for what they asked for
    /// since.
    pub(super) fn resume(&mut self, done: impl Iterator<Item = u32>) {
        for key in done {
            let head = Head::new(key, self.active.done(key));
            if head.left() == 0 {
                self.ends.src.leave(head.src());
                self.ends.dst.leave(head.dst());
            } else {
                self.ends.src.ask_more(head.src(), head.left());
                self.ends.dst.ask_more(head.dst(), head.left());
                self.waiting.push(head);
            }
        }
    }
}

#[cfg(test)]
#[path = "allocate_tests.rs"]
mod tests;
