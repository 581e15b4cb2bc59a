//! The packet as nodes see it: a small plain record, the same for simulated and real traffic.

use crate::id::HostId;

/// The kind of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(u8)]
pub enum Kind {
    /// A TCP segment with payload: `seq` is its number on the connection.
    #[default]
    Data,
    /// A pure TCP acknowledgement: `seq` is the next segment expected, and `sack` names segments received beyond it.
    Ack,
    /// A UDP datagram: `seq` counts datagrams of the connection.
    Datagram,
    /// A control message. The driver stores its bytes, see [`crate::node::Cx::attach`].
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
/// A retransmission after the retransmission timer expired, with no acknowledgement since.
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

/// The information about paths in a packet of a network with circuits, in one byte. A *path class* is a number that the
/// network gives to paths of one kind: 0 is its packet switch, 1 and above are circuits.
///
/// Etalon's switch sets TCP's ECN echo for [`announced`](Circuits::announced) (paper §4.4). Here it has a bit of its
/// own, so that queues may also mark packets. Without such information the byte is zero.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Circuits(u8);

impl Circuits {
    /// The number of path classes.
    pub const CLASSES: usize = 8;
    const CLASS: u8 = 7;
    const ACTIVE: u32 = 3;
    const ANNOUNCED: u8 = 64;

    /// The value for a byte of [`Self::bits`]; `None` if the byte is not valid.
    pub const fn from_bits(bits: u8) -> Option<Circuits> {
        if bits < 128 { Some(Circuits(bits)) } else { None }
    }
    /// As a byte below 128.
    pub const fn bits(self) -> u8 {
        self.0
    }
    /// In a data packet, the class of the path on which it left its rack. In an acknowledgement, the class of the
    /// segment whose time stamp it echoes.
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
    /// The same value with another path taken. Classes above 7 count as 7.
    #[must_use]
    pub const fn with_taken(self, class: u8) -> Circuits {
        Circuits(self.0 & !Circuits::CLASS | limit(class))
    }
    /// The same value with new information about the reverse direction. Classes above 7 count as 7.
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
    /// The connection of the packet ([`crate::id::ConnId`]); for a control message, the sending host.
    pub flow: u32,
    /// Segment, datagram or acknowledgement number; see [`Kind`].
    pub seq: u32,
    /// The sender's clock in nanoseconds, modulo 2³². Acknowledgements echo it.
    pub stamp: u32,
    /// The hash input of equal-cost multipath (a source port), or the number of the path if routes are pinned.
    pub entropy: u16,
    /// Bytes on the wire with framing. Serialisation and buffers count these bytes.
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

    /// A rack's switch sends the packet onto a path of `class`. Data packets record the class; acknowledgements keep
    /// the class that they echo.
    #[inline]
    pub const fn put_on_path(&mut self, class: u8) {
        if matches!(self.kind, Kind::Data) {
            self.circuits = self.circuits.with_taken(class);
        }
    }

    /// A rack's switch informs the receiver of a TCP packet, data or acknowledgement, about the reverse direction: the
    /// class of its `active` path, and whether it has a circuit now or within the look-ahead (`announced`). Other kinds
    /// of packets do not change.
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
