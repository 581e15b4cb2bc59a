//! Datagram connections: the sender has a fixed rate, and the receiver counts complete messages.

use crate::frame::{Kind, Packet};
use crate::id::{FlowId, HostId};
use crate::rng::Stream;
use crate::time::Time;
use crate::transport::Transport;
use crate::units::{InverseRate, Rate};
use crate::workload::{Carrier, Conn};

/// IPv4 and UDP headers.
const HEADERS: u32 = 28;
/// Linux's default socket send buffer (`net.core.wmem_default`): the most bytes that may wait for a scheduler.
pub(super) const SOCKET_BUFFER: u64 = 212_992;

/// The datagrams of a message, and the payload of a full datagram.
#[derive(Clone, Copy, Debug)]
struct Fragmentation {
    message: u32,
    payload: u32,
}

impl Fragmentation {
    fn new(message: u32, transport: &Transport) -> Fragmentation {
        let payload = (transport.mtu() - HEADERS).max(1);
        Fragmentation { message: message.max(1), payload }
    }
    fn per_message(self) -> u32 {
        self.message.div_ceil(self.payload)
    }
    /// Payload of datagram `seq` of a flow of `bytes`.
    fn payload_of(self, seq: u32, bytes: u64) -> u32 {
        let (message, fragment) = (seq / self.per_message(), seq % self.per_message());
        let length = self.length_of(message, bytes);
        length.saturating_sub(fragment * self.payload).min(self.payload)
    }
    /// Length of the given message. The last one of a flow may be short.
    fn length_of(self, message: u32, bytes: u64) -> u32 {
        let before = u64::from(message) * u64::from(self.message);
        bytes.saturating_sub(before).min(u64::from(self.message)) as u32
    }
}

/// Bytes on the wire of all datagrams of a flow of `bytes` in messages of `message`, and of the last.
pub(super) fn wire_bytes(message: u32, bytes: u64, transport: &Transport) -> (u64, u64) {
    let fragmentation = Fragmentation::new(message, transport);
    let whole = bytes / u64::from(fragmentation.message);
    let rest = (bytes % u64::from(fragmentation.message)) as u32;
    let of = |length: u32| {
        let full = u64::from(length / fragmentation.payload);
        let len = |payload: u32| u64::from(transport.datagram_len(payload + HEADERS));
        let last = length % fragmentation.payload;
        match last {
            0 => (full * len(fragmentation.payload), len(fragmentation.payload)),
            _ => (full * len(fragmentation.payload) + len(last), len(last)),
        }
    };
    let (each, last) = of(fragmentation.message);
    match rest {
        0 => (whole * each, last),
        rest => (whole * each + of(rest).0, of(rest).1),
    }
}

/// The sending end.
#[derive(Debug)]
pub(super) struct UdpSender {
    pub flow: FlowId,
    bytes: u64,
    seq: u32,
    fragmentation: Fragmentation,
    pace: InverseRate,
    started: Time,
    on: Time,
    cycle: Time,
    poisson: Option<Stream>,
}

impl UdpSender {
    pub fn new(
        conn: &Conn,
        bytes: u64,
        transport: &Transport,
        line: Rate,
        seed: Stream,
        now: Time,
    ) -> Option<UdpSender> {
        let Carrier::Udp { rate, message, on, off, poisson } = conn.carrier else { return None };
        Some(UdpSender {
            flow: conn.first,
            bytes,
            seq: 0,
            fragmentation: Fragmentation::new(message, transport),
            pace: rate.min(line).inverse_rate(),
            started: now,
            on,
            cycle: if off == Time::ZERO { Time::ZERO } else { on + off },
            poisson: poisson.then_some(seed),
        })
    }
    /// The next datagram; `None` when all are sent.
    pub fn next(
        &mut self,
        dst: HostId,
        conn: u32,
        class: u8,
        transport: &Transport,
    ) -> Option<Packet> {
        let mut payload = self.fragmentation.payload_of(self.seq, self.bytes);
        if payload == 0 {
            self.seq = (self.seq / self.fragmentation.per_message() + 1)
                * self.fragmentation.per_message();
            payload = self.fragmentation.payload_of(self.seq, self.bytes);
        }
        if payload == 0 {
            return None;
        }
        let len = transport.datagram_len(payload + HEADERS);
        let packet = Packet {
            dst,
            flow: conn,
            seq: self.seq,
            len,
            class,
            kind: Kind::Datagram,
            ..Packet::default()
        };
        self.seq += 1;
        Some(packet)
    }
    /// When the next datagram is due after one of `len` bytes that was sent at `now`.
    pub fn due_after(&mut self, len: u16, now: Time) -> Time {
        let gap = self.pace.time_for(u64::from(len));
        let gap = match &mut self.poisson {
            Some(stream) => Time::ps(stream.exponential(gap.as_ps() as f64) as u64),
            None => gap,
        };
        self.when_on(now + gap)
    }
    /// `at`, or the start of the next on-period.
    fn when_on(&self, at: Time) -> Time {
        if self.cycle == Time::ZERO {
            return at;
        }
        let phase = at.since(self.started).as_ps() % self.cycle.as_ps();
        if phase < self.on.as_ps() { at } else { at + Time::ps(self.cycle.as_ps() - phase) }
    }
}

/// The receiving end. A message counts when all its fragments have arrived.
#[derive(Debug)]
pub(super) struct UdpReceiver {
    fragmentation: Fragmentation,
    message: u32,
    fragments: u32,
}

impl UdpReceiver {
    pub fn new(conn: &Conn, transport: &Transport) -> UdpReceiver {
        let message = match conn.carrier {
            Carrier::Udp { message, .. } => message,
            Carrier::Tcp => 1,
        };
        UdpReceiver {
            fragmentation: Fragmentation::new(message, transport),
            message: 0,
            fragments: 0,
        }
    }
    /// Bytes of the message that this datagram completes, if it completes one. Fragments of messages before the newest
    /// one are ignored, as if reassembly had given up.
    pub fn on_datagram(&mut self, seq: u32, bytes: u64) -> Option<u64> {
        let message = seq / self.fragmentation.per_message();
        if message < self.message {
            return None;
        }
        if message > self.message {
            (self.message, self.fragments) = (message, 0);
        }
        self.fragments += 1;
        let length = self.fragmentation.length_of(message, bytes);
        (self.fragments == length.div_ceil(self.fragmentation.payload)).then_some(u64::from(length))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::TransportSpec;
    use crate::transport::congestion::AlgorithmKind;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn bytes_on_the_wire_are_those_of_the_packets(bytes in 1u64..200_000, message in 1u32..9_000) {
            let transport = TransportSpec::of(AlgorithmKind::NewReno).build().unwrap();
            let carrier =
                Carrier::Udp { rate: Rate(1), message, on: Time::ZERO, off: Time::ZERO, poisson: false };
            let conn = Conn {
                src: HostId(0),
                dst: HostId(1),
                carrier,
                class: 0,
                machines: Default::default(),
                first: FlowId(0),
                count: 1,
                key: 0,
            };
            let stream = Stream::named(1, "test", 0);
            let sender = UdpSender::new(&conn, bytes, &transport, Rate(1), stream, Time::ZERO);
            let mut sender = sender.unwrap();
            let next = || sender.next(HostId(1), 0, 0, &transport).map(|p| u64::from(p.len));
            let lens: Vec<u64> = std::iter::from_fn(next).collect();
            let sum = (lens.iter().sum(), lens[lens.len() - 1]);
            prop_assert_eq!(wire_bytes(message, bytes, &transport), sum);
        }
    }
}
