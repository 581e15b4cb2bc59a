//! The visits of a batch to waiting pairs. An allocator spends most of its time here.
//!
//! Hardly any branch depends on the data, as half of such branches would be mispredicted. Results are written to the
//! end of each list that they may belong to, and then the lists to which they do belong become longer: one at a
//! time, or four at a time ([`super::pack`]). Where many pairs get nothing, these pairs are found first, 64 at a time.

use super::Grant;
use super::active::ActivePairs;
use super::ends::{Ends, join};
use super::entry::Entry;
use super::pack::{pack, zeros};

/// Pairs visited at a time.
const CHUNK: usize = 64;
/// Each list is longer than its used part by at least this: a chunk, and what is written behind it with its last pairs.
const ROOM: usize = CHUNK + 4;
/// Why there is room.
const GROWN: &str = "lists grow before visits";
/// If at least this many of 64 pairs get slots at first visits, finding the blocked pairs first saves no time.
const MANY: usize = 40;
/// The same number for later visits, which cost less.
const MANY_LATER: usize = 30;

/// Pairs, with the slots that they still wait for, and the slots that they got. The lists never become shorter, so that
/// their memory is initialized once.
#[derive(Clone, Debug, Default)]
struct List {
    pairs: Vec<Entry>,
    slots: Vec<u64>,
}

impl List {
    /// Makes room for `used` pairs and a chunk.
    fn grow(&mut self, used: usize) {
        if self.pairs.len() < used + ROOM {
            let length = used + used / 2 + ROOM;
            self.pairs.resize(length, Entry::default());
            self.slots.resize(length, 0);
        }
    }
    /// The part behind the first `used` pairs.
    #[inline(always)]
    fn behind(&mut self, used: usize) -> End<'_> {
        End {
            pairs: self.pairs[used..].first_chunk_mut().expect(GROWN),
            slots: self.slots[used..].first_chunk_mut().expect(GROWN),
            added: 0,
        }
    }
    fn grants(&self, used: usize) -> impl Iterator<Item = Grant> {
        self.pairs[..used].iter().zip(&self.slots).map(|(pair, &slots)| pair.grant(slots))
    }
}

/// The end of a list while visits to a chunk of pairs write there.
struct End<'a> {
    pairs: &'a mut [Entry; ROOM],
    slots: &'a mut [u64; ROOM],
    added: usize,
}

impl End<'_> {
    /// Adds a pair if it `belongs` there.
    #[inline(always)]
    fn add(&mut self, pair: Entry, slots: u64, belongs: bool) {
        self.pairs[self.added % CHUNK] = pair;
        self.slots[self.added % CHUNK] = slots;
        self.added += usize::from(belongs);
    }
    /// Adds those of four pairs that belong there.
    #[inline(always)]
    fn add_some(&mut self, pairs: [u64; 4], slots: [u64; 4], which: u32) {
        let at = self.added;
        put(self.pairs, at, pack(pairs, which).map(Entry));
        put(self.slots, at, pack(slots, which));
        self.added += which.count_ones() as usize;
    }
}

/// Writes four elements.
#[inline(always)]
fn put<T>(list: &mut [T; ROOM], at: usize, four: [T; 4]) {
    *list[at % CHUNK..].first_chunk_mut().expect("four fit behind a chunk") = four;
}

/// The results of visits.
#[derive(Clone, Debug, Default)]
pub(super) struct Served {
    /// Pairs that got all slots at their first visit: active pairs, then requests.
    ended: List,
    /// The other pairs that got slots, in the order of last visits. Those that got all slots wait for none.
    rest: List,
    /// The pairs that got slots at a later visit and may get more.
    live: List,
    /// The pairs that got all slots at a later visit.
    late: Vec<u32>,
    ends: Lengths,
}

