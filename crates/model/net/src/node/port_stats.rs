//! The counters of a switch's port.

use super::DropReason;
use crate::frame::CLASSES;

/// Counters of the packets of one class at one port.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ClassStats {
    /// Packets sent.
    pub packets: u64,
    /// Bytes sent.
    pub bytes: u64,
    /// Packets dropped, by [`DropReason`].
    pub drops: [u64; DropReason::ALL.len()],
    /// Packets queued with a congestion mark.
    pub marks: u64,
    /// The largest number of bytes not yet sent. If classes share one FIFO, class 0 has the value of all.
    pub max_backlog: u64,
}

impl ClassStats {
    /// Counts a packet that is sent.
    #[inline(always)]
    pub(super) fn count(&mut self, len: u16) {
        self.packets += 1;
        self.bytes += u64::from(len);
    }

    /// Adds packets that were sent.
    pub(super) fn add_sent(&mut self, (packets, bytes): (u64, u64)) {
        self.packets += packets;
        self.bytes += bytes;
    }
}

/// Counters of one port.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PortStats {
    /// Per class.
    pub classes: [ClassStats; CLASSES],
    /// The largest number of bytes not yet sent, of all classes together. With a [`Reserve`](super::reserve::Reserve) it is the largest number
    /// of any other class.
    pub max_backlog: u64,
    /// The largest number of bytes not yet sent of the class with the [`Reserve`](super::reserve::Reserve).
    pub max_messages: u64,
    /// Pause (and resume) frames sent to the far end.
    pub pauses_sent: u64,
    /// Pause (and resume) frames from the far end.
    pub pauses_received: u64,
}
