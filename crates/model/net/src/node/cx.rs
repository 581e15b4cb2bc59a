//! The context of a call to a node.

use super::effects::Sending;
use super::{DropReason, Effects, Handover, Note};
use crate::frame::{Kind, Packet};
use crate::id::{HostId, NodeId, PortId};
use crate::time::Time;

/// The context of one call: the time, and the methods for requests to the driver.
pub struct Cx<'a> {
    /// The time of the event being handled.
    pub now: Time,
    effects: &'a mut Effects,
}

impl<'a> Cx<'a> {
    /// For drivers: the context of an event at `now`.
    #[inline]
    pub fn new(now: Time, effects: &'a mut Effects) -> Cx<'a> {
        Cx { now, effects }
    }
    /// Puts `packet` at the end of the FIFO of `port`. The driver has the FIFO and may drop packets.
    #[inline]
    pub fn send(&mut self, port: PortId, packet: Packet) {
        self.effects.sends.push(Sending { packet, port });
    }
    /// Delays everything that is sent because of the present event by `span`, a host's processing time. A port that is
    /// busy until then anyway is not delayed. A wall clock ignores this.
    #[inline]
    pub fn hold(&mut self, span: Time) {
        self.effects.hold = Some(span);
    }
    /// States that pulled `port` may have something to send; [`Node::transmit`] follows when it is free.
    ///
    /// [`Node::transmit`]: super::Node::transmit
    #[inline]
    pub fn kick(&mut self, port: PortId) {
        self.effects.kicks.push(port);
    }
    /// Requests [`Node::expire`] with `token` at `at`, or at once if that time is past.
    ///
    /// [`Node::expire`]: super::Node::expire
    #[inline]
    pub fn wake(&mut self, at: Time, token: u32) {
        self.effects.wakes.push((at, token));
    }
    /// Records `note`, if notes are recorded.
    #[inline]
    pub fn note(&mut self, note: Note) {
        if self.now < self.effects.notes_until {
            self.effects.rare().notes.push((self.now, note));
        }
    }
    /// Connects the far end of `port` to another node's port. All packets that are sent in this call or
    /// later go there.
    pub fn rewire(&mut self, port: PortId, node: NodeId, far: PortId) {
        self.effects.rare().rewires.push((port, node, far));
    }
    /// Makes a control packet that carries `bytes`. `overhead` is the number of bytes that framing adds on the wire.
    pub fn attach(
        &mut self,
        (src, dst): (HostId, HostId),
        bytes: Vec<u8>,
        overhead: u16,
        class: u8,
    ) -> Packet {
        let len = (bytes.len() as u16).saturating_add(overhead).max(overhead + 46);
        let seq = self.effects.payloads.keep(bytes.into_boxed_slice());
        Packet { dst, flow: src.0, seq, len, class, kind: Kind::Control, ..Packet::default() }
    }
    /// The bytes of a control packet that has arrived at its destination.
    pub fn detach(&mut self, packet: &Packet) -> Box<[u8]> {
        self.effects.payloads.release(packet.seq)
    }
    /// Counts a flow as complete.
    pub fn complete(&mut self, flow: u32) {
        self.effects.rare().completed.push(flow);
    }
    /// Hands something over to applications outside of the network.
    pub fn hand_over(&mut self, what: Handover) {
        let now = self.now;
        self.effects.rare().handovers.push((now, what));
    }
    /// Counts `packet` as dropped.
    pub fn drop(&mut self, packet: &Packet, reason: DropReason) {
        self.effects.rare().drops.push(reason);
        self.effects.payloads.discard(packet);
    }
}
