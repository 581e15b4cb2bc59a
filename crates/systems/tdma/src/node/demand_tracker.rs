//! The demand of hosts as the fabric manager knows it: the reports, minus what is scheduled after them.

use crate::wire::Demand;
use crate::{Assignment, Demand as Waiting, Round};
use slotline_net::id::HostId;
use slotline_net::time::Time;

/// A round that has been planned, by host.
pub(super) struct Scheduled {
    pub number: u32,
    /// By source: the slot, the destination and the bytes.
    by_src: Vec<Vec<(u16, HostId, u64)>>,
    /// By destination: the slot and the bytes.
    by_dst: Vec<Vec<(u16, u64)>>,
}

impl Scheduled {
    pub fn of(number: u32, round: &Round, hosts: usize) -> Scheduled {
        let mut scheduled =
            Scheduled { number, by_src: vec![Vec::new(); hosts], by_dst: vec![Vec::new(); hosts] };
        for (slot, assignments) in (0u16..).zip(round.slots()) {
            for &Assignment { src, dst, bytes, .. } in assignments {
                scheduled.by_src[src.at()].push((slot, dst, bytes));
                scheduled.by_dst[dst.at()].push((slot, bytes));
            }
        }
        scheduled
    }
}

#[derive(Clone, Default)]
struct Peer {
    alive: bool,
    heard_at: Time,
    /// The number of its last message.
    heard: u32,
    started: bool,
    /// The number of the report that is arriving.
    report: u32,
    /// By part of that report, whether it is missing.
    missing: Vec<bool>,
    waiting: Vec<(HostId, u64)>,
}

/// The demand that follows from reports and planned rounds.
pub(super) struct DemandTracker {
    pub demand: Waiting,
    peers: Vec<Peer>,
}

impl DemandTracker {
    /// None of `hosts` hosts has reported demand or room.
    pub fn new(hosts: usize) -> DemandTracker {
        let mut demand = Waiting::new(hosts);
        (0..hosts as u32).for_each(|host| demand.set_room(HostId(host), 0));
        DemandTracker { demand, peers: vec![Peer::default(); hosts] }
    }
    /// The number of the last message from `host`.
    pub fn heard(&self, host: HostId) -> u32 {
        self.peers.get(host.at()).map_or(0, |peer| peer.heard)
    }
    /// Notes a message from `host`. Returns whether it is a new one of a known host.
    pub fn receive(&mut self, host: HostId, seq: u32, now: Time) -> bool {
        let Some(peer) = self.peers.get_mut(host.at()) else { return false };
        if peer.started && !slotline_net::wire::newer(seq, peer.heard) {
            return false;
        }
        (peer.started, peer.heard, peer.heard_at, peer.alive) = (true, seq, now, true);
        true
    }
    /// Notes a part of a report. Returns whether the report is complete. Bytes that `scheduled` rounds will carry no
    /// longer wait.
    pub fn report(&mut self, host: HostId, report: Demand, scheduled: &[&Scheduled]) -> bool {
        let peer = &mut self.peers[host.at()];
        if peer.report != report.report || peer.missing.len() != usize::from(report.part.parts) {
            (peer.report, peer.missing) = (report.report, vec![true; report.part.parts.into()]);
            peer.waiting.clear();
        }
        if !std::mem::take(&mut peer.missing[usize::from(report.part.part)]) {
            return !peer.missing.contains(&true);
        }
        peer.waiting.extend(&report.waiting);
        if peer.missing.contains(&true) {
            return false;
        }
        let waiting = std::mem::take(&mut peer.waiting);
        // Demand for a host that has fallen silent is left out. A host that has not reported yet has no room.
        let may_come = |peer: &Peer| peer.alive || !peer.started;
        let known = waiting.into_iter();
        let known = known.filter(|(dst, _)| self.peers.get(dst.at()).is_some_and(may_come));
        self.demand.replace(host, &known.collect::<Vec<_>>());
        self.demand.set_room(host, report.free);
        for round in scheduled {
            // Bytes that were scheduled before the report have already left.
            let from = if round.number == report.round { report.slot } else { 0 };
            if slotline_net::wire::newer(report.round, round.number) {
                continue;
            }
            self.withdraw(host, round, from);
        }
        true
    }
    fn withdraw(&mut self, host: HostId, round: &Scheduled, from: u16) {
        for &(_, dst, bytes) in round.by_src[host.at()].iter().filter(|entry| entry.0 >= from) {
            let left = self.demand.get(host, dst).saturating_sub(bytes);
            self.demand.set(host, dst, left);
        }
        let room = self.demand.room(host);
        if room < u64::MAX {
            let coming = round.by_dst[host.at()].iter().filter(|entry| entry.0 >= from);
            let coming: u64 = coming.map(|entry| entry.1).sum();
            self.demand.set_room(host, room.saturating_sub(coming));
        }
    }
    /// The bytes of these assignments wait again.
    pub fn give_back(&mut self, assignments: &[Assignment]) {
        for &Assignment { src, dst, bytes, .. } in assignments {
            self.demand.set(src, dst, self.demand.get(src, dst).saturating_add(bytes));
            let room = self.demand.room(dst);
            self.demand.set_room(dst, room.saturating_add(bytes));
        }
    }
    /// Hosts that have been silent for `timeout` get no slots any more, neither as senders nor as destinations. Returns
    /// their number.
    pub fn sweep(&mut self, timeout: Time, now: Time) -> u64 {
        let mut gone = 0;
        for (host, peer) in (0..).zip(&mut self.peers) {
            if peer.alive && now.since(peer.heard_at) >= timeout {
                peer.alive = false;
                self.demand.clear(HostId(host));
                self.demand.set_room(HostId(host), 0);
                gone += 1;
            }
        }
        gone
    }
    /// A host leaves.
    pub fn leave(&mut self, host: HostId) {
        self.demand.clear(host);
        self.demand.set_room(host, 0);
    }
}
