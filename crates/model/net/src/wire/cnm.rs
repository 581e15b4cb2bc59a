//! Congestion notification messages (IEEE 802.1Q-2018, 33.3 and 33.4; once 802.1Qau), as Ethernet
//! frames without check sequence:
//!
//! ```text
//! | destination 6 | source 6 | 0x22e9 | RPID 2 | 0x22e7 |                      CN-TAG, type of a CNM
//! | version 4 bits, 0 in 6 bits, quantised feedback 6 bits | CPID 8 |
//! | offset 2 | delta 2 | priority 2 | destination address 6 | length 2 | first bytes of the frame ... |
//! ```

use super::mac_control::Mac;
use super::{ParseError, Reader};

/// EtherType of a congestion notification message.
pub const ETHERTYPE: u16 = 0x22e7;
/// EtherType of the tag by which a reaction point names a flow.
pub const TAG: u16 = 0x22e9;
/// The most bytes of the sampled frame in a message.
pub const MOST_SAMPLE: usize = 64;
/// The bytes that Ethernet adds on the wire: preamble, check sequence and gap.
pub const OVERHEAD: u16 = 24;
/// The fewest bytes of an Ethernet frame without check sequence.
const LEAST: usize = 60;

/// A congestion notification message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Cnm {
    /// The sender of the sampled frame, which is notified.
    pub destination: Mac,
    /// The congestion point's port.
    pub source: Mac,
    /// The number of the flow, given by the reaction point.
    pub flow: u16,
    /// Quantised feedback, 0 to 63.
    pub quantised: u8,
    /// The identifier of the congestion point.
    pub point: u64,
    /// Bytes above the equilibrium at the sample, in units of 64, limited to 16 bits.
    pub offset: i16,
    /// Bytes that the queue has grown since the sample before, in units of 64.
    pub delta: i16,
    /// Priority of the sampled frame, 0 to 7.
    pub priority: u8,
    /// The destination of the sampled frame.
    pub sampled_to: Mac,
    /// The first bytes of the sampled frame's contents, at most 64.
    pub sample: Vec<u8>,
}

/// A number of bytes in the form of the message: units of 64, limited to 16 bits.
pub fn units(bytes: i64) -> i16 {
    (bytes / 64).clamp(i64::from(i16::MIN), i64::from(i16::MAX)) as i16
}

impl Cnm {
    /// The frame. Contents that do not fit their field are cut.
    pub fn emit(&self) -> Vec<u8> {
        let sample = &self.sample[..self.sample.len().min(MOST_SAMPLE)];
        let mut out = Vec::with_capacity(LEAST.max(44 + sample.len()));
        out.extend(self.destination.0);
        out.extend(self.source.0);
        out.extend(TAG.to_be_bytes());
        out.extend(self.flow.to_be_bytes());
        out.extend(ETHERTYPE.to_be_bytes());
        out.extend(u16::from(self.quantised.min(63)).to_be_bytes());
        out.extend(self.point.to_be_bytes());
        out.extend(self.offset.to_be_bytes());
        out.extend(self.delta.to_be_bytes());
        out.extend((u16::from(self.priority & 7) << 13).to_be_bytes());
        out.extend(self.sampled_to.0);
        out.extend((sample.len() as u16).to_be_bytes());
        out.extend(sample);
        out.resize(out.len().max(LEAST), 0);
        out
    }

