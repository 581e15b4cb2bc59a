//! Allocators that serve one another's pairs, each in a batch of its own: the steps of
//! [`super::split`].

use super::allocate::{Allocator, Grant, Policy};
use super::visit::{Head, Pair};

impl Allocator {
    /// Appends what this allocator's pairs ask of each source, then of each destination. Loads of several
    /// allocators may be added up, word by word.
    pub fn loads(&self, out: &mut Vec<u64>) {
        out.extend_from_slice(self.ends.src.loads(self.endpoints));
        out.extend_from_slice(self.ends.dst.loads(self.endpoints));
    }
    /// Begins a batch: each pair gets what is harmless for the others, or one visit's worth. `others` is
    /// what the pairs of all other allocators ask for ([`Allocator::loads`]).
    ///
    /// All pairs that still wait are lent to `lent`, in order, each as a word: from the top 32 bits of slots,
    /// 16 of source, 16 of destination. They have to come back ([`Allocator::finish`]) before the next
    /// batch; until then no demand may be added.
    pub fn begin(&mut self, others: &[u64], out: &mut Vec<Grant>, lent: &mut Vec<u64>) {
        let (sources, destinations) = others.split_at(others.len() / 2);
        self.open();
        self.ends.src.add(sources, false);
        self.ends.dst.add(destinations, false);
        self.fill(0, true, false, out);
        self.ends.src.add(sources, true);
        self.ends.dst.add(destinations, true);
        let Allocator { waiting, active, joined, .. } = self;
        lent.extend(waiting.drain(..).map(|head| {
            let joins = joined.may_hold(head.key());
            let more = if joins { active.join(head.key(), u32::MAX - head.left()) } else { 0 };
            head.0 + (u64::from(more) << 32)
        }));
        joined.clear();
    }
    /// Serves pairs of another allocator with what is free in this one's batch. Those with all slots
    /// granted come first, with none left; the others stay in the order of service.
    pub fn serve(&mut self, guests: &mut Vec<u64>, out: &mut Vec<Grant>) {
        let done = granted(guests);
        self.waiting.extend(guests.drain(done..).map(Head));
        if self.policy == Policy::ShortestFirst {
            self.waiting.sort_unstable();
        }
        let pairs = self.waiting.len();
        self.make_room(pairs);
        let [none, live, gone] = self.first(0, false);
        let gone = self.rounds(live, gone);
        let gone = &self.pairs[pairs..gone];
        out.extend(gone.iter().map(Pair::grant));
        let heads = |ended: bool| {
            let heads = gone.iter().map(|pair| pair.head);
            heads.filter(move |head| (head.left() == 0) == ended).map(|head| head.0)
        };
        guests.extend(heads(true));
        guests.extend(self.waiting[..none].iter().map(|head| head.0));
        guests.extend(heads(false));
        self.waiting.clear();
    }
    /// Takes back what was lent, and serves it with what is left of the batch. Pairs that go on with
    /// demand that joined them come last.
    pub fn finish(&mut self, pairs: &[u64], out: &mut Vec<Grant>) {
        let (done, waiting) = pairs.split_at(granted(pairs));
        let new = self.waiting.len();
        self.waiting.extend(waiting.iter().map(|&head| Head(head)));
        debug_assert_eq!(new, 0, "demand was added before the pairs were back");
        self.resume(done.iter().map(|&key| key as u32));
        if self.policy == Policy::ShortestFirst {
            self.waiting.sort_unstable();
        }
        let mut from = 0;
        while from < self.waiting.len() {
            from = self.fill(from, false, true, out);
        }
        let Allocator { waiting, ends, endpoints, .. } = self;
        ends.src.forget_slots(*endpoints);
        ends.dst.forget_slots(*endpoints);
        for head in waiting {
            ends.src.ask_more(head.src(), head.left());
            ends.dst.ask_more(head.dst(), head.left());
        }
    }
}

/// How many of the lent pairs have all slots granted: the first ones.
fn granted(pairs: &[u64]) -> usize {
    pairs.partition_point(|&head| head >> 32 == 0)
}
