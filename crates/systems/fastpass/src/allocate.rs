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
//! the quantum; what is left goes a quantum at a time. With a quantum of 1 and 16 to 31 pairs on average,
//! the first visit takes two slots. (A share of what is free at both ends need not be left for a pair
//! visited later: measured, pairs are a little further from max-min fairness.)
//!
//! **Demand that is granted at once** leaves no trace: pairs that ask for slots come last in the next batch,
//! and only those that do not get all of them become active.
//!
//! **Nobody starves** under [`Policy::MaxMin`]. Who got nothing in a batch comes first in the next, in
//! the old order, and new pairs come last. A pair goes without only if pairs ahead of it took all 64
//! slots from its two ends, so 32 or more from one; they are behind it afterwards. These are 32 over the
//! quantum `q` (2, where first visits take two), or, where a share is larger than that, half of the pairs
//! at that end. With `n` endpoints
//! at most 2n - 4 pairs can be ahead: after ⌈(2n - 4) q / 32⌉ + 14 batches without a slot a pair gets
//! one. [`Policy::ShortestFirst`] gives no such promise, nor do the lower classes of
//! [`Allocator::with_tenants`].
//!
//! **Two allocators** can own alternating batches, each with a part of the pairs: after its batch each
//! hands what is left to the other ([`Allocator::take_waiting`], [`Allocator::put_first`]), so that a
//! pair is not bound to one of them.

use super::active::ActivePairs;
use super::bits::{lowest, lowest_four, lowest_one, lowest_two};
use super::served::{First, Served};
use super::tenants::{Tenant, Tenants};
use super::visit::{Ends, Head, fair_share, join, key};

/// Timeslots in a batch.
pub const BATCH: u32 = 64;
/// The largest number of endpoints: numbers have 16 bits.
pub const MOST_ENDPOINTS: usize = 1 << 16;
/// Once a demand is larger, all demand joins what its pair waits for at once, so that too much is refused.
const LARGE: u32 = 1 << 16;
/// So many pairs per endpoint are a crowd.
const CROWD: usize = 16;
/// So many cannot have two slots of a batch each.
const LARGE_CROWD: usize = BATCH as usize / 2;

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

impl Policy {
    /// The least that a first visit takes, if that may depend on an equal share of an end; else it takes all there is.
    fn least_share(self) -> Option<u32> {
        match self {
            Policy::ShortestFirst | Policy::MaxMin { quantum: BATCH } => None,
            Policy::MaxMin { quantum } => Some(quantum),
        }
    }
}

