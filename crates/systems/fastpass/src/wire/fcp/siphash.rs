//! SipHash-2-4, the keyed 64-bit hash of Aumasson and Bernstein (2012). It authenticates control messages.
//!
//! [`siphash_lanes`] hashes several messages at once with the processor's vector instructions.

/// A secret of 128 bits that two ends share.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Key(pub [u8; 16]);

impl std::fmt::Debug for Key {
    /// Does not print the secret.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Key(..)")
    }
}

fn word(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte))
}

fn round(v: &mut [u64; 4]) {
    v[0] = v[0].wrapping_add(v[1]);
    v[2] = v[2].wrapping_add(v[3]);
    v[1] = v[1].rotate_left(13) ^ v[0];
    v[3] = v[3].rotate_left(16) ^ v[2];
    v[0] = v[0].rotate_left(32);
    v[2] = v[2].wrapping_add(v[1]);
    v[0] = v[0].wrapping_add(v[3]);
    v[1] = v[1].rotate_left(17) ^ v[2];
    v[3] = v[3].rotate_left(21) ^ v[0];
    v[2] = v[2].rotate_left(32);
}

fn absorb(v: &mut [u64; 4], word: u64) {
    v[3] ^= word;
    round(v);
    round(v);
    v[0] ^= word;
}

fn start(key: &Key) -> [u64; 4] {
    let [k0, k1] = [0, 1].map(|half| u64::from_le_bytes(key.0.as_chunks().0[half]));
    [
        k0 ^ 0x736f_6d65_7073_6575,
        k1 ^ 0x646f_7261_6e64_6f6d,
        k0 ^ 0x6c79_6765_6e65_7261,
        k1 ^ 0x7465_6462_7974_6573,
    ]
}

/// The last word: the bytes after the last whole word, and the number of bytes modulo 256.
fn last_word(bytes: &[u8]) -> u64 {
    (bytes.len() as u64) << 56 | word(bytes.as_chunks::<8>().1)
}

/// SipHash-2-4 of `bytes` under `key`.
pub fn siphash(key: &Key, bytes: &[u8]) -> u64 {
    let mut v = start(key);
    bytes.as_chunks().0.iter().for_each(|&eight| absorb(&mut v, u64::from_le_bytes(eight)));
    absorb(&mut v, last_word(bytes));
    v[2] ^= 0xff;
    (0..4).for_each(|_| round(&mut v));
    v[0] ^ v[1] ^ v[2] ^ v[3]
}

/// The number of messages that [`siphash_lanes`] hashes at once.
pub const LANES: usize = 8;
/// A word of each lane.
type Wide = [u64; LANES];

/// Words that are absorbed between checks of the lengths: enough that the compiler keeps the loop over lanes
/// and vectorizes it.
const BLOCK: usize = 4;

fn absorb_block(v: &mut [Wide; 4], words: &[Wide; BLOCK]) {
    for lane in 0..LANES {
        let mut one = [v[0][lane], v[1][lane], v[2][lane], v[3][lane]];
        words.iter().for_each(|words| absorb(&mut one, words[lane]));
        (v[0][lane], v[1][lane], v[2][lane], v[3][lane]) = (one[0], one[1], one[2], one[3]);
    }
}

/// Absorbs words after some lanes have ended. A lane does not absorb words for which `over` has all bits set.
fn absorb_ends(v: &mut [Wide; 4], words: &[Wide; BLOCK], over: &[Wide; BLOCK]) {
    for lane in 0..LANES {
        let mut one = [v[0][lane], v[1][lane], v[2][lane], v[3][lane]];
        for (words, over) in words.iter().zip(over) {
            let before = one;
            absorb(&mut one, words[lane]);
            let keep = |at: usize| one[at] & !over[lane] | before[at] & over[lane];
            one = [keep(0), keep(1), keep(2), keep(3)];
        }
        (v[0][lane], v[1][lane], v[2][lane], v[3][lane]) = (one[0], one[1], one[2], one[3]);
    }
}

fn finish(v: &[Wide; 4]) -> Wide {
    let mut codes = [0; LANES];
    for lane in 0..LANES {
        let mut one = [v[0][lane], v[1][lane], v[2][lane] ^ 0xff, v[3][lane]];
        (0..4).for_each(|_| round(&mut one));
        codes[lane] = one[0] ^ one[1] ^ one[2] ^ one[3];
    }
    codes
}

/// [`siphash`] of several messages, each under its key. With vectors of 256 bits (x86-64-v3) they are hashed
/// in parallel, and messages of about the same length take the least time. Otherwise they are hashed one by
/// one.
pub fn siphash_lanes(keys: [&Key; LANES], messages: [&[u8]; LANES]) -> [u64; LANES] {
    if cfg!(target_feature = "avx2") {
        return siphash_vectors(keys, messages);
    }
    std::array::from_fn(|lane| siphash(keys[lane], messages[lane]))
}

