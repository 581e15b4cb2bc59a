//! The queues of a host, one per destination with a FIFO per V2V flow, and the permissions to leave them.

use super::flows::{Arrival, Flows};
use crate::wire::V2v;
use slotline_net::frame::Packet;
use slotline_net::id::HostId;
use slotline_net::time::Time;
use slotline_net::units::{InverseRate, Rate};
use slotline_net::wire::newer;
use slotline_net::workload::Machines;
use std::collections::VecDeque;

#[derive(Clone, Copy)]
struct Permit {
    until: Time,
    pace: Option<InverseRate>,
    /// When the next packet may leave, if the rate is limited.
    next: Time,
    /// Since when there has been nothing to send.
    unused: Time,
    /// Whether a packet has left.
    begun: bool,
}

impl Permit {
    /// Whether a packet that takes `span` may begin at `now`. It has to be complete by the end. The first packet
    /// is an exception, because otherwise a window shorter than a packet would be of no use.
    fn holds(&self, now: Time, span: Time) -> bool {
        now < self.until && (!self.begun || now.after(span) <= self.until)
    }
}

#[derive(Default)]
struct Queue {
    /// The level of the controller that permits this destination.
    level: u8,
    flows: Flows,
    /// Bytes waiting for this destination, exempt packets included.
    bytes: u64,
    permit: Option<Permit>,
    /// The message that gave the last permission back to the controller.
    returned: Option<u32>,
    /// Exempt bytes in the current slice, which ends at `renewal`.
    spent: u64,
    renewal: Time,
    /// Whether it needs no permission.
    free: bool,
    /// Bytes that have left since the load was last reported.
    sent: u64,
}

/// The queues of one host. A destination gets its queue with its first packet.
#[derive(Default)]
pub(super) struct Queues {
    /// By destination, the index into `queues` plus one. Zero: there is no queue yet.
    slots: Vec<u32>,
    queues: Vec<Queue>,
    /// Destinations with packets waiting for permission.
    waiting: VecDeque<HostId>,
    permitted: Vec<HostId>,
    packets: usize,
    /// The rate of the network card, if it is known. Packets have to be complete when a timeslice ends.
    pub line: Option<InverseRate>,
    /// The least time between ends of timeslices. If the end in a later message differs by less, it is the same
    /// end.
    min_spacing: Time,
}

impl Queues {
    /// Makes no queues yet. Successive timeslices end at least `min_spacing` after each other.
    pub fn new(min_spacing: Time) -> Queues {
        Queues { min_spacing, ..Queues::default() }
    }
    fn get(&self, dst: HostId) -> Option<&Queue> {
        let slot = self.slots.get(dst.at()).copied().unwrap_or(0);
        self.queues.get((slot as usize).wrapping_sub(1))
    }
    fn get_mut(&mut self, dst: HostId) -> Option<&mut Queue> {
        let slot = self.slots.get(dst.at()).copied().unwrap_or(0);
        self.queues.get_mut((slot as usize).wrapping_sub(1))
    }
    /// The queue for `dst`, which is made if there is none.
    fn make(&mut self, dst: HostId) -> &mut Queue {
        if self.slots.len() <= dst.at() {
            self.slots.resize(dst.at() + 1, 0);
        }
        let slot = &mut self.slots[dst.at()];
        if *slot == 0 {
            self.queues.push(Queue::default());
            *slot = self.queues.len() as u32;
        }
        &mut self.queues[*slot as usize - 1]
    }

    /// Adds a destination that the controller of this level permits, or that is `free`. Returns whether it
    /// was unknown.
    pub fn introduce(&mut self, dst: HostId, level: u8, free: bool) -> bool {
        let unknown = self.get(dst).is_none();
        if unknown {
            let queue = self.make(dst);
            (queue.level, queue.free) = (level, free);
        }
        unknown
    }
    pub fn is_known(&self, dst: HostId) -> bool {
        self.get(dst).is_some()
    }
    pub fn level(&self, dst: HostId) -> u8 {
        self.get(dst).map_or(0, |queue| queue.level)
    }
    /// Whether `dst` needs no permission.
    pub fn is_free(&self, dst: HostId) -> bool {
        self.get(dst).is_some_and(|queue| queue.free)
    }

