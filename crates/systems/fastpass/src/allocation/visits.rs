//! The visits of a batch to waiting pairs. An allocator spends most of its time here.
//!
//! Hardly any branch depends on the data, as half of such branches would be mispredicted. The code writes a
//! result to the end of each list that it may belong to, and then lengthens the lists that it does belong to.
//! Where many pairs get nothing, these pairs are found first, 64 at a time.

use super::Grant;
use super::active::ActivePairs;
use super::ends::{Ends, join};
use super::entry::{Entry, key};

/// Pairs visited at a time.
const CHUNK: usize = 64;
/// Each list is longer than its used part by at least a chunk.
const ROOM: &str = "there is room for a chunk";
/// If at least this many of 64 pairs get slots at first visits, finding the blocked pairs first saves no time.
const MANY: usize = 40;
/// The same number for later visits, which cost less.
const MANY_LATER: usize = 30;

/// A pair and the slots that it got.
#[derive(Clone, Copy, Debug, Default)]
struct Pair {
    entry: Entry,
    granted: u64,
}

impl From<Pair> for Entry {
    fn from(pair: Pair) -> Entry {
        pair.entry
    }
}

/// The results of visits. The lists never become shorter, so that their memory is initialized once.
#[derive(Clone, Debug, Default)]
pub(super) struct Served {
    /// The grants: first those of active pairs that got all slots at their first visit, then those of requests
    /// that got all slots, then the others in the order of last visits. While first visits are made, the last part
    /// begins further behind ([`Lengths::rest`]).
    grants: Vec<Grant>,
    /// The pairs that still wait, in the order of last visits. While first visits are made, these are the pairs of
    /// the last part of the grants.
    wait: Vec<Entry>,
    /// The pairs that got slots at a later visit and may get more.
    live: Vec<Pair>,
    /// The pairs that got all slots at a later visit.
    late: Vec<u32>,
    ends: Lengths,
}

/// How much of the lists is in use.
#[derive(Clone, Copy, Debug, Default)]
struct Lengths {
    /// The index at which the grants begin.
    start: usize,
    grants: usize,
    /// The index at which the grants of these visits begin.
    before: usize,
    /// The index at which the grants of active pairs end that got all slots at their first visit.
    done: usize,
    /// The index at which the grants of pairs begin that did not get all slots at their first visit.
    rest: usize,
    wait: usize,
    live: usize,
    late: usize,
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
        served.join_grants();
    }
}

/// The lists to which first visits to a chunk of pairs write. All are as long as a chunk, so that no index
/// needs a check.
struct FirstLists<'a> {
    /// The grants of pairs that got all their slots.
    grants: &'a mut [Grant; CHUNK],
    /// The grants of pairs that got some slots, but not all.
    rest: &'a mut [Grant; CHUNK],
    /// The same pairs.
    wait: &'a mut [Entry; CHUNK],
    nothing: &'a mut [Entry; CHUNK],
    /// Pairs that got all their slots.
    ended: usize,
    /// Pairs that got some slots, but not all.
    want_more: usize,
    /// Pairs that got nothing.
    got_nothing: usize,
}

impl FirstLists<'_> {
    /// Visits a chunk of pairs most of which get nothing. Those without a free slot are found first.
    #[inline(always)]
    fn visit_few(
        &mut self,
        chunk: &[Entry; CHUNK],
        ends: &mut Ends,
        take: &mut impl FnMut(u64, Entry, &Ends) -> (u64, u32),
    ) {
        let cannot = blocked(chunk, ends);
        if cannot == !0 {
            *self.nothing = *chunk;
            self.got_nothing = CHUNK;
            return;
        }
        let mut got = 0;
        for i in ones(!cannot) {
            let before = self.got_nothing;
            self.visit(chunk[i % CHUNK], ends, take);
            got |= u64::from(self.got_nothing == before).wrapping_shl(i as u32);
        }
        self.got_nothing = 0;
        for (i, &entry) in chunk.iter().enumerate() {
            self.nothing[self.got_nothing % CHUNK] = entry;
            self.got_nothing = self.got_nothing.wrapping_add(usize::from(got >> i & 1 == 0));
        }
    }
    /// Visits a pair. Returns the number of slots that it still waits for.
    #[inline(always)]
    fn visit(
        &mut self,
        entry: Entry,
        ends: &mut Ends,
        take: &mut impl FnMut(u64, Entry, &Ends) -> (u64, u32),
    ) -> u32 {
        let (slots, count) = take(ends.free(entry), entry, ends);
        ends.take(entry, slots);
        let (after, grant) = (entry.less(count), entry.grant(slots));
        let (none, done) = (usize::from(slots == 0), usize::from(after.left() == 0));
        self.nothing[self.got_nothing % CHUNK] = entry;
        self.grants[self.ended % CHUNK] = grant;
        self.rest[self.want_more % CHUNK] = grant;
        self.wait[self.want_more % CHUNK] = after;
        self.got_nothing = self.got_nothing.wrapping_add(none);
        self.ended = self.ended.wrapping_add(done);
        self.want_more = self.want_more.wrapping_add((none + done) ^ 1);
        after.left()
    }
    /// The pairs that got nothing, in order.
    fn nothing(&self) -> &[Entry] {
        &self.nothing[..self.got_nothing]
    }
}

