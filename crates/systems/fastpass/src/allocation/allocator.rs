//! The allocator of timeslots for one sequence of batches.

use super::active::ActivePairs;
use super::bits::{lowest, lowest_four, lowest_one, lowest_two};
use super::ends::{Ends, fair_share, join};
use super::entry::{Entry, key};
use super::tenants::{Tenant, Tenants};
use super::visits::{FirstVisits, Served};
use super::{BATCH, Demand, DemandError, Grant, MOST_ENDPOINTS, Policy};

/// After a demand above this size, each demand is added to its pair at once, so that a sum that cannot be
/// counted is refused.
const LARGE: u32 = 1 << 16;
/// From this number of pairs per endpoint on, visits do not look at shares.
const MANY_PAIRS: usize = 16;
/// From this number of pairs per endpoint on, not every pair can have two slots of a batch.
const VERY_MANY_PAIRS: usize = BATCH as usize / 2;

/// The timeslot allocator. It takes no memory for pairs without demand.
#[derive(Clone, Debug)]
pub struct Allocator {
    pub(super) endpoints: usize,
    pub(super) policy: Policy,
    pub(super) ends: Ends,
    pub(super) active: ActivePairs,
    /// The active pairs that wait for the next batch, in order, by class.
    pub(super) waiting: Vec<Vec<Entry>>,
    /// The requests since the last batch, in order.
    pub(super) requests: Vec<Entry>,
    /// Whether a large demand was added that has not been granted completely since.
    pub(super) is_large: bool,
    /// Whether first visits take a quantum and not an equal share.
    strict: bool,
    tenants: Option<Tenants>,
    /// Working memory: the pairs that became active.
    entered: Vec<Entry>,
    /// Working memory: pairs that are done but have requested more meanwhile.
    pub(super) resumed: Vec<u32>,
    /// The results of the visits in this batch.
    pub(super) served: Served,
}

