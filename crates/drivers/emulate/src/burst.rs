//! Packets that the kernel leaves to the card to split into segments, as it does with a card that splits (TSO).

use crate::ipv4::{TCP, UDP, tcp_flags};
use crate::port::{PREFIX, SHOWN};

/// The flag of a prefix by which a checksum is still to be computed, and the kinds of packets to split in its second
/// byte, as in `struct virtio_net_hdr`.
const NEEDS_CHECKSUM: u8 = 1;
const SPLIT_TCP: u8 = 1;
const SPLIT_UDP: u8 = 5;
/// A bit of that byte: the packet has the flag CWR.
const SPLIT_ECN: u8 = 0x80;

/// A packet of the kernel, which may have to be split. Its payload may be missing.
pub(crate) struct Burst<'a> {
    /// The packet with its prefix.
    bytes: &'a [u8],
    /// The lengths of the IP packet, of its headers, and of the payload of a segment.
    length: usize,
    header: usize,
    size: usize,
}

impl<'a> Burst<'a> {
    /// A packet that has left by the interface: its prefix says how to split it.
    pub fn by_prefix(bytes: &'a [u8]) -> Burst<'a> {
        let length = bytes.len() - PREFIX;
        let size = usize::from(u16::from_ne_bytes([bytes[4], bytes[5]]));
        let splits = matches!(bytes[1] & !SPLIT_ECN, SPLIT_TCP | SPLIT_UDP) && size > 0;
        match header_length(&bytes[PREFIX..]).filter(|header| splits && *header < length) {
            Some(header) => Burst { bytes, length, header, size },
            None => Burst::one(bytes, length),
        }
    }

    /// A packet, or its beginning, of which each segment has at most `mtu` bytes; `None` if the kernel has to split it.
    pub fn by_mtu(bytes: &'a [u8], mtu: usize) -> Option<Burst<'a>> {
        let packet = &bytes[PREFIX..];
        let length =
            packet.get(2..4).map_or(0, |two| usize::from(two[0]) << 8 | usize::from(two[1]));
        if length <= mtu {
            return Some(Burst::one(bytes, length));
        }
        let header = header_length(packet).filter(|header| packet[9] == TCP && *header < mtu)?;
        Some(Burst { bytes, length, header, size: mtu - header })
    }

    fn one(bytes: &'a [u8], length: usize) -> Burst<'a> {
        Burst { bytes, length, header: 0, size: length.max(1) }
    }

    /// The number of segments.
    pub fn count(&self) -> usize {
        (self.length - self.header).div_ceil(self.size).max(1)
    }

    /// Writes a segment with its prefix to `out`, without its payload if that is missing.
    pub fn write(&self, n: usize, out: &mut Vec<u8>) {
        out.clear();
        if self.header == 0 {
            return out.extend_from_slice(self.bytes);
        }
        let first = n * self.size;
        let end = (first + self.size).min(self.length - self.header);
        let payload = PREFIX + self.header..;
        out.extend_from_slice(&self.bytes[..payload.start]);
        out.extend_from_slice(self.bytes[payload].get(first..end).unwrap_or_default());
        let last = end == self.length - self.header;
        self.adapt(out, n, first as u32, end - first, last);
    }

    /// Changes the headers of segment `n`, whose payload begins at byte `first` and has `length` bytes.
    fn adapt(&self, out: &mut [u8], n: usize, first: u32, length: usize, last: bool) {
        let (prefix, packet) = out.split_at_mut(PREFIX);
        prefix.fill(0);
        let ip = usize::from(packet[0] & 15) * 4;
        let is_tcp = packet[9] == TCP;
        let (header, transport) = packet.split_at_mut(ip);
        let number = u16::from_be_bytes([header[4], header[5]]);
        put(header, 4, number.wrapping_add(n as u16));
        match is_tcp {
            true => adapt_tcp(transport, first, n == 0, last),
            false => put(transport, 4, (self.header - ip + length) as u16),
        }
        leave_checksum(out, self.header + length);
    }
}

/// Turns the first segment's headers with their prefix into those of a packet of `length` bytes, of which each segment
/// has `size` bytes of payload and the last one may have `PSH`.
pub(crate) fn join(head: &mut [u8], length: usize, size: u16, pushes: bool) {
    let header = (head.len() - PREFIX) as u16;
    head[..PREFIX].fill(0);
    head[1] = SPLIT_TCP;
    head[2..4].copy_from_slice(&header.to_ne_bytes());
    head[4..6].copy_from_slice(&size.to_ne_bytes());
    let ip = usize::from(head[PREFIX] & 15) * 4;
    head[PREFIX + ip + 13] |= if pushes { tcp_flags::PSH } else { 0 };
    leave_checksum(head, length);
}

/// Writes the length of an IP packet into its headers, and says in its prefix that the checksum of TCP or UDP is still to
/// be computed.
fn leave_checksum(bytes: &mut [u8], length: usize) {
    let (prefix, packet) = bytes.split_at_mut(PREFIX);
    let ip = usize::from(packet[0] & 15) * 4;
    let field: u16 = if packet[9] == TCP { 16 } else { 6 };
    prefix[0] = NEEDS_CHECKSUM;
    prefix[6..8].copy_from_slice(&(ip as u16).to_ne_bytes());
    prefix[8..10].copy_from_slice(&field.to_ne_bytes());
    let (header, transport) = packet.split_at_mut(ip);
    put(header, 2, length as u16);
    put(header, 10, 0);
    put(header, 10, !sum(header));
    let pseudo = u64::from(sum(&header[12..20])) + u64::from(header[9]);
    put(transport, field.into(), fold(pseudo + (length - ip) as u64));
}

/// Changes the header of a segment whose payload begins at byte `first` of a longer one's.
fn adapt_tcp(header: &mut [u8], first: u32, is_first: bool, is_last: bool) {
    let number = u32::from_be_bytes([header[4], header[5], header[6], header[7]]);
    header[4..8].copy_from_slice(&number.wrapping_add(first).to_be_bytes());
    header[13] &= if is_first { !0 } else { !tcp_flags::CWR };
    header[13] &= if is_last { !0 } else { !(tcp_flags::FIN | tcp_flags::PSH) };
}

/// The length of the headers of an IPv4 packet with TCP or UDP, if all of them are here.
pub(crate) fn header_length(packet: &[u8]) -> Option<usize> {
    let ip = usize::from(packet.first().filter(|first| **first >> 4 == 4)? & 15) * 4;
    let length = match *packet.get(9)? {
        TCP => usize::from(packet.get(ip + 12)? >> 4) * 4,
        UDP => 8,
        _ => return None,
    };
    let shown = packet.len().min(SHOWN.into());
    (ip >= 20 && length >= 8 && ip + length <= shown).then_some(ip + length)
}

/// Writes a number into a header.
fn put(header: &mut [u8], at: usize, number: u16) {
    header[at..at + 2].copy_from_slice(&number.to_be_bytes());
}

/// The sum of the Internet checksum (RFC 1071).
fn sum(bytes: &[u8]) -> u16 {
    let word = |pair: &[u8]| u64::from(pair[0]) << 8 | pair.get(1).map_or(0, |&low| low.into());
    fold(bytes.chunks(2).map(word).sum())
}

fn fold(mut sum: u64) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

/// At most `most` bytes of the beginning of an IP packet with a prefix, as its receiver gets them: with the checksum
/// that the kernel left to the card.
pub(crate) fn head(bytes: &[u8], most: usize) -> Vec<u8> {
    let (prefix, packet) = bytes.split_at(PREFIX);
    let mut head = packet[..packet.len().min(most)].to_vec();
    let field = |at: usize| usize::from(u16::from_ne_bytes([prefix[at], prefix[at + 1]]));
    let (start, place) = (field(6), field(6) + field(8));
    let covered = packet.get(start..).filter(|_| prefix[0] & NEEDS_CHECKSUM != 0);
    if let (Some(covered), Some(_)) = (covered, head.get(place..place + 2)) {
        let checksum = !sum(covered);
        // In UDP zero means that there is no checksum.
        put(&mut head, place, if checksum == 0 { 0xffff } else { checksum });
    }
    head
}

/// Computes the checksum of TCP or UDP in a packet with its prefix. Fragments keep theirs, which covers the whole datagram.
pub(crate) fn complete(bytes: &mut [u8]) {
    let packet = &bytes[PREFIX..];
    let Some(header) = header_length(packet) else { return };
    let (ip, fragment) = (usize::from(packet[0] & 15) * 4, packet[6] & 0x3f != 0 || packet[7] != 0);
    let length = packet.len();
    if fragment || header > length {
        return;
    }
    leave_checksum(bytes, length);
    let field = if bytes[PREFIX + 9] == TCP { 16 } else { 6 };
    let packet = &mut bytes[PREFIX..];
    let checksum = !sum(&packet[ip..]);
    // In UDP zero means that there is no checksum.
    put(packet, ip + field, if checksum == 0 { 0xffff } else { checksum });
}

#[cfg(test)]
mod tests {
    use super::*;
    use etherparse::{NetHeaders, PacketBuilder, PacketHeaders, TransportHeader};
    use proptest::prelude::*;

    /// A packet with a prefix that asks for segments of `size` bytes.
    fn long(payload: &[u8], udp: bool, size: u16) -> Vec<u8> {
        let mut out = vec![NEEDS_CHECKSUM, if udp { SPLIT_UDP } else { SPLIT_TCP }, 0, 0];
        for field in [size, 20, if udp { 6 } else { 16 }] {
            out.extend_from_slice(&field.to_ne_bytes());
        }
        let builder = PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64);
        match udp {
            true => builder.udp(1, 2).write(&mut out, payload).unwrap(),
            false => {
                builder.tcp(1, 2, u32::MAX - 5, 4).psh().cwr().write(&mut out, payload).unwrap()
            }
        }
        out
    }

    proptest! {
        /// Etherparse finds the payload, in order, in packets with right lengths and checksums.
        #[test]
        fn segments_are_packets(payload in prop::collection::vec(any::<u8>(), 1..4_000), udp: bool, size in 8u16..1_500) {
            let packet = long(&payload, udp, size);
            let burst = Burst::by_prefix(&packet);
            let (mut found, mut segment) = (Vec::new(), Vec::new());
            for n in 0..burst.count() {
                burst.write(n, &mut segment);
                let whole = head(&segment, usize::MAX);
                let headers = PacketHeaders::from_ip_slice(&whole).unwrap();
                let Some(NetHeaders::Ipv4(ip, _)) = &headers.net else { panic!("not IPv4") };
                prop_assert_eq!(ip.header_checksum, ip.calc_header_checksum());
                let part = headers.payload.slice();
                prop_assert_eq!(part.len(), payload.len().min((n + 1) * usize::from(size)) - found.len());
                match &headers.transport {
                    Some(TransportHeader::Tcp(tcp)) => {
                        prop_assert_eq!(tcp.checksum, tcp.calc_checksum_ipv4(ip, part).unwrap());
                        prop_assert_eq!(tcp.sequence_number, (u32::MAX - 5).wrapping_add(found.len() as u32));
                        prop_assert_eq!((tcp.cwr, tcp.psh), (n == 0, n + 1 == burst.count()));
                    }
                    Some(TransportHeader::Udp(header)) => {
                        prop_assert_eq!(header.checksum, header.calc_checksum_ipv4(ip, part).unwrap());
                        prop_assert_eq!(usize::from(header.length), 8 + part.len());
                    }
                    _ => panic!("neither TCP nor UDP"),
                }
                found.extend_from_slice(part);
            }
            prop_assert_eq!(found, payload);
        }

        /// A packet whose checksum is computed here is the one that its receiver would get from a card.
        #[test]
        fn checksums_are_completed(payload in prop::collection::vec(any::<u8>(), 1..1_400), udp: bool) {
            let mut packet = long(&payload, udp, 1_460);
            leave_checksum(&mut packet, payload.len() + if udp { 28 } else { 40 });
            let whole = head(&packet, usize::MAX);
            complete(&mut packet);
            prop_assert_eq!(&packet[PREFIX..], &whole[..]);
            packet[PREFIX + 6] |= 0x20;
            let fragment = packet.clone();
            complete(&mut packet);
            prop_assert_eq!(packet, fragment);
        }

        /// The beginning of a packet is split like the whole packet.
        #[test]
        fn headers_are_split_alike(length in 1usize..9_000, mtu in 100usize..2_000) {
            let packet = long(&vec![7; length], false, 0);
            let shown = &packet[..packet.len().min(PREFIX + usize::from(SHOWN))];
            let (whole, begun) = (Burst::by_mtu(&packet, mtu).unwrap(), Burst::by_mtu(shown, mtu).unwrap());
            prop_assert_eq!(whole.count(), begun.count());
            let (mut a, mut b) = (Vec::new(), Vec::new());
            for n in 0..whole.count() {
                whole.write(n, &mut a);
                begun.write(n, &mut b);
                prop_assert!(a.len() <= PREFIX + mtu);
                prop_assert_eq!(&a[..PREFIX + 40], &b[..PREFIX + 40]);
            }
        }

        #[test]
        fn random_bytes_cause_no_panic(bytes in prop::collection::vec(any::<u8>(), PREFIX..200), mtu in 1usize..200) {
            let mut bytes = bytes;
            for first in [0, 0x45] {
                bytes.get_mut(PREFIX).into_iter().for_each(|byte| *byte |= first);
                let bursts = [Some(Burst::by_prefix(&bytes)), Burst::by_mtu(&bytes, mtu)];
                for burst in bursts.into_iter().flatten() {
                    let mut out = Vec::new();
                    (0..burst.count()).for_each(|n| burst.write(n, &mut out));
                }
                head(&bytes, 50);
                complete(&mut bytes);
            }
        }
    }

    #[test]
    fn datagrams_longer_than_a_packet_are_left_to_the_kernel() {
        let packet = long(&[0; 3_000], true, 0);
        assert!(Burst::by_mtu(&packet, 1_500).is_none());
        assert_eq!(Burst::by_mtu(&packet, 9_000).map(|burst| burst.count()), Some(1));
    }
}
