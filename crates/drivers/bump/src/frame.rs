//! The fields of an Ethernet frame that a bump needs: destination, ports and ECN bits.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The content of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Content {
    /// An IP packet.
    Ip(Packet),
    /// Another protocol. The frame passes.
    Other,
}

/// An IP packet in a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Packet {
    /// The offset of the IP header in the frame.
    pub at: usize,
    /// The destination address.
    pub destination: IpAddr,
    /// The ports of TCP or UDP, source first; zeros for other protocols and for later fragments.
    pub ports: (u16, u16),
    /// The ECN field: 0 not capable, 1 and 2 capable, 3 congestion experienced (RFC 3168).
    pub ecn: u8,
}

/// The reason why a frame is malformed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Fault {
    /// The frame ends within a header.
    #[error("the frame ends within its headers")]
    Short,
    /// The version or the length of an IP header is not valid.
    #[error("the IP header has an invalid version or length")]
    Header,
}

const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86dd;
/// Tags of IEEE 802.1Q and 802.1ad, four bytes each.
const TAGS: [u16; 2] = [0x8100, 0x88a8];
/// The tag by which a reaction point names a flow (IEEE 802.1Q, 33.2.1).
const CN_TAG: u16 = 0x22e9;
const TCP: u8 = 6;
const UDP: u8 = 17;
/// Not capable of ECN.
pub const NOT_ECT: u8 = 0;
/// Congestion experienced.
pub const CE: u8 = 3;

fn be16(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(*bytes.get(at..)?.first_chunk()?))
}

/// Parses a frame that begins with its destination address and has no check sequence.
///
/// # Errors
/// [`Fault`] if the frame is malformed.
#[inline]
pub fn parse(frame: &[u8]) -> Result<Content, Fault> {
    let mut at = 12;
    let kind = loop {
        match be16(frame, at).ok_or(Fault::Short)? {
            tag if TAGS.contains(&tag) || tag == CN_TAG => at += 4,
            kind => break kind,
        }
    };
    at += 2;
    match kind {
        IPV4 => ipv4(frame, at).map(Content::Ip),
        IPV6 => ipv6(frame, at).map(Content::Ip),
        _ => Ok(Content::Other),
    }
}

#[inline]
fn ipv4(frame: &[u8], at: usize) -> Result<Packet, Fault> {
    let header: &[u8; 20] = frame.get(at..).and_then(<[u8]>::first_chunk).ok_or(Fault::Short)?;
    let length = usize::from(header[0] & 15) * 4;
    let total = usize::from(u16::from_be_bytes([header[2], header[3]]));
    if header[0] >> 4 != 4 || length < 20 || total < length {
        return Err(Fault::Header);
    }
    let offset = u16::from_be_bytes([header[6], header[7]]) & 0x1fff;
    let first = offset == 0;
    let [.., a, b, c, d] = *header;
    Ok(Packet {
        at,
        destination: IpAddr::V4(Ipv4Addr::new(a, b, c, d)),
        ports: if first { ports(frame, at + length, header[9]) } else { (0, 0) },
        ecn: header[1] & 3,
    })
}

#[inline]
fn ipv6(frame: &[u8], at: usize) -> Result<Packet, Fault> {
    let header: &[u8; 40] = frame.get(at..).and_then(<[u8]>::first_chunk).ok_or(Fault::Short)?;
    if header[0] >> 4 != 6 {
        return Err(Fault::Header);
    }
    let destination: [u8; 16] = *header.last_chunk().ok_or(Fault::Short)?;
    Ok(Packet {
        at,
        destination: IpAddr::V6(Ipv6Addr::from(destination)),
        ports: ports(frame, at + 40, header[6]),
        ecn: (header[1] >> 4) & 3,
    })
}

/// The ports; zeros if a capture has cut them off.
#[inline]
fn ports(frame: &[u8], at: usize, protocol: u8) -> (u16, u16) {
    if protocol != TCP && protocol != UDP {
        return (0, 0);
    }
    let port = |at| be16(frame, at).unwrap_or_default();
    (port(at), port(at + 2))
}

/// Sets the congestion-experienced mark of an ECN-capable packet and updates the checksum of its header.
/// Returns whether the packet is ECN-capable.
#[inline]
pub fn mark(frame: &mut [u8], packet: &Packet) -> bool {
    if packet.ecn == NOT_ECT {
        return false;
    }
    match packet.destination {
        IpAddr::V4(_) => mark_ipv4(frame, packet.at).is_some(),
        IpAddr::V6(_) => frame.get_mut(packet.at + 1).map(|byte| *byte |= CE << 4).is_some(),
    }
}

