//! Fingerprints that identify content.

/// FNV-1a, 64 bits (Fowler, Noll, Vo). It identifies content, and does not protect against forgery.
pub fn fingerprint(bytes: &[u8]) -> u64 {
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, step)
}
