//! Departures that a driver schedules when packets arrive.
//!
//! While packets of one class wait at a port of a switch without pause frames, and no discipline decides on departure,
//! packets leave in the order in which they arrive. A driver may then keep these packets itself, each with the time at which it leaves,
//! and reports departures later. The accounts of the port are
//! then the same as if the packets had been here.

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

    /// Whether departures may be certain at all. A pause frame would change them at any time, and a classifier has state.
    pub fn is_foreseeable(&self) -> bool {
        !self.obeys_pause && self.classifier.is_none()
    }

    /// Whether the departure of `packet` by `out` is certain when it arrives at `now`, after a wait of `wait`.
    #[inline]
    pub fn foresees(&self, out: PortId, packet: &Packet, now: Time, wait: Time) -> bool {
        self.egress[out.at()].foresees(packet, now, wait)
    }

    /// Whether ports share a buffer, so that departures from one port matter to others.
    #[inline]
    pub fn shares(&self) -> bool {
        self.shares
    }

    /// Whether `packet` finds room. If departures have not been reported yet, the answer may be false although there is
    /// room in a shared buffer.
    #[inline]
    pub fn has_room(&self, out: PortId, packet: &Packet, now: Time) -> bool {
        let egress = &self.egress[out.at()];
        let len = u64::from(packet.len);
        egress.fits(packet, now)
            && (!self.shares || self.buffer.admits(egress.held_beside(packet), len))
    }

    /// Whether senders are notified of queues.
    pub fn notifies(&self) -> bool {
        self.notifies
    }

    /// Admits a packet to port `out`, which foresees it and has room for it or not. It waits outside of the switch.
    /// Returns the flags to add, or the reason to drop it. `feedback` is for its sender, if that is notified.
    ///
    /// # Errors
    /// The packet is to be dropped, see [`Switch::lose`].
    #[inline]
    pub fn admit_ahead(
        &mut self,
        out: PortId,
        packet: &Packet,
        has_room: bool,
        now: Time,
        feedback: &mut Option<Feedback>,
    ) -> Result<u8, DropReason> {
        let egress = &mut self.egress[out.at()];
        let mut is_marked = false;
        match egress.judge(packet, now) {
            Verdict::Pass => {}
            Verdict::Mark => is_marked = true,
            Verdict::Drop => return Err(DropReason::Early),
            Verdict::Notify(what) => *feedback = has_room.then_some(what),
        }
        if !has_room {
            return Err(DropReason::Full);
        }
        self.buffer.take(u64::from(packet.len));
        Ok(egress.push_ahead(packet, is_marked, now))
    }

    /// Loads the state of port `out`, so that it is in the cache when a packet is admitted.
    #[inline]
    pub fn touch(&self, out: PortId) -> u64 {
        self.egress[out.at()].touch()
    }

    /// Packets that waited outside of the switch left by `out`, each at a time. All packets are reported in order.
    #[inline]
    pub fn left(&mut self, out: PortId, departures: impl Iterator<Item = (Leaving, Time)>) {
        self.buffer.release(self.egress[out.at()].pop_ahead(departures));
    }

    /// Takes a packet that waited outside of the switch. Packets come in the order in which they arrived.
    pub fn take_back(&mut self, out: PortId, stored: Stored) {
        self.account.held += 1;
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
