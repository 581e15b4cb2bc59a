//! Visits to waiting pairs: what the time of an allocator goes into. Free of branches that depend on the
//! data, as half of them would be mispredicted.

use super::active::ActivePairs;
use super::allocate::{BATCH, Grant, MOST_ENDPOINTS};
use std::cell::Cell;

/// A waiting pair in one word, from the top: 16 bits of source, 16 of destination, 32 of slots left.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Head(pub(super) u64);

pub(super) const fn key(src: u16, dst: u16) -> u32 {
    (src as u32) << 16 | dst as u32
}

impl Head {
    pub(super) const fn new(key: u32, left: u32) -> Head {
        Head((key as u64) << 32 | left as u64)
    }
    pub(super) const fn key(self) -> u32 {
        (self.0 >> 32) as u32
    }
    pub(super) const fn src(self) -> u16 {
        (self.0 >> 48) as u16
    }
    pub(super) const fn dst(self) -> u16 {
        (self.0 >> 32) as u16
    }
    pub(super) const fn left(self) -> u32 {
        self.0 as u32
    }
    /// What comes first where short demands do: fewer slots, then lower numbers.
    pub(super) const fn size(self) -> u64 {
        self.0.rotate_left(32)
    }
    pub(super) const fn less(self, count: u32) -> Head {
        Head(self.0 - count as u64)
    }
}

/// A pair and what is granted to it in this batch.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pair {
    pub(super) head: Head,
    pub(super) granted: u64,
}

impl Pair {
    pub(super) const fn grant(&self) -> Grant {
        Grant { src: self.head.src(), dst: self.head.dst(), slots: self.granted }
    }
}

/// A word per endpoint. As long as there are numbers, so that no access needs a check; what no endpoint
/// uses is never touched and takes no memory.
type Words = Box<[u64; MOST_ENDPOINTS]>;

fn words<T: Clone + Default + std::fmt::Debug>() -> Box<[T; MOST_ENDPOINTS]> {
    vec![T::default(); MOST_ENDPOINTS].into_boxed_slice().try_into().expect("it has that length")
}

/// One side of the network: all sources, or all destinations.
#[derive(Clone, Debug)]
pub(super) struct Side {
    /// Slots of the batch in which the endpoint is free.
    free: Words,
    /// Active pairs of the endpoint.
    pub(super) pairs: Box<[u32; MOST_ENDPOINTS]>,
}

impl Side {
    pub(super) fn new() -> Side {
        Side { free: words(), pairs: words() }
    }
    /// All slots of the batch are free, at so many endpoints.
    pub(super) fn renew(&mut self, endpoints: usize) {
        self.free[..endpoints].fill(!0);
    }
}

/// Sources and destinations.
#[derive(Clone, Debug)]
pub(super) struct Ends {
    pub(super) src: Side,
    pub(super) dst: Side,
}

impl Ends {
    /// Slots that are free at both ends.
    #[inline]
    pub(super) fn free(&self, head: Head) -> u64 {
        self.src.free[usize::from(head.src())] & self.dst.free[usize::from(head.dst())]
    }
    #[inline]
    pub(super) fn take(&mut self, head: Head, slots: u64) {
        self.src.free[usize::from(head.src())] ^= slots;
        self.dst.free[usize::from(head.dst())] ^= slots;
    }
    #[inline]
    pub(super) fn join(&mut self, head: Head) {
        self.src.pairs[usize::from(head.src())] += 1;
        self.dst.pairs[usize::from(head.dst())] += 1;
    }
    #[inline]
    pub(super) fn leave(&mut self, head: Head) {
        self.src.pairs[usize::from(head.src())] -= 1;
        self.dst.pairs[usize::from(head.dst())] -= 1;
    }
}

/// `SHARES[pairs]`: what `pairs` pairs at one endpoint can have of a batch each.
static SHARES: [u8; 64] = shares();

const fn shares() -> [u8; 64] {
    let mut shares = [0; 64];
    let mut pairs = 1;
    while pairs < 64 {
        shares[pairs] = (BATCH as usize / pairs) as u8;
        pairs += 1;
    }
    shares
}

/// What max-min fairness gives a pair of a batch at least: an equal share of the end that has more pairs.
#[inline]
pub(super) fn fair_share(head: Head, ends: &Ends) -> u32 {
    let src = ends.src.pairs[usize::from(head.src())];
    let dst = ends.dst.pairs[usize::from(head.dst())];
    SHARES[src.max(dst).min(63) as usize].into()
}

/// How many pairs are where after a visit: those that got nothing stay in their list, those that can get
/// more are at the beginning of the pairs, those that cannot at the end.
#[derive(Clone, Copy)]
pub(super) struct Places {
    pub(super) none: usize,
    pub(super) live: usize,
    pub(super) gone: usize,
}

/// The first visit of a batch to some pairs.
pub(super) struct First<'a> {
    /// First the active pairs, then room for those of `asked`.
    pub(super) waiting: &'a mut [Head],
    /// How many are active.
    pub(super) old: usize,
    /// What was asked for since the last batch.
    pub(super) asked: &'a mut Vec<Head>,
    /// One place more than twice those of `waiting`.
    pub(super) pairs: &'a mut [Pair],
    pub(super) ends: &'a mut Ends,
    pub(super) active: &'a mut ActivePairs,
    pub(super) out: &'a mut Vec<Grant>,
}

