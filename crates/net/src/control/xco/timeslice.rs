//! Timeslice scheduling: Algorithm 1 (§3.2.1) for any topology.
//!
//! Events that arrive between two decisions are handled together: the affected set is the union of
//! theirs. Nodes are tried by how long they wait since their last turn, and so are each node's
//! destinations: successive schedules differ, and long flows take turns. Where that alone would
//! starve a pair (its links never are free at the same time), the pair that waits longest lays claim
//! to its path: links take on nothing new that leaves no room for it, until it has had its turn.
//!
//! A node never loads a link with more than the narrowest link of its path can carry: a window
//! names that rate where it is below the node's own link (the hybrid of §7), so that a fast host
//! behind a slow link can be scheduled at all.

use super::Xco;
use super::demand::Demand;
use crate::control::network::Network;
use crate::control::{Control, Decision, News, Plan};
use crate::id::HostId;
use crate::time::Time;
use crate::units::Rate;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

#[derive(Clone, Default)]
struct Node {
    /// The pair it sends for, if it is in a timeslice.
    active: Option<u32>,
    /// Start of sending to this destination.
    since: Time,
    /// End of the timeslice.
    ends: Time,
    /// The decision in which it was last scheduled.
    scheduled: u64,
    /// Whether it is in the affected set.
    affected: bool,
}

#[derive(Clone, Copy, Default)]
struct Link {
    /// Sum of the rates of its active contention group.
    load: u64,
    /// What the claim keeps free.
    kept: u64,
}

/// XCo's timeslice scheduler.
pub struct Timeslice {
    slice: Time,
    guard: Time,
    protect: Time,
    demand: Demand,
    nodes: Vec<Node>,
    links: Vec<Link>,
    claim: Option<u32>,
    /// Hosts whose report has to be answered.
    unanswered: Vec<HostId>,
    /// Affected set of the decision being made, by ticket.
    affected: BinaryHeap<Reverse<(u64, u32)>>,
    decision: u64,
}

impl Timeslice {
    /// A scheduler for `network`.
    pub fn new(options: &Xco, network: Network) -> Timeslice {
        let spec = options.spec();
        Timeslice {
            slice: spec.slice,
            guard: spec.guard,
            protect: spec.protect(),
            nodes: vec![Node::default(); network.hosts()],
            links: vec![Link::default(); network.capacity().len()],
            claim: None,
            unanswered: Vec::new(),
            affected: BinaryHeap::new(),
            decision: 0,
            demand: Demand::new(network),
        }
    }

    fn report(&mut self, host: HostId, destinations: &[HostId], now: Time) {
        let (gone, new) = self.demand.compare(host, destinations);
        gone.into_iter().for_each(|id| self.remove(id));
        new.into_iter().for_each(|dst| self.demand.add(host, dst, now));
    }
    /// Forgets a pair; if it was active, its node's event is that of a slice given back.
    fn remove(&mut self, id: u32) {
        let src = self.demand.pair(id).src;
        if self.nodes[src.at()].active == Some(id) {
            self.demand.touch_all(src);
            self.lift(src.at());
            self.nodes[src.at()].active = None;
        }
        self.settle(id);
        self.demand.remove(id);
    }
    /// Takes the load of a node's active pair off its path.
    fn lift(&mut self, node: usize) {
        if let Some(id) = self.nodes[node].active {
            let rate = self.demand.pair(id).rate;
            self.demand.path(id).for_each(|link| self.links[link].load -= rate);
        }
    }
    fn place(&mut self, id: u32) {
        let rate = self.demand.pair(id).rate;
        self.demand.path(id).for_each(|link| self.links[link].load += rate);
    }
    /// The feasibility condition (1), with room for the claim.
    fn fits(&self, id: u32) -> bool {
        let rate = self.demand.pair(id).rate;
        let claimant = self.claim == Some(id);
        self.demand.path(id).all(|at| {
            let Link { load, kept } = self.links[at];
            let kept = if claimant { 0 } else { kept };
            load + kept + rate <= self.demand.links()[at].capacity
        })
    }

