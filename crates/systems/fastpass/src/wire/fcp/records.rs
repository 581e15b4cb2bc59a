//! The records of a message, read from its bytes on demand.

use super::{GRANT, RECORD, TOTAL, zero};
use slotline_net::wire::{ParseError, Reader};

/// One record of a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Record<'a> {
    /// The sender has no counts for this pair of ends, and both begin again with the nonce of this message.
    Reset,
    /// To the arbiter: the number of slots to each destination demanded so far in this epoch.
    Demand(Totals<'a>),
    /// To the endpoint: slots in which it may send.
    Grants(Grants<'a>),
    /// To the endpoint: the number of slots to each destination granted so far in this epoch, up to and
    /// including this message.
    Report(Totals<'a>),
    /// The sender asks for an answer.
    Alive,
}

/// A count since the epoch began, modulo 2³².
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Total {
    /// The destination.
    pub dst: u32,
    /// The number of timeslots.
    pub slots: u32,
}

/// Slots in which an endpoint may send.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Grant {
    /// The destination.
    pub dst: u32,
    /// The number of the path.
    pub path: u16,
    /// Bit i is the slot i after the record's base. Not 0.
    pub slots: u64,
}

/// The entries of a demand or a report.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Totals<'a>(&'a [[u8; TOTAL]]);

/// The entries of a record of grants.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Grants<'a> {
    /// Bit 0 of each mask is this slot.
    pub base: u64,
    entries: &'a [[u8; GRANT]],
}

impl Total {
    pub(super) fn bytes(self) -> [u8; TOTAL] {
        (u64::from(self.dst) << 32 | u64::from(self.slots)).to_be_bytes()
    }
    fn read(bytes: &[u8; TOTAL]) -> Total {
        let word = u64::from_be_bytes(*bytes);
        Total { dst: (word >> 32) as u32, slots: word as u32 }
    }
}

impl Grant {
    /// Writes the grant in two words. If its bytes were assembled elsewhere, reading them would wait for stores.
    #[inline]
    pub(super) fn put(self, place: &mut [u8; GRANT]) {
        let head = u64::from(self.dst) << 32 | u64::from(self.path) << 16 | self.slots >> 48;
        place[..8].copy_from_slice(&head.to_be_bytes());
        place[6..].copy_from_slice(&self.slots.to_be_bytes());
    }
    fn read(&[a, b, c, d, e, f, ref slots @ ..]: &[u8; GRANT]) -> Grant {
        let dst = u32::from_be_bytes([a, b, c, d]);
        Grant { dst, path: u16::from_be_bytes([e, f]), slots: u64::from_be_bytes(*slots) }
    }
}

impl<'a> Totals<'a> {
    /// The entries, in the order of the message.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Total> + use<'a> {
        self.0.iter().map(Total::read)
    }
}

impl<'a> Grants<'a> {
    /// The entries, in the order of the message.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Grant> + use<'a> {
        self.entries.iter().map(Grant::read)
    }
    /// Checks that each grant has a slot, and none a slot beyond 64 bits.
    fn check(self) -> Result<(), ParseError> {
        let all = self.iter().fold(0, |all, grant| all | grant.slots);
        if self.iter().any(|grant| grant.slots == 0) {
            return Err(ParseError::Field { field: "slots", value: 0 });
        }
        match self.base.checked_add(u64::from(all.checked_ilog2().unwrap_or(0))) {
            Some(_) => Ok(()),
            None => Err(ParseError::Field { field: "base", value: self.base }),
        }
    }
}

impl<'a> Record<'a> {
    fn read(reader: &mut Reader<'a>) -> Result<Record<'a>, ParseError> {
        let &[kind, reserved, count @ ..] = take::<RECORD>(reader, 1)?.first().expect("one entry");
        zero("reserved byte of a record", reserved.into())?;
        let count = u16::from_be_bytes(count).into();
        if (count == 0) != matches!(kind, 1 | 5) {
            return Err(ParseError::Field { field: "count", value: count as u64 });
        }
        Ok(match kind {
            1 => Record::Reset,
            2 => Record::Demand(Totals(take(reader, count)?)),
            3 => Record::Grants(Grants { base: reader.u64()?, entries: take(reader, count)? }),
            4 => Record::Report(Totals(take(reader, count)?)),
            5 => Record::Alive,
            _ => return Err(ParseError::Field { field: "record type", value: kind.into() }),
        })
    }
}

/// `count` entries of `N` bytes.
fn take<'a, const N: usize>(
    reader: &mut Reader<'a>,
    count: usize,
) -> Result<&'a [[u8; N]], ParseError> {
    Ok(reader.bytes(count * N)?.as_chunks().0)
}

/// The records of a message, in its order.
#[derive(Clone, Debug)]
pub struct Records<'a>(&'a [u8]);

impl<'a> Records<'a> {
    /// The records in bytes that [`count`] has checked.
    pub(super) const fn new(bytes: &'a [u8]) -> Records<'a> {
        Records(bytes)
    }
}

impl<'a> Iterator for Records<'a> {
    type Item = Record<'a>;
    fn next(&mut self) -> Option<Record<'a>> {
        let mut reader = Reader(self.0);
        let record = Record::read(&mut reader).ok()?;
        self.0 = reader.0;
        Some(record)
    }
}

/// Checks the records and counts them, and the resets among them.
pub(super) fn count(bytes: &[u8]) -> Result<(u64, u64), ParseError> {
    let (mut all, mut resets, mut reader) = (0, 0, Reader(bytes));
    while !reader.0.is_empty() {
        let record = Record::read(&mut reader)?;
        if let Record::Grants(grants) = record {
            grants.check()?;
        }
        all += 1;
        resets += u64::from(record == Record::Reset);
    }
    Ok((all, resets))
}
