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
//! | 2 | demand | destination: u32, total: u64 |
//! | 3 | grants | first base: u64, then destination: u32, path: u32, slot - base: u16 |
//! | 4 | report | destination: u32, total: u64 |
//! | 5 | alive | none |

mod siphash;
#[cfg(test)]
mod tests;
#[cfg(test)]
pub(crate) use tests::records;

pub use siphash::{Key, siphash};

use super::{ParseError, Reader};

/// Version of the protocol.
pub const VERSION: u8 = 1;
/// Bytes before the first record.
pub const HEADER: usize = 52;
/// Bytes of the authentication code.
pub const CODE: usize = 8;
/// The longest message that a session sends: fits into a 1500-byte frame below IPv6 and UDP.
pub const LONGEST: usize = 1_400;
/// Bytes of a record before its entries; grants have 8 more.
pub const RECORD: usize = 4;
/// Bytes of a [`Total`].
pub const TOTAL: usize = 12;
/// Bytes of a [`Grant`] within its record.
pub const GRANT: usize = 10;

/// Why bytes are not accepted as a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Invalid {
    /// Not a message of this format.
    #[error(transparent)]
    Malformed(#[from] ParseError),
    /// The authentication code is wrong: another key, or damaged bytes.
    #[error("the authentication code is wrong")]
    Forged,
}

/// A message whose length does not fit into its 16-bit field.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("a message of {0} bytes, or a record of too many entries; 65535 are possible")]
pub struct TooLong(pub usize);

/// A message between an endpoint and an arbiter.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Message {
    /// The node that sends it.
    pub source: u32,
    /// The node it is for.
    pub destination: u32,
    /// Nonce of the sending end. Both nonces together are the epoch.
    pub from: u64,
    /// Nonce of the receiving end, as far as the sender knows; 0: not known.
    pub to: u64,
    /// Number of the packet in its epoch, from 1; 0 in a reset.
    pub number: u64,
    /// Which packets of the other end the sender has received.
    pub acks: Acks,
    /// What it says.
    pub records: Vec<Record>,
}

/// The packets that were received: a highest number and a vector for those before it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Acks {
    /// Highest number received; 0: none.
    pub highest: u64,
    /// Bit i: number `highest - 1 - i` was received.
    pub before: u64,
}

impl Acks {
    /// Whether this packet was received; one too old for the vector was not.
    pub const fn has(&self, number: u64) -> bool {
        match self.highest.checked_sub(number) {
            _ if number == 0 => false,
            Some(0) => true,
            Some(back @ 1..=64) => self.before >> (back - 1) & 1 == 1,
            _ => false,
        }
    }
    /// Whether this packet is too old for the vector to tell.
    pub const fn forgot(&self, number: u64) -> bool {
        self.highest > 64 && number < self.highest - 64
    }
    /// Takes note of a packet. False, and nothing noted: it is there already, or too old to tell.
    pub const fn note(&mut self, number: u64) -> bool {
        if number == 0 || self.has(number) || self.forgot(number) {
            return false;
        }
        if number < self.highest {
            self.before |= 1 << (self.highest - 1 - number);
            return true;
        }
        let ahead = number - self.highest;
        let first = self.highest > 0;
        self.before = match ahead {
            1..=63 => self.before << ahead | (first as u64) << (ahead - 1),
            64 => (first as u64) << 63,
            _ => 0,
        };
        self.highest = number;
        true
    }
}

/// One thing that a message says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Record {
    /// The sender has no counts for this pair of ends: begin again, with the nonce of this message.
    Reset,
    /// To the arbiter: how many slots to each destination were ever wanted in this epoch.
    Demand(Vec<Total>),
    /// To the endpoint: slots in which it may send.
    Grants {
        /// Offsets count from this slot.
        base: u64,
        /// One for each slot.
        grants: Vec<Grant>,
    },
    /// To the endpoint: how many slots to each destination were ever granted in this epoch, up to and
    /// including this message.
    Report(Vec<Total>),
    /// Nothing to say; asks for an answer.
    Alive,
}

/// A count since the epoch began.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Total {
    /// Where to.
    pub dst: u32,
    /// Timeslots.
    pub slots: u64,
}

/// A slot in which an endpoint may send.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Grant {
    /// Where to.
    pub dst: u32,
    /// Which of the paths there.
    pub path: u32,
    /// The slot, counted from the record's base.
    pub offset: u16,
}