/// What an endpoint may send in a batch. A pair may come twice in a batch, with different slots.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Grant {
    /// The receiving endpoint.
    pub dst: u16,
    /// The sending endpoint.
    pub src: u16,
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
    /// Active pairs, waiting for the next batch, in order, by class.
    pub(super) waiting: Vec<Vec<Head>>,
    /// What was asked for since the last batch, in order.
    pub(super) asked: Vec<Head>,
    /// Some demand was large, and not all has been granted since.
    pub(super) is_large: bool,
    tenants: Option<Tenants>,
    /// Pairs that became active.
    entered: Vec<Head>,
    /// Pairs that are done and asked for more since.
    pub(super) since: Vec<u32>,
    /// What visits left in this batch.
    pub(super) served: Served,
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
            ends: Ends::new(policy.least_share()),
            active: ActivePairs::new(endpoints),
            waiting: vec![Vec::new()],
            asked: Vec::new(),
            is_large: false,
            tenants: None,
            entered: Vec::new(),
            since: Vec::new(),
            served: Served::default(),
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
        self.check(src, dst)?;
        if slots == 0 {
            return Ok(());
        }
        let head = Head::new(key(src, dst), slots);
        if self.is_large || slots > LARGE {
            return self.add_large(head);
        }
        self.asked.push(head);
        self.ends.join(head);
        Ok(())
    }
    /// Whether there are such endpoints.
    #[inline]
    fn check(&self, src: u16, dst: u16) -> Result<(), DemandError> {
        let (endpoint, endpoints) = (src.max(dst), self.endpoints);
        if usize::from(endpoint) >= endpoints {
            return Err(DemandError::Unknown { endpoint, endpoints });
        }
        if src == dst {
            return Err(DemandError::Itself(src));
        }
        Ok(())
    }
    /// Demand joins that of its pair, if that is active, which becomes so otherwise.
    #[cold]
    fn add_large(&mut self, head: Head) -> Result<(), DemandError> {
        self.is_large = true;
        let (src, dst) = (head.src(), head.dst());
        let new = self.active.ask(head.key(), head.left());
        if new.ok_or(DemandError::TooMuch { src, dst })? {
            let class = self.tenants.as_ref().map_or(0, |tenants| tenants.class(src));
            self.waiting[class].push(head);
            self.ends.join(head);
        }
        Ok(())
    }
    /// All pairs that asked since the last batch become active; demand of those that are joins theirs.
    /// Tells of the latter.
    pub(super) fn admit(&mut self, mut joined: impl FnMut(u32)) {
        let Allocator { asked, active, ends, tenants, waiting, entered, .. } = self;
        match tenants {
            None => active.enter(asked, &mut waiting[0]),
            Some(tenants) => {
                entered.clear();
                active.enter(asked, entered);
                entered.iter().for_each(|&head| waiting[tenants.class(head.src())].push(head));
            }
        }
        asked.retain(|&head| {
            joined(head.key());
            !join(head, active, ends)
        });
    }
    /// Pairs that wait for slots. What was asked for since the last batch counts as a pair each time.
    pub fn active_pairs(&self) -> usize {
        self.active.len() + self.asked.len()
    }
    /// What pairs wait for: source, destination, slots. A pair that asked since the last batch may come
    /// several times.
    pub fn backlog(&self) -> impl Iterator<Item = (u16, u16, u64)> {
        let waiting = self.waiting.iter().flatten().map(|head| {
            let since = self.active.asked_since(head.key());
            (head.src(), head.dst(), u64::from(head.left()) + u64::from(since))
        });
        let asked = self.asked.iter();
        waiting.chain(asked.map(|head| (head.src(), head.dst(), u64::from(head.left()))))
    }
    /// Allocates the next 64 timeslots and appends them to `out`.
    pub fn allocate_batch(&mut self, out: &mut Vec<Grant>) {
        out.extend_from_slice(self.next_batch());
    }
    /// Allocates the next 64 timeslots.
    pub fn next_batch(&mut self) -> &[Grant] {
        self.open();
        self.is_large &= self.active_pairs() > 0;
        let crowd = self.active_pairs() / self.endpoints >= CROWD;
        if self.tenants.is_some() || self.policy == Policy::ShortestFirst || crowd {
            self.admit(|_| ());
        }
        self.count(!crowd);
        let mut asked = std::mem::take(&mut self.asked);
        for class in 0..self.waiting.len() {
            // Taken out for the time of its service.
            let mut waiting = std::mem::take(&mut self.waiting[class]);
            self.serve(&mut waiting, &mut asked);
            self.waiting[class] = waiting;
        }
        self.asked = asked;
        self.served.granted()
    }
    /// Each end's pairs are counted where visits look at shares, but not in a crowd, where they do not.
    fn count(&mut self, shares: bool) {
        let Allocator { endpoints, policy, ends, waiting, asked, .. } = self;
        if !shares {
            ends.count_no_more();
        } else if policy.least_share().is_some() && !ends.counts() {
            let pairs = waiting.iter().flatten().chain(asked.iter());
            ends.count(*endpoints, pairs.copied());
        }
    }
    /// All slots of the batch are free.
    pub(super) fn open(&mut self) {
        self.ends.renew(self.endpoints);
    }
    /// Serves pairs that wait, then those that asked, with what is free.
    pub(super) fn serve(&mut self, waiting: &mut Vec<Head>, asked: &mut Vec<Head>) {
        if self.policy == Policy::ShortestFirst {
            waiting.sort_unstable_by_key(|head| head.size());
        }
        let mut from = self.serve_from(0, waiting, asked);
        while from < waiting.len() {
            from = self.serve_from(from, waiting, &mut Vec::new());
        }
        if let Some(tenants) = &self.tenants {
            waiting.sort_by_key(|&head| !tenants.was_cut_short(head));
        }
    }
    /// Serves the waiting pairs behind place `from`. Returns where those are that became active again.
    fn serve_from(&mut self, from: usize, waiting: &mut Vec<Head>, asked: &mut Vec<Head>) -> usize {
        let competing = waiting.len() - from + asked.len();
        self.first(waiting, from, asked, competing);
        self.rounds();
        self.settle(waiting)
    }
    /// The first visit to the waiting pairs behind place `from` and to those that asked, where so many
    /// compete for slots.
    pub(super) fn first(
        &mut self,
        waiting: &mut Vec<Head>,
        from: usize,
        asked: &mut Vec<Head>,
        competing: usize,
    ) {
        let Allocator { endpoints, ends, active, tenants, served, .. } = self;
        let counts = ends.counts();
        let first = First { waiting, from, asked, ends, active, served };
        if let Some(tenants) = tenants {
            return first.visits(|free, head, _| tenants.take(free, head));
        }
        // Where most endpoints have many pairs, an equal share is a slot or two: not worth a search.
        let crowd = competing / *endpoints >= CROWD || !counts;
        match self.policy {
            Policy::ShortestFirst | Policy::MaxMin { quantum: BATCH } => {
                first.visits(|free, head, _| lowest(free, head.left().min(BATCH)))
            }
            Policy::MaxMin { .. } if !crowd => first
                .visits(|free, head, ends| lowest(free, fair_share(head, ends).min(head.left()))),
            Policy::MaxMin { quantum: 1 } if competing / *endpoints < LARGE_CROWD => {
                first.visits(|free, head, _| lowest_two(free, head.left() > 1))
            }
            Policy::MaxMin { quantum: 1 } => first.visits(|free, _, _| lowest_one(free)),
            Policy::MaxMin { quantum: 4 } => {
                first.visits(|free, head, _| lowest_four(free, head.left()))
            }
            Policy::MaxMin { quantum } => {
                first.visits(|free, head, _| lowest(free, head.left().min(quantum)))
            }
        }
    }
    /// Visits pairs that want more until nobody can get more.
    pub(super) fn rounds(&mut self) {
        let Allocator { ends, tenants, served, .. } = self;
        if let Some(tenants) = tenants {
            return served.rounds(ends, |free, head| tenants.take(free, head));
        }
        match self.policy {
            // All that there is has been taken.
            Policy::ShortestFirst | Policy::MaxMin { quantum: BATCH } => {}
            Policy::MaxMin { quantum: 1 } => served.rounds(ends, |free, _| lowest_one(free)),
            Policy::MaxMin { quantum: 4 } => {
                served.rounds(ends, |free, head| lowest_four(free, head.left()))
            }
            Policy::MaxMin { quantum } => {
                served.rounds(ends, |free, head| lowest(free, head.left().min(quantum)))
            }
        }
    }
    /// Grants what visits gave; who waits on does so behind `waiting`, in the order of service. Pairs
    /// that are done stop being active, or wait on, in this batch, for what they asked for since. Returns
    /// where these are.
    pub(super) fn settle(&mut self, waiting: &mut Vec<Head>) -> usize {
        let Allocator { ends, active, served, since, .. } = self;
        served.settle(waiting);
        leave(served.at_once(), active, ends, since);
        leave(served.late(), active, ends, since);
        resume(active, ends, waiting, since)
    }
    /// Takes all that waits out, in the order of service, and appends it to `out`: for another allocator.
    pub fn take_waiting(&mut self, out: &mut Vec<Demand>) {
        self.admit(|_| ());
        for head in self.waiting.iter_mut().flat_map(|class| class.drain(..)) {
            let (src, dst) = (head.src(), head.dst());
            self.ends.leave(head);
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
        self.admit(|_| ());
        let before: Vec<usize> = self.waiting.iter().map(Vec::len).collect();
        let taken = demands.iter().try_for_each(|d| self.add_demand(d.src, d.dst, d.slots));
        self.admit(|_| ());
        self.waiting.iter_mut().zip(before).for_each(|(class, old)| class.rotate_left(old));
        taken
    }
}

/// Pairs that are done stop being active. Those that asked for more since go to `since`.
#[inline(always)]
pub(super) fn leave(
    done: impl Iterator<Item = u32>,
    active: &mut ActivePairs,
    ends: &mut Ends,
    since: &mut Vec<u32>,
) {
    active.finish(done.inspect(|&key| ends.leave(Head::new(key, 0))), since);
}

/// Pairs wait on for what they asked for since. Returns where these are.
pub(super) fn resume(
    active: &mut ActivePairs,
    ends: &mut Ends,
    waiting: &mut Vec<Head>,
    since: &mut Vec<u32>,
) -> usize {
    let place = waiting.len();
    for key in since.drain(..) {
        let head = Head::new(key, active.done(key));
        ends.join(head);
        waiting.push(head);
    }
    place
}

#[cfg(test)]
#[path = "allocate_tests.rs"]
mod tests;
