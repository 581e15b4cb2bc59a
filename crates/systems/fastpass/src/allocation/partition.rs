//! One partition of an allocation: an allocator that also serves the pairs of other partitions and lends its
//! own. The module [`super::partitions`] describes the steps.

use super::active::ActivePairs;
use super::allocator::Allocator;
use super::entry::{Entry, key};
use super::lanes::Lanes;
use super::pair_filter::PairFilter;
use super::{Demand, DemandError, Grant, Policy};

/// With several partitions, the numbers of pairs per endpoint that count as many are higher by this factor.
const SHARE_FACTOR: usize = 2;

/// One partition.
#[derive(Clone, Debug)]
pub struct Partition {
    allocator: Allocator,
    /// The lanes of endpoints of different rates. The allocator's endpoints are lanes then.
    lanes: Option<Lanes>,
    /// Pairs to which demand was added since they were last lent.
    joined: PairFilter,
    /// The loads of the other partitions in this batch.
    others: Vec<u64>,
    /// The number of pairs of all partitions when the batch began.
    all: usize,
    /// The pairs of another partition, while they are served.
    borrowed: Vec<Entry>,
    /// Working memory: the demand of pairs of lanes that still wait.
    waiting: Vec<Demand>,
}

impl From<Allocator> for Partition {
    /// A partition of endpoints of one rate. Its allocator has no tenants if there are other partitions.
    fn from(allocator: Allocator) -> Partition {
        Partition {
            allocator,
            lanes: None,
            joined: PairFilter::new(),
            others: Vec::new(),
            all: 0,
            borrowed: Vec::new(),
            waiting: Vec::new(),
        }
    }
}

