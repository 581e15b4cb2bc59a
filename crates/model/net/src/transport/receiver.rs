//! The receiving end of a connection: it stores what has arrived, and acknowledges it.

use super::spec::Transport;
use crate::frame::{CE, CWR, Circuits, ECE, Kind, PUSH, Packet, Span};
use crate::time::Time;

/// The content of an acknowledgement.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reply {
    /// Next segment expected.
    pub seq: u32,
    /// The ranges received beyond it, the most recent first.
    pub sack: [Span; 3],
    /// Whether it echoes congestion.
    pub echo: bool,
    /// Time stamp of the segment that caused it.
    pub stamp: u32,
    /// Class of the path that this segment took.
    pub taken: u8,
}

impl Reply {
    /// Turns the header `packet` into this acknowledgement.
    #[inline]
    pub fn fill(&self, mut packet: Packet, transport: &Transport) -> Packet {
        packet.kind = Kind::Ack;
        packet.seq = self.seq;
        packet.sack = self.sack;
        packet.stamp = self.stamp;
        packet.circuits = Circuits::default().with_taken(self.taken);
        packet.flags = if self.echo { ECE } else { 0 };
        packet.len = transport.ack_len();
        packet
    }
}

/// The receiving end of a connection.
#[derive(Clone, Debug)]
pub struct Receiver {
    next: u32,
    /// Segments received and not yet acknowledged.
    pending: u32,
    /// The number of following acknowledgements that are not delayed.
    quick: u32,
    /// The time of the last arrival.
    last_arrival: Time,
    /// Ranges beyond `next`, the most recently changed first.
    beyond: Vec<(u32, u32)>,
    /// Whether congestion is to be echoed.
    echo: bool,
    stamp: u32,
    taken: u8,
    deadline: Time,
}

impl Default for Receiver {
    fn default() -> Receiver {
        Receiver::new()
    }
}

impl Receiver {
    /// A connection that has received nothing.
    pub fn new() -> Receiver {
        Receiver {
            next: 0,
            pending: 0,
            quick: 0,
            last_arrival: Time::ZERO,
            beyond: Vec::new(),
            echo: false,
            stamp: 0,
            taken: 0,
            deadline: Time::MAX,
        }
    }

    /// A connection that has received all of `segments` and remembers nothing else.
    pub fn after(segments: u32) -> Receiver {
        Receiver { next: segments, ..Receiver::new() }
    }

    /// Whether a connection that has received everything behaves like [`Receiver::after`].
    pub fn is_over(&self, transport: &Transport) -> bool {
        transport.delayed_ack() == Time::ZERO && (transport.exact_echo() || !self.echo)
    }

    /// Segments received in order.
    #[inline]
    pub fn delivered(&self) -> u32 {
        self.next
    }

    /// A segment has arrived. Returns the acknowledgement to send now, if any.
    #[inline]
    pub fn on_data(&mut self, packet: &Packet, transport: &Transport, now: Time) -> Option<Reply> {
        self.hurry(packet.seq < self.next, transport, now);
        let before = self.hear(packet, transport);
        let in_order = packet.seq == self.next && self.beyond.is_empty();
        if in_order {
            self.next += 1;
        } else {
            self.place(packet.seq);
        }
        if transport.delayed_ack() == Time::ZERO {
            self.note(packet);
            return Some(self.reply());
        }
        self.delay(packet, in_order, before, transport, now)
    }

    /// Records congestion marks. If the echo changes, it returns an acknowledgement to send at once (RFC 8257 §3.2).
    #[inline]
    fn hear(&mut self, packet: &Packet, transport: &Transport) -> Option<Reply> {
        let marked = packet.flags & CE != 0;
        if !transport.exact_echo() {
            self.echo = marked || (self.echo && packet.flags & CWR == 0);
            return None;
        }
        let before = (marked != self.echo && self.pending > 0).then(|| self.reply());
        self.echo = marked;
        before
    }

    /// Acknowledges every `ack_every`-th segment, and at once in unusual cases. If the segments before needed an
    /// acknowledgement of their own (`before`), this segment's acknowledgement follows right after it.
    fn delay(
        &mut self,
        packet: &Packet,
        in_order: bool,
        before: Option<Reply>,
        transport: &Transport,
        now: Time,
    ) -> Option<Reply> {
        self.pending = if before.is_some() { 1 } else { self.pending + 1 };
        if self.pending == 1 {
            self.note(packet);
        }
        let enough = self.quick > 0 || self.pending >= transport.ack_every();
        let at_once = enough || !in_order || packet.flags & PUSH != 0;
        if at_once && before.is_none() {
            return Some(self.acknowledge());
        }
        if at_once {
            self.deadline = now;
        } else if self.pending == 1 {
            self.deadline = now + transport.delayed_ack();
        }
        before
    }