    /// Packets waiting for permission.
    pub fn packets(&self) -> usize {
        self.packets
    }
    /// Bytes waiting for `dst`.
    pub fn bytes(&self, dst: HostId) -> u64 {
        self.get(dst).map_or(0, |queue| queue.bytes)
    }
    /// Bytes of one V2V flow; exempt packets do not count.
    pub fn bytes_of(&self, dst: HostId, machines: Machines) -> u64 {
        self.get(dst).map_or(0, |queue| queue.flows.bytes_of(machines))
    }
    pub fn is_empty(&self, dst: HostId) -> bool {
        self.get(dst).is_none_or(|queue| queue.flows.is_empty())
    }
    pub fn is_permitted(&self, dst: HostId) -> bool {
        self.get(dst).is_some_and(|queue| queue.permit.is_some())
    }
    /// Whether no destination of the controller of `level` has packets waiting or a permission.
    pub fn idle(&self, level: u8) -> bool {
        self.waiting.iter().chain(&self.permitted).all(|&dst| self.level(dst) != level)
    }
    /// The permitted destinations of a level.
    pub fn permitted(&self, level: u8) -> impl Iterator<Item = HostId> + '_ {
        self.permitted.iter().copied().filter(move |&dst| self.level(dst) == level)
    }
    /// The backlog group: permitted destinations, then waiting ones, at most `max` V2V flows. Where there are
    /// more, the next call begins with those left out.
    pub fn backlog(&mut self, level: u8, max: usize) -> Vec<V2v> {
        let waiting = self.waiting.iter().copied();
        let waiting = waiting.filter(|&dst| self.level(dst) == level && !self.is_permitted(dst));
        let flows = |dst: HostId| {
            let machines = self.get(dst).into_iter().flat_map(|queue| queue.flows.machines());
            machines.map(move |machines| V2v { dst, machines })
        };
        let group: Vec<V2v> =
            self.permitted(level).chain(waiting).flat_map(flows).take(max).collect();
        if group.len() == max {
            let reported = |dst: &HostId| group.iter().any(|flow| flow.dst == *dst);
            let reported = self.waiting.iter().take_while(|&dst| reported(dst)).count();
            self.waiting.rotate_left(reported);
        }
        group
    }

    /// Whether `packet` is part of a small flow, of `allowance` bytes per slice.
    pub fn is_small(&mut self, packet: &Packet, now: Time, slice: Time, allowance: u64) -> bool {
        let queue = self.make(packet.dst);
        if now >= queue.renewal {
            (queue.spent, queue.renewal) = (0, now.after(slice));
        }
        let spent = queue.spent + u64::from(packet.len);
        let is_small = spent <= allowance && queue.flows.packets() == 0 && queue.permit.is_none();
        if is_small {
            queue.spent = spent;
        }
        is_small
    }
    /// Counts an exempt packet that waits for the port.
    pub fn count(&mut self, packet: &Packet) {
        self.make(packet.dst).bytes += u64::from(packet.len);
    }
    /// Counts an exempt packet that leaves.
    pub fn discount(&mut self, packet: &Packet) {
        let queue = self.make(packet.dst);
        queue.bytes -= u64::from(packet.len);
        queue.sent += u64::from(packet.len);
    }

    /// Adds a packet of a V2V flow, which can leave at once if `ready`, otherwise when the flow is set up.
    pub fn push(&mut self, packet: Packet, machines: Machines, ready: bool) -> Arrival {
        let queue = self.make(packet.dst);
        let idle = queue.flows.is_empty();
        queue.bytes += u64::from(packet.len);
        let arrival = queue.flows.push(packet, machines, ready);
        let begins = idle && !queue.flows.is_empty();
        self.packets += 1;
        self.waiting.extend(begins.then_some(packet.dst));
        arrival
    }
    /// Lets a V2V flow leave from now on. Returns whether it has packets.
    pub fn set_up(&mut self, dst: HostId, machines: Machines) -> bool {
        let Some(queue) = self.get_mut(dst) else { return false };
        let idle = queue.flows.is_empty();
        let waits = queue.flows.set_up(machines);
        self.waiting.extend((idle && waits).then_some(dst));
        waits
    }
    /// Removes the first packet for `dst`.
    pub fn pop(&mut self, dst: HostId, now: Time) -> Option<Packet> {
        let queue = self.get_mut(dst)?;
        let packet = queue.flows.pop()?;
        queue.bytes -= u64::from(packet.len);
        queue.sent += u64::from(packet.len);
        let empty = queue.flows.is_empty();
        if let Some(permit) = &mut queue.permit {
            (permit.unused, permit.begun) = (now, true);
            let spent = permit.pace.map_or(Time::ZERO, |pace| pace.time_for(packet.len.into()));
            permit.next = permit.next.max(now).after(spent);
        }
        self.packets -= 1;
        if empty {
            self.waiting.retain(|&other| other != dst);
        }
        Some(packet)
    }
    /// Removes a packet without permission. Destinations whose level is `open` take turns.
    pub fn pop_any(&mut self, open: impl Fn(u8) -> bool) -> Option<Packet> {
        let at = self.waiting.iter().position(|&dst| open(self.level(dst)))?;
        self.waiting.rotate_left(at);
        let dst = *self.waiting.front()?;
        self.waiting.rotate_left(1);
        self.pop(dst, Time::ZERO)
    }
    /// The bytes that have left since the last call, by destination.
    pub fn take_loads(&mut self) -> Vec<(HostId, u64)> {
        let Queues { slots, queues, .. } = self;
        let known = (0..).zip(slots.iter()).filter(|(_, slot)| **slot > 0);
        let load = |(dst, slot): (u32, &u32)| {
            (HostId(dst), std::mem::take(&mut queues[*slot as usize - 1].sent))
        };
        known.map(load).filter(|(_, sent)| *sent > 0).collect()
    }
    /// From now on, only these destinations need permission. Returns the packets that wait for others.
    pub fn control(&mut self, controlled: &[HostId]) -> Vec<Packet> {
        let known = (0..self.slots.len() as u32).map(HostId).filter(|&dst| self.is_known(dst));
        let known: Vec<HostId> = known.collect();
        let mut out = Vec::new();
        for dst in known {
            let free = !controlled.contains(&dst);
            self.make(dst).free = free;
            if free {
                self.revoke(None, |other, _| other == dst);
                out.extend(std::iter::from_fn(|| self.drain(dst)));
            }
        }
        out
    }
    /// Removes a packet for `dst` that does not count as sent.
    fn drain(&mut self, dst: HostId) -> Option<Packet> {
        let packet = self.pop(dst, Time::ZERO)?;
        self.make(dst).sent -= u64::from(packet.len);
        Some(packet)
    }
    /// Whether packets wait for a destination that is permitted.
    pub fn may_leave(&self) -> bool {
        self.permitted.iter().any(|&dst| !self.is_empty(dst))
    }
    /// The permitted destination whose packet is due first, and when that is.
    pub fn next(&self, now: Time) -> Option<(Time, HostId)> {
        let due = self.permitted.iter().filter_map(|&dst| {
            let queue = self.get(dst)?;
            let (permit, len) = (queue.permit?, queue.flows.next_len()?);
            let span = self.line.map_or(Time::ZERO, |line| line.time_for(len.into()));
            permit.holds(permit.next.max(now), span).then_some((permit.next, dst))
        });
        due.min_by_key(|&(next, _)| next)
    }

    /// Whether a permission was given back in a message later than number `heard`.
    pub fn returned_since(&self, dst: HostId, heard: u32) -> bool {
        let returned = self.get(dst).and_then(|queue| queue.returned);
        returned.is_some_and(|message| newer(message, heard))
    }
    /// Permits packets for `dst`, if there has ever been one. Returns the end of the permission. A repeated
    /// permission continues, and does not end later because its message took longer.
    pub fn permit(&mut self, dst: HostId, until: Time, rate: Option<Rate>, now: Time) -> Time {
        let min_spacing = self.min_spacing;
        let Some(queue) = self.get_mut(dst) else {
            return until;
        };
        let pace = rate.map(Rate::inverse_rate);
        queue.returned = None;
        if let Some(permit) = &mut queue.permit {
            let same = until < permit.until.after(min_spacing);
            permit.until = if same { permit.until.min(until) } else { until };
            permit.begun &= same;
            permit.pace = pace;
            permit.until
        } else {
            queue.permit = Some(Permit { until, pace, next: now, unused: now, begun: false });
            self.permitted.push(dst);
            until
        }
    }
    /// Revokes permissions for which `condition` holds. Returns whether one of them had nothing to send,
    /// which message `report_number` reports, if any.
    fn revoke(
        &mut self,
        report_number: Option<u32>,
        condition: impl Fn(HostId, &Permit) -> bool,
    ) -> bool {
        let mut unused = false;
        let mut permitted = std::mem::take(&mut self.permitted);
        permitted.retain(|&dst| {
            let Some(queue) = self.get_mut(dst) else {
                return false;
            };
            let ends = queue.permit.is_some_and(|permit| condition(dst, &permit));
            if ends {
                queue.permit = None;
                if queue.flows.is_empty() {
                    queue.returned = report_number;
                    unused = true;
                }
            }
            !ends
        });
        self.permitted = permitted;
        unused
    }
    /// Revokes these permissions.
    pub fn revoke_these(&mut self, these: &[HostId]) {
        self.revoke(None, |dst, _| these.contains(&dst));
    }
    /// Revokes one permission that has ended, if any has. Returns its level and whether it had nothing to
    /// send, which message `report_number` of its level has to report.
    pub fn revoke_ended(
        &mut self,
        now: Time,
        report_number: impl Fn(u8) -> u32,
    ) -> Option<(u8, bool)> {
        let over = |dst: &HostId| {
            self.get(*dst).and_then(|queue| queue.permit).is_some_and(|permit| permit.until <= now)
        };
        let dst = self.permitted.iter().copied().find(over)?;
        let level = self.level(dst);
        Some((level, self.revoke(Some(report_number(level)), |other, _| other == dst)))
    }
    /// Revokes one permission that has not been used for `hysteresis`, which message `report_number` of its level
    /// has to report.
    pub fn revoke_unused(
        &mut self,
        now: Time,
        hysteresis: Time,
        report_number: impl Fn(u8) -> u32,
    ) -> Option<HostId> {
        let unused = |dst: &HostId| {
            let queue = self.get(*dst)?;
            let since = queue.permit?.unused;
            (queue.flows.is_empty() && now.since(since) >= hysteresis).then_some(*dst)
        };
        let dst = self.permitted.iter().find_map(unused)?;
        let report_number = report_number(self.level(dst));
        self.revoke(Some(report_number), |other, _| other == dst);
        Some(dst)
    }
}
