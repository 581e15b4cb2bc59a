//! An entry of the queue of waiting pairs.

use super::Grant;

/// A waiting pair in one word. From the top: 16 bits for the source, 16 for the destination, and 32 for the
/// number of slots that are left.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Entry(pub(super) u64);

/// A pair in one number: the source in the upper half, the destination in the lower.
pub(super) const fn key(src: u16, dst: u16) -> u32 {
    (src as u32) << 16 | dst as u32
}

impl Entry {
    pub(super) const fn new(key: u32, left: u32) -> Entry {
        Entry((key as u64) << 32 | left as u64)
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
    /// The indices of both ends in lists that begin at these indices.
    #[inline(always)]
    pub(super) const fn places(self, [src, dst]: [usize; 2]) -> [usize; 2] {
        [src + self.src() as usize, dst + self.dst() as usize]
    }
    /// The order of short demands: fewer slots first, then lower numbers.
    pub(super) const fn size(self) -> u64 {
        self.0.rotate_left(32)
    }
    pub(super) const fn less(self, count: u32) -> Entry {
        Entry(self.0 - count as u64)
    }
    pub(super) const fn grant(self, slots: u64) -> Grant {
        Grant { src: self.src(), dst: self.dst(), slots }
    }
}
