//! FCP: the control protocol between endpoints and a Fastpass-like arbiter, with the semantics of
//! Fastpass §5.3 and a wire format of its own. `docs/protocol/fcp.md` specifies it. Big-endian:
//!
//! ```text
//! 0         1         2         3         4
//! | version |    0    |      length       |   of the whole message, with the code at its end
//! |             source                    |   node that sends it
//! |           destination                 |   node it is for
//! |                epoch: source          |   64 bits, nonce of the sending end
//! |              epoch: destination       |   64 bits, nonce of the other end; 0: not known
//! |                number                 |   64 bits, of the sender's packets in this epoch, from 1; 0 in a reset
//! |                acknowledged           |   64 bits, highest number received; 0: none
//! |           acknowledgement vector      |   64 bits, bit i: number (acknowledged - 1 - i) was received
//! | records ...
//! |              authentication           |   64 bits, SipHash-2-4 of all before it
//! ```
//!
//! Each record starts with type: u8, 0: u8, count: u16.
//!
//! | type | record | count entries of |
//! |---|---|---|
//! | 1 | reset | none; the only record of its message |
//! | 2 | demand | destination: u32, total: u32 |
//! | 3 | grants | first base: u64, then destination: u32, path: u16, slots: u64 |
//! | 4 | report | destination: u32, total: u32 |
//! | 5 | alive | none |
//!
//! Nothing is copied out of a message: [`Message::parse`] checks all of it once, and its records are
//! iterators over its bytes. A [`Writer`] puts a message into a buffer of the caller.

mod acks;
mod records;
mod siphash;
#[cfg(test)]
mod tests;
mod writer;

#[cfg(test)]
pub(crate) use tests::{Owned, emit, owned};

pub use acks::Acks;
pub use records::{Grant, Grants, Record, Records, Total, Totals};
pub use siphash::{Key, LANES, siphash, siphash_lanes};
pub use writer::Writer;
pub(crate) use writer::seal;

use slotline_net::wire::{ParseError, Reader};

/// Version of the protocol.
pub const VERSION: u8 = 1;
/// Bytes before the first record.
pub const HEADER: usize = 52;
/// Bytes of the authentication code.
pub const CODE: usize = 8;
/// The longest message that a session sends. It fits into a 1500-byte frame below IPv6 and UDP.
pub const LONGEST: usize = 1_400;
/// The smallest limit of a session's messages. A record of any kind with one entry fits in.
pub const SHORTEST: usize = HEADER + RECORD + 8 + GRANT + CODE;
/// Bytes of a record before its entries. Grants have 8 more.
pub const RECORD: usize = 4;
/// Bytes of a [`Total`].
pub const TOTAL: usize = 8;
/// Bytes of a [`Grant`] within its record.
pub const GRANT: usize = 14;

/// The reason why bytes are not accepted as a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Invalid {
    /// Not a message of this format.
    #[error(transparent)]
    Malformed(#[from] ParseError),
    /// The authentication code is wrong: another key was used, or bytes are damaged.
    #[error("the authentication code is wrong")]
    Forged,
}

/// The beginning of every message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Header {
    /// The node that sends it.
    pub source: u32,
    /// The node it is for.
    pub destination: u32,
    /// Nonce of the sending end. Both nonces together identify the epoch.
    pub from: u64,
    /// Nonce of the receiving end, or 0 if the sender does not know it.
    pub to: u64,
    /// Number of the packet in its epoch, from 1; 0 in a reset.
    pub number: u64,
    /// Which packets of the other end the sender has received.
    pub acks: Acks,
}

/// A message between an endpoint and an arbiter, in the bytes in which it arrived.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Message<'a> {
    /// The header: source, destination, epoch, number and acknowledgements.
    pub header: Header,
    records: &'a [u8],
}

impl<'a> Message<'a> {
    /// Reads a message from bytes. Padding after the message is ignored. Fields after the length are read only
    /// if the code is right.
    ///
    /// # Errors
    /// The bytes are not a message of this format, or not by an owner of the key.
    pub fn parse(bytes: &'a [u8], key: &Key) -> Result<Message<'a>, Invalid> {
        Message::parse_with(bytes, |signed| siphash(key, signed))
    }
    /// Reads a message, where `code_of` computes the code of the signed bytes.
    pub(crate) fn parse_with(
        bytes: &'a [u8],
        code_of: impl FnOnce(&'a [u8]) -> u64,
    ) -> Result<Message<'a>, Invalid> {
        let (signed, code) = Message::signed(bytes)?;
        if code != code_of(signed) {
            return Err(Invalid::Forged);
        }
        Ok(Message::fields(&mut Reader(&signed[4..]))?)
    }
    /// The signed bytes, and the code.
    pub(crate) fn signed(bytes: &'a [u8]) -> Result<(&'a [u8], u64), ParseError> {
        let mut reader = Reader(bytes);
        let (version, reserved, length) = (reader.u8()?, reader.u8()?, reader.u16()?);
        if version != VERSION {
            Err(ParseError::Field { field: "version", value: version.into() })?;
        }
        zero("reserved byte", reserved.into())?;
        let (length, need) = (usize::from(length), HEADER + CODE);
        if length < need {
            Err(ParseError::Truncated { need, have: length })?;
        }
        let mut whole = Reader(Reader(bytes).bytes(length)?);
        Ok((whole.bytes(length - CODE)?, whole.u64()?))
    }
    /// The records of a message that has not been checked. They only serve to read ahead what the message
    /// will need.
    pub(crate) fn peek(bytes: &'a [u8]) -> Records<'a> {
        let end = bytes.len().saturating_sub(CODE);
        Records::new(bytes.get(HEADER..end).unwrap_or_default())
    }
    fn fields(reader: &mut Reader<'a>) -> Result<Message<'a>, ParseError> {
        let (source, destination) = (reader.u32()?, reader.u32()?);
        let (from, to, number) = (reader.u64()?, reader.u64()?, reader.u64()?);
        let acks = Acks { highest: reader.u64()?, before: reader.u64()? };
        let header = Header { source, destination, from, to, number, acks };
        Message { header, records: reader.0 }.check_consistency()
    }
    /// Checks that a reset stands alone and has no number, and that any other message has a number and both
    /// nonces.
    fn check_consistency(self) -> Result<Message<'a>, ParseError> {
        let field = |field, value| Err(ParseError::Field { field, value });
        let (count, resets) = records::count(self.records)?;
        let Header { from, to, number, .. } = self.header;
        if from == 0 {
            return field("epoch of the source", 0);
        }
        if resets > 0 && count > 1 {
            return field("number of records beside a reset", count);
        }
        if (resets > 0) != (number == 0) {
            return field("number", number);
        }
        if resets == 0 && to == 0 {
            return field("epoch of the destination", 0);
        }
        Ok(self)
    }
    /// The records, in the order of the message.
    pub fn records(&self) -> Records<'a> {
        Records::new(self.records)
    }
    /// Whether the message is a reset, which asks for a new epoch.
    pub const fn is_reset(&self) -> bool {
        self.header.number == 0
    }
    /// Whether the other end has to acknowledge the message. This holds for all messages with records, except
    /// resets.
    pub const fn wants_ack(&self) -> bool {
        !self.is_reset() && !self.records.is_empty()
    }
}

fn zero(field: &'static str, value: u64) -> Result<(), ParseError> {
    if value == 0 { Ok(()) } else { Err(ParseError::Field { field, value }) }
}