/// The checksum is updated by the difference (RFC 1624, equation 3), so a wrong checksum remains wrong.
fn mark_ipv4(frame: &mut [u8], at: usize) -> Option<()> {
    let header: &mut [u8; 20] = frame.get_mut(at..)?.first_chunk_mut()?;
    let before = u16::from_be_bytes([header[0], header[1]]);
    header[1] |= CE;
    let after = u16::from_be_bytes([header[0], header[1]]);
    let old = u16::from_be_bytes([header[10], header[11]]);
    let sum = u32::from(!old) + u32::from(!before) + u32::from(after);
    let folded = (sum & 0xffff) + (sum >> 16);
    let folded = (folded & 0xffff) + (folded >> 16);
    [header[10], header[11]] = (!(folded as u16)).to_be_bytes();
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use etherparse::{Ipv4Header, Ipv6Header, PacketBuilder, SlicedPacket, VlanId};
    use proptest::prelude::*;

    fn v4(ecn: u8, tos: u8, vlan: bool, payload: &[u8]) -> Vec<u8> {
        let builder = PacketBuilder::ethernet2([2; 6], [4; 6]);
        let mut ip =
            Ipv4Header::new(0, 64, etherparse::IpNumber::TCP, [10, 0, 0, 1], [10, 0, 3, 9])
                .unwrap();
        ip.ecn = etherparse::IpEcn::try_new(ecn).unwrap();
        ip.dscp = etherparse::IpDscp::try_new(tos >> 2).unwrap();
        let header = etherparse::IpHeaders::Ipv4(ip, Default::default());
        let mut out = Vec::new();
        if vlan {
            let tagged = builder.single_vlan(VlanId::try_new(7).unwrap());
            tagged.ip(header).tcp(1234, 80, 9, 100).write(&mut out, payload).unwrap();
        } else {
            builder.ip(header).tcp(1234, 80, 9, 100).write(&mut out, payload).unwrap();
        }
        out
    }

    fn v6(ecn: u8, payload: &[u8]) -> Vec<u8> {
        let mut ip =
            Ipv6Header { hop_limit: 3, source: [1; 16], traffic_class: ecn, ..Default::default() };
        ip.destination = [7; 16];
        let header = etherparse::IpHeaders::Ipv6(ip, Default::default());
        let mut out = Vec::new();
        let builder = PacketBuilder::ethernet2([2; 6], [4; 6]).ip(header);
        builder.udp(53, 5353).write(&mut out, payload).unwrap();
        out
    }

    fn packet(frame: &[u8]) -> Packet {
        match parse(frame) {
            Ok(Content::Ip(packet)) => packet,
            other => panic!("{other:?}"),
        }
    }

    proptest! {
        /// Against etherparse: the mark is set, the checksum right, and nothing else has changed.
        #[test]
        fn marks_are_as_another_implementation_reads_them(
            ecn in 0u8..4, tos: u8, vlan: bool, six: bool,
            payload in prop::collection::vec(any::<u8>(), 0..100),
        ) {
            let before = if six { v6(ecn, &payload) } else { v4(ecn, tos, vlan, &payload) };
            let found = packet(&before);
            prop_assert_eq!(found.ecn, ecn);
            prop_assert_eq!(found.ports, if six { (53, 5353) } else { (1234, 80) });
            let mut after = before.clone();
            prop_assert_eq!(mark(&mut after, &found), ecn != 0);
            prop_assert_eq!(packet(&after).ecn, if ecn == 0 { 0 } else { 3 });
            let differing = before.iter().zip(&after).filter(|(a, b)| a != b).count();
            prop_assert!(differing <= 3);
            let sliced = SlicedPacket::from_ethernet(&after).unwrap();
            match sliced.net.unwrap() {
                etherparse::NetSlice::Ipv4(ip) => {
                    let header = ip.header().to_header();
                    prop_assert_eq!(header.header_checksum, header.calc_header_checksum());
                    prop_assert_eq!(header.dscp.value(), tos >> 2);
                }
                etherparse::NetSlice::Ipv6(ip) => prop_assert_eq!(ip.header().ecn().value(), packet(&after).ecn),
                _ => prop_assert!(false),
            }
        }

        /// Random bytes cause no panic, and a frame that is not an IP packet is not changed.
        #[test]
        fn random_bytes_cause_no_panic(bytes in prop::collection::vec(any::<u8>(), 0..120), kind in 0usize..3) {
            let mut frame = bytes.clone();
            if frame.len() > 14 && kind < 2 {
                frame[12..14].copy_from_slice(&[[0x08, 0x00], [0x86, 0xdd]][kind]);
            }
            if let Ok(Content::Ip(packet)) = parse(&frame) {
                let was = frame.clone();
                let marked = mark(&mut frame, &packet);
                prop_assert!(marked || frame == was);
            }
        }
    }

    #[test]
    fn malformed_frames_are_reported() {
        let frame = v4(2, 0, false, &[]);
        assert_eq!(parse(&frame[..13]), Err(Fault::Short));
        assert_eq!(parse(&frame[..33]), Err(Fault::Short));
        let with = |at: usize, value: u8| {
            let mut frame = frame.clone();
            frame[at] = value;
            parse(&frame)
        };
        assert_eq!(with(14, 0x65), Err(Fault::Header));
        assert_eq!(with(14, 0x44), Err(Fault::Header));
        assert_eq!(with(17, 19), Err(Fault::Header));
        assert_eq!(with(13, 0x06), Ok(Content::Other));
        // Many tags that never end.
        assert_eq!(parse(&[0x81, 0x00].repeat(40)), Err(Fault::Short));
    }
}