    /// Scheduling event 1: timeslices that are over.
    fn expire(&mut self, now: Time) {
        let over = self.nodes.iter().filter(|node| node.ends <= now);
        let mut over: Vec<u32> = over.filter_map(|node| node.active).collect();
        over.sort_unstable_by_key(|&id| self.demand.pair(id).ticket);
        for id in over {
            let src = self.demand.pair(id).src;
            self.demand.touch_all(src);
            self.demand.waits(id, now);
            self.lift(src.at());
            self.nodes[src.at()].active = None;
        }
    }
    /// The pair of a node that has waited longest.
    fn first(&self, host: HostId) -> Option<u32> {
        let active = self.nodes[host.at()].active;
        self.demand.backlog(host).iter().copied().find(|&id| active != Some(id))
    }
    /// Adds the contention groups of touched links to the affected set: without nodes that are
    /// scheduled already, and those that are active since too short a time.
    fn affect(&mut self, now: Time) {
        while let Some(link) = self.demand.untouch() {
            for at in 0..self.demand.links()[link].contenders.len() {
                let src = self.demand.pair(self.demand.links()[link].contenders[at]).src;
                let node = &self.nodes[src.at()];
                let protected = node.active.is_some() && now.since(node.since) < self.protect;
                if protected || node.affected || node.scheduled == self.decision {
                    continue;
                }
                if let Some(first) = self.first(src) {
                    self.nodes[src.at()].affected = true;
                    self.affected.push(Reverse((self.demand.pair(first).ticket, src.0)));
                }
            }
        }
    }
    /// Tries to find an affected node a destination.
    fn schedule(&mut self, host: HostId, now: Time, plan: &mut Plan) {
        let old = self.nodes[host.at()].active;
        self.lift(host.at());
        let mut others = self.demand.backlog(host).iter().copied().filter(|&id| old != Some(id));
        let Some(id) = others.find(|&id| self.fits(id)).or(old) else {
            return;
        };
        self.place(id);
        self.nodes[host.at()].scheduled = self.decision;
        if old == Some(id) {
            return;
        }
        if let Some(old) = old {
            self.demand.touch(old);
            self.demand.waits(old, now);
        }
        self.permit(host, id, now, old.is_some());
        plan.push(self.window(host, now));
    }
    /// A node starts to send for another pair; one that is pre-empted does so within its timeslice.
    fn permit(&mut self, host: HostId, id: u32, now: Time, preempted: bool) {
        let node = &mut self.nodes[host.at()];
        node.active = Some(id);
        node.since = now;
        if !preempted {
            node.ends = now.after(self.slice);
        }
        self.settle(id);
    }
    /// What a node may do now.
    fn window(&self, src: HostId, now: Time) -> Decision {
        let node = &self.nodes[src.at()];
        let Some(id) = node.active else {
            return Decision::Window { src, dst: None, until: now, rate: None };
        };
        let pair = self.demand.pair(id);
        let uplink = self.demand.path(id).next().map(|link| self.demand.links()[link].capacity);
        let rate = (uplink > Some(pair.rate)).then_some(Rate(pair.rate));
        let until = now.after(node.ends.since(now).since(self.guard));
        Decision::Window { src, dst: Some(pair.dst), until, rate }
    }
    /// Every report is answered, so that silence means that the controller is gone (§7).
    fn answer(&mut self, now: Time, plan: &mut Plan) {
        let mut unanswered = std::mem::take(&mut self.unanswered);
        for host in unanswered.drain(..) {
            let told = plan.iter().any(|decision| decision.host() == host);
            if !told {
                plan.push(self.window(host, now));
            }
        }
        self.unanswered = unanswered;
    }

    /// Lays claim for the pair that waits longest, if it has waited for twice as long as taking
    /// turns on its busiest link would take.
    fn claim(&mut self, now: Time) {
        if self.claim.is_some() {
            return;
        }
        let hosts = (0..self.nodes.len()).map(|at| HostId(at as u32));
        let waiting = hosts.filter_map(|host| self.first(host));
        let starving =
            waiting.filter(|&id| now.since(self.demand.pair(id).since) > self.patience(id));
        self.claim = starving.min_by_key(|&id| self.demand.pair(id).ticket);
        if let Some(id) = self.claim {
            let rate = self.demand.pair(id).rate;
            self.demand.path(id).for_each(|link| self.links[link].kept += rate);
        }
    }
    fn patience(&self, id: u32) -> Time {
        let links = self.demand.path(id).map(|link| &self.demand.links()[link]);
        let turns = links.map(|link| link.wanted.div_ceil(link.capacity.max(1))).max();
        self.slice.times(2 * turns.unwrap_or(0))
    }
    /// A pair is served or gone: it needs no claim any more.
    fn settle(&mut self, id: u32) {
        if self.claim == Some(id) {
            self.claim = None;
            let rate = self.demand.pair(id).rate;
            self.demand.path(id).for_each(|link| self.links[link].kept -= rate);
        }
    }
}

impl Control for Timeslice {
    fn observe(&mut self, news: &News<'_>, now: Time) {
        let (News::Joined(host)
        | News::Left(host)
        | News::Backlog { host, .. }
        | News::Released { host, .. }) = *news;
        if host.at() >= self.nodes.len() {
            return;
        }
        match *news {
            News::Joined(_) | News::Left(_) => self.report(host, &[], now),
            News::Backlog { destinations, .. } => {
                self.report(host, destinations, now);
                self.unanswered.push(host);
            }
            News::Released { dst, .. } => {
                self.demand.find(host, dst).into_iter().for_each(|id| self.remove(id));
            }
        }
    }

    fn decide(&mut self, now: Time, plan: &mut Plan) -> Option<Time> {
        self.decision += 1;
        self.expire(now);
        self.affect(now);
        while let Some(Reverse((_, host))) = self.affected.pop() {
            self.nodes[host as usize].affected = false;
            self.schedule(HostId(host), now, plan);
            self.affect(now);
        }
        self.claim(now);
        self.answer(now, plan);
        self.nodes.iter().filter(|node| node.active.is_some()).map(|node| node.ends).min()
    }
}

#[cfg(test)]
#[path = "timeslice_tests.rs"]
mod tests;
