//! A simulated packet as the Ethernet frame that a real network would have carried.
//!
//! Numbers become addresses. Host `n` has the IP address 10.0.0.0 + (n + 1), and its network card has the MAC
//! address 02:00 followed by these four bytes. Connection `c` has port 49152 + (c mod 2¹⁴) at its sender and
//! 49152 + (c div 2¹⁴) at its receiver. Port `p` of the run sends pause frames with the MAC address 06:00
//! followed by `p` in four bytes. Payloads are zeros.

use slotline_net::frame::{CE, CWR, ECE, ECT, Kind, PUSH, Packet, Span};

/// Bytes of an Ethernet header.
const ETHERNET: usize = 14;
/// The type of Ethernet frames with IPv4.
const IPV4_TYPE: [u8; 2] = [0x08, 0x00];
/// The shortest Ethernet frame without its checksum.
const SHORTEST: u32 = 60;
/// Bytes of IPv4, TCP and UDP headers without options.
const IPV4: u16 = 20;
const TCP: u16 = 20;
const UDP: u16 = 8;
/// Room for TCP options.
const OPTIONS: usize = 40;
/// The time-stamp option with its usual padding (RFC 7323, appendix A).
const STAMPS: usize = 12;
/// The first dynamic port (RFC 6335).
const PORTS: u16 = 49152;
/// Both ports of a scheduler's messages.
pub const CONTROL_PORT: u16 = 48_999;

const PROTOCOL_TCP: u8 = 6;
const PROTOCOL_UDP: u8 = 17;

/// The parts of a packet's length on the wire other than payload.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Layout {
    /// Bytes beyond the IP packet: preamble, Ethernet header, checksum, gap.
    pub framing: u16,
    /// IPv4 and TCP headers of each segment.
    pub headers: u16,
}

impl Layout {
    /// The payload bytes of TCP segment `packet`. If its frame was padded because it was short, the padding
    /// counts as payload.
    pub fn payload(&self, packet: &Packet) -> u16 {
        packet.len.saturating_sub(self.framing + self.headers)
    }
}

/// A frame: its headers, and its length without the checksum. The rest is zeros.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Frame {
    /// The first bytes.
    pub bytes: Vec<u8>,
    /// The length of the frame without its checksum, in bytes.
    pub length: u32,
}

/// The frame of `packet`, which host `src` sends and which leaves port number `port`. `byte_of` gives the number of
/// the first payload byte of a segment of the packet's connection.
pub fn frame(
    packet: &Packet,
    src: u32,
    port: u32,
    layout: Layout,
    byte_of: &dyn Fn(u32) -> u32,
) -> Frame {
    let ip = packet.len.saturating_sub(layout.framing);
    match packet.kind {
        Kind::Data | Kind::Ack => tcp(packet, src, layout, byte_of),
        Kind::Datagram => udp(packet, src, ip, ports(packet.flow)),
        Kind::Control => {
            let ip = packet.len.saturating_sub(slotline_net::wire::ETHERNET_OVERHEAD);
            udp(packet, src, ip, (CONTROL_PORT, CONTROL_PORT))
        }
        Kind::Pause => pause(packet, port),
    }
}

/// The frame of a real IPv4 packet that begins with `head`, from host `src` to host `dst`.
pub fn real_frame(src: u32, dst: u32, head: &[u8]) -> Frame {
    let length =
        head.get(2..4).map_or(0, |field| u32::from(u16::from_be_bytes([field[0], field[1]])));
    let bytes = [&card(dst)[..], &card(src), &IPV4_TYPE, head].concat();
    Frame { bytes, length: ETHERNET as u32 + length }
}

/// IPv4 address of a host.
pub fn address(host: u32) -> [u8; 4] {
    (0x0a00_0000 | (host.wrapping_add(1) & 0x00ff_ffff)).to_be_bytes()
}

/// Ports of a connection, at its sender and at its receiver.
pub fn ports(conn: u32) -> (u16, u16) {
    let low = |n: u32| PORTS + (n & 0x3fff) as u16;
    (low(conn), low(conn >> 14))
}

fn card(host: u32) -> [u8; 6] {
    let [a, b, c, d] = address(host);
    [0x02, 0, a, b, c, d]
}

