//! What an entry matches: fields in the format OXM (section 7.2.3).

use crate::reader::{DecodeError, Reader, Write, pad, padding, set_length};
use core::net::{Ipv4Addr, Ipv6Addr};

/// `eth_type` of IPv4.
pub const IPV4: u16 = 0x0800;
/// `eth_type` of IPv6.
pub const IPV6: u16 = 0x86dd;
/// `ip_proto` of TCP.
pub const TCP: u8 = 6;
/// `ip_proto` of UDP.
pub const UDP: u8 = 17;

/// A field of a packet, and the value that it must have. Where there is a mask, its bits of the value must be equal; bits
/// of the value outside of the mask must be zero.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Field {
    /// The port at which the packet arrived.
    InPort(u32),
    /// What earlier tables wrote: value and mask.
    Metadata(u64, u64),
    /// The protocol in the frame, such as [`IPV4`].
    EthType(u16),
    /// The DSCP field of IP.
    IpDscp(u8),
    /// The protocol in IP, such as [`TCP`].
    IpProto(u8),
    /// Source address and mask.
    Ipv4Src(Ipv4Addr, Ipv4Addr),
    /// Destination address and mask.
    Ipv4Dst(Ipv4Addr, Ipv4Addr),
    /// Source port of TCP.
    TcpSrc(u16),
    /// Destination port of TCP.
    TcpDst(u16),
    /// Source port of UDP.
    UdpSrc(u16),
    /// Destination port of UDP.
    UdpDst(u16),
    /// Source address and mask.
    Ipv6Src(Ipv6Addr, Ipv6Addr),
    /// Destination address and mask.
    Ipv6Dst(Ipv6Addr, Ipv6Addr),
    /// Any other field: the first three bytes of its header (class, number and whether it has a mask), and its payload.
    Other(u16, u8, Vec<u8>),
}

/// The class of the fields of the specification (`OFPXMC_OPENFLOW_BASIC`).
const BASIC: u16 = 0x8000;
/// The type of a match in the format OXM (`OFPMT_OXM`).
const OXM: u16 = 1;

impl Field {
    /// A single source address.
    pub fn from(address: Ipv4Addr) -> Field {
        Field::Ipv4Src(address, Ipv4Addr::BROADCAST)
    }
    /// A single destination address.
    pub fn to(address: Ipv4Addr) -> Field {
        Field::Ipv4Dst(address, Ipv4Addr::BROADCAST)
    }

    /// The fields of all IPv4 packets of TCP or UDP from an address and port to another.
    pub fn connection(
        protocol: u8,
        (src, sport): (Ipv4Addr, u16),
        (dst, dport): (Ipv4Addr, u16),
    ) -> Vec<Field> {
        let ports = match protocol {
            UDP => [Field::UdpSrc(sport), Field::UdpDst(dport)],
            _ => [Field::TcpSrc(sport), Field::TcpDst(dport)],
        };
        let protocols = [Field::EthType(IPV4), Field::IpProto(protocol)];
        [protocols, [Field::from(src), Field::to(dst)], ports].concat()
    }

    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        let mut basic = |number: u8, value: &[u8], mask: Option<&[u8]>| {
            out.u16(BASIC);
            out.u8(number << 1 | u8::from(mask.is_some()));
            out.u8((value.len() + mask.map_or(0, <[u8]>::len)) as u8);
            out.extend(value);
            out.extend(mask.unwrap_or_default());
        };
        // A mask of ones is left out, as the specification asks.
        match self {
            Field::InPort(port) => basic(0, &port.to_be_bytes(), None),
            Field::Metadata(value, u64::MAX) => basic(2, &value.to_be_bytes(), None),
            Field::Metadata(value, mask) => {
                basic(2, &value.to_be_bytes(), Some(&mask.to_be_bytes()));
            }
            Field::EthType(kind) => basic(5, &kind.to_be_bytes(), None),
            Field::IpDscp(value) => basic(8, &[*value], None),
            Field::IpProto(number) => basic(10, &[*number], None),
            Field::Ipv4Src(address, mask) => basic(11, &address.octets(), given(&mask.octets())),
            Field::Ipv4Dst(address, mask) => basic(12, &address.octets(), given(&mask.octets())),
            Field::TcpSrc(port) => basic(13, &port.to_be_bytes(), None),
            Field::TcpDst(port) => basic(14, &port.to_be_bytes(), None),
            Field::UdpSrc(port) => basic(15, &port.to_be_bytes(), None),
            Field::UdpDst(port) => basic(16, &port.to_be_bytes(), None),
            Field::Ipv6Src(address, mask) => basic(26, &address.octets(), given(&mask.octets())),
            Field::Ipv6Dst(address, mask) => basic(27, &address.octets(), given(&mask.octets())),
            Field::Other(class, number, payload) => {
                out.u16(*class);
                out.u8(*number);
                out.u8(payload.len().min(u8::MAX.into()) as u8);
                out.extend(&payload[..payload.len().min(u8::MAX.into())]);
            }
        }
    }

    pub(crate) fn decode(reader: &mut Reader<'_>) -> Result<Field, DecodeError> {
        let (class, number, length) = (reader.u16()?, reader.u8()?, reader.u8()?);
        let payload = reader.take(length.into())?;
        let (value, mask) = match number & 1 {
            0 => (payload, None),
            _ => {
                let (value, mask) = payload.split_at(payload.len() / 2);
                (value, Some(mask))
            }
        };
        let known = (class == BASIC).then(|| basic(number >> 1, value, mask)).flatten();
        Ok(known.unwrap_or_else(|| Field::Other(class, number, payload.to_vec())))
    }
}

