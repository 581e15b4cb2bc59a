//! Consecutive segments that reach a host at the same moment. Its kernel gets them as one packet, as from a card that joins
//! what it receives (GRO).

use crate::burst;
use crate::frames::Frames;
use crate::ipv4::{TCP, tcp_flags};
use crate::port::PREFIX;
use slotline_net::time::Time;
use std::io::IoSlice;

/// The longest IP packet in bytes.
const MOST: usize = 65_535;
/// The flags that segments to be joined may have. All but `PSH` are equal in all of them.
const FLAGS: u8 = tcp_flags::ACK | tcp_flags::ECE | tcp_flags::PSH;

/// The segments of a packet for a host: handles of frames, with the times at which they arrived.
#[derive(Default)]
pub(crate) struct Joined {
    frames: Vec<(u32, Time)>,
    /// What the next segment has to be like; `None` if the packet is complete.
    next: Option<Next>,
    /// The length of the IP packet so far.
    length: usize,
    head: Vec<u8>,
}

/// The next segment of a packet.
struct Next {
    sequence: u32,
    /// The length of the headers, and that of the payload of all segments but the last, which may have less.
    header: usize,
    size: usize,
}

impl Joined {
    /// Whether no segment waits.
    pub fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }

    /// Whether `bytes`, a packet with its prefix, is the next segment.
    pub fn continues(&self, frames: &Frames, bytes: &[u8]) -> bool {
        let (Some(next), Some(segment)) = (&self.next, Segment::of(bytes)) else { return false };
        segment.sequence == next.sequence
            && segment.header == next.header
            && segment.payload <= next.size
            && self.length + segment.payload <= MOST
            && segment.is_like(&frames.slots[self.frames[0].0 as usize].bytes, bytes)
    }

    /// Adds a frame with these bytes. It is the first one, or the next segment.
    pub fn push(&mut self, handle: u32, at: Time, bytes: &[u8]) {
        let segment = Segment::of(bytes);
        let joins = segment.as_ref().filter(|_| !self.is_empty());
        self.length += joins.map_or(bytes.len() - PREFIX, |segment| segment.payload);
        let size = self.next.take().map(|next| next.size);
        self.next = segment.and_then(|segment| segment.next(size));
        self.frames.push((handle, at));
    }

    /// The packet with its prefix, in parts.
    pub fn parts<'a>(&'a mut self, frames: &'a Frames) -> Vec<IoSlice<'a>> {
        let bytes = |(handle, _): &(u32, Time)| &frames.slots[*handle as usize].bytes[..];
        let ends = (self.frames.first().map(bytes), self.frames.last().map(bytes));
        let (Some(first), Some(last)) = ends else { return Vec::new() };
        let (true, Some(segment)) = (self.frames.len() > 1, Segment::of(first)) else {
            return vec![IoSlice::new(first)];
        };
        let payload = PREFIX + segment.header..;
        let pushes = Segment::of(last).is_some_and(|last| last.pushes);
        self.head.clear();
        self.head.extend_from_slice(&first[..payload.start]);
        burst::join(&mut self.head, self.length, segment.payload as u16, pushes);
        let payloads = self.frames.iter().map(|one| IoSlice::new(&bytes(one)[payload.clone()]));
        [IoSlice::new(&self.head)].into_iter().chain(payloads).collect()
    }

    /// Removes all frames.
    pub fn drain(&mut self) -> impl Iterator<Item = (u32, Time)> {
        (self.next, self.length) = (None, 0);
        self.frames.drain(..)
    }
}

/// A TCP segment that can be joined with others.
struct Segment {
    sequence: u32,
    /// The lengths of all headers, of the IP header, and of the payload.
    header: usize,
    ip: usize,
    payload: usize,
    /// Whether it is the last segment of a packet.
    pushes: bool,
}

impl Segment {
    /// The segment in a packet with its prefix; `None` if it has to stay a packet of its own.
    fn of(bytes: &[u8]) -> Option<Segment> {
        let packet = bytes.get(PREFIX..)?;
        let header = burst::header_length(packet)?;
        let payload = packet.len().checked_sub(header).filter(|payload| *payload > 0)?;
        let fragment = packet[6] & 0x3f != 0 || packet[7] != 0;
        let ip = usize::from(packet[0] & 15) * 4;
        let flags = packet[ip + 13];
        let joins = packet[9] == TCP && !fragment && flags & !FLAGS == 0;
        let sequence = u32::from_be_bytes(*packet[ip + 4..].first_chunk()?);
        let pushes = flags & tcp_flags::PSH != 0;
        joins.then_some(Segment { sequence, header, ip, payload, pushes })
    }

    /// The segment after this one in a packet whose segments have `size` bytes of payload.
    fn next(self, size: Option<usize>) -> Option<Next> {
        let size = size.unwrap_or(self.payload);
        let sequence = self.sequence.wrapping_add(self.payload as u32);
        let more = !self.pushes && self.payload == size;
        more.then_some(Next { sequence, header: self.header, size })
    }

