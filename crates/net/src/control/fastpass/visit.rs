//! Visits to waiting pairs: what the time of an allocator goes into. Free of branches that depend on the
//! data, as half of them would be mispredicted.

use super::allocate::{BATCH, Grant, MOST_ENDPOINTS};
use std::cell::Cell;

/// A waiting pair in one word, from the top: 32 bits of slots left, 16 of source, 16 of destination.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub(super) struct Head(pub(super) u64);

pub(super) const fn key(src: u16, dst: u16) -> u32 {
    (src as u32) << 16 | dst as u32
}

impl Head {
    pub(super) const fn new(key: u32, left: u32) -> Head {
        Head((left as u64) << 32 | key as u64)
    }
    pub(super) const fn key(self) -> u32 {
        self.0 as u32
    }
    pub(super) const fn src(self) -> u16 {
        (self.0 >> 16) as u16
    }
    pub(super) const fn dst(self) -> u16 {
        self.0 as u16
    }
    pub(super) const fn left(self) -> u32 {
        (self.0 >> 32) as u32
    }
    const fn less(self, count: u32) -> Head {
        Head(self.0 - ((count as u64) << 32))
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
    pub(super) fn join(&mut self, end: u16) {
        self.pairs[usize::from(end)] += 1;
    }
    pub(super) fn leave(&mut self, end: u16) {
        self.pairs[usize::from(end)] -= 1;
    }
}

/// Sources and destinations.
#[derive(Clone, Debug)]
pub(super) struct Ends {
    pub(super) src: Side,
    pub(super) dst: Side,
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

/// The first visit to pairs that wait. The heads of those that get nothing stay, in order, at the
/// beginning of `waiting`. Those that can get more are written to the beginning of `pairs`, those that
/// cannot from place `waiting.len()` on. Returns the three numbers. `pairs` has one place more than
/// twice `waiting`.
#[inline(never)]
pub(super) fn first_visits(
    waiting: &mut [Head],
    pairs: &mut [Pair],
    ends: &mut Ends,
    mut take: impl FnMut(u64, Head, &Ends) -> (u64, u32),
) -> [usize; 3] {
    let (mut none, mut live, mut gone) = (0, 0, waiting.len());
    for at in 0..waiting.len() {
        let head = waiting[at];
        let (src, dst) = (usize::from(head.src()), usize::from(head.dst()));
        let free = ends.src.free[src] & ends.dst.free[dst];
        let (taken, count) = take(free, head, ends);
        ends.src.free[src] ^= taken;
        ends.dst.free[dst] ^= taken;
        let after = head.less(count);
        let stays = (free != 0) & (after.left() != 0);
        waiting[none] = head;
        none += usize::from(free == 0);
        pairs[if stays { live } else { gone }] = Pair { head: after, granted: taken };
        live += usize::from(stays);
        gone += usize::from(!stays & (free != 0));
    }
    [none, live, gone]
}

/// One more visit to each of the first `live` pairs. Those that can get more are moved to the front, the
/// others to `gone` and behind; returns how many can, and where the next one that is gone belongs.
#[inline(never)]
pub(super) fn visits(
    pairs: &mut [Pair],
    live: usize,
    mut gone: usize,
    ends: &mut Ends,
    mut take: impl FnMut(u64, Head) -> (u64, u32),
) -> (usize, usize) {
    let Ends { src, dst } = ends;
    let (src, dst) = (&mut *src.free, &mut *dst.free);
    let places = Cell::from_mut(pairs).as_slice_of_cells();
    let mut kept = 0;
    for place in &places[..live] {
        let pair = place.get();
        let src = &mut src[usize::from(pair.head.src())];
        let dst = &mut dst[usize::from(pair.head.dst())];
        let free = *src & *dst;
        let (taken, count) = take(free, pair.head);
        *src ^= taken;
        *dst ^= taken;
        let head = pair.head.less(count);
        let stays = (free != 0) & (head.left() != 0);
        places[if stays { kept } else { gone }].set(Pair { head, granted: pair.granted | taken });
        kept += usize::from(stays);
        gone += usize::from(!stays);
    }
    (kept, gone)
}