/// How much of the lists is in use.
#[derive(Clone, Copy, Debug, Default)]
struct Lengths {
    ended: usize,
    /// The pairs of the first visits of a batch in `ended`. Those of further ones move to `rest`.
    first: usize,
    /// The indices in `ended` at which the active pairs of these visits begin and end.
    active: [usize; 2],
    rest: usize,
    /// The index in `rest` at which the pairs of these visits begin.
    from: usize,
    live: usize,
}

/// The first visits of a batch, or of a class in it.
pub(super) struct FirstVisits<'a> {
    /// Active pairs.
    pub(super) waiting: &'a mut Vec<Entry>,
    /// The index of the first pair to visit.
    pub(super) from: usize,
    /// The requests since the last batch.
    pub(super) requests: &'a mut Vec<Entry>,
    pub(super) ends: &'a mut Ends,
    pub(super) active: &'a mut ActivePairs,
    pub(super) served: &'a mut Served,
}

impl FirstVisits<'_> {
    /// Visits all pairs. `take` chooses slots among the free ones and returns them with their number.
    pub(super) fn visits(self, mut take: impl FnMut(u64, Entry, &Ends) -> (u64, u32)) {
        let FirstVisits { waiting, from, requests, ends, active, served } = self;
        served.begin(waiting.len() - from + requests.len());
        served.visit_waiting(waiting, from, ends, &mut take);
        served.visit_requests(requests, waiting, ends, active, &mut take);
    }
}

/// Visits a pair. Returns it with the slots that it still waits for, and the slots that it got.
#[inline(always)]
fn visit(
    entry: Entry,
    ends: &mut Ends,
    take: &mut impl FnMut(u64, Entry, &Ends) -> (u64, u32),
) -> (Entry, u64) {
    let (slots, count) = take(ends.free(entry), entry, ends);
    ends.take(entry, slots);
    (entry.less(count), slots)
}

/// The lists to which first visits to a chunk of active pairs write. Pairs that get nothing stay where they are.
struct FirstLists<'a> {
    /// Pairs that got all their slots.
    ended: End<'a>,
    /// Pairs that got some slots, but not all.
    rest: End<'a>,
}

impl FirstLists<'_> {
    /// Visits a chunk of pairs most of which get something. Returns a bit for each that gets nothing.
    #[inline(always)]
    fn visit_many(
        &mut self,
        chunk: &[Entry; CHUNK],
        ends: &mut Ends,
        take: &mut impl FnMut(u64, Entry, &Ends) -> (u64, u32),
    ) -> u64 {
        let mut nothing = 0;
        for (at, four) in chunk.as_chunks::<4>().0.iter().enumerate() {
            let (mut pairs, mut slots) = ([0; 4], [0; 4]);
            for (i, &entry) in four.iter().enumerate() {
                let (after, got) = visit(entry, ends, take);
                (pairs[i], slots[i]) = (after.0, got);
            }
            let (none, done) = (zeros(slots), zeros(pairs.map(|pair| pair << 32)));
            nothing |= u64::from(none) << (4 * at);
            self.ended.add_some(pairs, slots, done);
            self.rest.add_some(pairs, slots, 15 & !(none | done));
        }
        nothing
    }
    /// Visits those of a chunk of pairs whose bits in `all` are set and most of which get nothing. Those without a
    /// free slot are found first. Returns a bit for each that gets nothing.
    #[inline(always)]
    fn visit_few(
        &mut self,
        chunk: &[Entry; CHUNK],
        all: u64,
        ends: &mut Ends,
        take: &mut impl FnMut(u64, Entry, &Ends) -> (u64, u32),
    ) -> u64 {
        let mut nothing = all & blocked(chunk, ends);
        for i in ones(all & !nothing) {
            let (after, slots) = visit(chunk[i % CHUNK], ends, take);
            let (none, done) = (slots == 0, after.left() == 0);
            self.ended.add(after, slots, done);
            self.rest.add(after, slots, !none & !done);
            nothing |= u64::from(none).wrapping_shl(i as u32);
        }
        nothing
    }
}

