//! [`Packet`] as bytes, for drivers that carry packets over real sockets. Big-endian:
//!
//! ```text
//! version: u8, kind: u8, flags: u8, class: u8, circuits: u8, dst: u32, flow: u32, seq: u32,
//! stamp: u32, entropy: u16, len: u16, sack: 3 x (start: u16, end: u16), payload of a control packet
//! ```

use super::{ParseError, Reader};
use crate::frame::{CLASSES, Circuits, Kind, Packet, Span};
use crate::id::HostId;

/// Version of the format.
pub const VERSION: u8 = 2;
/// Bytes before the payload.
pub const HEADER: usize = 37;

const KINDS: [Kind; 5] = [Kind::Data, Kind::Ack, Kind::Datagram, Kind::Control, Kind::Pause];

/// A packet and, for a control packet, its payload, as bytes.
pub fn emit(packet: &Packet, payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(HEADER + payload.len());
    append(packet, payload, &mut out);
    out
}

/// Appends the bytes of [`emit`] to `out`.
pub fn append(packet: &Packet, payload: &[u8], out: &mut Vec<u8>) {
    let mut head = [0; HEADER];
    let Packet { kind, flags, class, circuits, .. } = *packet;
    head[..5].copy_from_slice(&[VERSION, kind as u8, flags, class, circuits.bits()]);
    let words = [packet.dst.0, packet.flow, packet.seq, packet.stamp];
    let [x, y, z] = packet.sack;
    let halves = [packet.entropy, packet.len, x.start, x.end, y.start, y.end, z.start, z.end];
    for (place, word) in head[5..21].as_chunks_mut().0.iter_mut().zip(words) {
        *place = word.to_be_bytes();
    }
    for (place, half) in head[21..].as_chunks_mut().0.iter_mut().zip(halves) {
        *place = half.to_be_bytes();
    }
    out.extend_from_slice(&head);
    out.extend_from_slice(payload);
}

/// Reads the packet and the payload from bytes of [`emit`].
pub fn parse(bytes: &[u8]) -> Result<(Packet, &[u8]), ParseError> {
    let mut reader = Reader(bytes);
    let version = reader.u8()?;
    if version != VERSION {
        return Err(ParseError::Field { field: "version", value: version.into() });
    }
    let kind = reader.u8()?;
    let field = ParseError::Field { field: "kind", value: kind.into() };
    let kind = *KINDS.get(usize::from(kind)).ok_or(field)?;
    let packet = Packet {
        kind,
        flags: reader.u8()?,
        class: class(reader.u8()?)?,
        circuits: circuits(reader.u8()?)?,
        dst: HostId(reader.u32()?),
        flow: reader.u32()?,
        seq: reader.u32()?,
        stamp: reader.u32()?,
        entropy: reader.u16()?,
        len: reader.u16()?,
        sack: [span(&mut reader)?, span(&mut reader)?, span(&mut reader)?],
    };
    if kind != Kind::Control {
        reader.end()?;
    }
    Ok((packet, reader.0))
}

fn class(class: u8) -> Result<u8, ParseError> {
    let field = ParseError::Field { field: "class", value: class.into() };
    Some(class).filter(|&class| usize::from(class) < CLASSES).ok_or(field)
}

fn circuits(bits: u8) -> Result<Circuits, ParseError> {
    Circuits::from_bits(bits).ok_or(ParseError::Field { field: "circuits", value: bits.into() })
}

fn span(reader: &mut Reader<'_>) -> Result<Span, ParseError> {
    Ok(Span { start: reader.u16()?, end: reader.u16()? })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn kinds_are_numbered_as_listed() {
        for (number, kind) in KINDS.into_iter().enumerate() {
            assert_eq!(kind as usize, number);
        }
    }

    proptest! {
        #[test]
        fn what_is_emitted_is_parsed(
            words: [u32; 4], halves: [u16; 8], kind in 0usize..5, flags: u8, class in 0u8..8,
            circuits in 0u8..128,
            payload in prop::collection::vec(any::<u8>(), 0..64)
        ) {
            let span = |at: usize| Span { start: halves[at], end: halves[at + 1] };
            let packet = Packet {
                dst: HostId(words[0]), flow: words[1], seq: words[2], stamp: words[3],
                entropy: halves[0], len: halves[1], kind: KINDS[kind], flags, class,
                circuits: Circuits::from_bits(circuits).unwrap(),
                sack: [span(2), span(4), span(6)],
            };
            let payload = if packet.kind == Kind::Control { &payload[..] } else { &[] };
            let bytes = emit(&packet, payload);
            prop_assert_eq!(bytes.len(), HEADER + payload.len());
            prop_assert_eq!(parse(&bytes), Ok((packet, payload)));
            prop_assert!(parse(&bytes[..HEADER - 1]).is_err());
        }

        #[test]
        fn no_bytes_make_the_parser_panic(bytes in prop::collection::vec(any::<u8>(), 0..80), fix: bool) {
            let mut bytes = bytes;
            if fix && bytes.len() >= 5 {
                bytes[0] = VERSION;
                bytes[1] %= 5;
                bytes[3] %= 8;
                bytes[4] %= 128;
            }
            if let Ok((packet, payload)) = parse(&bytes) {
                prop_assert_eq!(emit(&packet, payload), bytes);
            }
        }
    }
}
