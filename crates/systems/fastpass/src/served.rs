//! A batch's visits to waiting pairs: what the time of an allocator goes into.
//!
//! There is hardly a branch that depends on the data, as half of them would be mispredicted: what a visit
//! may leave is written to the end of each list it may belong to, and then the lists that it does belong
//! to become longer. Where many pairs get nothing, these are found first, 64 pairs at a time.

use super::active::ActivePairs;
use super::allocate::Grant;
use super::visit::{Ends, Head, join, key};

/// Pairs visited at a time.
const CHUNK: usize = 64;
/// Behind what is used of a list.
const ROOM: &str = "there is room for a chunk";
/// As long as so many of 64 pairs get something, it does not pay to find those that do not: at first
/// visits.
const MANY: usize = 24;
/// The same at later visits, which cost less.
const MANY_LATER: usize = 30;

/// A pair that got something, and what.
#[derive(Clone, Copy, Debug, Default)]
struct Pair {
    head: Head,
    granted: u64,
}

impl From<Pair> for Head {
    fn from(pair: Pair) -> Head {
        pair.head
    }
}

/// What visits leave. The lists stay as long as they ever were, so that they are filled once.
#[derive(Clone, Debug, Default)]
pub(super) struct Served {
    /// What was granted: first to active pairs that are done at once, then to pairs that asked since the last
    /// batch and are, then to the others in the order of last visits.
    grants: Vec<Grant>,
    /// Those that may get more.
    live: Vec<Pair>,
    /// Those that cannot and wait on, in the order of last visits.
    wait: Vec<Head>,
    /// Those that are done later.
    late: Vec<u32>,
    ends: Lengths,
}

/// How much of the lists is in use.
#[derive(Clone, Copy, Debug, Default)]
struct Lengths {
    grants: usize,
    /// Where the grants of these visits begin, and where those end that went to active pairs at once.
    before: usize,
    done: usize,
    live: usize,
    wait: usize,
    late: usize,
}

/// The first visits of a batch, or of a class in it.
pub(super) struct First<'a> {
    /// Active pairs.
    pub(super) waiting: &'a mut Vec<Head>,
    /// Where those begin that are to be visited.
    pub(super) from: usize,
    /// What was asked for since the last batch.
    pub(super) asked: &'a mut Vec<Head>,
    pub(super) ends: &'a mut Ends,
    pub(super) active: &'a mut ActivePairs,
    pub(super) served: &'a mut Served,
}

impl First<'_> {
    /// Visits all of them. A visit takes what `take` chooses of the free slots, and says how many that is.
    pub(super) fn visits(self, mut take: impl FnMut(u64, Head, &Ends) -> (u64, u32)) {
        let First { waiting, from, asked, ends, active, served } = self;
        served.begin(waiting.len() - from + asked.len());
        served.first(waiting, from, ends, &mut take);
        served.asked(asked, waiting, ends, active, &mut take);
    }
}

/// The lists while first visits to a chunk of pairs write to them. All are as long as a chunk, so that no
/// place needs a check.
struct Lists<'a> {
    grants: &'a mut [Grant; CHUNK],
    live: &'a mut [Pair; CHUNK],
    nothing: &'a mut [Head; CHUNK],
    /// Pairs that were visited.
    visits: usize,
    /// Those of them that got something.
    served: usize,
    /// Those of them that got all.
    ended: usize,
}

impl Lists<'_> {
    /// A visit to a pair.
    #[inline(always)]
    fn visit(
        &mut self,
        head: Head,
        ends: &mut Ends,
        take: &mut impl FnMut(u64, Head, &Ends) -> (u64, u32),
    ) -> u32 {
        let (slots, count) = take(ends.free(head), head, ends);
        ends.take(head, slots);
        self.nothing[(self.visits - self.served) % CHUNK] = head;
        self.grants[self.ended % CHUNK] = head.grant(slots);
        // Who got something, but not all, wants more.
        let after = head.less(count);
        self.live[(self.served - self.ended) % CHUNK] = Pair { head: after, granted: slots };
        self.visits += 1;
        self.served += usize::from(slots != 0);
        self.ended += usize::from(after.left() == 0);
        after.left()
    }
    /// Who got nothing, in order.
    fn nothing(&self) -> &[Head] {
        &self.nothing[..self.visits - self.served]
    }
}

/// The lists while later visits to a chunk of pairs write to them.
struct Later<'a> {
    live: &'a mut [Pair; CHUNK],
    grants: &'a mut [Grant; CHUNK],
    wait: &'a mut [Head; CHUNK],
    late: &'a mut [u32; CHUNK],
    /// Pairs that may get still more.
    kept: usize,
    /// Pairs that wait on.
    waiting: usize,
    /// Pairs that got all.
    done: usize,
}

