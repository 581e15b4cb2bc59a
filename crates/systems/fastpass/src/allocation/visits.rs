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
const MANY: usize = 24;
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
    /// that got all slots, then the others in the order of last visits.
    grants: Vec<Grant>,
    /// The pairs that may get more.
    live: Vec<Pair>,
    /// The pairs that cannot get more and still wait, in the order of last visits.
    wait: Vec<Entry>,
    /// The pairs that got all slots at a later visit.
    late: Vec<u32>,
    ends: Lengths,
}

/// How much of the lists is in use.
#[derive(Clone, Copy, Debug, Default)]
struct Lengths {
    grants: usize,
    /// The index at which the grants of these visits begin.
    before: usize,
    /// The index at which the grants of active pairs end that got all slots at their first visit.
    done: usize,
    live: usize,
    wait: usize,
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
    }
}

/// The lists to which first visits to a chunk of pairs write. All are as long as a chunk, so that no index
/// needs a check.
struct FirstLists<'a> {
    grants: &'a mut [Grant; CHUNK],
    live: &'a mut [Pair; CHUNK],
    nothing: &'a mut [Entry; CHUNK],
    /// Pairs that were visited.
    visits: usize,
    /// Visited pairs that got slots.
    served: usize,
    /// Visited pairs that got all their slots.
    ended: usize,
}

impl FirstLists<'_> {
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
        self.nothing[(self.visits - self.served) % CHUNK] = entry;
        self.grants[self.ended % CHUNK] = entry.grant(slots);
        // A pair that got some slots, but not all, wants more.
        let after = entry.less(count);
        self.live[(self.served - self.ended) % CHUNK] = Pair { entry: after, granted: slots };
        self.visits += 1;
        self.served += usize::from(slots != 0);
        self.ended += usize::from(after.left() == 0);
        after.left()
    }
    /// The pairs that got nothing, in order.
    fn nothing(&self) -> &[Entry] {
        &self.nothing[..self.visits - self.served]
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
        let Lengths { grants, .. } = self.ends;
        grow(&mut self.grants, grants + pairs);
        grow(&mut self.live, pairs);
        grow(&mut self.wait, pairs);
        grow(&mut self.late, pairs);
        self.ends = Lengths { grants, before: grants, ..Lengths::default() };
    }
    /// The lists behind their used parts.
    #[inline(always)]
    fn lists<'a>(&'a mut self, nothing: &'a mut [Entry; CHUNK]) -> FirstLists<'a> {
        let Lengths { grants, live, .. } = self.ends;
        let grants = self.grants[grants..].first_chunk_mut().expect(ROOM);
        let live = self.live[live..].first_chunk_mut().expect(ROOM);
        FirstLists { grants, live, nothing, visits: 0, served: 0, ended: 0 }
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
        let mut nothing = [Entry::default(); CHUNK];
        let (mut few, mut all) = (false, 0);
        for from in (0..pairs.len()).step_by(CHUNK) {
            let (to, room) = (pairs.len().min(from + CHUNK), from - all);
            let mut lists = self.lists(&mut nothing);
            if few {
                let mut cannot = blocked(&pairs[from..to], ends);
                for i in ones(!cannot & (!0 >> (CHUNK - (to - from)))) {
                    let before = lists.served;
                    lists.visit(pairs[from + i], ends, &mut take);
                    cannot |= u64::from(lists.served == before) << i;
                }
                (room..).zip(ones(cannot)).for_each(|(to, i)| pairs[to] = pairs[from + i]);
            } else {
                for &entry in &pairs[from..to] {
                    lists.visit(entry, ends, &mut take);
                }
                let nothing = lists.nothing();
                pairs[room..][..nothing.len()].copy_from_slice(nothing);
            }
            let FirstLists { served, ended, .. } = lists;
            few = served < MANY;
            all += served;
            self.ends.grants += ended;
            self.ends.live += served - ended;
        }
        waiting.truncate(waiting.len() - all);
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
            let FirstLists { grants, live, served, mut ended, .. } = lists;
            let mut still_live = 0;
            for at in 0..served - ended {
                let pair = live[at];
                if begins(pair.entry) {
                    live[still_live] = pair;
                    still_live += 1;
                } else {
                    grants[ended] = pair.entry.grant(pair.granted);
                    ended += 1;
                }
            }
            self.ends.grants += ended;
            self.ends.live += still_live;
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
        while self.ends.live > 0 {
            self.round(ends, &mut take);
        }
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
            let LaterLists { still_live, waiting, done, .. } = later;
            few = waiting + done > CHUNK - MANY_LATER;
            self.ends.live += still_live;
            self.ends.grants += waiting + done;
            self.ends.wait += waiting;
            self.ends.late += done;
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
    /// Grants the slots of the pairs that could get more. Pairs that still wait are appended to `waiting`, in
    /// the order of service.
    #[inline(never)]
    pub(super) fn finish_visits(&mut self, waiting: &mut Vec<Entry>) {
        let Served { grants, live, wait, ends, .. } = self;
        let live = &live[..ends.live];
        let places = grants[ends.grants..].iter_mut().zip(live);
        places.for_each(|(place, pair)| *place = pair.entry.grant(pair.granted));
        ends.grants += live.len();
        waiting.extend_from_slice(&wait[..ends.wait]);
        waiting.extend(live.iter().map(|pair| pair.entry));
    }
    /// All grants since the last call.
    pub(super) fn granted(&mut self) -> &[Grant] {
        &self.grants[..std::mem::take(&mut self.ends.grants)]
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
