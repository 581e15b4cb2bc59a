//! Departures that a driver schedules when packets arrive.
//!
//! While packets of one class wait at a port of a switch without pause frames, and no discipline decides on departure,
//! packets leave in the order in which they arrive. A driver may then keep these packets itself, each with the time at which it leaves,
//! and reports departures later. The accounts of the port are
//! then the same as if the packets had been here.

use super::Switch;
use crate::aqm::Feedback;
use crate::frame::{Kind, Packet};
use crate::id::PortId;
use crate::node::egress::{Foreseen, Leaving, Passage, Sends, Stored};
use crate::node::{Cx, DropReason};
use crate::prefetch::prefetch;
use crate::route::Row;
use crate::time::Time;

impl Switch {
    /// The port by which `packet` leaves, if its departure may be foreseen: no state of the switch decides on its way.
    #[inline]
    pub fn certain_exit(&self, packet: &Packet) -> Option<PortId> {
        Self::exit_by(&self.row(), packet)
    }

    /// As [`Switch::certain_exit`], by the routes of [`Switch::row`].
    #[inline]
    pub fn exit_by(row: &Row<'_>, packet: &Packet) -> Option<PortId> {
        if packet.kind == Kind::Pause { None } else { row.next(packet.dst, packet.entropy) }
    }

