//! Hosts whose packets wait in the driver.
//!
//! If all packets are of one class and none is paused, they leave in the order in which transports pass them to the network card.
//! A driver may then keep those that wait, as in a FIFO, and reports each that leaves. What transports may pass
//! ([`super::Nic::has_room`]), and when, is the same as if packets waited here.

use super::Host;
use crate::frame::Packet;
use crate::id::PortId;
use crate::node::Cx;

impl Host {
    /// Leaves packets that wait to the driver, if their order is certain. Returns whether it is. The host then sends each packet
    /// at once with [`Cx::send`]. The driver calls [`Host::left`] when packets have begun to leave, and
    /// [`Host::resume_blocked`] each time that one begins to leave while connections wait for room.
    pub fn hand_over_queue(&mut self) -> bool {
        self.shaper.is_none() && self.nic.hand_over_queue()
    }

    /// Whether packets wait in classes here.
    #[inline]
    pub fn has_classes(&self) -> bool {
        self.nic.has_classes()
    }

    /// Whether packets wait in the driver, which reports those that leave.
    #[inline]
    pub fn is_reported(&self) -> bool {
        self.nic.is_reported()
    }

    /// Packets of `len` bytes in total have begun to leave.
    #[inline]
    pub fn left(&mut self, len: u64) {
        self.nic.left(len);
    }

    /// Takes the next packet of a pulled port, as [`Node::transmit`] does, if it waits in a class. The driver
    /// then calls [`Host::resume_blocked`] if connections wait for room.
    ///
    /// [`Node::transmit`]: crate::node::Node::transmit
    #[inline]
    pub fn take_waiting(&mut self, port: PortId) -> Option<&Packet> {
        if self.shaper.is_some() { None } else { self.nic.take(port) }
    }

    /// Whether connections wait for room in the network card.
    #[inline]
    pub fn is_blocked(&self) -> bool {
        !self.nic.blocked.is_empty()
    }

    /// Connections that wait for room send what there is room for.
    pub fn resume_blocked(&mut self, cx: &mut Cx<'_>) {
        self.resume(cx);
    }
}