impl First<'_> {
    /// A visit takes what `take` chooses of the free slots, and says how many that is. The heads of those
    /// that get nothing stay, in order, at the beginning of `waiting`. Those that can get more are
    /// written to the beginning of `pairs`, those that cannot from place `waiting.len()` on.
    #[inline(never)]
    pub(super) fn visits(self, mut take: impl FnMut(u64, Head, &Ends) -> (u64, u32)) -> Places {
        let First { waiting, old, pairs, ends, .. } = self;
        let mut to = Places { none: 0, live: 0, gone: waiting.len() };
        for at in 0..old {
            let head = waiting[at];
            let free = ends.free(head);
            if free == 0 {
                waiting[to.none] = head;
                to.none += 1;
                continue;
            }
            let (taken, count) = take(free, head, ends);
            ends.take(head, taken);
            let after = head.less(count);
            let stays = after.left() != 0;
            pairs[if stays { to.live } else { to.gone }] = Pair { head: after, granted: taken };
            to.live += usize::from(stays);
            to.gone += usize::from(!stays);
        }
        First { waiting, pairs, ends, ..self }.newcomers(to, &mut take)
    }
    /// The same for pairs of which many get nothing, and none has asked since: these are found first, 64
    /// pairs at a time.
    #[inline(never)]
    pub(super) fn sparse(self, mut take: impl FnMut(u64, Head, &Ends) -> (u64, u32)) -> Places {
        let First { waiting, old, pairs, ends, .. } = self;
        let mut to = Places { none: 0, live: 0, gone: waiting.len() };
        for from in (0..old).step_by(64) {
            let some = from..old.min(from + 64);
            let mut can = hopeful(&waiting[some.clone()], ends);
            for i in ones(can) {
                let head = waiting[from + i];
                let free = ends.free(head);
                let (taken, count) = take(free, head, ends);
                ends.take(head, taken);
                let after = head.less(count);
                let stays = (free != 0) & (after.left() != 0);
                pairs[if stays { to.live } else { to.gone }] = Pair { head: after, granted: taken };
                can ^= u64::from(free == 0) << i;
                to.live += usize::from(stays);
                to.gone += usize::from(!stays & (free != 0));
            }
            for i in ones(!can & (!0 >> (64 - some.len()))) {
                waiting[to.none] = waiting[from + i];
                to.none += 1;
            }
        }
        to
    }
    /// Those that asked come after all others. What is granted wholly goes to `out`, and its pair never
    /// becomes active.
    fn newcomers(
        self,
        mut to: Places,
        take: &mut impl FnMut(u64, Head, &Ends) -> (u64, u32),
    ) -> Places {
        let First { waiting, asked, pairs, ends, active, out, .. } = self;
        let mut kept = 0;
        for at in 0..asked.len() {
            let head = asked[at];
            if active.is_active(head.key()) {
                asked[kept] = head;
                kept += usize::from(!join(head, active, ends));
                continue;
            }
            let free = ends.free(head);
            let (taken, count) = take(free, head, ends);
            ends.take(head, taken);
            let after = head.less(count);
            let pair = Pair { head: after, granted: taken };
            if after.left() == 0 {
                out.push(pair.grant());
                ends.leave(head);
                continue;
            }
            active.begin(head.key());
            waiting[to.none] = head;
            to.none += usize::from(free == 0);
            pairs[to.live] = pair;
            to.live += usize::from(free != 0);
        }
        asked.truncate(kept);
        to
    }
}

/// Bit `i`: pair `i` can get something.
#[inline]
pub(super) fn hopeful(heads: &[Head], ends: &Ends) -> u64 {
    let can = heads.iter().enumerate();
    can.fold(0, |can, (i, &head)| can | u64::from(ends.free(head) != 0) << i)
}

/// The places of ones, the lowest first.
#[inline]
pub(super) fn ones(mut word: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let lowest = (word != 0).then(|| word.trailing_zeros() as usize);
        word &= word.wrapping_sub(1);
        lowest
    })
}

/// Demand joins that of its pair, which is active. Returns whether there was room for it.
#[cold]
pub(super) fn join(head: Head, active: &mut ActivePairs, ends: &mut Ends) -> bool {
    let joins = active.ask(head.key(), head.left()).is_some();
    if joins {
        ends.leave(head);
    }
    joins
}

/// One more visit to each of the first `live` pairs. Those that can get more are moved to the front, the
/// others to `gone` and behind; returns how many can, and where the next one that is gone belongs.
#[inline(never)]
pub(super) fn visits(
    pairs: &mut [Pair],
    live: usize,
    gone: usize,
    ends: &mut Ends,
    mut take: impl FnMut(u64, Head) -> (u64, u32),
) -> (usize, usize) {
    let Ends { src, dst } = ends;
    let (src, dst) = (&mut *src.free, &mut *dst.free);
    let places = Cell::from_mut(pairs).as_slice_of_cells();
    let mut kept = 0;
    for (at, place) in places[..live].iter().enumerate() {
        let pair = place.get();
        let src = &mut src[usize::from(pair.head.src())];
        let dst = &mut dst[usize::from(pair.head.dst())];
        let free = *src & *dst;
        let (taken, count) = take(free, pair.head);
        *src ^= taken;
        *dst ^= taken;
        let head = pair.head.less(count);
        let stays = (free != 0) & (head.left() != 0);
        let to = if stays { kept } else { gone + at - kept };
        places[to].set(Pair { head, granted: pair.granted | taken });
        kept += usize::from(stays);
    }
    (kept, gone + live - kept)
}