    /// Whether two packets with headers as long as this segment's differ in nothing but lengths, numbers, checksums and `PSH`.
    fn is_like(&self, a: &[u8], b: &[u8]) -> bool {
        let ip = self.ip;
        let fields =
            [0..2, 6..10, 12..ip + 4, ip + 8..ip + 13, ip + 14..ip + 16, ip + 18..self.header];
        let (a, b) = (&a[PREFIX..], &b[PREFIX..]);
        fields.into_iter().all(|field| a[field.clone()] == b[field])
            && (a[ip + 13] ^ b[ip + 13]) & !tcp_flags::PSH == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::burst::Burst;
    use etherparse::{NetHeaders, PacketBuilder, PacketHeaders, TransportHeader};
    use proptest::prelude::*;

    /// A TCP packet with its prefix.
    fn packet(sequence: u32, payload: &[u8], pushes: bool) -> Vec<u8> {
        let mut out = vec![0; PREFIX];
        let builder = PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64);
        let builder = builder.tcp(1, 2, sequence, 4).ack(9);
        let builder = if pushes { builder.psh() } else { builder };
        builder.write(&mut out, payload).unwrap();
        out
    }

    /// The packets that a host gets when these packets arrive at the same moment.
    fn delivered(packets: &[Vec<u8>]) -> Vec<Vec<u8>> {
        let (mut frames, mut joined, mut all) = (Frames::default(), Joined::default(), Vec::new());
        let mut hand_over = |joined: &mut Joined, frames: &Frames| {
            let parts = joined.parts(frames);
            all.extend(
                (!parts.is_empty()).then(|| parts.iter().flat_map(|part| part.to_vec()).collect()),
            );
            joined.drain().for_each(drop);
        };
        for bytes in packets {
            if !joined.continues(&frames, bytes) {
                hand_over(&mut joined, &frames);
            }
            let handle = frames.put(&Burst::by_prefix(bytes), 0, 0);
            joined.push(handle, Time::ZERO, bytes);
        }
        hand_over(&mut joined, &frames);
        all
    }

    proptest! {
        /// A packet that was split comes together again, and is split again into the same segments.
        #[test]
        fn segments_of_a_packet_are_joined(payload in prop::collection::vec(any::<u8>(), 1..20_000), mtu in 100usize..9_000, pushes: bool) {
            let whole = packet(u32::MAX - 700, &payload, pushes);
            let split = |burst: &Burst<'_>| -> Vec<Vec<u8>> {
                let segment = |n| { let mut one = Vec::new(); burst.write(n, &mut one); one };
                (0..burst.count()).map(segment).collect()
            };
            let segments = split(&Burst::by_mtu(&whole, mtu).unwrap());
            let joined = delivered(&segments);
            prop_assert_eq!(joined.len(), 1);
            prop_assert_eq!(&split(&Burst::by_prefix(&joined[0])), &segments);
            let headers = PacketHeaders::from_ip_slice(&joined[0][PREFIX..]).unwrap();
            let (Some(NetHeaders::Ipv4(ip, _)), Some(TransportHeader::Tcp(tcp))) = (&headers.net, &headers.transport) else { panic!("not TCP") };
            prop_assert_eq!(ip.header_checksum, ip.calc_header_checksum());
            prop_assert_eq!((headers.payload.slice(), tcp.psh), (&payload[..], pushes));
        }

        #[test]
        fn random_bytes_cause_no_panic(packets in prop::collection::vec(prop::collection::vec(any::<u8>(), PREFIX + 1..120), 1..4)) {
            let begun = packets.iter().map(|bytes| { let mut bytes = bytes.clone(); bytes[PREFIX] = 0x45; bytes });
            let sum = |all: &[Vec<u8>]| all.iter().map(Vec::len).sum::<usize>();
            prop_assert_eq!(sum(&delivered(&packets)), sum(&packets));
            delivered(&begun.collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_packet_ends_where_the_next_segment_differs() {
        let lengths = |packets: &[Vec<u8>]| -> Vec<usize> {
            delivered(packets).iter().map(|packet| packet.len() - PREFIX - 40).collect()
        };
        let part = |n: u32| packet(n, &[7; 100], false);
        assert_eq!(lengths(&[part(0), part(100), part(200)]), [300]);
        assert_eq!(lengths(&[part(0), part(200)]), [100, 100], "a segment is missing");
        assert_eq!(
            lengths(&[part(0), packet(100, &[7; 60], false), part(160)]),
            [160, 100],
            "a short one is the last"
        );
        assert_eq!(lengths(&[part(0), packet(100, &[7; 160], false)]), [100, 160], "a longer one");
        assert_eq!(lengths(&[packet(0, &[7; 100], true), part(100)]), [100, 100], "pushed");
        let mut marked = part(100);
        marked[PREFIX + 1] |= 3;
        assert_eq!(lengths(&[part(0), marked]), [100, 100], "congestion was experienced");
        let full = |n: u32| packet(n * 9_000, &[7; 9_000], false);
        assert_eq!(
            lengths(&(0..8).map(full).collect::<Vec<_>>()),
            [63_000, 9_000],
            "the longest packet"
        );
        assert_eq!(
            lengths(&[packet(0, &[], false), packet(0, &[], false)]),
            [0, 0],
            "acknowledgements"
        );
    }
}