impl Allocator {
    /// Makes an allocator for a number of endpoints.
    ///
    /// # Errors
    /// The number of endpoints or the quantum is out of range.
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
            ends: Ends::new(policy.least_share(), BATCH),
            active: ActivePairs::new(endpoints),
            waiting: vec![Vec::new()],
            requests: Vec::new(),
            is_large: false,
            strict: false,
            tenants: None,
            entered: Vec::new(),
            resumed: Vec::new(),
            served: Served::default(),
        })
    }
    /// Sets the size of a batch to `slots` timeslots, from 1 to 64.
    #[must_use]
    pub fn with_batch(self, slots: u32) -> Allocator {
        Allocator { ends: Ends::new(self.policy.least_share(), slots.clamp(1, BATCH)), ..self }
    }
    /// Serves pairs in strict turns: each visit takes a quantum, also the first of a batch, which otherwise takes
    /// an equal share of the busier end or, with a quantum of 1, up to two slots.
    #[must_use]
    pub fn with_strict_turns(mut self, strict: bool) -> Allocator {
        if strict {
            self.ends.stop_counting();
        }
        Allocator { strict, ..self }
    }
    /// Makes an allocator whose sources belong to tenants: `of_endpoint[i]` is the number of the tenant of
    /// endpoint `i`. Classes are served strictly one after another, class 0 first. Within a class, a visit
    /// takes as many slots as the tenant's weight, so that competing pairs share in proportion to their
    /// weights.
    ///
    /// # Errors
    /// The number of endpoints or a weight is out of range, or a tenant does not exist.
    pub fn with_tenants(tenants: &[Tenant], of_endpoint: &[u16]) -> Result<Allocator, DemandError> {
        let plain = Allocator::new(of_endpoint.len(), Policy::MaxMin { quantum: 1 })?;
        let tenants = Tenants::new(tenants, of_endpoint)?;
        let waiting = vec![Vec::new(); tenants.classes()];
        Ok(Allocator { waiting, tenants: Some(tenants), ..plain })
    }
    /// Adds `slots` slots to the demand from `src` to `dst`.
    ///
    /// # Errors
    /// The endpoints do not exist or are the same, or the sum cannot be counted.
    #[inline]
    pub fn add_demand(&mut self, src: u16, dst: u16, slots: u32) -> Result<(), DemandError> {
        self.check(src, dst)?;
        if slots == 0 {
            return Ok(());
        }
        let entry = Entry::new(key(src, dst), slots);
        if self.is_large || slots > LARGE {
            return self.add_large(entry);
        }
        self.requests.push(entry);
        self.ends.join(entry);
        Ok(())
    }
    /// Checks that both endpoints exist and differ.
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
    /// Adds a demand to its pair, which becomes active if it is not.
    #[cold]
    fn add_large(&mut self, entry: Entry) -> Result<(), DemandError> {
        self.is_large = true;
        let (src, dst) = (entry.src(), entry.dst());
        let new = self.active.request(entry.key(), entry.left());
        if new.ok_or(DemandError::TooMuch { src, dst })? {
            let class = self.tenants.as_ref().map_or(0, |tenants| tenants.class(src));
            self.waiting[class].push(entry);
            self.ends.join(entry);
        }
        Ok(())
    }
    /// Makes all pairs active that requested slots since the last batch. Requests of active pairs join their
    /// demand, and `joined` is called for each of these.
    pub(super) fn admit(&mut self, mut joined: impl FnMut(u32)) {
        let Allocator { requests, active, ends, tenants, waiting, entered, .. } = self;
        match tenants {
            None => active.activate_all(requests, &mut waiting[0]),
            Some(tenants) => {
                entered.clear();
                active.activate_all(requests, entered);
                entered.iter().for_each(|&entry| waiting[tenants.class(entry.src())].push(entry));
            }
        }
        requests.retain(|&entry| {
            joined(entry.key());
            !join(entry, active, ends)
        });
    }
    /// The number of pairs that wait for slots. Every request since the last batch counts as a pair.
    pub fn active_pairs(&self) -> usize {
        self.active.len() + self.requests.len()
    }
    /// The slots that pairs wait for: source, destination, number. A pair that requested slots since the last
    /// batch may occur several times.
    pub fn backlog(&self) -> impl Iterator<Item = (u16, u16, u64)> {
        let waiting = self.waiting.iter().flatten().map(|entry| {
            let since = self.active.requested_since(entry.key());
            (entry.src(), entry.dst(), u64::from(entry.left()) + u64::from(since))
        });
        let requests = self.requests.iter();
        waiting.chain(requests.map(|entry| (entry.src(), entry.dst(), u64::from(entry.left()))))
    }
    /// Allocates the next 64 timeslots and appends them to `out`.
    pub fn allocate_batch(&mut self, out: &mut Vec<Grant>) {
        out.extend(self.next_batch());
    }
    /// Allocates the next 64 timeslots.
    pub fn next_batch(&mut self) -> impl Iterator<Item = Grant> {
        self.free_all_slots();
        self.is_large &= self.active_pairs() > 0;
        let crowded = self.active_pairs() / self.endpoints >= MANY_PAIRS;
        if self.tenants.is_some() || self.policy == Policy::ShortestFirst || crowded {
            self.admit(|_| ());
        }
        self.count_pairs(!crowded && !self.strict);
        let mut requests = std::mem::take(&mut self.requests);
        for class in 0..self.waiting.len() {
            // The list is taken out while it is served.
            let mut waiting = std::mem::take(&mut self.waiting[class]);
            self.serve(&mut waiting, &mut requests);
            self.waiting[class] = waiting;
        }
        self.requests = requests;
        self.served.granted()
    }
    /// Counts the pairs at each end if visits use equal shares. With many pairs they do not.
    fn count_pairs(&mut self, shares: bool) {
        let Allocator { endpoints, policy, ends, waiting, requests, .. } = self;
        if !shares {
            ends.stop_counting();
        } else if policy.least_share().is_some() && !ends.counts() {
            let pairs = waiting.iter().flatten().chain(requests.iter());
            ends.count(*endpoints, pairs.copied());
        }
    }
    /// Marks all slots of the batch as free.
    pub(super) fn free_all_slots(&mut self) {
        self.ends.reset(self.endpoints);
    }
    /// Serves waiting pairs, then requests, with the slots that are free.
    pub(super) fn serve(&mut self, waiting: &mut Vec<Entry>, requests: &mut Vec<Entry>) {
        if self.policy == Policy::ShortestFirst {
            waiting.sort_unstable_by_key(|entry| entry.size());
        }
        let mut from = self.serve_from(0, waiting, requests);
        while from < waiting.len() {
            from = self.serve_from(from, waiting, &mut Vec::new());
        }
        if let Some(tenants) = &self.tenants {
            waiting.sort_by_key(|&entry| !tenants.was_cut_short(entry));
        }
    }
    /// Serves the waiting pairs from index `from` on. Returns the index of the first pair that became active
    /// again.
    fn serve_from(
        &mut self,
        from: usize,
        waiting: &mut Vec<Entry>,
        requests: &mut Vec<Entry>,
    ) -> usize {
        let competing = waiting.len() - from + requests.len();
        self.visit_first(waiting, from, requests, competing);
        self.rounds();
        self.finish_visits(waiting)
    }
    /// Visits the waiting pairs from index `from` on and the requests for the first time. `competing` is the
    /// number of pairs that compete for slots.
    pub(super) fn visit_first(
        &mut self,
        waiting: &mut Vec<Entry>,
        from: usize,
        requests: &mut Vec<Entry>,
        competing: usize,
    ) {
        let Allocator { endpoints, ends, active, tenants, served, strict, .. } = self;
        let counts = ends.counts();
        let first = FirstVisits { waiting, from, requests, ends, active, served };
        if let Some(tenants) = tenants {
            return first.visits(|free, entry, _| tenants.take(free, entry));
        }
        // Where most endpoints have many pairs, an equal share is one or two slots, which is not worth the
        // search.
        let crowded = competing / *endpoints >= MANY_PAIRS || !counts;
        match self.policy {
            Policy::ShortestFirst | Policy::MaxMin { quantum: BATCH } => {
                first.visits(|free, entry, _| lowest(free, entry.left().min(BATCH)))
            }
            Policy::MaxMin { .. } if !crowded => first.visits(|free, entry, ends| {
                lowest(free, fair_share(entry, ends).min(entry.left()))
            }),
            Policy::MaxMin { quantum: 1 }
                if competing / *endpoints < VERY_MANY_PAIRS && !*strict =>
            {
                first.visits(|free, entry, _| lowest_two(free, entry.left() > 1))
            }
            Policy::MaxMin { quantum: 1 } => first.visits(|free, _, _| lowest_one(free)),
            Policy::MaxMin { quantum: 4 } => {
                first.visits(|free, entry, _| lowest_four(free, entry.left()))
            }
            Policy::MaxMin { quantum } => {
                first.visits(|free, entry, _| lowest(free, entry.left().min(quantum)))
            }
        }
    }
    /// Visits pairs that want more slots until no pair can get more.
    pub(super) fn rounds(&mut self) {
        let Allocator { ends, tenants, served, .. } = self;
        if let Some(tenants) = tenants {
            return served.rounds(ends, |free, entry| tenants.take(free, entry));
        }
        match self.policy {
            // The first visit has taken all that is free.
            Policy::ShortestFirst | Policy::MaxMin { quantum: BATCH } => {}
            Policy::MaxMin { quantum: 1 } => served.rounds(ends, |free, _| lowest_one(free)),
            Policy::MaxMin { quantum: 4 } => {
                served.rounds(ends, |free, entry| lowest_four(free, entry.left()))
            }
            Policy::MaxMin { quantum } => {
                served.rounds(ends, |free, entry| lowest(free, entry.left().min(quantum)))
            }
        }
    }
    /// Grants what the visits took. Pairs that still wait are appended to `waiting`, in the order of service.
    /// Pairs that are done stop being active. Those that requested more meanwhile wait again in this batch,
    /// at the end of `waiting`. Returns the index of the first of them.
    pub(super) fn finish_visits(&mut self, waiting: &mut Vec<Entry>) -> usize {
        let Allocator { ends, active, served, resumed, .. } = self;
        served.finish_visits(waiting);
        leave(served.at_once(), active, ends, resumed);
        leave(served.late(), active, ends, resumed);
        resume(active, ends, waiting, resumed)
    }
    /// Deactivates pairs that are done. Those that have requested more meanwhile wait again, at the end of `waiting`.
    pub(super) fn end(&mut self, done: impl Iterator<Item = Entry>, waiting: &mut Vec<Entry>) {
        let Allocator { active, ends, resumed, .. } = self;
        leave(done.map(Entry::key), active, ends, resumed);
        resume(active, ends, waiting, resumed);
    }
    /// Removes all waiting demand, in the order of service, and appends it to `out`, for another allocator.
    pub fn take_waiting(&mut self, out: &mut Vec<Demand>) {
        self.admit(|_| ());
        for entry in self.waiting.iter_mut().flat_map(|class| class.drain(..)) {
            let (src, dst) = (entry.src(), entry.dst());
            self.ends.leave(entry);
            out.push(Demand { src, dst, slots: entry.left() });
            let since = self.active.finish_pair(entry.key());
            if since > 0 {
                self.active.finish_pair(entry.key());
                out.push(Demand { src, dst, slots: since });
            }
        }
        self.tenants.iter_mut().for_each(Tenants::forget);
    }
    /// Puts demand of another allocator before all demand that waits here, in the given order. Demand of a
    /// pair that already waits here is added to that pair.
    ///
    /// # Errors
    /// The errors of [`Allocator::add_demand`]. Demand before the refused one is added.
    pub fn put_first(&mut self, demands: &[Demand]) -> Result<(), DemandError> {
        self.admit(|_| ());
        let before: Vec<usize> = self.waiting.iter().map(Vec::len).collect();
        let taken = demands.iter().try_for_each(|d| self.add_demand(d.src, d.dst, d.slots));
        self.admit(|_| ());
        self.waiting.iter_mut().zip(before).for_each(|(class, old)| class.rotate_left(old));
        taken
    }
}

/// Deactivates pairs that are done. Pairs that have requested more meanwhile go to `resumed`.
#[inline(always)]
fn leave(
    done: impl Iterator<Item = u32>,
    active: &mut ActivePairs,
    ends: &mut Ends,
    resumed: &mut Vec<u32>,
) {
    active.finish(done.inspect(|&key| ends.leave(Entry::new(key, 0))), resumed);
}

/// Lets pairs wait again for what they requested meanwhile. Returns the index of the first of them.
fn resume(
    active: &mut ActivePairs,
    ends: &mut Ends,
    waiting: &mut Vec<Entry>,
    resumed: &mut Vec<u32>,
) -> usize {
    let place = waiting.len();
    for key in resumed.drain(..) {
        let entry = Entry::new(key, active.finish_pair(key));
        ends.join(entry);
        waiting.push(entry);
    }
    place
}

#[cfg(test)]
#[path = "allocator_tests.rs"]
mod tests;