/// The lists while later visits to a chunk of pairs write to them.
struct LaterLists<'a> {
    live: &'a mut [Pair; CHUNK],
    grants: &'a mut [Grant; CHUNK],
    wait: &'a mut [Entry; CHUNK],
    late: &'a mut [u32; CHUNK],
    /// Pairs that may get more.
    still_live: usize,
    /// Pairs that cannot get more and still wait.
    waiting: usize,
    /// Pairs that got all their slots.
    done: usize,
}

impl LaterLists<'_> {
    #[inline(always)]
    fn visit(
        &mut self,
        pair: Pair,
        ends: &mut Ends,
        take: &mut impl FnMut(u64, Entry) -> (u64, u32),
    ) {
        let (slots, count) = take(ends.free(pair.entry), pair.entry);
        ends.take(pair.entry, slots);
        let pair = Pair { entry: pair.entry.less(count), granted: pair.granted | slots };
        let done = usize::from(pair.entry.left() == 0);
        self.live[self.still_live % CHUNK] = pair;
        self.still_live += usize::from(slots != 0) - done;
        self.late[self.done % CHUNK] = pair.entry.key();
        self.leave(pair);
        self.waiting += usize::from(slots == 0);
        self.done += done;
    }
    /// The pairs that may get more, those that still wait, and those that are done.
    fn counts(&self) -> [usize; 3] {
        [self.still_live, self.waiting, self.done]
    }
    /// Ends the visits to a pair for which no slot is free.
    #[inline(always)]
    fn give_up(&mut self, pair: Pair) {
        self.leave(pair);
        self.waiting += 1;
    }
    /// Writes the grant and the remaining demand of a pair that gets no more slots.
    #[inline(always)]
    fn leave(&mut self, pair: Pair) {
        self.grants[(self.waiting + self.done) % CHUNK] = pair.entry.grant(pair.granted);
        self.wait[self.waiting % CHUNK] = pair.entry;
    }
}

