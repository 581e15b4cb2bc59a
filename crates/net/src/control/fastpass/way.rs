//! One way of an allocation by several: an allocator that also serves other ways' pairs, and lends its
//! own. The steps of [`super::split`].

use super::active::ActivePairs;
use super::allocate::{Allocator, DemandError, Grant, Policy};
use super::bits::lowest;
use super::keys::Keys;
use super::visit::{Head, Pair, fair_share, first_visits, key};

/// A way.
#[derive(Clone, Debug)]
pub struct Way {
    allocator: Allocator,
    /// Pairs that demand joined since they were last lent.
    joined: Keys,
}

impl Way {
    /// A way for so many endpoints.
    ///
    /// # Errors
    /// As [`Allocator::new`].
    pub fn new(endpoints: usize, policy: Policy) -> Result<Way, DemandError> {
        Ok(Way { allocator: Allocator::new(endpoints, policy)?, joined: Keys::new() })
    }
    /// As [`Allocator::add_demand`]; not between [`Way::begin`] and [`Way::finish`].
    ///
    /// # Errors
    /// As there.
    pub fn add_demand(&mut self, src: u16, dst: u16, slots: u32) -> Result<(), DemandError> {
        let before = self.allocator.active_pairs();
        self.allocator.add_demand(src, dst, slots)?;
        if self.allocator.active_pairs() == before {
            self.joined.insert(key(src, dst));
        }
        Ok(())
    }
    /// What each active pair waits for: source, destination, slots.
    pub fn backlog(&self) -> impl Iterator<Item = (u16, u16, u64)> {
        self.allocator.backlog()
    }
    /// A batch of a way that is the only one.
    pub fn allocate_alone(&mut self, out: &mut Vec<Grant>) {
        self.allocator.allocate_batch(out);
    }
    /// Appends what this way's pairs ask of each source, then of each destination. The loads of several
    /// ways may be added up, word by word.
    pub fn loads(&self, out: &mut Vec<u64>) {
        let Allocator { ends, endpoints, .. } = &self.allocator;
        out.extend_from_slice(ends.src.loads(*endpoints));
        out.extend_from_slice(ends.dst.loads(*endpoints));
    }
    /// Begins a batch: each pair gets its share, or one visit's worth. `others` is what the pairs of all
    /// other ways ask for ([`Way::loads`]).
    ///
    /// All pairs that still wait are lent to `lent`, in order, each as a word: from the top 32 bits of slots,
    /// 16 of source, 16 of destination. They have to come back ([`Way::finish`]) before the next batch.
    pub fn begin(&mut self, others: &[u64], out: &mut Vec<Grant>, lent: &mut Vec<u64>) {
        let (sources, destinations) = others.split_at(others.len() / 2);
        self.allocator.open();
        self.allocator.ends.src.add(sources);
        self.allocator.ends.dst.add(destinations);
        let mut waiting = std::mem::take(&mut self.allocator.waiting[0]);
        self.shares(&mut waiting, out);
        self.allocator.ends.src.take_off(sources);
        self.allocator.ends.dst.take_off(destinations);
        let Way { allocator: Allocator { active, .. }, joined } = self;
        lent.extend(waiting.drain(..).map(|head| with_joined(head, joined, active)));
        joined.clear();
        self.allocator.waiting[0] = waiting;
    }
    /// One visit to each pair.
    fn shares(&mut self, waiting: &mut Vec<Head>, out: &mut Vec<Grant>) {
        let least = match self.allocator.policy {
            Policy::MaxMin { quantum } => quantum,
            Policy::ShortestFirst => u32::MAX,
        };
        let count = waiting.len();
        self.allocator.make_room(count);
        let Allocator { pairs, ends, .. } = &mut self.allocator;
        let [none, live, gone] = first_visits(waiting, pairs, ends, |free, head, ends| {
            lowest(free, fair_share(head, ends).max(least).min(head.left()))
        });
        // No second visit now, not even where there is more to get.
        pairs.copy_within(..live, gone);
        self.allocator.settle(waiting, none, count..gone + live, out);
    }
    /// Serves pairs of another way with what is free in this one's batch. Those with all slots granted
    /// come first, with none left; the others stay in the order of service.
    pub fn serve(&mut self, guests: &mut Vec<u64>, out: &mut Vec<Grant>) {
        let done = granted(guests);
        if self.allocator.policy == Policy::ShortestFirst {
            guests[done..].sort_unstable();
        }
        let count = guests.len() - done;
        self.allocator.make_room(count);
        for (place, head) in self.allocator.pairs.iter_mut().zip(guests.drain(done..)) {
            *place = Pair { head: Head(head), granted: 0 };
        }
        let gone = self.allocator.rounds(count, count);
        let gone = &self.allocator.pairs[count..gone];
        out.extend(gone.iter().filter(|pair| pair.granted != 0).map(Pair::grant));
        let heads = gone.iter().map(|pair| pair.head);
        guests.extend(heads.clone().filter(|head| head.left() == 0).map(|head| head.0));
        guests.extend(heads.filter(|head| head.left() != 0).map(|head| head.0));
    }
    /// Takes back what was lent, and serves it with what is left of the batch. Pairs that go on with
    /// demand that joined them come last.
    pub fn finish(&mut self, pairs: &[u64], out: &mut Vec<Grant>) {
        let allocator = &mut self.allocator;
        let (done, left) = pairs.split_at(granted(pairs));
        let mut waiting = std::mem::take(&mut allocator.waiting[0]);
        debug_assert!(waiting.is_empty(), "demand was added in the middle of a batch");
        waiting.extend(left.iter().map(|&head| Head(head)));
        done.iter().for_each(|&head| allocator.resume(head as u32, &mut waiting));
        allocator.serve(&mut waiting, out);
        // What was granted elsewhere is waited for no longer.
        allocator.ends.src.forget_slots(allocator.endpoints);
        allocator.ends.dst.forget_slots(allocator.endpoints);
        for head in &waiting {
            allocator.ends.src.ask_more(head.src(), head.left());
            allocator.ends.dst.ask_more(head.dst(), head.left());
        }
        allocator.waiting[0] = waiting;
    }
}

/// The pair's word, with the demand that joined it.
fn with_joined(head: Head, joined: &Keys, active: &mut ActivePairs) -> u64 {
    let joins = joined.may_hold(head.key());
    let more = if joins { active.join(head.key(), u32::MAX - head.left()) } else { 0 };
    head.0 + (u64::from(more) << 32)
}

/// How many of the lent pairs have all slots granted: the first ones.
fn granted(pairs: &[u64]) -> usize {
    pairs.partition_point(|&head| head >> 32 == 0)
}
