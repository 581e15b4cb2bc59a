//! One queue per destination, with a FIFO per V2V flow, and who may leave it.

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
    /// When the next packet may leave, if there is a pace.
    next: Time,
    /// Since when there has been nothing to send, if there is nothing.
    unused: Time,
    /// Whether a packet has left.
    begun: bool,
}

impl Permit {
    /// Whether a packet that takes `span` may begin at `now`: it has to be over by the end. The first one
    /// may not be, or what is shorter than a packet would be of no use.
    fn holds(&self, now: Time, span: Time) -> bool {
        now < self.until && (!self.begun || now.after(span) <= self.until)
    }
}

#[derive(Default)]
struct Queue {
    /// The level of the controller that permits it.
    level: u8,
    flows: Flows,
    /// Bytes waiting for this destination, exempt packets included.
    bytes: u64,
    permit: Option<Permit>,
    /// The message that told the controller that the last permission is given back.
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
    /// Index into `queues` plus one, by destination; zero: none yet.
    slots: Vec<u32>,
    queues: Vec<Queue>,
    /// Destinations with packets waiting for permission.
    waiting: VecDeque<HostId>,
    permitted: Vec<HostId>,
    packets: usize,
    /// What the network card sends at, if that is known: packets have to be over when a timeslice is.
    pub line: Option<InverseRate>,
    /// Timeslices are at least this far apart: an end that moves by less is the same one, told later.
    apart: Time,
}

impl Queues {
    /// No queues yet; successive timeslices end at least `apart` from each other.
    pub fn new(apart: Time) -> Queues {
        Queues { apart, ..Queues::default() }
    }
    fn get(&self, dst: HostId) -> Option<&Queue> {
        let slot = self.slots.get(dst.at()).copied().unwrap_or(0);
        self.queues.get((slot as usize).wrapping_sub(1))
    }
    fn get_mut(&mut self, dst: HostId) -> Option<&mut Queue> {
        let slot = self.slots.get(dst.at()).copied().unwrap_or(0);
        self.queues.get_mut((slot as usize).wrapping_sub(1))
    }
    /// The queue for `dst`, made where there is none.
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

