//! The packet as nodes see it: a small plain record, the same for simulated and real traffic.

use crate::id::HostId;

/// What a packet is.
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

/// Traffic classes (IEEE 802.1Q priorities); 7 is served first.
pub const CLASSES: usize = 8;

/// A packet. `Copy`, 36 bytes: it lives inside queues and events, never behind a pointer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Packet {
    /// Where it goes.
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
    /// What it is.
    pub kind: Kind,
    /// [`ECT`], [`CE`], [`ECE`], [`CWR`], [`RETRANSMITTED`], [`PUSH`],
    /// [`TIMED_OUT`].
    pub flags: u8,
    /// Priority class, 0 to 7.
    pub class: u8,
    /// Selective acknowledgement, most recent range first (RFC 2018).
    pub sack: [Span; 3],
}

impl Packet {
    /// Whether all of `flags` are set.
    #[inline]
    pub const fn has(&self, flags: u8) -> bool {
        self.flags & flags == flags
    }
}

const _: () = assert!(std::mem::size_of::<Packet>() == 36);
