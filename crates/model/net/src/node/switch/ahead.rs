//! Departures that a driver schedules when packets arrive.
//!
//! While packets of one class wait at a port of a switch without pause frames, and no discipline decides on departure,
//! packets leave in the order in which they arrive. A driver may then keep these packets itself, each with the time at which it leaves,
//! and reports departures later. The accounts of the port are the same as if the packets were here.

use super::Switch;
use crate::aqm::{Feedback, Verdict};
use crate::frame::{Kind, Packet};
use crate::id::PortId;
use crate::node::egress::{Leaving, Stored};
use crate::node::{Cx, DropReason};
use crate::time::Time;

impl Switch {
    /// The port by which `packet` leaves, if its departure may be foreseen: no state of the switch decides on its way.
    #[inline]
    pub fn certain_exit(&self, packet: &Packet) -> Option<PortId> {
        if packet.kind == Kind::Pause || self.classifier.is_some() {
            return None;
        }
        self.routes.next(self.node, packet.dst, packet.entropy)
    }

    /// Whether departures may be certain at all. A pause frame would change them at any time.
    pub fn is_foreseeable(&self) -> bool {
        !self.obeys_pause
    }

    /// Whether the departure of `packet` by `out` is certain when it arrives, after a wait of `wait`.
    #[inline]
    pub fn foresees(&self, out: PortId, packet: &Packet, wait: Time) -> bool {
        self.egress[out.at()].foresees(packet, wait)
    }

    /// Whether ports share a buffer, so that departures from one port matter to others.
    #[inline]
    pub fn shares(&self) -> bool {
        self.shares
    }

    /// Whether `packet` finds room. If departures have not been reported yet, the answer may be false although there is
    /// room.
    pub fn has_room(&self, out: PortId, packet: &Packet, now: Time) -> bool {
        let egress = &self.egress[out.at()];
        egress.fits(packet, now)
            && self.buffer.admits(egress.held_beside(packet), u64::from(packet.len))
    }

    /// Whether senders are notified of queues.
    pub fn notifies(&self) -> bool {
        self.notifies
    }

    /// Admits a packet that arrived by `from` to port `out`, which foresees it. It waits outside of the switch. Returns
    /// the verdict and the flags to add, or the reason to drop it.
    ///
    /// # Errors
    /// The packet is to be dropped, see [`Switch::lose`].
    #[inline]
    pub fn admit_ahead(
        &mut self,
        from: PortId,
        out: PortId,
        packet: &Packet,
        now: Time,
    ) -> Result<(Verdict, u8), DropReason> {
        let verdict = self.admit(from, out, packet, now)?;
        self.account.held += 1;
        Ok((verdict, self.egress[out.at()].push_ahead(packet, verdict, now)))
    }

    /// A packet that waited outside of the switch left by `out` at `now`. All packets are reported in order.
    #[inline]
    pub fn left(&mut self, out: PortId, leaving: &Leaving, now: Time) {
        self.egress[out.at()].pop_ahead(leaving, now);
        self.account.held -= 1;
        let len = u64::from(leaving.len);
        let freed = self.ingress[leaving.from.at()].release(leaving.class, len);
        self.buffer.release(freed);
    }

    /// Takes a packet that waited outside of the switch. Packets come in the order in which they arrived.
    pub fn take_back(&mut self, out: PortId, stored: Stored) {
        self.egress[out.at()].take_back(stored);
    }

    /// Whether `port` has a packet or a pause frame to send.
    pub fn has_waiting(&self, port: PortId) -> bool {
        !self.egress[port.at()].queues.is_empty() || self.ingress[port.at()].has_frame()
    }

    /// The notification of the sender of `packet`, which leaves by `out`; `None` if the sender is not known.
    pub fn notice(
        &mut self,
        out: PortId,
        packet: &Packet,
        what: Feedback,
        cx: &mut Cx<'_>,
    ) -> Option<Packet> {
        let notice = self.senders.notice(self.node, out, packet, what, cx)?;
        self.account.created += 1;
        Some(notice)
    }
}
