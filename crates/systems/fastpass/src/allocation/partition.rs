//! One partition of an allocation: an allocator that also serves the pairs of other partitions and lends its
//! own. The module [`super::partitions`] describes the steps.

use super::active::ActivePairs;
use super::allocator::{Allocator, leave, resume};
use super::entry::{Entry, key};
use super::pair_filter::PairFilter;
use super::{DemandError, Grant, Policy};

/// With several partitions, the numbers of pairs per endpoint that count as many are higher by this factor.
const SHARE_FACTOR: usize = 2;

/// One partition.
#[derive(Clone, Debug)]
pub struct Partition {
    allocator: Allocator,
    /// Pairs to which demand was added since they were last lent.
    joined: PairFilter,
    /// The loads of the other partitions in this batch.
    others: Vec<u64>,
    /// The number of pairs of all partitions when the batch began.
    all: usize,
    /// The pairs of another partition, while they are served.
    borrowed: Vec<Entry>,
}

impl Partition {
    /// Makes a partition for a number of endpoints.
    ///
    /// # Errors
    /// The errors of [`Allocator::new`].
    pub fn new(endpoints: usize, policy: Policy) -> Result<Partition, DemandError> {
        let allocator = Allocator::new(endpoints, policy)?;
        let (joined, others, borrowed) = (PairFilter::new(), Vec::new(), Vec::new());
        Ok(Partition { allocator, joined, others, all: 0, borrowed })
    }
    /// Adds demand as [`Allocator::add_demand`] does. This is not allowed between [`Partition::begin`] and
    /// [`Partition::finish`].
    ///
    /// # Errors
    /// The errors of [`Allocator::add_demand`].
    pub fn add_demand(&mut self, src: u16, dst: u16, slots: u32) -> Result<(), DemandError> {
        self.allocator.add_demand(src, dst, slots)?;
        if self.allocator.is_large {
            self.joined.insert(key(src, dst));
        }
        Ok(())
    }
    /// The slots that each active pair waits for: source, destination, number.
    pub fn backlog(&self) -> impl Iterator<Item = (u16, u16, u64)> {
        self.allocator.backlog()
    }
    /// Allocates a batch. This is only for a partition without others.
    pub fn allocate_alone(&mut self, out: &mut Vec<Grant>) {
        self.allocator.allocate_batch(out);
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
        let Partition { allocator, joined, all, .. } = self;
        allocator.free_all_slots();
        let mut waiting = std::mem::take(&mut allocator.waiting[0]);
        if allocator.policy == Policy::ShortestFirst {
            waiting.sort_unstable_by_key(|entry| entry.size());
        }
        // With equal shares, no partition takes the slots of another. Shares are therefore used as long as they
        // are at least two slots. There is no second visit now, even if more slots are free. Pairs that wait
        // again because demand was added come last.
        allocator.visit_first(&mut waiting, 0, &mut Vec::new(), *all / SHARE_FACTOR);
        allocator.finish_visits(&mut waiting);
        out.extend(allocator.served.granted());
        lent.extend(
            waiting.drain(..).map(|entry| with_joined(entry, joined, &mut allocator.active)),
        );
        joined.clear();
        allocator.waiting[0] = waiting;
    }
    /// Serves pairs of another partition with the free slots of this batch and appends all of them to `rest`.
    /// Pairs with all slots granted come first, with 0 slots left. The others follow in the order of service.
    pub fn serve(&mut self, pairs: &[u64], rest: &mut Vec<u64>, out: &mut Vec<Grant>) {
        let Partition { allocator, borrowed, all, .. } = self;
        let (done, left) = pairs.split_at(granted(pairs));
        borrowed.clear();
        borrowed.extend(left.iter().map(|&entry| Entry(entry)));
        if allocator.policy == Policy::ShortestFirst {
            borrowed.sort_unstable_by_key(|entry| entry.size());
        }
        allocator.visit_first(borrowed, 0, &mut Vec::new(), *all);
        allocator.rounds();
        allocator.served.finish_visits(borrowed);
        rest.extend_from_slice(done);
        let done = allocator.served.at_once().chain(allocator.served.late());
        rest.extend(done.map(|key| Entry::new(key, 0).0));
        out.extend(allocator.served.granted());
        rest.extend(borrowed.iter().map(|entry| entry.0));
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
        let Allocator { active, ends, resumed, .. } = allocator;
        let done = done.iter().map(|&entry| Entry(entry).key());
        leave(done, active, ends, resumed);
        resume(active, ends, &mut waiting, resumed);
        allocator.serve(&mut waiting, &mut Vec::new());
        out.extend(allocator.served.granted());
        allocator.waiting[0] = waiting;
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
