//! X25519 (RFC 7748) for `snow`. Its resolver for `ring` provides all other parts of the pattern.

use crate::keys::KEY;
use curve25519_dalek::MontgomeryPoint;
use snow::Error;
use snow::params::{CipherChoice, DHChoice, HashChoice};
use snow::resolvers::{CryptoResolver, RingResolver};
use snow::types::{Cipher, Dh, Hash, Random};

/// The resolver for `ring`, with X25519.
pub(crate) struct Resolver(pub RingResolver);

/// A private key and its public key.
#[derive(Default)]
struct X25519 {
    private: [u8; KEY],
    public: [u8; KEY],
}

/// The public key of a private key.
pub(crate) fn public_key(private: [u8; KEY]) -> [u8; KEY] {
    MontgomeryPoint::mul_base_clamped(private).to_bytes()
}

impl CryptoResolver for Resolver {
    fn resolve_rng(&self) -> Option<Box<dyn Random>> {
        self.0.resolve_rng()
    }
    fn resolve_dh(&self, choice: &DHChoice) -> Option<Box<dyn Dh>> {
        match choice {
            DHChoice::Curve25519 => Some(Box::new(X25519::default())),
            _ => None,
        }
    }
    fn resolve_hash(&self, choice: &HashChoice) -> Option<Box<dyn Hash>> {
        self.0.resolve_hash(choice)
    }
    fn resolve_cipher(&self, choice: &CipherChoice) -> Option<Box<dyn Cipher>> {
        self.0.resolve_cipher(choice)
    }
}

impl Dh for X25519 {
    fn name(&self) -> &'static str {
        "25519"
    }
    fn pub_len(&self) -> usize {
        KEY
    }
    fn priv_len(&self) -> usize {
        KEY
    }
    fn set(&mut self, private: &[u8]) {
        self.private.copy_from_slice(private);
        self.public = public_key(self.private);
    }
    fn generate(&mut self, random: &mut dyn Random) -> Result<(), Error> {
        random.try_fill_bytes(&mut self.private)?;
        self.public = public_key(self.private);
        Ok(())
    }
    fn pubkey(&self) -> &[u8] {
        &self.public
    }
    fn privkey(&self) -> &[u8] {
        &self.private
    }
    /// An all-zero secret, which results from a point of small order, is an error (RFC 7748, section 6.1).
    fn dh(&self, public: &[u8], out: &mut [u8]) -> Result<(), Error> {
        let point = public.first_chunk().ok_or(Error::Dh)?;
        let secret = MontgomeryPoint(*point).mul_clamped(self.private).to_bytes();
        if secret == [0; KEY] {
            return Err(Error::Dh);
        }
        out[..KEY].copy_from_slice(&secret);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(text: &str) -> [u8; KEY] {
        std::array::from_fn(|i| u8::from_str_radix(&text[2 * i..2 * i + 2], 16).unwrap())
    }

    #[test]
    fn the_secret_is_that_of_the_rfc() {
        // RFC 7748, section 6.1: Alice's private key, Bob's public key, and their secret.
        let mut alice = X25519::default();
        alice.set(&hex("77076d0a7318a57d3c16c17251b26645df4c2f87ebc0992ab177fba51db92c2a"));
        let bob = hex("de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f");
        let mut secret = [0; KEY];
        alice.dh(&bob, &mut secret).unwrap();
        assert_eq!(secret, hex("4a5d9d5ba4ce2de1728e3bf480350f25e07e21c947d19e3376f09b3c1e161742"));
    }

    #[test]
    fn points_of_small_order_are_refused() {
        let mut alice = X25519::default();
        alice.set(&[9; KEY]);
        assert_eq!(alice.dh(&[0; KEY], &mut [1; KEY]), Err(Error::Dh));
        let mut one = [0; KEY];
        one[0] = 1;
        assert_eq!(alice.dh(&one, &mut [1; KEY]), Err(Error::Dh));
    }
}
