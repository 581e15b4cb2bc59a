//! Timeslot allocation (§3): a batch of 64 timeslots at a time, each of them a matching of sources to
//! destinations.
//!
//! One word per source and one per destination say which slots of the batch are free. Pairs wait in one
//! queue, the least recently served first. A batch goes through the queue in rounds: a visit takes the
//! lowest slots that are free at both ends, at most a quantum. A pair leaves the batch when all is
//! granted, or when its ends have no free slot in common: words only lose slots, so no later visit in
//! the batch could succeed, and each slot that stays free is one that no waiting pair can use.
//!
//! **What round robin gives in any case is given at once.** Max-min fairness gives a pair an equal share
//! of the busier one of its ends at least: 64 slots over the number of pairs there. As long as
//! endpoints have few pairs (below 16 on average), its first visit takes that much, where it is more than
//! the quantum; what is left goes a quantum at a time. (A share of what is free at both ends need not be
//! left for a pair visited later: measured, pairs are a little further from max-min fairness.)
//!
//! **Nobody starves** under [`Policy::MaxMin`]. Who got nothing in a batch comes first in the next, in
//! the old order, and new pairs come last. A pair goes without only if pairs ahead of it took all 64
//! slots from its two ends, so 32 or more from one; they are behind it afterwards. These are 32 over the
//! quantum `q`, or, where a share is larger than that, half of the pairs at that end. With `n` endpoints
//! at most 2n - 4 pairs can be ahead: after ⌈(2n - 4) q / 32⌉ + 14 batches without a slot a pair gets
//! one. [`Policy::ShortestFirst`] gives no such promise, nor do the lower classes of
//! [`Allocator::with_tenants`].
//!
//! **Two allocators** can own alternating batches, each with a part of the pairs: after its batch each
//! hands what is left to the other ([`Allocator::take_waiting`], [`Allocator::put_first`]), so that a
//! pair is not bound to one of them.

use super::active::ActivePairs;
use super::bits::{lowest, lowest_four, lowest_one};
use super::tenants::{Tenant, Tenants};
use super::visit::{Ends, Head, Pair, Side, fair_share, first_visits, key, visits};
use std::ops::Range;

/// Timeslots in a batch.
pub const BATCH: u32 = 64;
/// The largest number of endpoints: numbers have 16 bits.
pub const MOST_ENDPOINTS: usize = 1 << 16;
/// So many pairs per endpoint are a crowd.
const CROWD: usize = 16;

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

