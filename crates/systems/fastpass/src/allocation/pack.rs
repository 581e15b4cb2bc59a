//! Four words at a time: which of them are zero, and the chosen ones moved together. No branch depends on the words.

#[cfg(target_feature = "avx2")]
use safe_arch::{
    cast_to_m256d_from_m256i, cmp_eq_mask_i64_m256i, m256i, move_mask_m256d,
    shuffle_av_i32_all_m256i,
};

/// Bit `i` is set if word `i` is zero.
#[cfg(target_feature = "avx2")]
#[inline(always)]
pub(super) fn zeros(words: [u64; 4]) -> u32 {
    let zero = cmp_eq_mask_i64_m256i(m256i::from(words), m256i::default());
    move_mask_m256d(cast_to_m256d_from_m256i(zero)) as u32
}

/// Bit `i` is set if word `i` is zero.
#[cfg(not(target_feature = "avx2"))]
#[inline(always)]
pub(super) fn zeros(words: [u64; 4]) -> u32 {
    words.iter().rev().fold(0, |zero, &word| zero << 1 | u32::from(word == 0))
}

/// The words whose bits in `which` (below 16) are set, in order. What follows them has no meaning.
#[cfg(target_feature = "avx2")]
#[inline(always)]
pub(super) fn pack(words: [u64; 4], which: u32) -> [u64; 4] {
    let order = m256i::from(HALVES[which as usize % 16]);
    shuffle_av_i32_all_m256i(m256i::from(words), order).into()
}

/// The words whose bits in `which` (below 16) are set, in order. What follows them has no meaning.
#[cfg(not(target_feature = "avx2"))]
#[inline(always)]
pub(super) fn pack(words: [u64; 4], which: u32) -> [u64; 4] {
    let (mut packed, mut count) = ([0; 4], 0);
    for (i, &word) in words.iter().enumerate() {
        packed[count % 4] = word;
        count += (which >> i & 1) as usize;
    }
    packed
}

/// For each set of words, the halves of these words in order: word `i` has the halves `2i` and `2i + 1`.
#[cfg(target_feature = "avx2")]
static HALVES: [[u32; 8]; 16] = halves();

#[cfg(target_feature = "avx2")]
const fn halves() -> [[u32; 8]; 16] {
    let mut halves = [[0; 8]; 16];
    let mut at = 0;
    while at < 16 * 4 {
        let (which, word) = (at / 4, at % 4);
        if which >> word & 1 == 1 {
            let before = (which as u32 & ((1 << word) - 1)).count_ones() as usize;
            halves[which][2 * before] = 2 * word as u32;
            halves[which][2 * before + 1] = 2 * word as u32 + 1;
        }
        at += 1;
    }
    halves
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn chosen_words_are_moved_together(words: [u64; 4], which in 0u32..16, zero in 0u32..16) {
            let chosen: Vec<u64> = (0..4).filter(|i| which >> i & 1 == 1).map(|i| words[i]).collect();
            prop_assert_eq!(&pack(words, which)[..chosen.len()], chosen);
            let mut some = words.map(|word| word | 1 << 40);
            (0..4).filter(|i| zero >> i & 1 == 1).for_each(|i| some[i] = 0);
            prop_assert_eq!(zeros(some), zero);
        }
    }
}