    /// The next acknowledgements are not delayed if the sender may need them: it begins, or begins again after a pause,
    /// or has sent a segment twice (Linux's `tcp_incr_quickack`).
    #[inline]
    fn hurry(&mut self, twice: bool, transport: &Transport, now: Time) {
        let most = transport.quick_acks();
        if most == 0 {
            return;
        }
        let begins = self.last_arrival == Time::ZERO;
        let paused = now.since(self.last_arrival) > transport.rto_limits().min;
        if begins || paused || twice {
            self.quick = most;
        }
        self.last_arrival = now;
    }

    /// Records the segment that the next acknowledgement echoes.
    #[inline]
    fn note(&mut self, packet: &Packet) {
        (self.stamp, self.taken) = (packet.stamp, packet.circuits.taken());
    }

    fn acknowledge(&mut self) -> Reply {
        self.pending = 0;
        self.quick = self.quick.saturating_sub(1);
        self.deadline = Time::MAX;
        self.reply()
    }

    #[inline]
    fn reply(&self) -> Reply {
        let mut sack = [Span::default(); 3];
        for (span, (start, end)) in sack.iter_mut().zip(&self.beyond) {
            *span = Span { start: (start - self.next) as u16, end: (end - self.next) as u16 };
        }
        Reply { seq: self.next, sack, echo: self.echo, stamp: self.stamp, taken: self.taken }
    }

    /// Stores a segment that is out of order. It extends, joins or adds a range, which becomes the first.
    #[cold]
    fn place(&mut self, seq: u32) {
        if seq < self.next {
            return;
        }
        let (mut start, mut end) = (seq, seq + 1);
        self.beyond.retain(|&(s, e)| {
            let touches = s <= end && start <= e;
            if touches {
                (start, end) = (start.min(s), end.max(e));
            }
            !touches
        });
        if start == self.next {
            self.next = end;
        } else {
            self.beyond.insert(0, (start, end));
        }
    }

    /// The time at which [`Self::on_timeout`] is due.
    #[inline]
    pub fn deadline(&self) -> Option<Time> {
        (self.deadline != Time::MAX).then_some(self.deadline)
    }

    /// The delayed-acknowledgement timer has expired.
    pub fn on_timeout(&mut self) -> Option<Reply> {
        (self.pending > 0).then(|| self.acknowledge())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::TransportSpec;
    use crate::transport::congestion::AlgorithmKind;

    /// The number of these segments, which arrive 1 us apart from `at` on, that are acknowledged at once.
    fn at_once(
        receiver: &mut Receiver,
        segments: std::ops::Range<u32>,
        at: Time,
        transport: &Transport,
    ) -> usize {
        let times = (0u64..).map(|us| at + Time::us(us));
        let reply =
            |(seq, now)| receiver.on_data(&Packet { seq, ..Packet::default() }, transport, now);
        segments.zip(times).filter_map(reply).count()
    }

    #[test]
    fn acknowledgements_are_not_delayed_where_the_sender_needs_them() {
        let spec = TransportSpec {
            delayed_ack: Time::ms(2),
            min_rto: Time::ms(10),
            ..TransportSpec::of(AlgorithmKind::NewReno)
        };
        let quick = TransportSpec { quick_acks: true, ..spec.clone() };
        let none = TransportSpec { delayed_ack: Time::ZERO, ..quick.clone() };
        for (spec, counts) in [(spec, [20, 20, 1, 20]), (quick, [28, 28, 1, 28])] {
            let (transport, mut receiver) = (spec.build().unwrap(), Receiver::new());
            let mut count =
                |segments, ms| at_once(&mut receiver, segments, Time::ms(ms), &transport);
            assert_eq!(count(0..40, 1), counts[0], "the first sixteen");
            assert_eq!(count(40..60, 2), 10, "then every second one");
            assert_eq!(count(60..100, 20), counts[1], "sixteen after a pause");
            assert_eq!(count(7..8, 21), counts[2], "segments that had arrived before");
            let late = at_once(&mut receiver, 100..140, Time::ms(22), &transport);
            assert!(late >= counts[3] - 1, "and fifteen more: {late}");
        }
        assert_eq!(none.build().unwrap_err().key, "quick-acks");
    }
}
