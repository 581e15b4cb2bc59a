//! Updates between bumps in front of one switch (NetBump, 5.2.2). They have the lengths and downstream ports of passed
//! packets, four bytes for each. Big-endian:
//!
//! ```text
//! | version 1 | type 1 | count 2 | sequence 4 | count of (length 2, port 2) |
//! ```

use super::{ParseError, Reader};
use crate::id::PortId;

/// Version of the protocol.
pub const VERSION: u8 = 1;
/// The only type of message.
const UPDATE: u8 = 1;
/// The bytes that Ethernet adds to a message on the wire: preamble, header, check sequence and gap.
pub const OVERHEAD: u16 = 38;
/// Packets that one update within a 1500-byte frame can report.
pub const MOST_PACKETS: usize = 373;

/// Packets that passed a bump, in order.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Update {
    /// Counts the updates to this neighbour, from zero, modulo 2³².
    pub seq: u32,
    /// Bytes on the wire, and the port of the switch by which the packet will leave it.
    pub packets: Vec<(u16, PortId)>,
}

impl Update {
    /// The message. At most [`MOST_PACKETS`] packets fit.
    pub fn emit(&self) -> Vec<u8> {
        let packets = &self.packets[..self.packets.len().min(MOST_PACKETS)];
        let mut out = vec![VERSION, UPDATE];
        out.extend((packets.len() as u16).to_be_bytes());
        out.extend(self.seq.to_be_bytes());
        for (len, port) in packets {
            out.extend(len.to_be_bytes());
            out.extend(port.0.to_be_bytes());
        }
        out
    }

    /// Reads a message. The padding of a short Ethernet frame may follow.
    pub fn parse(bytes: &[u8]) -> Result<Update, ParseError> {
        let mut reader = Reader(bytes);
        for (field, want) in [("version", VERSION), ("type", UPDATE)] {
            let value = reader.u8()?;
            if value != want {
                return Err(ParseError::Field { field, value: value.into() });
            }
        }
        let count = usize::from(reader.u16()?);
        if count > MOST_PACKETS {
            return Err(ParseError::Field { field: "count", value: count as u64 });
        }
        let seq = reader.u32()?;
        let one = |_| Ok((reader.u16()?, PortId(reader.u16()?)));
        let packets = (0..count).map(one).collect::<Result<_, ParseError>>()?;
        if bytes.len() > 46 {
            reader.end()?;
        }
        Ok(Update { seq, packets })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn octets_are_where_the_comment_says() {
        let update = Update { seq: 7, packets: vec![(1500, PortId(3)), (64, PortId(0x102))] };
        let want = [1, 1, 0, 2, 0, 0, 0, 7, 0x05, 0xdc, 0, 3, 0, 64, 1, 2];
        assert_eq!(update.emit(), want);
        assert!(matches!(Update::parse(&want[..10]), Err(ParseError::Truncated { .. })));
        assert!(matches!(Update::parse(&[2, 1]), Err(ParseError::Field { field: "version", .. })));
    }

    proptest! {
        #[test]
        fn what_is_written_reads_the_same(
            seq: u32, packets in prop::collection::vec((any::<u16>(), any::<u16>()), 0..=MOST_PACKETS)
        ) {
            let packets = packets.into_iter().map(|(len, port)| (len, PortId(port))).collect();
            let update = Update { seq, packets };
            let bytes = update.emit();
            prop_assert!(bytes.len() <= 1500);
            prop_assert_eq!(Update::parse(&bytes), Ok(update));
        }

        #[test]
        fn random_bytes_do_no_harm(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            if let Ok(update) = Update::parse(&bytes) {
                prop_assert!(update.packets.len() <= 16);
            }
        }
    }
}