/// The mask, unless it has only ones.
fn given(mask: &[u8]) -> Option<&[u8]> {
    mask.iter().any(|byte| *byte != u8::MAX).then_some(mask)
}

/// A field of the basic class; `None` if it is unknown, or has another length or a mask that it cannot have.
fn basic(number: u8, value: &[u8], mask: Option<&[u8]>) -> Option<Field> {
    let metadata = |bytes: &[u8]| <[u8; 8]>::try_from(bytes).ok().map(u64::from_be_bytes);
    let v4 = |bytes: &[u8]| <[u8; 4]>::try_from(bytes).ok().map(Ipv4Addr::from);
    let v6 = |bytes: &[u8]| <[u8; 16]>::try_from(bytes).ok().map(Ipv6Addr::from);
    let ends4 = || masked(v4, value, mask, Ipv4Addr::BROADCAST);
    let ends6 = || masked(v6, value, mask, Ipv6Addr::from([u8::MAX; 16]));
    match (number, mask) {
        (2, _) => masked(metadata, value, mask, u64::MAX)
            .map(|(value, mask)| Field::Metadata(value, mask)),
        (11, _) => ends4().map(|(value, mask)| Field::Ipv4Src(value, mask)),
        (12, _) => ends4().map(|(value, mask)| Field::Ipv4Dst(value, mask)),
        (26, _) => ends6().map(|(value, mask)| Field::Ipv6Src(value, mask)),
        (27, _) => ends6().map(|(value, mask)| Field::Ipv6Dst(value, mask)),
        (_, None) => unmasked(number, value),
        _ => None,
    }
}

/// A value and its mask, which is `ones` if there is none.
fn masked<T>(
    read: impl Fn(&[u8]) -> Option<T>,
    value: &[u8],
    mask: Option<&[u8]>,
    ones: T,
) -> Option<(T, T)> {
    let mask = mask.map_or(Some(ones), &read)?;
    Some((read(value)?, mask))
}

/// A field that has no mask here.
fn unmasked(number: u8, value: &[u8]) -> Option<Field> {
    match (number, value) {
        (0, &[a, b, c, d]) => Some(Field::InPort(u32::from_be_bytes([a, b, c, d]))),
        (5, &[a, b]) => Some(Field::EthType(u16::from_be_bytes([a, b]))),
        (8, &[value]) => Some(Field::IpDscp(value)),
        (10, &[number]) => Some(Field::IpProto(number)),
        (13, &[a, b]) => Some(Field::TcpSrc(u16::from_be_bytes([a, b]))),
        (14, &[a, b]) => Some(Field::TcpDst(u16::from_be_bytes([a, b]))),
        (15, &[a, b]) => Some(Field::UdpSrc(u16::from_be_bytes([a, b]))),
        (16, &[a, b]) => Some(Field::UdpDst(u16::from_be_bytes([a, b]))),
        _ => None,
    }
}

/// Appends `ofp_match`.
pub(crate) fn encode(fields: &[Field], out: &mut Vec<u8>) {
    let start = out.len();
    out.u16(OXM);
    out.u16(0);
    fields.iter().for_each(|field| field.encode(out));
    set_length(out, start, start + 2);
    pad(out, start);
}

/// Reads `ofp_match`.
pub(crate) fn decode(reader: &mut Reader<'_>) -> Result<Vec<Field>, DecodeError> {
    let (kind, length) = (reader.u16()?, reader.u16()?);
    if kind != OXM {
        return Err(DecodeError::Value { what: "ofp_match.type", value: kind.into() });
    }
    let mut list = reader.rest_of("ofp_match", length, 4, 4)?;
    reader.skip(padding(length.into()))?;
    let mut fields = Vec::new();
    while !list.is_empty() {
        fields.push(Field::decode(&mut list)?);
    }
    Ok(fields)
}
