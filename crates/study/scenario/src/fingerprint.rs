//! A name for content.

/// FNV-1a, 64 bits (Fowler, Noll, Vo): names content, is no protection against forgery.
pub fn fingerprint(bytes: &[u8]) -> u64 {
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, step)
}