fn tcp(packet: &Packet, src: u32, layout: Layout, byte_of: &dyn Fn(u32) -> u32) -> Frame {
    let (from, to) = ports(packet.flow);
    let data = packet.kind == Kind::Data;
    // The receiver never sends data, so its next byte is always the first.
    let number = |segment: u32| byte_of(segment).wrapping_add(1);
    let (ports, seq, ack) = if data {
        ([from, to], number(packet.seq), 1)
    } else {
        ([to, from], 1, number(packet.seq))
    };
    let payload = if data { layout.payload(packet) } else { 0 };
    let options = options(packet, layout, &number);
    let header = TCP + options.len() as u16;
    let mut segment = Vec::with_capacity(usize::from(header));
    ports.iter().for_each(|port| segment.extend(port.to_be_bytes()));
    segment.extend(seq.to_be_bytes());
    segment.extend(ack.to_be_bytes());
    segment.extend([(header / 4) as u8 * 16, flags(packet)]);
    segment.extend(u16::MAX.to_be_bytes());
    segment.extend([0; 4]);
    segment.extend(options);
    transport(packet, src, PROTOCOL_TCP, header + payload, segment, 16)
}

fn flags(packet: &Packet) -> u8 {
    let when = |flag: u8, bit: u8| if packet.has(flag) { bit } else { 0 };
    0x10 | when(PUSH, 0x08) | when(ECE, 0x40) | when(CWR, 0x80)
}

/// The TCP options: time stamps if the layout has room for them, selective acknowledgements, and padding up to
/// the layout's headers.
fn options(packet: &Packet, layout: Layout, number: &dyn Fn(u32) -> u32) -> Vec<u8> {
    let room = usize::from(layout.headers.saturating_sub(IPV4 + TCP) / 4 * 4).min(OPTIONS);
    let mut options = Vec::with_capacity(OPTIONS);
    if room >= STAMPS {
        let (own, echoed) =
            if packet.kind == Kind::Data { (packet.stamp, 0) } else { (0, packet.stamp) };
        options.extend([1, 1, 8, 10]);
        options.extend(own.to_be_bytes());
        options.extend(echoed.to_be_bytes());
    }
    let ranges: Vec<&Span> = packet.sack.iter().filter(|span| span.end > 0).collect();
    if packet.kind == Kind::Ack && !ranges.is_empty() {
        options.extend([1, 1, 5, 2 + 8 * ranges.len() as u8]);
        for edge in ranges.iter().flat_map(|span| [span.start, span.end]) {
            options.extend(number(packet.seq.wrapping_add(edge.into())).to_be_bytes());
        }
    }
    options.resize(options.len().max(room), 1);
    options
}

fn udp(packet: &Packet, src: u32, ip: u16, (from, to): (u16, u16)) -> Frame {
    let length = ip.saturating_sub(IPV4).max(UDP);
    let mut header = Vec::with_capacity(usize::from(UDP));
    [from, to, length, 0].iter().for_each(|field| header.extend(field.to_be_bytes()));
    transport(packet, src, PROTOCOL_UDP, length, header, 6)
}

/// Puts Ethernet and IP headers before `header`, which is the header of a `protocol` message of `length` bytes,
/// and writes its checksum at `checksum_at`.
fn transport(
    packet: &Packet,
    src: u32,
    protocol: u8,
    length: u16,
    mut header: Vec<u8>,
    checksum_at: usize,
) -> Frame {
    let (from, to) = (address(src), address(packet.dst.0));
    let pseudo = [&from[..], &to[..], &[0, protocol], &length.to_be_bytes()[..]].concat();
    let sum = match checksum(&[&pseudo[..], &header[..]].concat()) {
        // Zero means that there is no checksum (RFC 768).
        0 if protocol == PROTOCOL_UDP => u16::MAX,
        sum => sum,
    };
    header[checksum_at..checksum_at + 2].copy_from_slice(&sum.to_be_bytes());
    let ip = ipv4(packet, from, to, protocol, IPV4 + length);
    let ethernet = [&card(packet.dst.0)[..], &card(src)[..], &IPV4_TYPE].concat();
    let bytes = [ethernet, ip, header].concat();
    let length = (ETHERNET as u32 + u32::from(IPV4 + length)).max(SHORTEST);
    Frame { bytes, length }
}