/// Moves those pairs of the chunk at index `from` whose bits in `which` are set to index `to`, which is not behind it.
/// Returns the index behind them.
#[inline(always)]
fn keep(pairs: &mut [Entry], from: usize, to: usize, which: u64) -> usize {
    if which == !0 {
        if from != to {
            pairs.copy_within(from..from + CHUNK, to);
        }
        return to + CHUNK;
    }
    (0..CHUNK).step_by(4).fold(to, |to, i| {
        let four: [Entry; 4] = *pairs[from + i..].first_chunk().expect(GROWN);
        let which = (which >> i) as u32 & 15;
        let packed = pack(four.map(|entry| entry.0), which).map(Entry);
        *pairs[to..].first_chunk_mut().expect(GROWN) = packed;
        to + which.count_ones() as usize
    })
}

impl Served {
    /// Begins visits to this number of pairs. Earlier grants stay.
    fn begin(&mut self, pairs: usize) {
        let Lengths { first, rest, .. } = self.ends;
        self.ended.grow(first + pairs);
        // The pairs in `ended` may move here.
        self.rest.grow(rest + pairs);
        self.late.clear();
        self.ends = Lengths { ended: first, active: [first; 2], from: rest, live: 0, ..self.ends };
    }
    /// Visits the pairs from index `from` on. Those that get nothing stay there, in order.
    #[inline(never)]
    fn visit_waiting(
        &mut self,
        waiting: &mut Vec<Entry>,
        from: usize,
        ends: &mut Ends,
        mut take: impl FnMut(u64, Entry, &Ends) -> (u64, u32),
    ) {
        let count = waiting.len() - from;
        waiting.resize(waiting.len() + ROOM, Entry::default());
        let pairs = &mut waiting[from..];
        let (mut few, mut stay) = (false, 0);
        for from in (0..count).step_by(CHUNK) {
            let chunk = pairs[from..].first_chunk().expect(GROWN);
            let mut lists = FirstLists {
                ended: self.ended.behind(self.ends.ended),
                rest: self.rest.behind(self.ends.rest),
            };
            let nothing = if few || from + CHUNK > count {
                let all = !0 >> CHUNK.saturating_sub(count - from);
                lists.visit_few(chunk, all, ends, &mut take)
            } else {
                lists.visit_many(chunk, ends, &mut take)
            };
            let FirstLists { ended, rest } = lists;
            few = ended.added + rest.added < MANY;
            self.ends.ended += ended.added;
            self.ends.rest += rest.added;
            stay = keep(pairs, from, stay, nothing);
        }
        waiting.truncate(from + stay);
        self.ends.active[1] = self.ends.ended;
    }
    /// Visits the requests since the last batch. Pairs that get nothing are appended to `waiting`. Pairs that
    /// get all at once never become active; the others do after their chunk. If a pair requested twice in one
    /// chunk, the rest of the second request is added to the first.
    #[inline(never)]
    fn visit_requests(
        &mut self,
        requests: &mut Vec<Entry>,
        waiting: &mut Vec<Entry>,
        ends: &mut Ends,
        active: &mut ActivePairs,
        mut take: impl FnMut(u64, Entry, &Ends) -> (u64, u32),
    ) {
        let (mut pairs, mut slots) = ([Entry::default(); CHUNK], [0; CHUNK]);
        let mut again = Vec::new();
        for entries in requests.chunks(CHUNK) {
            let mut all = !0 >> (CHUNK - entries.len());
            for (i, &entry) in entries.iter().enumerate() {
                if active.is_active(entry.key()) {
                    again.extend((!join(entry, active, ends)).then_some(entry));
                    all ^= 1 << i;
                } else {
                    let (after, got) = visit(entry, ends, &mut take);
                    (pairs[i % CHUNK], slots[i % CHUNK]) = (after, got);
                    ends.leave_if(after.left() == 0, entry);
                }
            }
            let mut begins = |entry: Entry| {
                let new = active.activate(entry.key());
                if !new && !join(entry, active, ends) {
                    again.push(entry);
                }
                new
            };
            let none = all & bits(|i| slots[i] == 0);
            let done = all & bits(|i| pairs[i].left() == 0);
            let pair = |i: usize| pairs[i % CHUNK];
            waiting.extend(ones(none).map(pair).filter(|&entry| begins(entry)));
            let mut ended = self.ended.behind(self.ends.ended);
            let mut rest = self.rest.behind(self.ends.rest);
            ones(done).for_each(|i| ended.add(pair(i), slots[i % CHUNK], true));
            for i in ones(all & !none & !done) {
                let new = begins(pair(i));
                rest.add(pair(i), slots[i % CHUNK], new);
                ended.add(pair(i), slots[i % CHUNK], !new);
            }
            self.ends.ended += ended.added;
            self.ends.rest += rest.added;
        }
        requests.clear();
        requests.append(&mut again);
    }
    /// Visits the pairs that may get more, again and again, until none can.
    #[inline(never)]
    pub(super) fn rounds(
        &mut self,
        ends: &mut Ends,
        mut take: impl FnMut(u64, Entry) -> (u64, u32),
    ) {
        let Lengths { from, rest: to, .. } = self.ends;
        self.ends.rest = from;
        self.live.grow(to - from);
        let mut few = true;
        for at in (from..to).step_by(CHUNK) {
            let (pairs, slots) = copy(&self.rest, at);
            few = self.visit_again(&pairs, &slots, CHUNK.min(to - at), ends, &mut take, few);
        }
        while self.ends.live > 0 {
            let (live, mut few) = (std::mem::take(&mut self.ends.live), true);
            for at in (0..live).step_by(CHUNK) {
                let (pairs, slots) = copy(&self.live, at);
                few = self.visit_again(&pairs, &slots, CHUNK.min(live - at), ends, &mut take, few);
            }
        }
    }
    /// Visits the first `count` of these pairs once more. Those that can get nothing more go to `rest`, first those
    /// that are blocked already. Returns whether few got something and may get more.
    #[inline(always)]
    fn visit_again(
        &mut self,
        pairs: &[Entry; CHUNK],
        slots: &[u64; CHUNK],
        count: usize,
        ends: &mut Ends,
        take: &mut impl FnMut(u64, Entry) -> (u64, u32),
        few: bool,
    ) -> bool {
        let all = !0 >> (CHUNK - count);
        let cannot = if few { all & blocked(pairs, ends) } else { 0 };
        let mut live = self.live.behind(self.ends.live);
        let mut rest = self.rest.behind(self.ends.rest);
        if cannot != 0 {
            for (i, (pairs, slots)) in
                pairs.as_chunks::<4>().0.iter().zip(slots.as_chunks::<4>().0).enumerate()
            {
                let which = (cannot >> (4 * i)) as u32 & 15;
                rest.add_some(pairs.map(|pair| pair.0), *slots, which);
            }
        }
        for i in ones(all & !cannot) {
            let (after, got) =
                visit(pairs[i % CHUNK], ends, &mut |free, entry, _| take(free, entry));
            let may = (got != 0) & (after.left() != 0);
            live.add(after, slots[i % CHUNK] | got, may);
            rest.add(after, slots[i % CHUNK] | got, !may);
        }
        let (live, rest) = (live.added, rest.added);
        self.ends.live += live;
        self.ends.rest += rest;
        rest > CHUNK - MANY_LATER
    }
    /// Appends the pairs that still wait to `waiting`, in the order of service.
    pub(super) fn finish_visits(&mut self, waiting: &mut Vec<Entry>) {
        debug_assert!(self.ends.live == 0, "pairs may get more");
        let Lengths { ended, first, from, rest, .. } = self.ends;
        let mut length = waiting.len();
        waiting.resize(length + rest - from + 4, Entry::default());
        for at in (from..rest).step_by(4) {
            let four: [Entry; 4] = *self.rest.pairs[at..].first_chunk().expect(GROWN);
            let words = four.map(|pair| pair.0);
            let all = 15 >> 4usize.saturating_sub(rest - at);
            let done = all & zeros(words.map(|pair| pair << 32));
            self.late.extend(ones(done.into()).map(|i| four[i % 4].key()));
            let packed = pack(words, all & !done).map(Entry);
            waiting[length..][..4].copy_from_slice(&packed);
            length += (all & !done).count_ones() as usize;
        }
        waiting.truncate(length);
        if from == 0 && first == 0 {
            self.ends.first = ended;
        } else {
            self.move_ended();
        }
    }
    /// Moves the pairs that got all slots at first visits before the others of these visits.
    fn move_ended(&mut self) {
        let Lengths { ended, first, from, rest, .. } = self.ends;
        let added = ended - first;
        self.rest.grow(rest + added);
        let List { pairs, slots } = &mut self.rest;
        pairs.copy_within(from..rest, from + added);
        slots.copy_within(from..rest, from + added);
        pairs[from..][..added].copy_from_slice(&self.ended.pairs[first..ended]);
        slots[from..][..added].copy_from_slice(&self.ended.slots[first..ended]);
        self.ends.rest += added;
    }
    /// All grants since the last call.
    pub(super) fn granted(&mut self) -> impl Iterator<Item = Grant> {
        let Lengths { first, rest, .. } = std::mem::take(&mut self.ends);
        self.ended.grants(first).chain(self.rest.grants(rest))
    }
    /// Active pairs that got all slots at their first visit.
    pub(super) fn at_once(&self) -> impl Iterator<Item = u32> {
        let [from, to] = self.ends.active;
        self.ended.pairs[from..to].iter().map(|pair| pair.key())
    }
    /// Pairs that got all slots at a later visit.
    pub(super) fn late(&self) -> impl Iterator<Item = u32> {
        self.late.iter().copied()
    }
    /// Memory in bytes.
    #[cfg(test)]
    pub(super) fn bytes(&self) -> usize {
        let lists = [&self.ended, &self.rest, &self.live];
        lists.iter().map(|list| list.pairs.capacity() * 16).sum::<usize>()
            + self.late.capacity() * 4
    }
}