fn siphash_vectors(keys: [&Key; LANES], messages: [&[u8]; LANES]) -> [u64; LANES] {
    let starts = keys.map(start);
    let mut v: [Wide; 4] = std::array::from_fn(|i| std::array::from_fn(|lane| starts[lane][i]));
    let words = messages.map(|bytes| bytes.as_chunks::<8>().0);
    let last = messages.map(last_word);
    let shortest = words.iter().map(|words| words.len()).min().unwrap_or(0);
    let longest = words.iter().map(|words| words.len()).max().unwrap_or(0);
    let blocks = shortest / BLOCK;
    let whole = words.map(|words| words.as_chunks::<BLOCK>().0);
    let mut block = [[0; LANES]; BLOCK];
    for at in 0..blocks {
        for (lane, whole) in whole.iter().enumerate() {
            (0..BLOCK).for_each(|word| block[word][lane] = u64::from_le_bytes(whole[at][word]));
        }
        absorb_block(&mut v, &block);
    }
    for at in (blocks * BLOCK..=longest).step_by(BLOCK) {
        let mut over = [[u64::MAX; LANES]; BLOCK];
        for lane in 0..LANES {
            let left = words[lane].get(at..).unwrap_or_default();
            let there = left.iter().map(|&eight| u64::from_le_bytes(eight));
            let end = (at <= words[lane].len()).then_some(last[lane]);
            for (word, value) in there.chain(end).take(BLOCK).enumerate() {
                (block[word][lane], over[word][lane]) = (value, 0);
            }
        }
        absorb_ends(&mut v, &block, &over);
    }
    finish(&v)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The vectors that the authors publish: key 00..0f, the messages (), (00), (00 01) and so on.
    const PUBLISHED: [u64; 64] = [
        0x726f_db47_dd0e_0e31,
        0x74f8_39c5_93dc_67fd,
        0x0d6c_8009_d9a9_4f5a,
        0x8567_6696_d7fb_7e2d,
        0xcf27_94e0_2771_87b7,
        0x1876_5564_cd99_a68d,
        0xcbc9_466e_58fe_e3ce,
        0xab02_00f5_8b01_d137,
        0x93f5_f579_9a93_2462,
        0x9e00_82df_0ba9_e4b0,
        0x7a5d_bbc5_94dd_b9f3,
        0xf4b3_2f46_226b_ada7,
        0x751e_8fbc_860e_e5fb,
        0x14ea_5627_c084_3d90,
        0xf723_ca90_8e7a_f2ee,
        0xa129_ca61_49be_45e5,
        0x3f2a_cc7f_57c2_9bdb,
        0x699a_e9f5_2cbe_4794,
        0x4bc1_b3f0_968d_d39c,
        0xbb6d_c91d_a779_61bd,
        0xbed6_5cf2_1aa2_ee98,
        0xd0f2_cbb0_2e3b_67c7,
        0x9353_6795_e3a3_3e88,
        0xa80c_038c_cd5c_cec8,
        0xb8ad_50c6_f649_af94,
        0xbce1_92de_8a85_b8ea,
        0x17d8_35b8_5bbb_15f3,
        0x2f2e_6163_076b_cfad,
        0xde4d_aaac_a71d_c9a5,
        0xa6a2_5066_8795_6571,
        0xad87_a353_5c49_ef28,
        0x32d8_92fa_d841_c342,
        0x7127_512f_72f2_7cce,
        0xa7f3_2346_f959_78e3,
        0x12e0_b01a_bb05_1238,
        0x15e0_34d4_0fa1_97ae,
        0x314d_ffbe_0815_a3b4,
        0x0279_90f0_2962_3981,
        0xcadc_d4e5_9ef4_0c4d,
        0x9abf_d876_6a33_735c,
        0x0e3e_a96b_5304_a7d0,
        0xad0c_42d6_fc58_5992,
        0x1873_06c8_9bc2_15a9,
        0xd4a6_0abc_f379_2b95,
        0xf935_451d_e4f2_1df2,
        0xa953_8f04_1975_5787,
        0xdb9a_cddf_f56c_a510,
        0xd06c_98cd_5c09_75eb,
        0xe612_a3cb_9ecb_a951,
        0xc766_e62c_fcad_af96,
        0xee64_435a_9752_fe72,
        0xa192_d576_b245_165a,
        0x0a87_87bf_8ecb_74b2,
        0x81b3_e73d_20b4_9b6f,
        0x7fa8_220b_a3b2_ecea,
        0x2457_31c1_3ca4_2499,
        0xb78d_bfaf_3a8d_83bd,
        0xea1a_d565_322a_1a0b,
        0x60e6_1c23_a379_5013,
        0x6606_d7e4_4628_2b93,
        0x6ca4_ecb1_5c5f_91e1,
        0x9f62_6da1_5c96_25f3,
        0xe51b_3860_8ef2_5f57,
        0x958a_324c_eb06_4572,
    ];

    #[test]
    fn the_published_vectors_hold() {
        let key = Key(std::array::from_fn(|i| i as u8));
        let bytes: Vec<u8> = (0..64).collect();
        for (length, expected) in PUBLISHED.iter().enumerate() {
            assert_eq!(siphash(&key, &bytes[..length]), *expected, "{length} bytes");
        }
    }

    proptest! {
        /// For messages of any length, each lane has the code of its message alone.
        #[test]
        fn lanes_do_not_mix(keys: [[u8; 16]; LANES], messages in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..80), LANES)) {
            let keys = keys.map(Key);
            let messages = std::array::from_fn(|lane| messages[lane].as_slice());
            let codes = siphash_vectors(keys.each_ref(), messages);
            prop_assert_eq!(codes, siphash_lanes(keys.each_ref(), messages));
            for (lane, code) in codes.into_iter().enumerate() {
                prop_assert_eq!(code, siphash(&keys[lane], messages[lane]));
            }
        }
    }

    #[test]
    fn a_key_is_not_printed() {
        assert_eq!(format!("{:?}", Key([7; 16])), "Key(..)");
    }
}