/// The IPv4 header. The priority class is a class selector (RFC 2474) in the field for differentiated services,
/// next to the two bits of ECN. Packets are not fragmented.
fn ipv4(packet: &Packet, from: [u8; 4], to: [u8; 4], protocol: u8, length: u16) -> Vec<u8> {
    let ecn = match packet.flags {
        flags if flags & CE != 0 => 3,
        flags if flags & ECT != 0 => 2,
        _ => 0,
    };
    let mut header = vec![0x45, packet.class << 5 | ecn];
    header.extend(length.to_be_bytes());
    header.extend([0, 0, 0x40, 0, 64, protocol, 0, 0]);
    header.extend(from);
    header.extend(to);
    let sum = checksum(&header).to_be_bytes();
    header[10..12].copy_from_slice(&sum);
    header
}

/// A pause frame (IEEE 802.1Qbb). For each class, it has whether the class is affected and for how long it
/// pauses: the longest possible time, or zero to resume.
fn pause(packet: &Packet, port: u32) -> Frame {
    let (stop, go) = (packet.seq as u8, (packet.seq >> 8) as u8);
    let mut bytes = vec![0x01, 0x80, 0xc2, 0, 0, 0x01, 0x06, 0];
    bytes.extend(port.to_be_bytes());
    bytes.extend([0x88, 0x08, 0x01, 0x01, 0, stop | go]);
    for class in 0..8 {
        let time: u16 = if stop >> class & 1 == 1 { u16::MAX } else { 0 };
        bytes.extend(time.to_be_bytes());
    }
    Frame { bytes, length: SHORTEST }
}

/// The Internet checksum (RFC 1071).
fn checksum(bytes: &[u8]) -> u16 {
    let word = |pair: &[u8]| u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0));
    let sum: u32 = bytes.chunks(2).map(word).sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    !((folded & 0xffff) + (folded >> 16)) as u16
}

#[cfg(test)]
mod tests {
    use super::*;
    use etherparse::{NetSlice, SlicedPacket, TcpOptionElement, TransportSlice};
    use slotline_net::id::HostId;

    const LAYOUT: Layout = Layout { framing: 38, headers: 40 };
    const STAMPED: Layout = Layout { framing: 38, headers: 52 };

    fn packet(kind: Kind, len: u16) -> Packet {
        let (dst, flow, stamp) = (HostId(300), 70_000, 123_456);
        Packet { kind, len, dst, flow, seq: 7, stamp, class: 5, ..Packet::default() }
    }

    /// All bytes of the frame of a packet of host 2; segments begin 1,460 bytes apart.
    fn whole(packet: &Packet, layout: Layout) -> Vec<u8> {
        let frame = frame(packet, 2, 9, layout, &|segment| segment * 1_460);
        let mut bytes = frame.bytes;
        assert!(bytes.len() <= frame.length as usize);
        bytes.resize(frame.length as usize, 0);
        bytes
    }

    fn check_ip(slice: &SlicedPacket<'_>, total: u16, ecn: u8) {
        let Some(NetSlice::Ipv4(ip)) = &slice.net else { panic!("not IPv4") };
        let header = ip.header();
        assert_eq!(header.header_checksum(), header.to_header().calc_header_checksum());
        assert_eq!((header.source(), header.destination()), ([10, 0, 0, 3], [10, 0, 1, 45]));
        assert_eq!((header.total_len(), header.ecn().value()), (total, ecn));
        assert_eq!(header.dcp().value(), 5 << 3);
    }

    #[test]
    fn segments_have_true_lengths_numbers_and_checksums() {
        for (layout, payload) in [(LAYOUT, 1_460), (STAMPED, 1_448)] {
            let sent = Packet { flags: ECT | CE | PUSH | CWR, ..packet(Kind::Data, 1_538) };
            let bytes = whole(&sent, layout);
            assert_eq!(bytes.len(), 1_514);
            let slice = SlicedPacket::from_ethernet(&bytes).unwrap();
            check_ip(&slice, 1_500, 3);
            let Some(TransportSlice::Tcp(tcp)) = &slice.transport else { panic!("not TCP") };
            assert_eq!((tcp.sequence_number(), tcp.acknowledgment_number()), (7 * 1_460 + 1, 1));
            assert_eq!((tcp.source_port(), tcp.destination_port()), (49_152 + 4_464, 49_156));
            assert_eq!([tcp.ack(), tcp.psh(), tcp.cwr(), tcp.ece()], [true, true, true, false]);
            assert_eq!(tcp.payload().len(), payload);
            let sum = tcp.calc_checksum_ipv4([10, 0, 0, 3], [10, 0, 1, 45]).unwrap();
            assert_eq!(sum, tcp.checksum());
            let options: Vec<_> = tcp.options_iterator().map(Result::unwrap).collect();
            let stamps = TcpOptionElement::Timestamp(123_456, 0);
            assert_eq!(options.contains(&stamps), layout == STAMPED);
        }
    }