    /// Reads a frame. Padding up to the least length of a frame may follow.
    pub fn parse(bytes: &[u8]) -> Result<Cnm, ParseError> {
        let mut reader = Reader(bytes);
        let (destination, source) = (Mac(reader.array()?), Mac(reader.array()?));
        exactly("type", reader.u16()?.into(), TAG.into())?;
        let flow = reader.u16()?;
        exactly("type", reader.u16()?.into(), ETHERTYPE.into())?;
        let first = reader.u16()?;
        exactly("version", u64::from(first >> 12), 0)?;
        let point = reader.u64()?;
        let (offset, delta) = (reader.u16()? as i16, reader.u16()? as i16);
        let priority = (reader.u16()? >> 13) as u8;
        let sampled_to = Mac(reader.array()?);
        let length = usize::from(reader.u16()?);
        if length > MOST_SAMPLE {
            return Err(ParseError::Field { field: "length", value: length as u64 });
        }
        let sample = reader.bytes(length)?.to_vec();
        if !reader.0.is_empty() && bytes.len() > LEAST {
            return Err(ParseError::Trailing(reader.0.len()));
        }
        let quantised = (first & 0x3f) as u8;
        Ok(Cnm {
            destination,
            source,
            flow,
            quantised,
            point,
            offset,
            delta,
            priority,
            sampled_to,
            sample,
        })
    }
}

fn exactly(field: &'static str, value: u64, want: u64) -> Result<(), ParseError> {
    if value == want { Ok(()) } else { Err(ParseError::Field { field, value }) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn example() -> Cnm {
        Cnm {
            destination: Mac([2, 0, 0, 0, 0, 1]),
            source: Mac([2, 0, 0, 0, 0, 9]),
            flow: 0x1234,
            quantised: 63,
            point: 0x0200_0000_0009_0003,
            offset: units(20_000),
            delta: units(-6_400),
            priority: 5,
            sampled_to: Mac([2, 0, 0, 0, 0, 7]),
            sample: vec![0x08, 0x00, 0x45],
        }
    }

    /// The octets were written by hand from the standard.
    #[test]
    fn octets_are_where_the_standard_says() {
        let mut want = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 9, 0x22, 0xe9, 0x12, 0x34, 0x22, 0xe7];
        want.extend([0x00, 0x3f, 2, 0, 0, 0, 0, 9, 0, 3, 0x01, 0x38, 0xff, 0x9c, 0xa0, 0x00]);
        want.extend([2, 0, 0, 0, 0, 7, 0, 3, 0x08, 0x00, 0x45]);
        want.resize(60, 0);
        assert_eq!(example().emit(), want);
    }

    #[test]
    fn what_is_wrong_is_named() {
        let bytes = example().emit();
        let with = |at: usize, value: u8| {
            let mut bytes = bytes.clone();
            bytes[at] = value;
            Cnm::parse(&bytes)
        };
        assert!(matches!(with(13, 0), Err(ParseError::Field { field: "type", .. })));
        assert!(matches!(with(18, 0x10), Err(ParseError::Field { field: "version", .. })));
        assert!(matches!(with(41, 65), Err(ParseError::Field { field: "length", value: 65 })));
        assert!(matches!(Cnm::parse(&bytes[..30]), Err(ParseError::Truncated { .. })));
    }

    proptest! {
        #[test]
        fn what_is_written_reads_the_same(
            macs in any::<[[u8; 6]; 3]>(), flow: u16, quantised in 0u8..64, point: u64,
            offset: i16, delta: i16, priority in 0u8..8,
            sample in prop::collection::vec(any::<u8>(), 0..=MOST_SAMPLE),
        ) {
            let [destination, source, sampled_to] = macs.map(Mac);
            let cnm = Cnm {
                destination, source, flow, quantised, point, offset, delta, priority, sampled_to, sample,
            };
            prop_assert_eq!(Cnm::parse(&cnm.emit()), Ok(cnm));
        }

        #[test]
        fn random_bytes_do_no_harm(bytes in prop::collection::vec(any::<u8>(), 0..200), cut in 0usize..61) {
            let _ = Cnm::parse(&bytes);
            let mut frame = example().emit();
            frame.truncate(cut);
            frame.extend(bytes);
            if let Ok(cnm) = Cnm::parse(&frame) {
                prop_assert!(cnm.quantised < 64 && cnm.priority < 8);
            }
        }
    }
}