/// A chunk of a list.
#[inline(always)]
fn copy(list: &List, at: usize) -> ([Entry; CHUNK], [u64; CHUNK]) {
    let (pairs, slots) = (list.pairs[at..].first_chunk(), list.slots[at..].first_chunk());
    (*pairs.expect(GROWN), *slots.expect(GROWN))
}

/// Bit `i` is set if the condition holds for `i`.
#[inline(always)]
fn bits(condition: impl Fn(usize) -> bool) -> u64 {
    (0..CHUNK).fold(0, |bits, i| bits | u64::from(condition(i)) << i)
}

/// Bit `i` is set if no slot is free for pair `i`. The compiler does not know that sources and destinations are read
/// from the same words, and therefore reads 16 bits for each, which takes fewer instructions than to divide words.
#[inline(always)]
fn blocked(pairs: &[Entry; CHUNK], ends: &Ends) -> u64 {
    let again = std::hint::black_box(pairs);
    let both = pairs.iter().zip(again).rev();
    let free = both.map(|(from, to)| ends.free_between(from.src(), to.dst()));
    free.fold(0, |cannot: u64, free| cannot.wrapping_add(cannot).wrapping_add((free == 0).into()))
}

/// The positions of the set bits, the lowest first.
#[inline(always)]
fn ones(mut word: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let lowest = (word != 0).then(|| word.trailing_zeros() as usize);
        word &= word.wrapping_sub(1);
        lowest
    })
}
