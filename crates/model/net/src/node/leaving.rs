//! Packets at a port of a switch, and how they leave it.

use super::DropReason;
use crate::frame::{ECT, Packet};
use crate::id::PortId;
use crate::time::Time;

/// A packet, its port of arrival, and its time of arrival.
#[derive(Clone, Copy, Debug)]
pub struct Stored {
    /// The packet.
    pub packet: Packet,
    /// The port by which it arrived.
    pub from: PortId,
    /// When it arrived.
    pub since: Time,
}

impl AsRef<Packet> for Stored {
    fn as_ref(&self) -> &Packet {
        &self.packet
    }
}

/// A packet that is about to leave, as the accounts of a port see it.
#[derive(Clone, Copy, Default, Debug)]
pub struct Leaving {
    /// Its bytes on the wire.
    pub len: u16,
    /// Its class.
    pub class: u8,
    /// Whether it can be marked.
    pub ect: bool,
    /// The port by which it arrived.
    pub from: PortId,
    /// When it arrived.
    pub since: Time,
}

impl Leaving {
    /// A packet that arrives at `now`, by port 0.
    #[inline(always)]
    pub fn arriving(packet: &Packet, now: Time) -> Leaving {
        let (len, class, ect) = (packet.len, packet.class, packet.has(ECT));
        Leaving { len, class, ect, from: PortId(0), since: now }
    }

    /// The packet of `stored`.
    pub fn of(stored: &Stored) -> Leaving {
        Leaving { from: stored.from, ..Leaving::arriving(&stored.packet, stored.since) }
    }
}

/// When a packet that may wait outside of the queues is sent.
#[derive(Clone, Copy, Debug)]
pub struct Sends {
    /// When its first bit leaves: when all packets that are here have left.
    pub start: Time,
    /// When its last bit has left.
    pub end: Time,
    /// Whether it waits. Otherwise it leaves as soon as it arrives.
    pub waits: bool,
}

/// A packet whose departure was certain when it arrived.
#[derive(Clone, Copy, Default, Debug)]
pub struct Foreseen {
    /// The time at and before which it waits. One that leaves at once does not wait at the time of its arrival.
    pub waits_until: Time,
    /// When its last bit has left.
    pub end: Time,
    /// Whether its departure is to be reported. Otherwise it has been counted already.
    pub is_reported: bool,
    /// The flags to add.
    pub flags: u8,
    /// Whether its sender is to be notified of [`Switch::feedback`](super::switch::Switch::feedback).
    pub notifies: bool,
}

impl Foreseen {
    /// What becomes of the packet.
    #[inline(always)]
    pub fn passage(&self) -> Passage {
        if self.notifies { Passage::Notified } else { Passage::Sent(self.flags) }
    }
}

/// What becomes of a packet that may wait outside of the queues until it is sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Passage {
    /// Its departure is not certain. Nothing has changed.
    Uncertain,
    /// There is no room, unless departures have not been reported yet. Nothing has changed.
    NoRoom,
    /// It is admitted, and leaves with these flags added.
    Sent(u8),
    /// It is admitted as it is, and its sender is to be notified of [`Switch::feedback`](super::switch::Switch::feedback).
    Notified,
    /// It is to be dropped.
    Refused(DropReason),
}