impl Served {
    /// Begins visits to this number of pairs. Earlier grants stay.
    fn begin(&mut self, pairs: usize) {
        let Lengths { start, grants, .. } = self.ends;
        let rest = grants + pairs + CHUNK;
        grow(&mut self.grants, rest + pairs);
        grow(&mut self.wait, pairs);
        self.ends = Lengths { start, grants, before: grants, rest, ..Lengths::default() };
    }
    /// The lists behind their used parts.
    #[inline(always)]
    fn lists<'a>(&'a mut self, nothing: &'a mut [Entry; CHUNK]) -> FirstLists<'a> {
        let Lengths { grants, rest, wait, .. } = self.ends;
        let (ended, others) = self.grants.split_at_mut(rest);
        FirstLists {
            grants: ended[grants..].first_chunk_mut().expect(ROOM),
            rest: others[wait..].first_chunk_mut().expect(ROOM),
            wait: self.wait[wait..].first_chunk_mut().expect(ROOM),
            nothing,
            ended: 0,
            want_more: 0,
            got_nothing: 0,
        }
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
        let pairs = &mut waiting[from..];
        let mut room = [Entry::default(); CHUNK];
        let (mut few, mut stay) = (false, 0);
        for from in (0..pairs.len()).step_by(CHUNK) {
            // Pairs that get nothing are written to their places, unless these are still to be read.
            let (read, rest) = pairs.split_at_mut(from);
            let place = read[stay..].first_chunk_mut();
            let in_place = place.is_some();
            let mut lists = self.lists(place.unwrap_or(&mut room));
            match rest.first_chunk::<CHUNK>() {
                Some(chunk) if few => lists.visit_few(chunk, ends, &mut take),
                Some(chunk) => {
                    chunk.iter().for_each(|&entry| _ = lists.visit(entry, ends, &mut take));
                }
                None => {
                    rest.iter().for_each(|&entry| _ = lists.visit(entry, ends, &mut take));
                }
            }
            let FirstLists { ended, want_more, got_nothing, .. } = lists;
            few = ended + want_more < MANY;
            self.ends.grants += ended;
            self.ends.wait += want_more;
            if !in_place {
                pairs[stay..][..got_nothing].copy_from_slice(&room[..got_nothing]);
            }
            stay += got_nothing;
        }
        waiting.truncate(from + stay);
        self.ends.done = self.ends.grants;
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
        let mut nothing = [Entry::default(); CHUNK];
        let mut again = Vec::new();
        for entries in requests.chunks(CHUNK) {
            let mut lists = self.lists(&mut nothing);
            for &entry in entries {
                if active.is_active(entry.key()) {
                    again.extend((!join(entry, active, ends)).then_some(entry));
                } else {
                    let left = lists.visit(entry, ends, &mut take);
                    ends.leave_if(left == 0, entry);
                }
            }
            let mut begins = |entry: Entry| {
                let new = active.activate(entry.key());
                if !new && !join(entry, active, ends) {
                    again.push(entry);
                }
                new
            };
            waiting.extend(lists.nothing().iter().copied().filter(|&entry| begins(entry)));
            let FirstLists { grants, rest, wait, mut ended, want_more, .. } = lists;
            let mut still = 0;
            for at in 0..want_more {
                let (entry, grant) = (wait[at], rest[at]);
                if begins(entry) {
                    (wait[still], rest[still]) = (entry, grant);
                    still += 1;
                } else {
                    grants[ended] = grant;
                    ended += 1;
                }
            }
            self.ends.grants += ended;
            self.ends.wait += still;
        }
        requests.clear();
        requests.append(&mut again);
    }
    /// Makes one list of the grants of pairs that got all slots and of the others, by moving the shorter part. The
    /// others can move only if nothing was granted before.
    fn join_grants(&mut self) {
        let Lengths { start, grants, before, done, rest, wait, .. } = self.ends;
        let ended = grants - before;
        if before == start && ended <= wait {
            self.grants.copy_within(before..grants, rest - ended);
            let to = rest - ended;
            let (start, before, done) = (to, to, to + (done - before));
            self.ends = Lengths { start, before, done, grants: rest + wait, ..self.ends };
        } else {
            self.grants.copy_within(rest..rest + wait, grants);
            self.ends = Lengths { rest: grants, grants: grants + wait, ..self.ends };
        }
    }
    /// Visits the pairs that may get more, again and again, until none can.
    #[inline(never)]
    pub(super) fn rounds(
        &mut self,
        ends: &mut Ends,
        mut take: impl FnMut(u64, Entry) -> (u64, u32),
    ) {
        self.second_visits(ends, &mut take);
        while self.ends.live > 0 {
            self.round(ends, &mut take);
        }
    }
    /// Visits all pairs of the list once more. Grants and pairs that can get nothing more stay in their lists;
    /// with many pairs, that is nearly all.
    #[inline(always)]
    fn second_visits(&mut self, ends: &mut Ends, take: &mut impl FnMut(u64, Entry) -> (u64, u32)) {
        let pairs = std::mem::take(&mut self.ends.wait);
        self.ends.grants = self.ends.rest;
        grow(&mut self.live, pairs);
        grow(&mut self.late, pairs);
        let mut few = true;
        for from in (0..pairs).step_by(CHUNK) {
            let length = CHUNK.min(pairs - from);
            let all = !0 >> (CHUNK - length);
            let cannot = if few { blocked(&self.wait[from..][..length], ends) } else { 0 };
            if cannot == all {
                self.keep(from, length);
                few = length > CHUNK - MANY_LATER;
                continue;
            }
            let entries: [Entry; CHUNK] = *self.wait[from..].first_chunk().expect(ROOM);
            let at = self.ends.rest + from;
            let grants: [Grant; CHUNK] = *self.grants[at..].first_chunk().expect(ROOM);
            let pair =
                |i: usize| Pair { entry: entries[i % CHUNK], granted: grants[i % CHUNK].slots };
            let mut later = self.later();
            ones(cannot).for_each(|i| later.give_up(pair(i)));
            ones(!cannot & all).for_each(|i| later.visit(pair(i), ends, take));
            let counts = later.counts();
            few = self.end_chunk(counts);
        }
    }
    /// Keeps a chunk of pairs and their grants, behind those that are kept already.
    fn keep(&mut self, from: usize, length: usize) {
        let Lengths { rest, grants, wait, .. } = self.ends;
        if wait < from {
            self.wait.copy_within(from..from + length, wait);
        }
        if grants < rest + from {
            self.grants.copy_within(rest + from..rest + from + length, grants);
        }
        self.ends.wait += length;
        self.ends.grants += length;
    }
    /// Lengthens the lists by the results of a chunk. Returns whether few of its pairs got something and may get more.
    fn end_chunk(&mut self, [still_live, waiting, done]: [usize; 3]) -> bool {
        self.ends.live += still_live;
        self.ends.grants += waiting + done;
        self.ends.wait += waiting;
        self.ends.late += done;
        waiting + done > CHUNK - MANY_LATER
    }
    #[inline(always)]
    fn round(&mut self, ends: &mut Ends, take: &mut impl FnMut(u64, Entry) -> (u64, u32)) {
        let pairs = std::mem::take(&mut self.ends.live);
        let mut few = true;
        for from in (0..pairs).step_by(CHUNK) {
            let chunk: [Pair; CHUNK] = *self.live[from..].first_chunk().expect(ROOM);
            let length = CHUNK.min(pairs - from);
            let mut later = self.later();
            if few {
                let cannot = blocked(&chunk[..length], ends);
                let can = !cannot & (!0 >> (CHUNK - length));
                ones(cannot).for_each(|i| later.give_up(chunk[i % CHUNK]));
                ones(can).for_each(|i| later.visit(chunk[i % CHUNK], ends, take));
            } else {
                chunk[..length].iter().for_each(|&pair| later.visit(pair, ends, take));
            }
            let counts = later.counts();
            few = self.end_chunk(counts);
        }
    }
    /// The lists behind their used parts.
    #[inline(always)]
    fn later(&mut self) -> LaterLists<'_> {
        let Lengths { grants, live, wait, late, .. } = self.ends;
        LaterLists {
            live: self.live[live..].first_chunk_mut().expect(ROOM),
            grants: self.grants[grants..].first_chunk_mut().expect(ROOM),
            wait: self.wait[wait..].first_chunk_mut().expect(ROOM),
            late: self.late[late..].first_chunk_mut().expect(ROOM),
            still_live: 0,
            waiting: 0,
            done: 0,
        }
    }
    /// Appends the pairs that still wait to `waiting`, in the order of service.
    pub(super) fn finish_visits(&mut self, waiting: &mut Vec<Entry>) {
        debug_assert!(self.ends.live == 0, "pairs may get more");
        waiting.extend_from_slice(&self.wait[..self.ends.wait]);
    }
    /// All grants since the last call.
    pub(super) fn granted(&mut self) -> &[Grant] {
        let Lengths { start, grants, .. } = std::mem::take(&mut self.ends);
        &self.grants[start..grants]
    }
    /// Active pairs that got all slots at their first visit.
    pub(super) fn at_once(&self) -> impl Iterator<Item = u32> {
        self.grants[self.ends.before..self.ends.done].iter().map(|grant| key(grant.src, grant.dst))
    }
    /// Pairs that got all slots at a later visit.
    pub(super) fn late(&self) -> impl Iterator<Item = u32> {
        self.late[..self.ends.late].iter().copied()
    }
    /// Memory in bytes.
    #[cfg(test)]
    pub(super) fn bytes(&self) -> usize {
        self.grants.capacity() * size_of::<Grant>()
            + self.live.capacity() * size_of::<Pair>()
            + self.wait.capacity() * size_of::<Entry>()
            + self.late.capacity() * 4
    }
}

/// Makes room for `used` elements and a chunk.
fn grow<T: Clone + Default>(list: &mut Vec<T>, used: usize) {
    if list.len() < used + CHUNK {
        list.resize(used + used / 2 + CHUNK, T::default());
    }
}

/// Bit `i` is set if no slot is free for pair `i`.
#[inline(always)]
fn blocked<T: Copy + Into<Entry>>(pairs: &[T], ends: &Ends) -> u64 {
    let free = pairs.iter().rev().map(|&pair| ends.free(pair.into()));
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
