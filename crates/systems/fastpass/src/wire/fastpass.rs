//! The messages of Fastpass' nodes besides FCP: the watchdog of the arbiters (§5.1), reports of lost packets,
//! and probes of paths (§5.2). On real machines, where messages
//! of arbiters take other ways than packets, an arbiter lets an endpoint probe another one by a trial, and
//! switches report their links. Numbers are big-endian:
//!
//! ```text
//! magic: u8 = 0x46, type: u8, count: u16, source: u32, destination: u32, body, authentication: u64
//! ```
//!
//! | type | message | body |
//! |---|---|---|
//! | 1 | watchdog | term: u64, sent: u64 (ns) |
//! | 2 | losses | count entries of destination: u32, path: u16, packets: u16 |
//! | 3 | probe | token: u32, path: u16 |
//! | 4 | echo | token: u32, path: u16 |
//! | 5 | trial | token: u32, path: u16, to: u32 |
//! | 6 | down | port: u16 |
//!
//! The count is zero in messages without losses. The code at the end is SipHash-2-4 of all bytes before it,
//! with the key of the two nodes. Nothing is acknowledged: every message is repeated, or may be lost.

use crate::wire::fcp::{Invalid, Key, siphash};
use slotline_net::time::Time;
use slotline_net::wire::{ParseError, Reader};

/// The first byte of a message. The first byte of FCP is its version.
pub const MAGIC: u8 = 0x46;
/// Bytes before the body.
pub const HEADER: usize = 12;
/// The most entries of a message of losses.
pub const MOST_LOSSES: usize = 128;
const CODE: usize = 8;

/// Packets that were lost on the way to a destination over one path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Losses {
    /// The destination.
    pub dst: u32,
    /// The path.
    pub path: u16,
    /// The number of lost packets.
    pub packets: u16,
}

/// The content of a message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Body {
    /// The sender is an active arbiter.
    Watchdog {
        /// The term, which grows with each take-over.
        term: u64,
        /// When it was sent, in whole nanoseconds.
        sent: Time,
    },
    /// An endpoint has found that packets were lost.
    Losses(Vec<Losses>),
    /// Asks an endpoint to probe a path to another endpoint, and to pass the echo on.
    Trial {
        /// The probe has the same token.
        token: u32,
        /// The path.
        path: u16,
        /// The endpoint that is to be probed.
        to: u32,
    },
    /// A link of the sending switch does not work.
    Down {
        /// The port of the link.
        port: u16,
    },
    /// Asks an endpoint for an echo over the same path.
    Probe {
        /// The echo has the same token.
        token: u32,
        /// The path.
        path: u16,
    },
    /// The answer to a probe.
    Echo {
        /// The token of the probe.
        token: u32,
        /// The path of the probe.
        path: u16,
    },
}

/// A message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Message {
    /// The sending node.
    pub source: u32,
    /// The receiving node.
    pub destination: u32,
    /// The content.
    pub body: Body,
}

impl Message {
    /// Writes the message as bytes, with at most the first [`MOST_LOSSES`] losses.
    pub fn emit(&self, key: &Key) -> Vec<u8> {
        let (kind, count) = match &self.body {
            Body::Watchdog { .. } => (1, 0),
            Body::Losses(losses) => (2, losses.len().min(MOST_LOSSES)),
            Body::Probe { .. } => (3, 0),
            Body::Echo { .. } => (4, 0),
            Body::Trial { .. } => (5, 0),
            Body::Down { .. } => (6, 0),
        };
        let mut out = vec![MAGIC, kind];
        out.extend((count as u16).to_be_bytes());
        out.extend(self.source.to_be_bytes());
        out.extend(self.destination.to_be_bytes());
        match &self.body {
            Body::Watchdog { term, sent } => {
                out.extend(term.to_be_bytes());
                out.extend(sent.as_ns().to_be_bytes());
            }
            Body::Losses(losses) => losses[..count].iter().for_each(|loss| {
                out.extend(loss.dst.to_be_bytes());
                out.extend(loss.path.to_be_bytes());
                out.extend(loss.packets.to_be_bytes());
            }),
            Body::Probe { token, path } | Body::Echo { token, path } => {
                out.extend(token.to_be_bytes());
                out.extend(path.to_be_bytes());
            }
            Body::Down { port } => out.extend(port.to_be_bytes()),
            Body::Trial { token, path, to } => {
                out.extend(token.to_be_bytes());
                out.extend(path.to_be_bytes());
                out.extend(to.to_be_bytes());
            }
        }
        out.extend(siphash(key, &out).to_be_bytes());
        out
    }
    /// The sender that the bytes name, not authenticated yet. `None` if they are not such a message.
    pub fn source(bytes: &[u8]) -> Option<u32> {
        let mut reader = Reader(bytes);
        (reader.u8().ok()? == MAGIC).then_some(())?;
        reader.bytes(3).ok()?;
        reader.u32().ok()
    }
    /// Reads a message from bytes. Padding behind the message is ignored.
    ///
    /// # Errors
    /// The bytes are not such a message, or not by an owner of the key.
    pub fn parse(bytes: &[u8], key: &Key) -> Result<Message, Invalid> {
        let mut reader = Reader(bytes);
        let (magic, kind, count) = (reader.u8()?, reader.u8()?, reader.u16()?);
        let field = |field, value| Err(ParseError::Field { field, value });
        if magic != MAGIC {
            field("magic", magic.into())?;
        }
        if count > 0 && (kind != 2 || usize::from(count) > MOST_LOSSES) {
            field("count", count.into())?;
        }
        let body = match kind {
            1 => 16,
            2 => 8 * usize::from(count),
            3 | 4 => 6,
            5 => 10,
            6 => 2,
            _ => return Ok(field("type", kind.into())?),
        };
        let signed = Reader(bytes).bytes(HEADER + body)?;
        if Reader(&bytes[signed.len()..]).u64()? != siphash(key, signed) {
            return Err(Invalid::Forged);
        }
        let (source, destination) = (reader.u32()?, reader.u32()?);
        Ok(Message { source, destination, body: Body::parse(kind, count, &mut reader)? })
    }
    /// Bytes of a message with `count` losses.
    pub const fn len_of_losses(count: usize) -> usize {
        HEADER + 8 * count + CODE
    }
}

