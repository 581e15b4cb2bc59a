//! Keys and their text format. The caller reads and writes files.

use crate::curve;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ring::rand::{SecureRandom, SystemRandom};
use std::fmt;
use std::str::FromStr;
use thiserror::Error;

/// The length of a key of Curve25519 in bytes.
pub(crate) const KEY: usize = 32;
/// The first line of a file with a private key.
const HEADING: &str = "slotline private key 1";

/// The reason why a text is not a key.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum KeyError {
    /// The first line is not the heading of a private key.
    #[error(
        "a private key begins with the line `{HEADING}`, and the next line is the key in base64"
    )]
    Heading,
    /// The text does not have exactly one line with a key.
    #[error("a key is one line of 44 characters, but there are {0} lines")]
    Lines(usize),
    /// The text is not base64, with the reason.
    #[error("a key is 32 bytes in base64 (44 characters that end with `=`): {0}")]
    Base64(String),
    /// The text has another number of bytes.
    #[error(
        "a key is 32 bytes in base64 (44 characters that end with `=`), but this text has {0} bytes"
    )]
    Length(usize),
    /// The operating system provides no random bytes.
    #[error("the system provides no random bytes")]
    Entropy,
}

/// The public key of an endpoint (RFC 7748, X25519). Its text is one line of base64.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PublicKey([u8; KEY]);

/// The private key of an endpoint, with its public key. `Debug` shows only the public key.
#[derive(Clone, PartialEq, Eq)]
pub struct KeyPair {
    private: [u8; KEY],
    public: PublicKey,
}

impl PublicKey {
    /// The public key with these 32 bytes.
    pub fn from_bytes(bytes: [u8; KEY]) -> PublicKey {
        PublicKey(bytes)
    }
    /// The 32 bytes of the key.
    pub fn as_bytes(&self) -> &[u8; KEY] {
        &self.0
    }
}

impl KeyPair {
    /// A new key pair from random bytes of the operating system.
    pub fn generate() -> Result<KeyPair, KeyError> {
        let mut private = [0; KEY];
        SystemRandom::new().fill(&mut private).map_err(|_| KeyError::Entropy)?;
        Ok(KeyPair::from_private(private))
    }
    /// The key pair of a private key of 32 bytes. All values are valid.
    pub fn from_private(private: [u8; KEY]) -> KeyPair {
        KeyPair { private, public: PublicKey(curve::public_key(private)) }
    }
    /// The public key.
    pub fn public(&self) -> PublicKey {
        self.public
    }
    /// The text for a file that only its owner may read: a heading, and a line with the private key.
    pub fn to_private_text(&self) -> String {
        format!("{HEADING}\n{}\n", STANDARD.encode(self.private))
    }
    pub(crate) fn private(&self) -> &[u8; KEY] {
        &self.private
    }
}

/// Reads the text of [`KeyPair::to_private_text`].
impl FromStr for KeyPair {
    type Err = KeyError;
    fn from_str(text: &str) -> Result<KeyPair, KeyError> {
        let (heading, rest) = text.trim().split_once('\n').ok_or(KeyError::Heading)?;
        if heading.trim_end() != HEADING {
            return Err(KeyError::Heading);
        }
        Ok(KeyPair::from_private(key_line(rest)?))
    }
}

impl FromStr for PublicKey {
    type Err = KeyError;
    fn from_str(text: &str) -> Result<PublicKey, KeyError> {
        Ok(PublicKey(key_line(text)?))
    }
}

fn key_line(text: &str) -> Result<[u8; KEY], KeyError> {
    let line = text.trim();
    match line.lines().count() {
        1 => {}
        lines => return Err(KeyError::Lines(lines)),
    }
    let bytes = STANDARD.decode(line).map_err(|error| KeyError::Base64(error.to_string()))?;
    bytes.try_into().map_err(|bytes: Vec<u8>| KeyError::Length(bytes.len()))
}

impl fmt::Display for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&STANDARD.encode(self.0))
    }
}
impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PublicKey({self})")
    }
}
impl fmt::Debug for KeyPair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KeyPair({})", self.public)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 7748, section 6.1: Alice's keys.
    const PRIVATE: &str = "dwdtCnMYpX08FsFyUbJmRd9ML4frwJkqsXf7pR25LCo=";
    const PUBLIC: &str = "hSDwCYkwp1R0i33ctD73Wg2/Og0mOBr066SpjqqbTmo=";

    #[test]
    fn the_public_key_is_that_of_the_rfc() {
        let pair: KeyPair = format!("slotline private key 1\n{PRIVATE}\n").parse().unwrap();
        assert_eq!(pair.public().to_string(), PUBLIC);
        assert_eq!(PUBLIC.parse(), Ok(pair.public()));
    }

    #[test]
    fn texts_of_keys_come_back() {
        let pair = KeyPair::generate().unwrap();
        assert_eq!(pair.to_private_text().parse(), Ok(pair.clone()));
        assert_eq!(pair.to_private_text().replace('\n', "\r\n").parse(), Ok(pair.clone()));
        assert_eq!(format!(" {}\n", pair.public()).parse(), Ok(pair.public()));
        assert_ne!(pair, KeyPair::generate().unwrap());
    }

    #[test]
    fn private_keys_are_not_shown() {
        let pair: KeyPair = format!("slotline private key 1\n{PRIVATE}\n").parse().unwrap();
        assert_eq!(format!("{pair:?}"), format!("KeyPair({PUBLIC})"));
    }

    #[test]
    fn errors_say_what_is_wrong() {
        assert_eq!(PUBLIC.parse::<KeyPair>(), Err(KeyError::Heading));
        assert_eq!(format!("a key\n{PUBLIC}").parse::<KeyPair>(), Err(KeyError::Heading));
        assert_eq!("".parse::<PublicKey>(), Err(KeyError::Lines(0)));
        assert_eq!(format!("{PUBLIC}\n{PUBLIC}").parse::<PublicKey>(), Err(KeyError::Lines(2)));
        assert_eq!("AAAA".parse::<PublicKey>(), Err(KeyError::Length(3)));
        let error = "kein Schlüssel".parse::<PublicKey>().unwrap_err().to_string();
        assert!(error.starts_with("a key is 32 bytes in base64"), "{error}");
        assert!(error.contains("offset 4"), "{error}");
    }
}