    /// The routes of this switch, for many packets.
    #[inline]
    pub fn row(&self) -> Row<'_> {
        debug_assert!(self.classifier.is_none(), "routes alone choose");
        self.routes.row(self.node)
    }

    /// Whether departures may be certain at all. A pause frame would change them at any time, and a classifier has state.
    pub fn is_foreseeable(&self) -> bool {
        !self.obeys_pause && self.classifier.is_none()
    }

    /// Whether senders are notified of queues.
    pub fn notifies(&self) -> bool {
        self.notifies
    }

    /// Admits a packet that leaves by `out` as `sends` says, if that is certain. It waits outside of the switch.
    #[inline(always)]
    pub fn pass(&mut self, out: PortId, leaving: &Leaving, sends: &Sends) -> Passage {
        match self.pass_within(out, leaving, sends, self.buffer.is_none()) {
            Passage::NoRoom => self.pass_counted(out, leaving, sends),
            passage => passage,
        }
    }

    /// As [`Switch::pass`], when the bytes in the shared buffer have been counted.
    #[inline(never)]
    fn pass_counted(&mut self, out: PortId, leaving: &Leaving, sends: &Sends) -> Passage {
        self.count_leaving(leaving.since);
        self.pass_within(out, leaving, sends, true)
    }

    /// As [`Switch::pass`]. Unless `is_counted`, the shared buffer may have more room than it knows.
    #[inline(always)]
    fn pass_within(
        &mut self,
        out: PortId,
        leaving: &Leaving,
        sends: &Sends,
        is_counted: bool,
    ) -> Passage {
        let (egress, buffer, len) = (&mut self.egress[out.at()], &self.buffer, leaving.len);
        let pace = egress.pace();
        let admits = |wait| buffer.is_none_or(|buffer| buffer.admits(len.into(), wait, pace));
        let passage = egress.pass(leaving, sends, is_counted, admits);
        if matches!(passage, Passage::Sent(_) | Passage::Notified) {
            self.leaves(len);
        }
        passage
    }

    /// Whether disciplines hear of departures.
    #[inline]
    pub fn decides_on_departure(&self) -> bool {
        self.decides_on_departure
    }

    /// Whether all disciplines only compare with thresholds when packets arrive.
    #[inline]
    pub fn has_only_thresholds(&self) -> bool {
        self.only_thresholds
    }

    /// Admits a packet that leaves by `out`, if its departure is certain. If `THRESHOLDS`, disciplines only compare with
    /// thresholds when it arrives. `may_wait` says whether the packet may wait outside of the switch until
    /// it has been sent at a time. If there is an error, nothing has changed, unless the packet is refused.
    #[inline(always)]
    pub fn pass_on_arrival<const THRESHOLDS: bool>(
        &mut self,
        out: PortId,
        packet: &Packet,
        now: Time,
        may_wait: impl Fn(Time) -> bool,
    ) -> Result<Foreseen, Passage> {
        let (egress, buffer, len) = (&mut self.egress[out.at()], &self.buffer, packet.len);
        let pace = egress.pace();
        let admits = |wait| buffer.is_none_or(|buffer| buffer.admits(len.into(), wait, pace));
        let passed = egress.pass_on_arrival::<THRESHOLDS>(packet, now, may_wait, admits)?;
        self.leaves(len);
        Ok(passed)
    }

    /// Whether packets leave in the way of [`Switch::start_at_once`]: ports obey pause frames, a table alone says by
    /// which of them a packet leaves, and no sender is notified.
    pub fn may_start_at_once(&self) -> bool {
        self.obeys_pause && self.classifier.is_none() && !self.notifies
    }

    /// Admits a packet that arrives and leaves at once by `out`, a port that is free, if nothing waits or is paused there
    /// and the packet changes no pause. Returns the flags to add. Otherwise nothing has changed.
    #[inline(always)]
    pub fn start_at_once(&mut self, out: PortId, leaving: &Leaving, sends: &Sends) -> Option<u8> {
        let (class, len) = (leaving.class, u64::from(leaving.len));
        let egress = &mut self.egress[out.at()];
        let is_free = egress.obeys_only_pauses(class) && !self.ingress[out.at()].has_frame();
        if !is_free || !self.ingress[leaving.from.at()].ignores(class, len) {
            return None;
        }
        match self.pass_within(out, leaving, sends, false) {
            Passage::Sent(flags) => Some(flags),
            _ => None,
        }
    }

    /// The feedback to the sender of the last packet that passed by `out` with [`Passage::Notified`].
    pub fn feedback(&self, out: PortId) -> Feedback {
        self.egress[out.at()].feedback
    }

    /// Requests the state of the port with the number `out`, by which a packet that came by `from` leaves, or which is free.
    #[inline(always)]
    pub fn expect_port(&self, from: u32, out: u32) {
        if self.obeys_pause {
            prefetch(&self.ingress, from);
        }
        if let Some(egress) = self.egress.get(out as usize) {
            egress.expect();
        }
    }

    /// Requests the packet that leaves next by the port with the number `out`, with what [`Switch::expect_port`] requested.
    #[inline(always)]
    pub fn expect_packet(&self, out: u32) {
        if let Some(egress) = self.egress.get(out as usize) {
            egress.queues.expect(&self.stored);
        }
    }

    /// Packets that waited outside of the switch left by `out`, each at a time. All packets are reported in order.
    /// `behind` says how many bytes behind the n-th of them were outside of the switch at a time; it may stop counting above
    /// a number.
    #[inline]
    pub fn left<'a>(
        &mut self,
        out: PortId,
        departures: impl Iterator<Item = (&'a Leaving, Time)>,
        behind: impl Fn(u32, Time, u64) -> u64,
    ) {
        self.egress[out.at()].pop_ahead(departures, behind);
    }

    /// Takes a packet that waited outside of the switch. Packets that arrived later come first.
    pub fn take_back(&mut self, out: PortId, stored: Stored) {
        self.account.held += 1;
        if let Some(buffer) = &mut self.buffer {
            buffer.wait(stored.packet.len.into());
        }
        self.egress[out.at()].take_back(stored, &mut self.stored);
    }

    /// When the last packet that waits here for port `out` has left, if all leave in the order in which they arrived, as they
    /// are, after `busy_until`.
    pub fn drained(&self, out: PortId, busy_until: Time) -> Option<Time> {
        self.egress[out.at()].drained(busy_until)
    }

    /// Gives away the first packet of port `out`, which waits outside of the switch from now on and starts at `start`. All
    /// packets leave in order.
    pub fn give_away(&mut self, out: PortId, start: Time) -> Option<Stored> {
        let stored = self.egress[out.at()].give_away(start, &mut self.stored)?;
        self.account.held -= 1;
        if let Some(buffer) = &mut self.buffer {
            buffer.release(stored.packet.len.into());
        }
        self.leaves(stored.packet.len);
        Some(stored)
    }

    /// A packet that arrived by `from` waits for port `out`, or is to be dropped. Returns whether a pause frame has to be
    /// sent by `from`.
    #[inline(always)]
    pub fn wait(
        &mut self,
        (from, out): (PortId, PortId),
        packet: &Packet,
        now: Time,
    ) -> Result<bool, DropReason> {
        self.join(from, out, packet, now)?;
        Ok(self.has_frame(from))
    }

    /// Takes the next packet of `port`, which is free, as [`Node::transmit`] does, if priorities and pauses alone select
    /// it. Otherwise nothing has changed. A pause frame may then have to be sent by the port of its arrival.
    ///
    /// [`Node::transmit`]: crate::node::Node::transmit
    #[inline(always)]
    pub fn next_plain(&mut self, port: PortId, now: Time) -> Option<&Stored> {
        if self.ingress[port.at()].has_frame() {
            return None;
        }
        let stored = self.egress[port.at()].pop_plain(now, &mut self.stored)?;
        let len = u64::from(stored.packet.len);
        self.account.held -= 1;
        let freed = match self.obeys_pause {
            true => self.ingress[stored.from.at()].release(stored.packet.class, len),
            false => len,
        };
        if let Some(buffer) = &mut self.buffer {
            buffer.release(freed);
            buffer.leave(len);
        }
        Some(stored)
    }

    /// Whether `port` has a pause frame to send.
    #[inline]
    pub fn has_frame(&self, port: PortId) -> bool {
        self.ingress[port.at()].has_frame()
    }

    /// Whether `port` has a packet or a pause frame to send.
    #[inline]
    pub fn has_waiting(&self, port: PortId) -> bool {
        !self.egress[port.at()].queues.is_empty() || self.has_frame(port)
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