impl Later<'_> {
    #[inline(always)]
    fn visit(
        &mut self,
        pair: Pair,
        ends: &mut Ends,
        take: &mut impl FnMut(u64, Head) -> (u64, u32),
    ) {
        let (slots, count) = take(ends.free(pair.head), pair.head);
        ends.take(pair.head, slots);
        let pair = Pair { head: pair.head.less(count), granted: pair.granted | slots };
        let done = usize::from(pair.head.left() == 0);
        self.live[self.kept % CHUNK] = pair;
        self.kept += usize::from(slots != 0) - done;
        self.late[self.done % CHUNK] = pair.head.key();
        self.leave(pair);
        self.waiting += usize::from(slots == 0);
        self.done += done;
    }
    /// There is nothing left for a pair.
    #[inline(always)]
    fn give_up(&mut self, pair: Pair) {
        self.leave(pair);
        self.waiting += 1;
    }
    /// What a pair leaves if it gets no more.
    #[inline(always)]
    fn leave(&mut self, pair: Pair) {
        self.grants[(self.waiting + self.done) % CHUNK] = pair.head.grant(pair.granted);
        self.wait[self.waiting % CHUNK] = pair.head;
    }
}

impl Served {
    /// Visits to so many pairs begin. What was granted to others before them stays.
    fn begin(&mut self, pairs: usize) {
        let Lengths { grants, .. } = self.ends;
        grow(&mut self.grants, grants + pairs);
        grow(&mut self.live, pairs);
        grow(&mut self.wait, pairs);
        grow(&mut self.late, pairs);
        self.ends = Lengths { grants, before: grants, ..Lengths::default() };
    }
    /// The lists from where they are free.
    #[inline(always)]
    fn lists<'a>(&'a mut self, nothing: &'a mut [Head; CHUNK]) -> Lists<'a> {
        let Lengths { grants, live, .. } = self.ends;
        let grants = self.grants[grants..].first_chunk_mut().expect(ROOM);
        let live = self.live[live..].first_chunk_mut().expect(ROOM);
        Lists { grants, live, nothing, visits: 0, served: 0, ended: 0 }
    }
    /// Visits the pairs behind place `from`. Those that get nothing stay there, in order.
    #[inline(never)]
    fn first(
        &mut self,
        waiting: &mut Vec<Head>,
        from: usize,
        ends: &mut Ends,
        mut take: impl FnMut(u64, Head, &Ends) -> (u64, u32),
    ) {
        let pairs = &mut waiting[from..];
        let mut nothing = [Head::default(); CHUNK];
        let (mut few, mut all) = (false, 0);
        for from in (0..pairs.len()).step_by(CHUNK) {
            let (to, room) = (pairs.len().min(from + CHUNK), from - all);
            let mut lists = self.lists(&mut nothing);
            if few {
                let mut cannot = hopeless(&pairs[from..to], ends);
                for i in ones(!cannot & (!0 >> (CHUNK - (to - from)))) {
                    let before = lists.served;
                    lists.visit(pairs[from + i], ends, &mut take);
                    cannot |= u64::from(lists.served == before) << i;
                }
                (room..).zip(ones(cannot)).for_each(|(to, i)| pairs[to] = pairs[from + i]);
            } else {
                for &head in &pairs[from..to] {
                    lists.visit(head, ends, &mut take);
                }
                let nothing = lists.nothing();
                pairs[room..][..nothing.len()].copy_from_slice(nothing);
            }
            let Lists { served, ended, .. } = lists;
            few = served < MANY;
            all += served;
            self.ends.grants += ended;
            self.ends.live += served - ended;
        }
        waiting.truncate(waiting.len() - all);
        self.ends.done = self.ends.grants;
    }
    /// Visits pairs that asked since the last batch. Those that get nothing are appended to `waiting`; those
    /// that get all at once never become active, the others do after their chunk. Where a pair asked
    /// twice in one, the rest joins the first.
    #[inline(never)]
    fn asked(
        &mut self,
        asked: &mut Vec<Head>,
        waiting: &mut Vec<Head>,
        ends: &mut Ends,
        active: &mut ActivePairs,
        mut take: impl FnMut(u64, Head, &Ends) -> (u64, u32),
    ) {
        let mut nothing = [Head::default(); CHUNK];
        let mut again = Vec::new();
        for heads in asked.chunks(CHUNK) {
            let mut lists = self.lists(&mut nothing);
            for &head in heads {
                if active.is_active(head.key()) {
                    again.extend((!join(head, active, ends)).then_some(head));
                } else {
                    let left = lists.visit(head, ends, &mut take);
                    ends.leave_if(left == 0, head);
                }
            }
            let mut begins = |head: Head| {
                let new = active.begin(head.key());
                if !new && !join(head, active, ends) {
                    again.push(head);
                }
                new
            };
            waiting.extend(lists.nothing().iter().copied().filter(|&head| begins(head)));
            let Lists { grants, live, served, mut ended, .. } = lists;
            let mut kept = 0;
            for at in 0..served - ended {
                let pair = live[at];
                if begins(pair.head) {
                    live[kept] = pair;
                    kept += 1;
                } else {
                    grants[ended] = pair.head.grant(pair.granted);
                    ended += 1;
                }
            }
            self.ends.grants += ended;
            self.ends.live += kept;
        }
        asked.clear();
        asked.append(&mut again);
    }
    /// Visits those that may get more, again and again, until nobody can.
    #[inline(never)]
    pub(super) fn rounds(
        &mut self,
        ends: &mut Ends,
        mut take: impl FnMut(u64, Head) -> (u64, u32),
    ) {
        while self.ends.live > 0 {
            self.round(ends, &mut take);
        }
    }
    #[inline(always)]
    fn round(&mut self, ends: &mut Ends, take: &mut impl FnMut(u64, Head) -> (u64, u32)) {
        let pairs = std::mem::take(&mut self.ends.live);
        let mut few = true;
        for from in (0..pairs).step_by(CHUNK) {
            let chunk: [Pair; CHUNK] = *self.live[from..].first_chunk().expect(ROOM);
            let length = CHUNK.min(pairs - from);
            let mut later = self.later();
            if few {
                let cannot = hopeless(&chunk[..length], ends);
                let can = !cannot & (!0 >> (CHUNK - length));
                ones(cannot).for_each(|i| later.give_up(chunk[i % CHUNK]));
                ones(can).for_each(|i| later.visit(chunk[i % CHUNK], ends, take));
            } else {
                chunk[..length].iter().for_each(|&pair| later.visit(pair, ends, take));
            }
            let Later { kept, waiting, done, .. } = later;
            few = waiting + done > CHUNK - MANY_LATER;
            self.ends.live += kept;
            self.ends.grants += waiting + done;
            self.ends.wait += waiting;
            self.ends.late += done;
        }
    }
    /// The lists from where they are free.
    #[inline(always)]
    fn later(&mut self) -> Later<'_> {
        let Lengths { grants, live, wait, late, .. } = self.ends;
        Later {
            live: self.live[live..].first_chunk_mut().expect(ROOM),
            grants: self.grants[grants..].first_chunk_mut().expect(ROOM),
            wait: self.wait[wait..].first_chunk_mut().expect(ROOM),
            late: self.late[late..].first_chunk_mut().expect(ROOM),
            kept: 0,
            waiting: 0,
            done: 0,
        }
    }
    /// Grants what those got that may get more. Who waits on does so behind `waiting`, in the order of service.
    #[inline(never)]
    pub(super) fn settle(&mut self, waiting: &mut Vec<Head>) {
        let Served { grants, live, wait, ends, .. } = self;
        let live = &live[..ends.live];
        let places = grants[ends.grants..].iter_mut().zip(live);
        places.for_each(|(place, pair)| *place = pair.head.grant(pair.granted));
        ends.grants += live.len();
        waiting.extend_from_slice(&wait[..ends.wait]);
        waiting.extend(live.iter().map(|pair| pair.head));
    }
    /// All that was granted since the last call.
    pub(super) fn granted(&mut self) -> &[Grant] {
        &self.grants[..std::mem::take(&mut self.ends.grants)]
    }
    /// Active pairs that got all at their first visit.
    pub(super) fn at_once(&self) -> impl Iterator<Item = u32> {
        self.grants[self.ends.before..self.ends.done].iter().map(|grant| key(grant.src, grant.dst))
    }
    /// Those that got all later.
    pub(super) fn late(&self) -> impl Iterator<Item = u32> {
        self.late[..self.ends.late].iter().copied()
    }
    /// Memory in bytes.
    #[cfg(test)]
    pub(super) fn bytes(&self) -> usize {
        self.grants.capacity() * size_of::<Grant>()
            + self.live.capacity() * size_of::<Pair>()
            + self.wait.capacity() * size_of::<Head>()
            + self.late.capacity() * 4
    }
}

/// There is room for so many, and a chunk.
fn grow<T: Clone + Default>(list: &mut Vec<T>, used: usize) {
    if list.len() < used + CHUNK {
        list.resize(used + used / 2 + CHUNK, T::default());
    }
}

/// Bit `i`: pair `i` cannot get anything.
#[inline(always)]
fn hopeless<T: Copy + Into<Head>>(pairs: &[T], ends: &Ends) -> u64 {
    let free = pairs.iter().rev().map(|&pair| ends.free(pair.into()));
    free.fold(0, |cannot: u64, free| cannot.wrapping_add(cannot).wrapping_add((free == 0).into()))
}

/// The places of ones, the lowest first.
#[inline(always)]
fn ones(mut word: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let lowest = (word != 0).then(|| word.trailing_zeros() as usize);
        word &= word.wrapping_sub(1);
        lowest
    })
}