impl Partition {
    /// Makes a partition for a number of endpoints.
    ///
    /// # Errors
    /// The errors of [`Allocator::new`].
    pub fn new(endpoints: usize, policy: Policy) -> Result<Partition, DemandError> {
        Allocator::new(endpoints, policy).map(Partition::from)
    }
    /// Makes a partition for endpoints that send and receive these numbers of packets per timeslot.
    ///
    /// # Errors
    /// An endpoint has no lane, there are too few or too many lanes, or the quantum is out of range.
    pub fn of_rates(rates: &[u16], policy: Policy) -> Result<Partition, DemandError> {
        let lanes = Lanes::new(rates)?;
        let partition = Partition::new(lanes.count(), policy)?;
        Ok(Partition { lanes: Some(lanes), ..partition })
    }
    /// Sets the size of a batch to `slots` timeslots, from 1 to 64.
    #[must_use]
    pub fn with_batch(self, slots: u32) -> Partition {
        Partition { allocator: self.allocator.with_batch(slots), ..self }
    }
    /// Serves pairs in strict turns ([`Allocator::with_strict_turns`]).
    #[must_use]
    pub fn with_strict_turns(self, strict: bool) -> Partition {
        Partition { allocator: self.allocator.with_strict_turns(strict), ..self }
    }
    /// Adds demand: `slots` packets from `src` to `dst`. This is not allowed between [`Partition::begin`] and
    /// [`Partition::finish`].
    ///
    /// # Errors
    /// The errors of [`Allocator::add_demand`]. If the sum cannot be counted, a part of the demand between endpoints of
    /// several lanes may have been added.
    pub fn add_demand(&mut self, src: u16, dst: u16, slots: u32) -> Result<(), DemandError> {
        let Partition { allocator, lanes, joined, .. } = self;
        let mut add = |src: u16, dst: u16, slots: u32| {
            allocator.add_demand(src, dst, slots)?;
            if allocator.is_large {
                joined.insert(key(src, dst));
            }
            Ok(())
        };
        match lanes {
            None => add(src, dst, slots),
            Some(lanes) => lanes.divide((src, dst, slots), add),
        }
    }
    /// The slots that each active pair waits for: source, destination, number. A pair may occur several times.
    pub fn backlog(&self) -> impl Iterator<Item = (u16, u16, u64)> {
        let owner = |end: u16| self.lanes.as_ref().map_or(end, |lanes| lanes.owner(end));
        self.allocator.backlog().map(move |(src, dst, slots)| (owner(src), owner(dst), slots))
    }
    /// Whether no pair waits.
    pub fn is_idle(&self) -> bool {
        self.allocator.active_pairs() == 0
    }
    /// Allocates a batch and appends its grants to `out`. With lanes, a pair may have a slot several times. This is only
    /// for a partition without others.
    pub fn allocate_alone(&mut self, out: &mut Vec<Grant>) {
        let before = out.len();
        self.allocator.allocate_batch(out);
        let Partition { allocator, lanes: Some(lanes), waiting, .. } = self else { return };
        lanes.name_owners(&mut out[before..]);
        allocator.take_waiting(waiting);
        for demand in &mut *waiting {
            let pair = Entry::new(key(demand.src, demand.dst), demand.slots);
            demand.slots = lanes.fill(pair, &mut allocator.ends, out).left();
        }
        waiting.retain(|demand| demand.slots > 0);
        let put_back = allocator.put_first(waiting);
        debug_assert!(put_back.is_ok(), "the demand waited there before");
        waiting.clear();
    }
    /// Appends the number of pairs that this partition has at each endpoint: as a source (upper half) and as
    /// a destination. The loads of several partitions may be added word by word.
    pub fn loads(&self, out: &mut Vec<u64>) {
        let Allocator { ends, endpoints, .. } = &self.allocator;
        out.extend(ends.loads(*endpoints));
    }
    /// Begins a batch: each pair gets an equal share of its busier end, or the slots of one visit. `others`
    /// is the sum of the loads of all other partitions ([`Partition::loads`]).
    ///
    /// All pairs that still wait are appended to `lent`, in order. Each is one word, from the top: 16 bits for
    /// the source, 16 for the destination, 32 for the slots. They have to be returned ([`Partition::finish`])
    /// before the next batch.
    pub fn begin(&mut self, others: &[u64], out: &mut Vec<Grant>, lent: &mut Vec<u64>) {
        self.others.extend_from_slice(others);
        self.allocator.ends.change(others, |pairs, more| *pairs += more);
        let Partition { allocator, joined, .. } = self;
        allocator.admit(|pair| joined.insert(pair));
        let theirs = others.iter().map(|load| (load >> 32) as usize);
        self.all = self.allocator.active_pairs() + theirs.sum::<usize>();
        let all = self.all;
        let allocator = &mut self.allocator;
        allocator.free_all_slots();
        let mut waiting = std::mem::take(&mut allocator.waiting[0]);
        if allocator.policy == Policy::ShortestFirst {
            waiting.sort_unstable_by_key(|entry| entry.size());
        }
        // With equal shares, no partition takes the slots of another. Shares are therefore used as long as they
        // are at least two slots. There is no second visit now, even if more slots are free. Pairs that wait
        // again because demand was added come last.
        allocator.visit_first(&mut waiting, 0, &mut Vec::new(), all / SHARE_FACTOR);
        allocator.finish_visits(&mut waiting);
        self.collect(out);
        let Partition { allocator, joined, .. } = self;
        lent.extend(
            waiting.drain(..).map(|entry| with_joined(entry, joined, &mut allocator.active)),
        );
        joined.clear();
        allocator.waiting[0] = waiting;
    }
    /// Serves pairs of another partition with the free slots of this batch and appends all of them to `rest`.
    /// Pairs with all slots granted come first, with 0 slots left. The others follow in the order of service.
    pub fn serve(&mut self, pairs: &[u64], rest: &mut Vec<u64>, out: &mut Vec<Grant>) {
        let Partition { allocator, all, .. } = self;
        let mut borrowed = std::mem::take(&mut self.borrowed);
        let (done, left) = pairs.split_at(granted(pairs));
        borrowed.clear();
        borrowed.extend(left.iter().map(|&entry| Entry(entry)));
        if allocator.policy == Policy::ShortestFirst {
            borrowed.sort_unstable_by_key(|entry| entry.size());
        }
        allocator.visit_first(&mut borrowed, 0, &mut Vec::new(), *all);
        allocator.rounds();
        allocator.served.finish_visits(&mut borrowed);
        rest.extend_from_slice(done);
        let done = allocator.served.at_once().chain(allocator.served.late());
        rest.extend(done.map(|key| Entry::new(key, 0).0));
        self.collect(out);
        rest.extend(self.fill(&mut borrowed, out).into_iter().map(|entry| entry.0));
        rest.extend(borrowed.iter().map(|entry| entry.0));
        self.borrowed = borrowed;
    }
    /// Takes the lent pairs back and serves them with the free slots of the batch. Pairs that wait again because
    /// demand was added come last.
    pub fn finish(&mut self, pairs: &[u64], out: &mut Vec<Grant>) {
        self.allocator.ends.change(&self.others, |pairs, less| *pairs -= less);
        self.others.clear();
        let allocator = &mut self.allocator;
        let (done, left) = pairs.split_at(granted(pairs));
        let mut waiting = std::mem::take(&mut allocator.waiting[0]);
        debug_assert!(waiting.is_empty(), "demand was added in the middle of a batch");
        waiting.extend(left.iter().map(|&entry| Entry(entry)));
        allocator.end(done.iter().map(|&entry| Entry(entry)), &mut waiting);
        allocator.serve(&mut waiting, &mut Vec::new());
        self.collect(out);
        let done = self.fill(&mut waiting, out);
        self.allocator.end(done.into_iter(), &mut waiting);
        self.allocator.waiting[0] = waiting;
    }
    /// Appends all grants since the last call.
    fn collect(&mut self, out: &mut Vec<Grant>) {
        let before = out.len();
        out.extend(self.allocator.served.granted());
        if let Some(lanes) = &self.lanes {
            lanes.name_owners(&mut out[before..]);
        }
    }
    /// With lanes, grants slots to pairs that no visit can serve ([`Lanes::fill`]). Removes the pairs that got all their
    /// slots from `pairs`, and returns them.
    fn fill(&mut self, pairs: &mut Vec<Entry>, out: &mut Vec<Grant>) -> Vec<Entry> {
        let Partition { allocator, lanes, .. } = self;
        let mut done = Vec::new();
        if let Some(lanes) = lanes {
            for pair in &mut *pairs {
                *pair = lanes.fill(*pair, &mut allocator.ends, out);
            }
            done.extend(pairs.extract_if(.., |pair| pair.left() == 0));
        }
        done
    }
}

/// The word of a pair, with the demand that was added to it meanwhile.
fn with_joined(entry: Entry, joined: &PairFilter, active: &mut ActivePairs) -> u64 {
    let joins = joined.may_contain(entry.key());
    let more = if joins { active.take_requested(entry.key(), u32::MAX - entry.left()) } else { 0 };
    entry.0 + u64::from(more)
}

/// The number of lent pairs with all slots granted, which come first.
fn granted(pairs: &[u64]) -> usize {
    pairs.partition_point(|&entry| Entry(entry).left() == 0)
}