/// Slots that a pair waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Demand {
    /// The sending endpoint.
    pub src: u16,
    /// The receiving endpoint.
    pub dst: u16,
    /// How many.
    pub slots: u32,
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
    /// A weight outside the batch.
    #[error("a weight of {0}; it is from 1 to 64 slots per visit")]
    Weight(u32),
    /// An endpoint of a tenant that does not exist.
    #[error(
        "endpoint {endpoint} belongs to tenant {tenant}, which does not exist; there are {tenants}"
    )]
    Tenant {
        /// The endpoint.
        endpoint: usize,
        /// Its tenant.
        tenant: u16,
        /// How many tenants there are.
        tenants: usize,
    },
    /// An endpoint that can neither send nor receive.
    #[error("endpoint {0} has a rate of 0; it is one packet per slot at least")]
    NoLane(usize),
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
    /// Waiting for the next batch, in order, by class.
    pub(super) waiting: Vec<Vec<Head>>,
    tenants: Option<Tenants>,
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
            waiting: vec![Vec::new()],
            tenants: None,
            pairs: Vec::new(),
            done: Vec::new(),
        })
    }
    /// An allocator whose sources belong to tenants: `of_endpoint[i]` is the number of endpoint `i`'s.
    /// Classes are served strictly one after another, 0 first; within a class, a visit takes as many
    /// slots as the tenant's weight, so that pairs that compete share in proportion.
    ///
    /// # Errors
    /// A number of endpoints or a weight out of range; a tenant that does not exist.
    pub fn with_tenants(tenants: &[Tenant], of_endpoint: &[u16]) -> Result<Allocator, DemandError> {
        let plain = Allocator::new(of_endpoint.len(), Policy::MaxMin { quantum: 1 })?;
        let tenants = Tenants::new(tenants, of_endpoint)?;
        let waiting = vec![Vec::new(); tenants.classes()];
        Ok(Allocator { waiting, tenants: Some(tenants), ..plain })
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
            self.ends.src.join(src);
            self.ends.dst.join(dst);
            let class = self.tenants.as_ref().map_or(0, |tenants| tenants.class(src));
            self.waiting[class].push(Head::new(key(src, dst), slots));
        }
        Ok(())
    }
    /// Pairs that wait for slots.
    pub fn active_pairs(&self) -> usize {
        self.active.len()
    }
    /// What each active pair waits for: source, destination, slots.
    pub fn backlog(&self) -> impl Iterator<Item = (u16, u16, u64)> {
        self.waiting.iter().flatten().map(|head| {
            let since = self.active.asked_since(head.key());
            (head.src(), head.dst(), u64::from(head.left()) + u64::from(since))
        })
    }
    /// Allocates the next 64 timeslots and appends them to `out`.
    pub fn allocate_batch(&mut self, out: &mut Vec<Grant>) {
        self.open();
        for class in 0..self.waiting.len() {
            // Taken out for the time of its service.
            let mut waiting = std::mem::take(&mut self.waiting[class]);
            self.serve(&mut waiting, out);
            self.waiting[class] = waiting;
        }
    }
    /// All slots of the batch are free.
    pub(super) fn open(&mut self) {
        self.ends.src.renew(self.endpoints);
        self.ends.dst.renew(self.endpoints);
    }
    /// Room for so many pairs, and for them again when they are gone.
    pub(super) fn make_room(&mut self, pairs: usize) {
        if self.pairs.len() <= 2 * pairs {
            self.pairs.resize(2 * pairs + 1, Pair::default());
        }
    }
    /// Serves these pairs with what is free.
    pub(super) fn serve(&mut self, waiting: &mut Vec<Head>, out: &mut Vec<Grant>) {
        if self.policy == Policy::ShortestFirst {
            waiting.sort_unstable();
        }
        let mut from = 0;
        while from < waiting.len() {
            let pairs = waiting.len() - from;
            self.make_room(pairs);
            let [none, live, gone] = self.first(&mut waiting[from..], pairs);
            let gone = self.rounds(live, gone);
            from = self.settle(waiting, from + none, pairs..gone, out);
        }
        if let Some(tenants) = &self.tenants {
            waiting.sort_by_key(|&head| !tenants.was_cut_short(head));
        }
    }
    /// The first visit to these pairs, where so many compete for slots.
    pub(super) fn first(&mut self, waiting: &mut [Head], competing: usize) -> [usize; 3] {
        let Allocator { pairs, ends, tenants, .. } = self;
        if let Some(tenants) = tenants {
            return first_visits(waiting, pairs, ends, |free, head, _| tenants.take(free, head));
        }
        // Where most endpoints have many pairs, an equal share is a slot or two: not worth a search.
        let crowd = competing / self.endpoints;
        match self.policy {
            Policy::MaxMin { quantum } if crowd < CROWD => {
                first_visits(waiting, pairs, ends, |free, head, ends| {
                    lowest(free, fair_share(head, ends).max(quantum).min(head.left()))
                })
            }
            Policy::MaxMin { quantum: 1 } => {
                first_visits(waiting, pairs, ends, |free, _, _| lowest_one(free))
            }
            Policy::MaxMin { quantum: 4 } => {
                first_visits(waiting, pairs, ends, |free, head, _| lowest_four(free, head.left()))
            }
            Policy::MaxMin { quantum } => first_visits(waiting, pairs, ends, |free, head, _| {
                lowest(free, head.left().min(quantum))
            }),
            Policy::ShortestFirst => {
                first_visits(waiting, pairs, ends, |free, head, _| lowest(free, head.left()))
            }
        }
    }
    /// Visits pairs until all are gone. Returns where they end.
    pub(super) fn rounds(&mut self, mut live: usize, mut gone: usize) -> usize {
        let Allocator { pairs, ends, tenants, .. } = self;
        while live > 0 {
            if let Some(tenants) = tenants {
                let take = |free, head| tenants.take(free, head);
                (live, gone) = visits(pairs, live, gone, ends, take);
                continue;
            }
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
    pub(super) fn settle(
        &mut self,
        waiting: &mut Vec<Head>,
        to: usize,
        gone: Range<usize>,
        out: &mut Vec<Grant>,
    ) -> usize {
        let gone = &self.pairs[gone];
        out.extend(gone.iter().map(Pair::grant));
        waiting.resize(to + gone.len() + 1, Head::default());
        self.done.resize(self.done.len().max(gone.len() + 1), 0);
        let (places, done) = (&mut waiting[to..], &mut self.done[..]);
        let (mut wait, mut ended) = (0, 0);
        for Pair { head, .. } in gone {
            let ends = head.left() == 0;
            places[wait] = *head;
            wait += usize::from(!ends);
            done[ended] = head.key();
            ended += usize::from(ends);
        }
        waiting.truncate(to + wait);
        for at in 0..ended {
            self.resume(self.done[at], waiting);
        }
        to + wait
    }
    /// A pair that is done stops being active, or waits on for what it asked for since.
    pub(super) fn resume(&mut self, key: u32, waiting: &mut Vec<Head>) {
        let head = Head::new(key, self.active.done(key));
        if head.left() == 0 {
            self.ends.src.leave(head.src());
            self.ends.dst.leave(head.dst());
        } else {
            waiting.push(head);
        }
    }
    /// Takes all that waits out, in the order of service, and appends it to `out`: for another allocator.
    pub fn take_waiting(&mut self, out: &mut Vec<Demand>) {
        for head in self.waiting.iter_mut().flat_map(|class| class.drain(..)) {
            let (src, dst) = (head.src(), head.dst());
            self.ends.src.leave(src);
            self.ends.dst.leave(dst);
            out.push(Demand { src, dst, slots: head.left() });
            let since = self.active.done(head.key());
            if since > 0 {
                self.active.done(head.key());
                out.push(Demand { src, dst, slots: since });
            }
        }
        self.tenants.iter_mut().for_each(Tenants::forget);
    }
    /// Puts demand that waited elsewhere before all that waits here, in its order. Demand of a pair that
    /// waits here joins it.
    ///
    /// # Errors
    /// As [`Allocator::add_demand`]; what comes before the refused one is taken.
    pub fn put_first(&mut self, demands: &[Demand]) -> Result<(), DemandError> {
        let before: Vec<usize> = self.waiting.iter().map(Vec::len).collect();
        let taken = demands.iter().try_for_each(|d| self.add_demand(d.src, d.dst, d.slots));
        self.waiting.iter_mut().zip(before).for_each(|(class, old)| class.rotate_left(old));
        taken
    }
}

#[cfg(test)]
#[path = "allocate_tests.rs"]
mod tests;