    /// A destination that is permitted by the controller of that level, if at all, or `free`; whether
    /// it was not known before.
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
    /// Whether nothing waits and nothing is permitted that the controller of `level` decides about.
    pub fn idle(&self, level: u8) -> bool {
        self.waiting.iter().chain(&self.permitted).all(|&dst| self.level(dst) != level)
    }
    /// The permitted destinations of a level.
    pub fn permitted(&self, level: u8) -> impl Iterator<Item = HostId> + '_ {
        self.permitted.iter().copied().filter(move |&dst| self.level(dst) == level)
    }
    /// The backlog group: what is permitted, then what waits, `max` V2V flows at most. Where there are
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
            let told = |dst: &HostId| group.iter().any(|flow| flow.dst == *dst);
            let told = self.waiting.iter().take_while(|&dst| told(dst)).count();
            self.waiting.rotate_left(told);
        }
        group
    }

    /// Whether `packet` is part of a small flow: `allowance` bytes per slice.
    pub fn small(&mut self, packet: &Packet, now: Time, slice: Time, allowance: u64) -> bool {
        let queue = self.make(packet.dst);
        if now >= queue.renewal {
            (queue.spent, queue.renewal) = (0, now.after(slice));
        }
        let spent = queue.spent + u64::from(packet.len);
        let small = spent <= allowance && queue.flows.packets() == 0 && queue.permit.is_none();
        if small {
            queue.spent = spent;
        }
        small
    }
    /// An exempt packet waits for the port.
    pub fn count(&mut self, packet: &Packet) {
        self.make(packet.dst).bytes += u64::from(packet.len);
    }
    /// An exempt packet leaves.
    pub fn discount(&mut self, packet: &Packet) {
        let queue = self.make(packet.dst);
        queue.bytes -= u64::from(packet.len);
        queue.sent += u64::from(packet.len);
    }

    /// Queues a packet of a V2V flow, which can leave at once, or only when it is set up.
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
    /// A V2V flow can leave from now on; whether it has something to send.
    pub fn set_up(&mut self, dst: HostId, machines: Machines) -> bool {
        let Some(queue) = self.get_mut(dst) else { return false };
        let idle = queue.flows.is_empty();
        let waits = queue.flows.set_up(machines);
        self.waiting.extend((idle && waits).then_some(dst));
        waits
    }
    /// Takes the first packet for `dst` out.
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
    /// Takes a packet out without permission; destinations whose level is `open` take turns.
    pub fn pop_any(&mut self, open: impl Fn(u8) -> bool) -> Option<Packet> {
        let at = self.waiting.iter().position(|&dst| open(self.level(dst)))?;
        self.waiting.rotate_left(at);
        let dst = *self.waiting.front()?;
        self.waiting.rotate_left(1);
        self.pop(dst, Time::ZERO)
    }
    /// What has left since the last call, by destination.
    pub fn take_loads(&mut self) -> Vec<(HostId, u64)> {
        let Queues { slots, queues, .. } = self;
        let known = (0..).zip(slots.iter()).filter(|(_, slot)| **slot > 0);
        let load = |(dst, slot): (u32, &u32)| {
            (HostId(dst), std::mem::take(&mut queues[*slot as usize - 1].sent))
        };
        known.map(load).filter(|(_, sent)| *sent > 0).collect()
    }
    /// Only these destinations need permission from now on; takes out what waits for others.
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
    /// A packet for `dst` that leaves these queues without having been sent.
    fn drain(&mut self, dst: HostId) -> Option<Packet> {
        let packet = self.pop(dst, Time::ZERO)?;
        self.make(dst).sent -= u64::from(packet.len);
        Some(packet)
    }
    /// The permitted destination whose packet is due first, if one is due.
    pub fn next(&self, now: Time) -> Option<HostId> {
        self.earliest(now).filter(|&(next, _)| next <= now).map(|(_, dst)| dst)
    }
    /// When the next packet is due, if none is yet.
    pub fn wait(&self, now: Time) -> Option<Time> {
        self.earliest(now).map(|(next, _)| next).filter(|&next| next > now)
    }
    fn earliest(&self, now: Time) -> Option<(Time, HostId)> {
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
    /// Permits packets for `dst`, if there ever were any, and says when that ends: a repeated permission goes
    /// on, and ends no later because it took longer to come.
    pub fn permit(&mut self, dst: HostId, until: Time, rate: Option<Rate>, now: Time) -> Time {
        let apart = self.apart;
        let Some(queue) = self.get_mut(dst) else {
            return until;
        };
        let pace = rate.map(Rate::inverse_rate);
        queue.returned = None;
        if let Some(permit) = &mut queue.permit {
            let same = until < permit.until.after(apart);
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
    /// Revokes permissions for which `condition` holds; whether one of these had nothing to send,
    /// which message `teller` tells, if any.
    fn revoke(&mut self, teller: Option<u32>, condition: impl Fn(HostId, &Permit) -> bool) -> bool {
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
                    queue.returned = teller;
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
    /// Revokes one permission that has ended, if any has; whether it had nothing to send, which
    /// message `teller` of its level has to tell.
    pub fn revoke_ended(&mut self, now: Time, teller: impl Fn(u8) -> u32) -> Option<(u8, bool)> {
        let over = |dst: &HostId| {
            self.get(*dst).and_then(|queue| queue.permit).is_some_and(|permit| permit.until <= now)
        };
        let dst = self.permitted.iter().copied().find(over)?;
        let level = self.level(dst);
        Some((level, self.revoke(Some(teller(level)), |other, _| other == dst)))
    }
    /// Revokes one permission that has not been used for `hysteresis`, which message `teller` of its level
    /// has to tell.
    pub fn revoke_unused(
        &mut self,
        now: Time,
        hysteresis: Time,
        teller: impl Fn(u8) -> u32,
    ) -> Option<HostId> {
        let unused = |dst: &HostId| {
            let queue = self.get(*dst)?;
            let since = queue.permit?.unused;
            (queue.flows.is_empty() && now.since(since) >= hysteresis).then_some(*dst)
        };
        let dst = self.permitted.iter().find_map(unused)?;
        let teller = teller(self.level(dst));
        self.revoke(Some(teller), |other, _| other == dst);
        Some(dst)
    }
}
