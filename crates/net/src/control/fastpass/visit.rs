//! What a visit to a waiting pair looks at: the pair in one word, and a word for each endpoint.

use super::active::ActivePairs;
use super::allocate::{BATCH, Grant, MOST_ENDPOINTS};

/// A waiting pair in one word, from the top: 16 bits of source, 16 of destination, 32 of slots left.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Head(pub(super) u64);

/// A pair in one number: the source above, the destination below.
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
    pub(super) const fn grant(self, slots: u64) -> Grant {
        Grant { src: self.src(), dst: self.dst(), slots }
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
    fn new() -> Side {
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
    /// Whether anybody asks for an equal share of an end, so that its pairs are to be counted.
    shares: bool,
}

impl Ends {
    pub(super) fn new(shares: bool) -> Ends {
        Ends { src: Side::new(), dst: Side::new(), shares }
    }
    /// Slots that are free at both ends.
    #[inline(always)]
    pub(super) fn free(&self, head: Head) -> u64 {
        self.src.free[usize::from(head.src())] & self.dst.free[usize::from(head.dst())]
    }
    #[inline(always)]
    pub(super) fn take(&mut self, head: Head, slots: u64) {
        self.src.free[usize::from(head.src())] ^= slots;
        self.dst.free[usize::from(head.dst())] ^= slots;
    }
    #[inline(always)]
    pub(super) fn join(&mut self, head: Head) {
        if self.shares {
            self.src.pairs[usize::from(head.src())] += 1;
            self.dst.pairs[usize::from(head.dst())] += 1;
        }
    }
    #[inline(always)]
    pub(super) fn leave(&mut self, head: Head) {
        self.leave_if(true, head);
    }
    #[inline(always)]
    pub(super) fn leave_if(&mut self, leaves: bool, head: Head) {
        if self.shares {
            self.src.pairs[usize::from(head.src())] -= u32::from(leaves);
            self.dst.pairs[usize::from(head.dst())] -= u32::from(leaves);
        }
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
#[inline(always)]
pub(super) fn fair_share(head: Head, ends: &Ends) -> u32 {
    let src = ends.src.pairs[usize::from(head.src())];
    let dst = ends.dst.pairs[usize::from(head.dst())];
    SHARES[src.max(dst).min(63) as usize].into()
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
