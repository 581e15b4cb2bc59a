//! One queue per destination, and who may leave it.

use crate::frame::Packet;
use crate::id::HostId;
use crate::time::Time;
use crate::units::{Pace, Rate};
use crate::wire::xco::newer;
use std::collections::VecDeque;

#[derive(Clone, Copy)]
struct Permit {
    until: Time,
    pace: Option<Pace>,
    /// When the next packet may leave, if there is a pace.
    next: Time,
    /// Since when there has been nothing to send, if there is nothing.
    unused: Time,
}

#[derive(Default)]
struct Queue {
    packets: VecDeque<Packet>,
    /// Bytes waiting for this destination, exempt packets included.
    bytes: u64,
    permit: Option<Permit>,
    /// The message that told the controller that the last permission is given back.
    returned: Option<u32>,
    /// Exempt bytes in the current slice, which ends at `renewal`.
    spent: u64,
    renewal: Time,
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
}

impl Queues {
    fn get(&self, dst: HostId) -> Option<&Queue> {
        let slot = self.slots.get(dst.at()).copied().unwrap_or(0);
        self.queues.get((slot as usize).wrapping_sub(1))
    }
    fn get_mut(&mut self, dst: HostId) -> Option<&mut Queue> {
        let slot = self.slots.get(dst.at()).copied().unwrap_or(0);
        self.queues.get_mut((slot as usize).wrapping_sub(1))
    }
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

    /// Packets waiting for permission.
    pub fn packets(&self) -> usize {
        self.packets
    }
    /// Bytes waiting for `dst`.
    pub fn bytes(&self, dst: HostId) -> u64 {
        self.get(dst).map_or(0, |queue| queue.bytes)
    }
    pub fn is_empty(&self, dst: HostId) -> bool {
        self.get(dst).is_none_or(|queue| queue.packets.is_empty())
    }
    pub fn is_permitted(&self, dst: HostId) -> bool {
        self.get(dst).is_some_and(|queue| queue.permit.is_some())
    }
    /// Whether nothing waits and nothing is permitted.
    pub fn idle(&self) -> bool {
        self.waiting.is_empty() && self.permitted.is_empty()
    }
    /// The backlog group: what is permitted, then what waits, `max` at most. Where there are more,
    /// the next call begins with those left out.
    pub fn backlog(&mut self, max: usize) -> Vec<HostId> {
        let waiting = self.waiting.iter().filter(|dst| !self.is_permitted(**dst));
        let group: Vec<HostId> = self.permitted.iter().chain(waiting).take(max).copied().collect();
        if self.waiting.len() > max {
            self.waiting.rotate_left(max);
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
        let small = spent <= allowance && queue.packets.is_empty() && queue.permit.is_none();
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
        self.make(packet.dst).bytes -= u64::from(packet.len);
    }

    /// Queues a packet; whether it is the first for its destination.
    pub fn push(&mut self, packet: Packet) -> bool {
        let queue = self.make(packet.dst);
        let first = queue.packets.is_empty();
        queue.packets.push_back(packet);
        queue.bytes += u64::from(packet.len);
        self.packets += 1;
        if first {
            self.waiting.push_back(packet.dst);
        }
        first
    }
    /// Takes the first packet for `dst` out.
    pub fn pop(&mut self, dst: HostId, now: Time) -> Option<Packet> {
        let queue = self.get_mut(dst)?;
        let packet = queue.packets.pop_front()?;
        queue.bytes -= u64::from(packet.len);
        let empty = queue.packets.is_empty();
        if let Some(permit) = &mut queue.permit {
            permit.unused = now;
            let spent = permit.pace.map_or(Time::ZERO, |pace| pace.time_for(packet.len.into()));
            permit.next = permit.next.max(now).after(spent);
        }
        self.packets -= 1;
        if empty {
            self.waiting.retain(|&other| other != dst);
        }
        Some(packet)
    }
    /// Takes a packet out without permission; destinations take turns.
    pub fn pop_any(&mut self) -> Option<Packet> {
        let dst = *self.waiting.front()?;
        self.waiting.rotate_left(1);
        self.pop(dst, Time::ZERO)
    }
    /// The permitted destination whose packet is due first, if one is due.
    pub fn next(&self, now: Time) -> Option<HostId> {
        self.earliest()
            .filter(|&(next, until, _)| next <= now && now < until)
            .map(|(_, _, dst)| dst)
    }
    /// When the next packet is due, if none is yet.
    pub fn wait(&self, now: Time) -> Option<Time> {
        self.earliest().map(|(next, _, _)| next).filter(|&next| next > now)
    }
    fn earliest(&self) -> Option<(Time, Time, HostId)> {
        let queues = self.permitted.iter().filter_map(|&dst| Some((dst, self.get(dst)?)));
        let full = queues.filter(|(_, queue)| !queue.packets.is_empty());
        let due = full.filter_map(|(dst, queue)| queue.permit.map(|p| (p.next, p.until, dst)));
        due.min_by_key(|&(next, _, _)| next)
    }

    /// Whether a permission was given back in a message later than number `heard`.
    pub fn returned_since(&self, dst: HostId, heard: u32) -> bool {
        let returned = self.get(dst).and_then(|queue| queue.returned);
        returned.is_some_and(|message| newer(message, heard))
    }
    /// Permits packets for `dst`, if there ever were any. A repeated permission goes on.
    pub fn permit(&mut self, dst: HostId, until: Time, rate: Option<Rate>, now: Time) {
        let Some(queue) = self.get_mut(dst) else {
            return;
        };
        let pace = rate.map(Rate::pace);
        queue.returned = None;
        if let Some(permit) = &mut queue.permit {
            (permit.until, permit.pace) = (until, pace);
        } else {
            queue.permit = Some(Permit { until, pace, next: now, unused: now });
            self.permitted.push(dst);
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
                if queue.packets.is_empty() {
                    queue.returned = teller;
                    unused = true;
                }
            }
            !ends
        });
        self.permitted = permitted;
        unused
    }
    pub fn revoke_all(&mut self) {
        self.revoke(None, |_, _| true);
    }
    /// Revokes all permissions but that for `dst`.
    pub fn revoke_others(&mut self, dst: Option<HostId>) {
        self.revoke(None, |other, _| Some(other) != dst);
    }
    /// Revokes permissions that have ended; whether one of these had nothing to send, which message
    /// `teller` has to tell.
    pub fn revoke_ended(&mut self, now: Time, teller: u32) -> bool {
        self.revoke(Some(teller), |_, permit| permit.until <= now)
    }
    /// Revokes one permission that has not been used for `hysteresis`, which message `teller` has to
    /// tell.
    pub fn revoke_unused(&mut self, now: Time, hysteresis: Time, teller: u32) -> Option<HostId> {
        let unused = |dst: &HostId| {
            let queue = self.get(*dst)?;
            let since = queue.permit?.unused;
            (queue.packets.is_empty() && now.since(since) >= hysteresis).then_some(*dst)
        };
        let dst = self.permitted.iter().find_map(unused)?;
        self.revoke(Some(teller), |other, _| other == dst);
        Some(dst)
    }
}
