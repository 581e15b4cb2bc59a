//! From a captured packet to the addresses, ports and payload in it.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The two ends of a connection, in the direction of a packet.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Key {
    pub src: IpAddr,
    pub dst: IpAddr,
    pub ports: (u16, u16),
    pub udp: bool,
}

impl Key {
    /// The other direction.
    pub fn back(self) -> Key {
        let (near, far) = self.ports;
        Key { src: self.dst, dst: self.src, ports: (far, near), udp: self.udp }
    }
}

/// The part of a packet that matters for its flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Segment {
    pub key: Key,
    pub payload: u32,
    /// The number of captured bytes from the first byte of payload on.
    pub captured: usize,
    /// TCP: sequence number of the first byte, and whether the packet opens a connection.
    pub tcp: Option<(u32, bool)>,
}

/// The content of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Content {
    Segment(Segment),
    /// Neither TCP nor UDP over IP.
    Other,
    /// A later fragment of a TCP segment: it has no ports.
    Fragment,
    /// A later fragment of a UDP datagram. The first fragment has the length of the datagram.
    Counted,
    /// Too few of its bytes were captured.
    Short,
}

const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86dd;

fn be16(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..)?.first_chunk().map(|bytes| u16::from_be_bytes(*bytes))
}

/// Parses a packet of link type `link`; `length` is its length on the wire.
pub(super) fn content(link: u16, length: u32, data: &[u8]) -> Result<Content, String> {
    let network = network(link, data)?;
    Ok(network.map_or(Content::Short, |(kind, header)| {
        let on_wire = (length as usize).saturating_sub(header) as u32;
        let packet = data.get(header..).unwrap_or_default();
        let found = match kind {
            IPV4 => ipv4(packet, on_wire),
            IPV6 => ipv6(packet, on_wire),
            _ => Some(Content::Other),
        };
        found.unwrap_or(Content::Short)
    }))
}

/// The protocol above the link, as an EtherType, and the offset of its header.
fn network(link: u16, data: &[u8]) -> Result<Option<(u16, usize)>, String> {
    // Numbers from the registry of link types of tcpdump.org.
    Ok(match link {
        1 => ethernet(data, 12),
        // The byte order is that of the capturing machine. Families are small numbers.
        0 => data.first_chunk().map(|family: &[u8; 4]| {
            let number = u32::from_le_bytes(*family).min(u32::from_be_bytes(*family));
            (family_of(number), 4)
        }),
        108 => data.first_chunk().map(|family| (family_of(u32::from_be_bytes(*family)), 4)),
        12 | 14 | 101 | 228 | 229 => data.first().map(|first| (version(*first), 0)),
        113 => ethernet(data, 14),
        276 => be16(data, 0).map(|kind| (kind, 20)),
        _ => {
            return Err(format!(
                "link type {link} is not supported: expected Ethernet (1), Linux cooked (113, 276), \
                 loopback (0, 108) or raw IP (101, 228, 229)"
            ));
        }
    })
}

/// The type at `at` of an Ethernet frame, past any VLAN tags.
fn ethernet(data: &[u8], mut at: usize) -> Option<(u16, usize)> {
    loop {
        match be16(data, at)? {
            0x8100 | 0x88a8 | 0x9100 => at += 4,
            kind => return Some((kind, at + 2)),
        }
    }
}

/// The address family of BSD's loopback header, which differs between systems for IPv6.
fn family_of(family: u32) -> u16 {
    match family {
        2 => IPV4,
        10 | 24 | 28 | 30 => IPV6,
        _ => 0,
    }
}

fn version(first: u8) -> u16 {
    match first >> 4 {
        4 => IPV4,
        6 => IPV6,
        _ => 0,
    }
}

/// Reads an IPv4 packet (RFC 791). A total length of 0 is a segment larger than 64 KiB that the network card had
/// not divided yet.
fn ipv4(packet: &[u8], on_wire: u32) -> Option<Content> {
    let header = usize::from(packet.first()? & 0xf) * 4;
    let total = be16(packet, 2)?;
    let total = if total == 0 { on_wire } else { total.into() };
    let fragment = be16(packet, 6)?;
    let protocol = *packet.get(9)?;
    let src = IpAddr::V4(Ipv4Addr::from(*packet.get(12..)?.first_chunk::<4>()?));
    let dst = IpAddr::V4(Ipv4Addr::from(*packet.get(16..)?.first_chunk::<4>()?));
    if fragment & 0x1fff != 0 {
        return Some(later_fragment(protocol));
    }
    let rest = packet.get(header..)?;
    transport(src, dst, protocol, rest, total.saturating_sub(header as u32))
}

/// Reads an IPv6 packet (RFC 8200).
fn ipv6(packet: &[u8], on_wire: u32) -> Option<Content> {
    const HEADER: usize = 40;
    let src = IpAddr::V6(Ipv6Addr::from(*packet.get(8..)?.first_chunk::<16>()?));
    let dst = IpAddr::V6(Ipv6Addr::from(*packet.get(24..)?.first_chunk::<16>()?));
    let length = be16(packet, 4)?;
    let total = if length == 0 { on_wire } else { HEADER as u32 + u32::from(length) };
    let (mut protocol, mut at) = (*packet.get(6)?, HEADER);
    loop {
        let size = match protocol {
            // Hop-by-hop, routing, destination options.
            0 | 43 | 60 => (usize::from(*packet.get(at + 1)?) + 1) * 8,
            44 if be16(packet, at + 2)? & 0xfff8 != 0 => {
                return Some(later_fragment(*packet.get(at)?));
            }
            44 => 8,
            // Authentication.
            51 => (usize::from(*packet.get(at + 1)?) + 2) * 4,
            _ => break,
        };
        (protocol, at) = (*packet.get(at)?, at + size);
    }
    transport(src, dst, protocol, packet.get(at..)?, total.saturating_sub(at as u32))
}

fn later_fragment(protocol: u8) -> Content {
    match protocol {
        6 => Content::Fragment,
        17 => Content::Counted,
        _ => Content::Other,
    }
}

/// Reads a TCP or UDP header. `length` is that of header and payload. UDP has a length of its own, which applies to
/// all fragments of a datagram.
fn transport(
    src: IpAddr,
    dst: IpAddr,
    protocol: u8,
    segment: &[u8],
    length: u32,
) -> Option<Content> {
    if !matches!(protocol, 6 | 17) {
        return Some(Content::Other);
    }
    let ports = (be16(segment, 0)?, be16(segment, 2)?);
    let key = Key { src, dst, ports, udp: protocol == 17 };
    if key.udp {
        let own = be16(segment, 4)?;
        let payload = if own == 0 { length } else { own.into() }.saturating_sub(8);
        let captured = segment.len().saturating_sub(8);
        return Some(Content::Segment(Segment { key, payload, captured, tcp: None }));
    }
    let sequence = u32::from_be_bytes(*segment.get(4..)?.first_chunk()?);
    let header = u32::from(*segment.get(12)? >> 4) * 4;
    // SYN without ACK.
    let opens = *segment.get(13)? & 0x12 == 0x02;
    let payload = length.saturating_sub(header);
    let captured = segment.len().saturating_sub(header as usize);
    Some(Content::Segment(Segment { key, payload, captured, tcp: Some((sequence, opens)) }))
}