impl Record {
    const fn kind(&self) -> u8 {
        match self {
            Record::Reset => 1,
            Record::Demand(_) => 2,
            Record::Grants { .. } => 3,
            Record::Report(_) => 4,
            Record::Alive => 5,
        }
    }
    const fn count(&self) -> usize {
        match self {
            Record::Reset | Record::Alive => 0,
            Record::Demand(totals) | Record::Report(totals) => totals.len(),
            Record::Grants { grants, .. } => grants.len(),
        }
    }
    fn emit(&self, out: &mut Vec<u8>) -> Result<(), TooLong> {
        let count = u16::try_from(self.count()).map_err(|_| TooLong(self.count()))?;
        out.extend([self.kind(), 0]);
        out.extend(count.to_be_bytes());
        match self {
            Record::Reset | Record::Alive => {}
            Record::Demand(totals) | Record::Report(totals) => {
                totals.iter().for_each(|total| total.emit(out));
            }
            Record::Grants { base, grants } => {
                out.extend(base.to_be_bytes());
                grants.iter().for_each(|grant| grant.emit(out));
            }
        }
        Ok(())
    }
    fn parse(reader: &mut Reader<'_>) -> Result<Record, ParseError> {
        let kind = reader.u8()?;
        zero("reserved byte of a record", reader.u8()?.into())?;
        let count = reader.u16()?;
        Ok(match kind {
            1 | 5 => {
                zero("count of a record without entries", count.into())?;
                if kind == 1 { Record::Reset } else { Record::Alive }
            }
            2 => Record::Demand(list(count, reader, Total::parse)?),
            3 => {
                let base = reader.u64()?;
                let grants = list(count, reader, Grant::parse)?;
                let last = |grant: &Grant| base.checked_add(grant.offset.into()).is_none();
                if grants.iter().any(last) {
                    return Err(ParseError::Field { field: "base", value: base });
                }
                Record::Grants { base, grants }
            }
            4 => Record::Report(list(count, reader, Total::parse)?),
            _ => return Err(ParseError::Field { field: "record type", value: kind.into() }),
        })
    }
}

impl Total {
    fn emit(&self, out: &mut Vec<u8>) {
        out.extend(self.dst.to_be_bytes());
        out.extend(self.slots.to_be_bytes());
    }
    fn parse(reader: &mut Reader<'_>) -> Result<Total, ParseError> {
        Ok(Total { dst: reader.u32()?, slots: reader.u64()? })
    }
}

impl Grant {
    fn emit(&self, out: &mut Vec<u8>) {
        out.extend(self.dst.to_be_bytes());
        out.extend(self.path.to_be_bytes());
        out.extend(self.offset.to_be_bytes());
    }
    fn parse(reader: &mut Reader<'_>) -> Result<Grant, ParseError> {
        Ok(Grant { dst: reader.u32()?, path: reader.u32()?, offset: reader.u16()? })
    }
}

fn zero(field: &'static str, value: u64) -> Result<(), ParseError> {
    if value == 0 { Ok(()) } else { Err(ParseError::Field { field, value }) }
}

fn list<'a, T>(
    count: u16,
    reader: &mut Reader<'a>,
    item: impl Fn(&mut Reader<'a>) -> Result<T, ParseError>,
) -> Result<Vec<T>, ParseError> {
    (0..count).map(|_| item(reader)).collect()
}

impl Message {
    /// As bytes, with the code under `key`.
    pub fn emit(&self, key: &Key) -> Result<Vec<u8>, TooLong> {
        let mut out = vec![VERSION, 0, 0, 0];
        out.extend(self.source.to_be_bytes());
        out.extend(self.destination.to_be_bytes());
        let words = [self.from, self.to, self.number, self.acks.highest, self.acks.before];
        words.iter().for_each(|word| out.extend(word.to_be_bytes()));
        self.records.iter().try_for_each(|record| record.emit(&mut out))?;
        let length = out.len() + CODE;
        let field = u16::try_from(length).map_err(|_| TooLong(length))?;
        out[2..4].copy_from_slice(&field.to_be_bytes());
        let code = siphash(key, &out);
        out.extend(code.to_be_bytes());
        Ok(out)
    }
    /// From bytes; padding after the message is ignored. Nothing behind the header is looked at
    /// before the code has been found right.
    pub fn parse(bytes: &[u8], key: &Key) -> Result<Message, Invalid> {
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
        let signed = whole.bytes(length - CODE)?;
        if whole.u64()? != siphash(key, signed) {
            return Err(Invalid::Forged);
        }
        Ok(Message::fields(&mut Reader(&signed[4..]))?)
    }
    fn fields(reader: &mut Reader<'_>) -> Result<Message, ParseError> {
        let (source, destination) = (reader.u32()?, reader.u32()?);
        let (from, to, number) = (reader.u64()?, reader.u64()?, reader.u64()?);
        let acks = Acks { highest: reader.u64()?, before: reader.u64()? };
        let mut records = Vec::new();
        while !reader.0.is_empty() {
            records.push(Record::parse(reader)?);
        }
        let message = Message { source, destination, from, to, number, acks, records };
        message.sense()
    }
    /// A reset stands alone and has no number; all else has one and knows both nonces.
    fn sense(self) -> Result<Message, ParseError> {
        let field = |field, value| Err(ParseError::Field { field, value });
        let reset = self.is_reset();
        if self.from == 0 {
            return field("epoch of the source", 0);
        }
        if self.records.contains(&Record::Reset) && !reset {
            return field("number of records beside a reset", self.records.len() as u64);
        }
        if reset != (self.number == 0) {
            return field("number", self.number);
        }
        if !reset && self.to == 0 {
            return field("epoch of the destination", 0);
        }
        Ok(self)
    }
    /// Whether its sender asks to begin again.
    pub fn is_reset(&self) -> bool {
        self.records == [Record::Reset]
    }
    /// Whether the other end has to acknowledge it: all but resets and mere acknowledgements.
    pub fn wants_ack(&self) -> bool {
        !self.is_reset() && !self.records.is_empty()
    }
}
