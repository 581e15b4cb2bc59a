//! Functions that pick several free slots out of a word at once, without a branch.

/// Ones in the lowest bit of each byte.
#[cfg(not(target_feature = "bmi2"))]
const EACH: u64 = 0x0101_0101_0101_0101;

/// The lowest `count` set bits of a byte: `LOWEST[count][byte]`. No byte has more than 8; with 16 rows no
/// index needs a check.
#[cfg(not(target_feature = "bmi2"))]
static LOWEST: [[u8; 256]; 16] = lowest_of_bytes();

#[cfg(not(target_feature = "bmi2"))]
const fn lowest_of_bytes() -> [[u8; 256]; 16] {
    let mut table = [[0; 256]; 16];
    let mut at = 0;
    while at < 16 * 256 {
        let (count, byte) = (at / 256, at % 256);
        let (mut rest, mut taken) = (byte as u8, 0);
        while rest != 0 && taken < count {
            rest &= rest - 1;
            taken += 1;
        }
        table[count][byte] = byte as u8 ^ rest;
        at += 1;
    }
    table
}

/// The lowest free slot, and the number of slots.
#[inline]
pub(super) const fn lowest_one(free: u64) -> (u64, u32) {
    (free & free.wrapping_neg(), (free != 0) as u32)
}

/// The lowest free slot or the lowest two, and their number.
#[inline]
pub(super) const fn lowest_two(free: u64, two: bool) -> (u64, u32) {
    let without = free & free.wrapping_sub(1);
    let second = without & without.wrapping_neg() & (two as u64).wrapping_neg();
    (free ^ without | second, (free != 0) as u32 + (second != 0) as u32)
}

/// The lowest free slots, at most `most` (below 256), and their number. This uses BZHI and PDEP of BMI2.
#[cfg(target_feature = "bmi2")]
#[inline(always)]
pub(super) fn lowest(free: u64, most: u32) -> (u64, u32) {
    debug_assert!(most < 256, "the instruction looks at eight bits");
    let ones = safe_arch::bit_zero_high_index_u64(!0, most);
    let slots = safe_arch::population_deposit_u64(ones, free);
    (slots, slots.count_ones())
}

/// The lowest four free slots, at most `most`, and their number.
#[cfg(target_feature = "bmi2")]
#[inline(always)]
pub(super) fn lowest_four(free: u64, most: u32) -> (u64, u32) {
    lowest(free, most.min(4))
}

/// The lowest four free slots, at most `most`, and their number.
#[cfg(not(target_feature = "bmi2"))]
#[inline]
pub(super) fn lowest_four(free: u64, most: u32) -> (u64, u32) {
    let (mut rest, mut count) = (free, 0);
    for i in 0..4 {
        let without = rest & rest.wrapping_sub(1);
        count += u32::from((rest != 0) & (i < most));
        rest = if i < most { without } else { rest };
    }
    (free ^ rest, count)
}

/// The lowest free slots, at most `most` (below 256), and their number. The bits of all bytes are counted at
/// once. Bytes below the last slot are taken as a whole; the byte of the last slot is looked up.
#[cfg(not(target_feature = "bmi2"))]
#[inline]
pub(super) fn lowest(free: u64, most: u32) -> (u64, u32) {
    let up_to = ones_up_to(free);
    some(free, up_to, u64::from(most).min(up_to >> 56))
}

#[cfg(not(target_feature = "bmi2"))]
#[inline]
fn some(free: u64, up_to: u64, count: u64) -> (u64, u32) {
    // The highest bit of each byte that has fewer ones up to its end than are to be taken.
    let below = ((count + 127) * EACH - up_to) & (EACH << 7);
    let whole = below | (below - (below >> 7));
    let shift = 8 * ((below >> 7).wrapping_mul(EACH) >> 56);
    let before = (up_to << 8) >> shift & 0xff;
    let byte = (free >> shift) as u8;
    let last = u64::from(LOWEST[(count - before) as usize & 15][usize::from(byte)]) << shift;
    (free & whole | last, count as u32)
}

/// In each byte, the ones in it and in all lower bytes.
#[cfg(not(target_feature = "bmi2"))]
#[inline]
const fn ones_up_to(word: u64) -> u64 {
    let pairs = word - (word >> 1 & (EACH * 0x55));
    let fours = (pairs & (EACH * 0x33)) + (pairs >> 2 & (EACH * 0x33));
    ((fours + (fours >> 4)) & (EACH * 0x0f)).wrapping_mul(EACH)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// One slot after another.
    fn naive(free: u64, most: u32) -> (u64, u32) {
        let (mut rest, mut count) = (free, 0);
        while rest != 0 && count < most {
            rest &= rest - 1;
            count += 1;
        }
        (free ^ rest, count)
    }

    proptest! {
        #[test]
        fn the_fast_ways_to_take_slots_take_the_lowest(a: u64, b: u64, most in 1u32..80) {
            for free in [a, a & b, a | b, a >> (b % 64), a << (b % 64), !(a >> (b % 64)), 0, u64::MAX] {
                prop_assert_eq!(lowest_one(free), naive(free, 1));
                prop_assert_eq!(lowest_four(free, most), naive(free, most.min(4)));
                prop_assert_eq!(lowest(free, most), naive(free, most));
                prop_assert_eq!(lowest(free, 255), (free, free.count_ones()));
                prop_assert_eq!(lowest(free, 0), (0, 0));
            }
        }
    }
}