impl Body {
    fn parse(kind: u8, count: u16, reader: &mut Reader<'_>) -> Result<Body, ParseError> {
        Ok(match kind {
            1 => {
                let (term, sent) = (reader.u64()?, reader.u64()?);
                if sent > u64::MAX / 1_000 {
                    return Err(ParseError::Field { field: "sent", value: sent });
                }
                Body::Watchdog { term, sent: Time::ns(sent) }
            }
            2 => Body::Losses((0..count).map(|_| Losses::parse(reader)).collect::<Result<_, _>>()?),
            3 => Body::Probe { token: reader.u32()?, path: reader.u16()? },
            6 => Body::Down { port: reader.u16()? },
            5 => Body::Trial { token: reader.u32()?, path: reader.u16()?, to: reader.u32()? },
            _ => Body::Echo { token: reader.u32()?, path: reader.u16()? },
        })
    }
}

impl Losses {
    fn parse(reader: &mut Reader<'_>) -> Result<Losses, ParseError> {
        Ok(Losses { dst: reader.u32()?, path: reader.u16()?, packets: reader.u16()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const KEY: Key = Key([7; 16]);

    fn bodies() -> impl Strategy<Value = Body> {
        let loss =
            any::<(u32, u16, u16)>().prop_map(|(dst, path, packets)| Losses { dst, path, packets });
        prop_oneof![
            (any::<u64>(), 0..u64::MAX / 1_000)
                .prop_map(|(term, ns)| Body::Watchdog { term, sent: Time::ns(ns) }),
            prop::collection::vec(loss, 0..MOST_LOSSES).prop_map(Body::Losses),
            any::<(u32, u16, u32)>().prop_map(|(token, path, to)| Body::Trial { token, path, to }),
            any::<u16>().prop_map(|port| Body::Down { port }),
            any::<(u32, u16)>().prop_map(|(token, path)| Body::Probe { token, path }),
            any::<(u32, u16)>().prop_map(|(token, path)| Body::Echo { token, path }),
        ]
    }

    #[test]
    fn the_layout_is_as_described() {
        let body = Body::Losses(vec![Losses { dst: 5, path: 2, packets: 9 }]);
        let bytes = Message { source: 3, destination: 4, body }.emit(&KEY);
        assert_eq!(bytes.len(), Message::len_of_losses(1));
        let plain = [0x46, 2, 0, 1, 0, 0, 0, 3, 0, 0, 0, 4, 0, 0, 0, 5, 0, 2, 0, 9];
        assert_eq!(bytes[..20], plain);
        assert_eq!(bytes[20..], siphash(&KEY, &plain).to_be_bytes());
    }

    proptest! {
        #[test]
        fn what_is_emitted_is_parsed(source: u32, destination: u32, body in bodies(), padding in 0usize..60) {
            let message = Message { source, destination, body };
            let mut bytes = message.emit(&KEY);
            let whole = bytes.len();
            bytes.resize(whole + padding, 0);
            prop_assert_eq!(Message::source(&bytes), Some(source));
            prop_assert_eq!(Message::parse(&bytes, &KEY), Ok(message));
            prop_assert!(Message::parse(&bytes[..whole - 1], &KEY).is_err());
            prop_assert!(Message::parse(&bytes, &Key([8; 16])).is_err());
        }

        #[test]
        fn no_bytes_make_the_parser_panic(bytes in prop::collection::vec(any::<u8>(), 0..200), kind in 0u8..8, sign: bool) {
            let mut bytes = bytes;
            if sign && bytes.len() > HEADER + CODE {
                (bytes[0], bytes[1], bytes[2]) = (MAGIC, kind, 0);
                bytes[3] = bytes[3].min(8) * u8::from(kind == 2);
                let body = match kind { 1 => 16, 2 => 8 * usize::from(bytes[3]), 5 => 10, 6 => 2, _ => 6 };
                if bytes.len() >= HEADER + body + CODE {
                    let code = siphash(&KEY, &bytes[..HEADER + body]);
                    bytes[HEADER + body..][..CODE].copy_from_slice(&code.to_be_bytes());
                }
            }
            if let Ok(message) = Message::parse(&bytes, &KEY) {
                let again = message.emit(&KEY);
                prop_assert_eq!(&again[..], &bytes[..again.len()]);
            }
        }
    }
}
