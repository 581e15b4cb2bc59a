//! Fingerprints that identify content.

use sha2::{Digest, Sha256};

/// FNV-1a, 64 bits (Fowler, Noll, Vo). It detects differences, but is too short to identify one of many contents.
pub fn fingerprint(bytes: &[u8]) -> u64 {
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, step)
}

/// The first 128 bits of SHA-256 (FIPS 180-4), as 32 hexadecimal digits. Different contents have different names.
pub fn content_name(bytes: &[u8]) -> String {
    let mut hash = ContentHash::default();
    hash.add(bytes);
    hash.name()
}

/// [`content_name`] of content that arrives in pieces.
#[derive(Clone, Debug, Default)]
pub struct ContentHash(Sha256);

impl ContentHash {
    /// Adds the next piece.
    pub fn add(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// The name of all pieces together.
    pub fn name(self) -> String {
        self.0.finalize()[..16].iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_the_published_hashes() {
        // FIPS 180-4, one block and no block.
        assert_eq!(content_name(b"abc"), "ba7816bf8f01cfea414140de5dae2223");
        assert_eq!(content_name(b""), "e3b0c44298fc1c149afbf4c8996fb924");
        let mut pieces = ContentHash::default();
        [b"a", b"b", b"c"].iter().for_each(|piece| pieces.add(*piece));
        assert_eq!(pieces.name(), content_name(b"abc"));
    }
}