    #[test]
    fn acknowledgements_say_what_came_beyond() {
        let sack = [Span { start: 1, end: 3 }, Span { start: 5, end: 6 }, Span::default()];
        for (layout, total) in [(LAYOUT, 40 + 20), (STAMPED, 52 + 20)] {
            let sent = Packet { flags: ECE, sack, ..packet(Kind::Ack, 84) };
            let bytes = whole(&sent, layout);
            let slice = SlicedPacket::from_ethernet(&bytes).unwrap();
            check_ip(&slice, total, 0);
            let Some(TransportSlice::Tcp(tcp)) = &slice.transport else { panic!("not TCP") };
            assert_eq!((tcp.sequence_number(), tcp.acknowledgment_number()), (1, 7 * 1_460 + 1));
            assert_eq!((tcp.source_port(), tcp.ece(), tcp.psh()), (49_156, true, false));
            assert!(tcp.payload().is_empty());
            let sum = tcp.calc_checksum_ipv4([10, 0, 0, 3], [10, 0, 1, 45]).unwrap();
            assert_eq!(sum, tcp.checksum());
            let edge = |segment: u32| segment * 1_460 + 1;
            let others = [Some((edge(12), edge(13))), None, None];
            let expected = TcpOptionElement::SelectiveAcknowledgement((edge(8), edge(10)), others);
            assert!(tcp.options_iterator().any(|option| option == Ok(expected.clone())));
        }
        let plain = whole(&packet(Kind::Ack, 84), LAYOUT);
        assert_eq!(plain.len(), 60, "the shortest Ethernet frame");
        let slice = SlicedPacket::from_ethernet(&plain).unwrap();
        check_ip(&slice, 40, 0);
    }

    #[test]
    fn datagrams_and_messages_are_udp() {
        for (kind, port) in [(Kind::Datagram, 49_152 + 4_464), (Kind::Control, CONTROL_PORT)] {
            let bytes = whole(&packet(kind, 538), LAYOUT);
            let slice = SlicedPacket::from_ethernet(&bytes).unwrap();
            check_ip(&slice, 500, 0);
            let Some(TransportSlice::Udp(udp)) = &slice.transport else { panic!("not UDP") };
            assert_eq!((udp.source_port(), udp.length(), udp.payload().len()), (port, 480, 472));
            let header = udp.to_header();
            let sum = header.calc_checksum_ipv4_raw([10, 0, 0, 3], [10, 0, 1, 45], udp.payload());
            assert_eq!(sum.unwrap(), udp.checksum());
        }
    }

    #[test]
    fn pause_frames_are_control_frames_of_the_mac() {
        let bytes = whole(&Packet { seq: 0x0108, ..packet(Kind::Pause, 84) }, LAYOUT);
        assert_eq!(bytes.len(), 60);
        assert_eq!(bytes[..6], [0x01, 0x80, 0xc2, 0x00, 0x00, 0x01]);
        assert_eq!(bytes[6..12], [0x06, 0, 0, 0, 0, 9]);
        assert_eq!(bytes[12..18], [0x88, 0x08, 0x01, 0x01, 0x00, 0x09]);
        let times: Vec<u16> =
            bytes[18..34].chunks(2).map(|b| u16::from_be_bytes([b[0], b[1]])).collect();
        assert_eq!(times, [0, 0, 0, 0xffff, 0, 0, 0, 0]);
    }

    #[test]
    fn connections_have_ports_of_their_own() {
        let all: std::collections::BTreeSet<_> = (0..200_000).map(ports).collect();
        assert_eq!(all.len(), 200_000);
        assert!(all.iter().all(|(from, to)| *from >= PORTS && *to >= PORTS));
    }
}
