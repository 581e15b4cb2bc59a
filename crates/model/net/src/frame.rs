//! The packet as nodes see it: a small plain record, the same for simulated and real traffic.

use crate::id::HostId;

/// The kind of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(u8)]
pub enum Kind {
    /// A TCP segment with payload: `seq` is its number on the connection.
    #[default]
    Data,
    /// A pure TCP acknowledgement: `seq` is the next segment expected, `sack` what came beyond it.
    Ack,
    /// A UDP datagram: `seq` counts datagrams of the connection.
    Datagram,
    /// A control message: its bytes are kept by the driver, see [`crate::node::Cx::attach`].
    Control,
    /// An IEEE 802.1Qbb priority pause frame: `seq` is a bit mask of classes to pause (low byte)
    /// and to resume (second byte). Consumed by the next node, never forwarded.
    Pause,
}

/// ECN-capable transport (RFC 3168).
pub const ECT: u8 = 1;
/// Congestion experienced: set by a queue.
pub const CE: u8 = 2;
/// ECN echo: set on acknowledgements.
pub const ECE: u8 = 4;
/// Congestion window reduced: set by the sender in answer to [`ECE`].
pub const CWR: u8 = 8;
/// A retransmission.
pub const RETRANSMITTED: u8 = 16;
/// Last segment of a message: asks a delaying receiver to acknowledge at once.
pub const PUSH: u8 = 32;
/// A retransmission that a timer caused, with no acknowledgement since; for the record only.
pub const TIMED_OUT: u8 = 64;

/// A range of segments beyond the acknowledged one: from `seq + start` up to, not including,
/// `seq + end`. Empty where `end` is zero.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Span {
    /// First segment, relative to `seq`.
    pub start: u16,
    /// One past the last segment, relative to `seq`.
    pub end: u16,
}

/// What a network with circuits says in a packet about paths, in one byte. A *path class* is a number
/// that the network gives to paths of one kind: 0 is its packet switch, 1 and above are circuits.
///
/// Etalon's switch says [`announced`](Circuits::announced) by TCP's ECN echo (paper §4.4); here it has a
/// bit of its own, so that queues may mark packets beside it. Where nobody says anything all is zero.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Circuits(u8);

impl Circuits {
    /// The number of path classes.
    pub const CLASSES: usize = 8;
    const CLASS: u8 = 7;
    const ACTIVE: u32 = 3;
    const ANNOUNCED: u8 = 64;

    /// The byte of [`Self::bits`]; `None` for one that nothing produces.
    pub const fn from_bits(bits: u8) -> Option<Circuits> {
        if bits < 128 { Some(Circuits(bits)) } else { None }
    }
    /// As a byte below 128.
    pub const fn bits(self) -> u8 {
        self.0
    }
    /// Class of the path on which a data packet left its rack; in an acknowledgement that of the segment
    /// whose time stamp it echoes.
    pub const fn taken(self) -> u8 {
        self.0 & Circuits::CLASS
    }
    /// Class of the path that packets in the other direction take now.
    pub const fn active(self) -> u8 {
        self.0 >> Circuits::ACTIVE & Circuits::CLASS
    }
    /// Packets in the other direction have a circuit, or will have one soon.
    pub const fn announced(self) -> bool {
        self.0 & Circuits::ANNOUNCED != 0
    }
    /// The same with another path taken. Classes from 8 on count as 7.
    #[must_use]
    pub const fn with_taken(self, class: u8) -> Circuits {
        Circuits(self.0 & !Circuits::CLASS | limit(class))
    }
    /// The same with other news of the way back. Classes from 8 on count as 7.
    #[must_use]
    pub const fn with_news(self, active: u8, announced: bool) -> Circuits {
        let announced = if announced { Circuits::ANNOUNCED } else { 0 };
        Circuits(self.taken() | limit(active) << Circuits::ACTIVE | announced)
    }
}

const fn limit(class: u8) -> u8 {
    if class < Circuits::CLASS { class } else { Circuits::CLASS }
}

pub use slotline_base::id::CLASSES;

/// A packet. `Copy`, 36 bytes: it lives inside queues and events, never behind a pointer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Packet {
    /// The destination.
    pub dst: HostId,
    /// The connection it belongs to ([`crate::id::ConnId`]); of a control message the sending host.
    pub flow: u32,
    /// Segment, datagram or acknowledgement number; see [`Kind`].
    pub seq: u32,
    /// Sender's clock in nanoseconds, modulo 2³²; echoed by acknowledgements.
    pub stamp: u32,
    /// What equal-cost multipath hashes (a source port), or the path index where routes are pinned.
    pub entropy: u16,
    /// Bytes on the wire, framing included: what serialisation and buffers count.
    pub len: u16,
    /// Its kind.
    pub kind: Kind,
    /// [`ECT`], [`CE`], [`ECE`], [`CWR`], [`RETRANSMITTED`], [`PUSH`],
    /// [`TIMED_OUT`].
    pub flags: u8,
    /// Priority class, 0 to 7.
    pub class: u8,
    /// The state of circuits, set by the switches of racks.
    pub circuits: Circuits,
    /// Selective acknowledgement, most recent range first (RFC 2018).
    pub sack: [Span; 3],
}

impl Packet {
    /// Whether all of `flags` are set.
    #[inline]
    pub const fn has(&self, flags: u8) -> bool {
        self.flags & flags == flags
    }

    /// A rack's switch puts it onto a path of `class`: noted in data, while an acknowledgement keeps
    /// what it echoes.
    #[inline]
    pub const fn put_on_path(&mut self, class: u8) {
        if matches!(self.kind, Kind::Data) {
            self.circuits = self.circuits.with_taken(class);
        }
    }

    /// A rack's switch tells the receiver of a TCP packet, data or acknowledgement, of the way back: the
    /// class of its `active` path, and whether it has a circuit now or within the look-ahead
    /// (`announced`). Other kinds of packets stay as they are.
    #[inline]
    pub const fn set_circuits(&mut self, active: u8, announced: bool) {
        if matches!(self.kind, Kind::Data | Kind::Ack) {
            self.circuits = self.circuits.with_news(active, announced);
        }
    }
}

const _: () = assert!(std::mem::size_of::<Packet>() == 36);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_circuits_are_independent() {
        for bits in 0..128 {
            let said = Circuits::from_bits(bits).unwrap();
            assert_eq!(said.bits(), bits);
            let again = Circuits::default().with_news(said.active(), said.announced());
            assert_eq!(again.with_taken(said.taken()), said);
            assert_eq!(said.with_taken(9).taken(), 7);
            assert_eq!(said.with_news(200, false).active(), 7);
            assert_eq!(said.with_news(2, true).taken(), said.taken());
        }
        assert_eq!(Circuits::from_bits(128), None);
    }

    #[test]
    fn only_data_note_their_path_and_only_tcp_has_circuits() {
        let kinds = [Kind::Data, Kind::Ack, Kind::Datagram, Kind::Control, Kind::Pause];
        for kind in kinds {
            let echoed = Circuits::default().with_taken(5);
            let mut packet = Packet { kind, circuits: echoed, ..Packet::default() };
            packet.put_on_path(2);
            packet.set_circuits(1, true);
            let tcp = matches!(kind, Kind::Data | Kind::Ack);
            assert_eq!(packet.circuits.taken(), if kind == Kind::Data { 2 } else { 5 });
            assert_eq!((packet.circuits.active(), packet.circuits.announced()), (tcp.into(), tcp));
        }
    }
}
