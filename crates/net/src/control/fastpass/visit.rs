//! Visits to waiting pairs: what the time of an allocator goes into. Free of branches that depend on the
//! data, as half of them would be mispredicted.

use super::allocate::{BATCH, Grant, MOST_ENDPOINTS};
use super::bits::lowest;

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

fn words() -> Words {
    vec![0; MOST_ENDPOINTS].into_boxed_slice().try_into().expect("it has that length")
}

/// One side of the network: all sources, or all destinations.
#[derive(Clone, Debug)]
pub(super) struct Side {
    /// Slots of the batch in which the endpoint is free.
    free: Words,
    /// Active pairs (upper 16 bits) and the slots that they waited for when the batch began.
    load: Words,
}

/// One pair in a load.
const ONE: u64 = 1 << 48;

impl Side {
    pub(super) fn new() -> Side {
        Side { free: words(), load: words() }
    }
    /// All slots of the batch are free, at so many endpoints.
    pub(super) fn renew(&mut self, endpoints: usize) {
        self.free[..endpoints].fill(!0);
    }
    /// The slots that were granted are waited for no longer.
    pub(super) fn relieve(&mut self, endpoints: usize) {
        for (load, free) in self.load.iter_mut().zip(self.free[..endpoints].iter()) {
            *load -= u64::from(free.count_zeros());
        }
    }
    /// Adds loads, as many as there are; with `minus`, takes them off again.
    pub(super) fn add(&mut self, loads: &[u64], minus: bool) {
        for (load, &more) in self.load.iter_mut().zip(loads) {
            let more = if minus { more.wrapping_neg() } else { more };
            *load = load.wrapping_add(more);
        }
    }
    pub(super) fn loads(&self, endpoints: usize) -> &[u64] {
        &self.load[..endpoints]
    }
    /// Nothing is waited for, although there are pairs.
    pub(super) fn forget_slots(&mut self, endpoints: usize) {
        self.load[..endpoints].iter_mut().for_each(|load| *load &= !(ONE - 1));
    }
    pub(super) fn join(&mut self, end: u16, slots: u32) {
        self.load[usize::from(end)] += ONE + u64::from(slots);
    }
    pub(super) fn ask_more(&mut self, end: u16, slots: u32) {
        self.load[usize::from(end)] += u64::from(slots);
    }
    pub(super) fn leave(&mut self, end: u16) {
        self.load[usize::from(end)] -= ONE;
    }
}

/// Sources and destinations.
#[derive(Clone, Debug)]
pub(super) struct Ends {
    pub(super) src: Side,
    pub(super) dst: Side,
}

/// `SHARES[pairs]`: half of what `pairs` pairs at one endpoint can have of a batch each.
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

/// What a pair may take at its first visit in a batch without harm to anyone, or 0. If all that its two
/// ends wait for fits into the batch, round robin serves it wholly in any order: all of it. Else half of
/// what max-min fairness gives it at least, which is an equal share of the busier end.
fn harmless(src_load: u64, dst_load: u64, left: u32) -> u32 {
    let slots = (src_load & (ONE - 1)) + (dst_load & (ONE - 1));
    let pairs = (src_load.max(dst_load) / ONE).min(63);
    let fits = slots <= u64::from(BATCH) + u64::from(left);
    if fits { left } else { u32::from(SHARES[pairs as usize]) }
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
    take: impl Fn(u64, Head) -> (u64, u32),
) -> [usize; 3] {
    let (mut none, mut live, mut gone) = (0, 0, waiting.len());
    for at in 0..waiting.len() {
        let head = waiting[at];
        let src = &mut ends.src.free[usize::from(head.src())];
        let dst = &mut ends.dst.free[usize::from(head.dst())];
        let free = *src & *dst;
        let (taken, count) = take(free, head);
        *src ^= taken;
        *dst ^= taken;
        let after = head.less(count);
        let stays = (free != taken) & (after.left() != 0);
        waiting[none] = head;
        none += usize::from(free == 0);
        pairs[if stays { live } else { gone }] = Pair { head: after, granted: taken };
        live += usize::from(stays);
        gone += usize::from(!stays & (free != 0));
    }
    [none, live, gone]
}

/// As [`first_visits`]: a pair takes what is harmless at once, and at least `quantum`.
#[inline(never)]
pub(super) fn first_shares(
    waiting: &mut [Head],
    pairs: &mut [Pair],
    ends: &mut Ends,
    quantum: u32,
) -> [usize; 3] {
    let (mut none, mut live, mut gone) = (0, 0, waiting.len());
    for at in 0..waiting.len() {
        let head = waiting[at];
        let (s, d) = (usize::from(head.src()), usize::from(head.dst()));
        let free = ends.src.free[s] & ends.dst.free[d];
        let most = harmless(ends.src.load[s], ends.dst.load[d], head.left()).max(quantum);
        let (taken, count) = lowest(free, most.min(head.left()));
        ends.src.free[s] ^= taken;
        ends.dst.free[d] ^= taken;
        let after = head.less(count);
        let stays = (free != taken) & (after.left() != 0);
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
    take: impl Fn(u64, Head) -> (u64, u32),
) -> (usize, usize) {
    let mut kept = 0;
    for at in 0..live {
        let pair = pairs[at];
        let src = &mut ends.src.free[usize::from(pair.head.src())];
        let dst = &mut ends.dst.free[usize::from(pair.head.dst())];
        let free = *src & *dst;
        let (taken, count) = take(free, pair.head);
        *src ^= taken;
        *dst ^= taken;
        let head = pair.head.less(count);
        let stays = (free != taken) & (head.left() != 0);
        pairs[if stays { kept } else { gone }] = Pair { head, granted: pair.granted | taken };
        kept += usize::from(stays);
        gone += usize::from(!stays);
    }
    (kept, gone)
}
