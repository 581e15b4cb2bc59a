//! The fields of an IPv4 packet that the modelled network needs.

use std::net::Ipv4Addr;

/// Protocol number of TCP.
pub const TCP: u8 = 6;
/// Protocol number of UDP.
pub const UDP: u8 = 17;
/// TCP flags, as bits of their byte in the header.
pub mod tcp_flags {
    /// The sender has no more data.
    pub const FIN: u8 = 1;
    /// Opens a connection.
    pub const SYN: u8 = 2;
    /// The connection is reset.
    pub const RST: u8 = 4;
    /// The receiver is to pass the data on.
    pub const PSH: u8 = 8;
    /// The acknowledgement number is valid.
    pub const ACK: u8 = 16;
    /// ECN echo.
    pub const ECE: u8 = 64;
    /// Congestion window reduced.
    pub const CWR: u8 = 128;
}

/// The headers of an IPv4 packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Headers {
    /// The source address.
    pub src: Ipv4Addr,
    /// The destination address.
    pub dst: Ipv4Addr,
    /// The protocol number.
    pub protocol: u8,
    /// The ECN field: 0 not capable, 1 and 2 capable, 3 congestion experienced (RFC 3168).
    pub ecn: u8,
    /// The length of the IP packet in bytes.
    pub length: u16,
    /// The ports of TCP or UDP, source first; zeros for other protocols and for later fragments.
    pub ports: (u16, u16),
    /// The TCP header, if the packet has one.
    pub tcp: Option<Tcp>,
}

/// The header of a TCP segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tcp {
    /// The sequence number.
    pub seq: u32,
    /// The flags.
    pub flags: u8,
    /// The length of the payload in bytes.
    pub payload: u16,
}

/// Sets ECN-Echo in a TCP segment, and corrects its checksum (RFC 1624). Other packets stay as they are.
pub fn set_echo(bytes: &mut [u8]) {
    let is_tcp = parse(bytes).is_some_and(|headers| headers.tcp.is_some());
    let at = usize::from(bytes.first().map_or(0, |byte| byte & 15)) * 4;
    let Some([_, flags, _, _, high, low]) = bytes.get_mut(at + 12..at + 18).filter(|_| is_tcp)
    else {
        return;
    };
    if *flags & tcp_flags::ECE == 0 {
        *flags |= tcp_flags::ECE;
        let sum = u32::from(!u16::from_be_bytes([*high, *low])) + u32::from(tcp_flags::ECE);
        let folded = (sum & 0xffff) + (sum >> 16);
        [*high, *low] = (!(folded as u16)).to_be_bytes();
    }
}

/// Parses the headers of a packet, whose payload may be cut off; `None` if it is not an IPv4 packet.
pub fn parse(bytes: &[u8]) -> Option<Headers> {
    let header: &[u8; 20] = bytes.first_chunk()?;
    let header_length = usize::from(header[0] & 15) * 4;
    let length = u16::from_be_bytes([header[2], header[3]]);
    let payload_length = usize::from(length).checked_sub(header_length)?;
    if header[0] >> 4 != 4 || header_length < 20 {
        return None;
    }
    let first_fragment = u16::from_be_bytes([header[6], header[7]]) & 0x1fff == 0;
    let protocol = header[9];
    let payload = bytes.get(header_length..).filter(|_| first_fragment);
    let address =
        |at: usize| Ipv4Addr::new(header[at], header[at + 1], header[at + 2], header[at + 3]);
    Some(Headers {
        src: address(12),
        dst: address(16),
        protocol,
        ecn: header[1] & 3,
        length,
        ports: payload
            .filter(|_| [TCP, UDP].contains(&protocol))
            .and_then(ports)
            .unwrap_or_default(),
        tcp: payload.filter(|_| protocol == TCP).and_then(|bytes| tcp(bytes, payload_length)),
    })
}

fn ports(payload: &[u8]) -> Option<(u16, u16)> {
    let [a, b, c, d] = *payload.first_chunk()?;
    Some((u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d])))
}

/// The TCP header at the start of `segment`, which has `length` bytes with its payload.
fn tcp(segment: &[u8], length: usize) -> Option<Tcp> {
    let header: &[u8; 20] = segment.first_chunk()?;
    let header_length = usize::from(header[12] >> 4) * 4;
    Some(Tcp {
        seq: u32::from_be_bytes([header[4], header[5], header[6], header[7]]),
        flags: header[13],
        payload: length.checked_sub(header_length)? as u16,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use etherparse::PacketBuilder;
    use proptest::prelude::*;

    proptest! {
        /// Against etherparse.
        #[test]
        fn fields_are_as_another_implementation_writes_them(
            ports: (u16, u16), seq: u32, ecn in 0u8..4, syn: bool, udp: bool,
            payload in prop::collection::vec(any::<u8>(), 0..100),
        ) {
            let mut ip = etherparse::Ipv4Header::new(0, 64, etherparse::IpNumber::TCP, [10, 0, 0, 1], [10, 0, 3, 9]).unwrap();
            ip.ecn = etherparse::IpEcn::try_new(ecn).unwrap();
            let builder = PacketBuilder::ip(etherparse::IpHeaders::Ipv4(ip, Default::default()));
            let mut bytes = Vec::new();
            if udp {
                builder.udp(ports.0, ports.1).write(&mut bytes, &payload).unwrap();
            } else {
                let tcp = builder.tcp(ports.0, ports.1, seq, 100);
                let tcp = if syn { tcp.syn() } else { tcp };
                tcp.write(&mut bytes, &payload).unwrap();
            }
            let headers = parse(&bytes).unwrap();
            prop_assert_eq!((headers.src, headers.dst), ([10, 0, 0, 1].into(), [10, 0, 3, 9].into()));
            prop_assert_eq!((headers.ports, headers.ecn), (ports, ecn));
            prop_assert_eq!(usize::from(headers.length), bytes.len());
            let flags = if syn { tcp_flags::SYN } else { 0 };
            let tcp = Tcp { seq, flags, payload: payload.len() as u16 };
            prop_assert_eq!(headers.tcp, (!udp).then_some(tcp));
            prop_assert_eq!(parse(&bytes[..bytes.len().min(40)]), Some(headers));
        }

        /// The same as if the sender had set it, also if it is already set.
        #[test]
        fn an_echo_is_set_with_its_checksum(
            ports: (u16, u16), seq: u32, payload in prop::collection::vec(any::<u8>(), 0..100),
        ) {
            let segment = || PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 3, 9], 64).tcp(ports.0, ports.1, seq, 100);
            let (mut plain, mut echo) = (vec![], vec![]);
            segment().write(&mut plain, &payload).unwrap();
            segment().ece().write(&mut echo, &payload).unwrap();
            set_echo(&mut plain);
            prop_assert_eq!(&plain, &echo);
            set_echo(&mut plain);
            prop_assert_eq!(&plain, &echo);
        }

        #[test]
        fn random_bytes_cause_no_panic(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
            let mut bytes = bytes;
            parse(&bytes);
            set_echo(&mut bytes.clone());
            if let Some(first) = bytes.first_mut() {
                *first = 0x45;
            }
            parse(&bytes);
        }
    }
}
