//! Timeslice scheduling: Algorithm 1 (§3.2.1) for any topology.
//!
//! Events that arrive between two decisions are handled together: the affected set is the union of theirs.
//! Nodes are tried in the order of their waiting time since their last turn, and so are each node's
//! destinations. So successive schedules differ, and long flows take turns. That alone would starve a pair
//! whose links are never free at the same time. Therefore the pair that waits longest claims its path: links
//! take on no new pair that leaves no room for it, until it has had its turn.
//!
//! With max-min fairness turns are not equal. A pair's next turn is due when what it has sent would have been
//! sent at its max-min fair share, all V2V flows counted, and the pair that is due first comes first (virtual
//! clocks). A pair that is behind may catch up with a few turns, not more.
//!
//! An event affects the pairs that contend for a link that cannot carry all of them at once, and the host
//! that it is about. No other pair can be blocked, so nothing changes for others.
//!
//! A node never loads a link with more than the narrowest link of its path can carry. A window states that
//! rate if it is below the rate of the node's own link (the hybrid of §7), so that a fast host behind a
//! slow link can be scheduled at all.

use super::affected::Affected;
use super::demand::{Affects, Demand};
use super::max_min::MaxMin;
use crate::spec::{Fairness, Xco};
use slotline_net::id::HostId;
use slotline_net::scheme::network::Network;
use slotline_net::scheme::{Control, Decision, News, Plan};
use slotline_net::time::Time;
use slotline_net::units::Rate;
use std::collections::VecDeque;

#[derive(Clone, Default)]
struct Node {
    /// The pair that it sends for, if it has a timeslice.
    active: Option<u32>,
    /// When it began to send to this destination.
    since: Time,
    /// End of the timeslice.
    ends: Time,
    /// The decision in which it was last sent a directive.
    notified: u64,
    /// Whether its report has to be answered.
    needs_answer: bool,
}

#[derive(Clone, Copy)]
struct Link {
    /// The rate of the line, in bits per second.
    line: u64,
    capacity: u64,
    /// The sum of the rates of its active contention group.
    load: u64,
    /// The rate that the claim reserves.
    reserved: u64,
}

impl Link {
    /// The idle links of a network.
    fn all(network: &Network) -> Vec<Link> {
        let rates = network.lines().iter().zip(network.capacity());
        rates
            .map(|(line, rate)| Link { line: line.0, capacity: rate.0, load: 0, reserved: 0 })
            .collect()
    }
}

/// XCo's timeslice scheduler.
pub struct Timeslice {
    slice: Time,
    /// By host, the length of its timeslices.
    slices: Vec<Time>,
    /// The longest of them.
    longest: Time,
    guard: Time,
    protect: Time,
    demand: Demand,
    nodes: Vec<Node>,
    links: Vec<Link>,
    claim: Option<u32>,
    /// When to search for a pair that needs a claim.
    next_search: Time,
    /// Hosts whose report has to be answered.
    unanswered: Vec<HostId>,
    /// The ends of timeslices in order, with their hosts. Some are outdated.
    ends: VecDeque<(Time, HostId)>,
    /// The affected set of the present decision, by ticket.
    affected: Affected,
    decision: u64,
    turns: Turns,
}

/// The order of turns.
enum Turns {
    /// The pair that waits longest comes first. The number counts the tickets drawn so far.
    Waiting(u64),
    /// The pair that is furthest behind its fair share comes first. The fields are the shares, the version of
    /// the demand for which they were computed, and the time of the next computation.
    Fair { shares: MaxMin, version: u64, again: Time },
}

impl Timeslice {
    /// Makes a scheduler for `network`.
    pub fn new(options: &Xco, network: Network) -> Timeslice {
        let spec = options.spec();
        let weights = options.weights(network.hosts());
        // With max-min fairness, weights determine how often a host has its turn.
        let longer = spec.fairness == Fairness::RoundRobin;
        let of = |&weight: &u32| spec.slice.times(if longer { weight.into() } else { 1 });
        let slices: Vec<Time> = weights.iter().map(of).collect();
        Timeslice {
            slice: spec.slice,
            longest: slices.iter().copied().max().unwrap_or(spec.slice),
            slices,
            guard: spec.guard,
            protect: spec.protect(),
            nodes: vec![Node::default(); network.hosts()],
            links: Link::all(&network),
            claim: None,
            next_search: Time::ZERO,
            unanswered: Vec::new(),
            ends: VecDeque::new(),
            affected: Affected::new(network.hosts()),
            decision: 0,
            turns: match spec.fairness {
                Fairness::RoundRobin => Turns::Waiting(0),
                Fairness::MaxMin => {
                    Turns::Fair { shares: MaxMin::default(), version: 0, again: Time::ZERO }
                }
            },
            demand: Demand::new(network, weights, Affects::Contended),
        }
    }

    fn report(&mut self, host: HostId, destinations: &[HostId], flows: &[u32], now: Time) {
        let changes = self.demand.compare(host, destinations, flows);
        changes.gone.into_iter().for_each(|id| self.remove(id));
        for (dst, flows) in changes.new {
            let ticket = self.turns.first(now);
            self.demand.add(host, dst, flows, ticket, now);
        }
    }
    /// Removes a pair. If it was active, this counts as a slice given back.
    fn remove(&mut self, id: u32) {
        let src = self.demand.pair(id).src;
        if self.nodes[src.at()].active == Some(id) {
            self.demand.touch_all(src);
            self.remove_load(src.at());
            self.nodes[src.at()].active = None;
        }
        self.release_claim(id);
        self.demand.remove(id);
    }
    /// Takes the load of a node's active pair off its path.
    fn remove_load(&mut self, node: usize) {
        if let Some(id) = self.nodes[node].active {
            let rate = self.demand.pair(id).rate;
            self.demand.path(id).for_each(|link| self.links[link].load -= rate);
        }
    }
    fn add_load(&mut self, id: u32) {
        let rate = self.demand.pair(id).rate;
        self.demand.path(id).for_each(|link| self.links[link].load += rate);
    }
    /// The feasibility condition (1), with room for the claim.
    fn fits(&self, id: u32) -> bool {
        let rate = self.demand.pair(id).rate;
        let claimant = self.claim == Some(id);
        // A link that may not be used at all has no rate.
        rate > 0
            && self.demand.path(id).all(|at| {
                let Link { capacity, load, reserved, .. } = self.links[at];
                let reserved = if claimant { 0 } else { reserved };
                load + reserved + rate <= capacity
            })
    }

    /// Whether no pair of a host fits, because there is no room on links that all of them need.
    fn is_stuck(&mut self, host: HostId) -> bool {
        let common = self.demand.common(host);
        let full = |&link: &u32| {
            let Link { capacity, load, reserved, .. } = self.links[link as usize];
            load + reserved + common.least > capacity
        };
        let claims = self.claim.is_some_and(|id| self.demand.pair(id).src == host);
        !claims && common.links().iter().any(full)
    }

    /// Sets the next turn of a pair, which has sent since its node's `since`.
    fn finish(&mut self, id: u32, now: Time) {
        let pair = self.demand.pair(id);
        let held = now.since(self.nodes[pair.src.at()].since);
        let ticket = match &mut self.turns {
            Turns::Waiting(tickets) => {
                *tickets += 1;
                *tickets
            }
            Turns::Fair { .. } => {
                let late = now.since(self.patience(id)).as_ps();
                let charge =
                    u128::from(held.as_ps()) * u128::from(pair.rate) / u128::from(pair.share);
                pair.ticket.max(late).saturating_add(charge as u64)
            }
        };
        self.demand.waits(id, ticket, now);
    }
    /// Handles scheduling event 1: timeslices that are over.
    fn expire(&mut self, now: Time) {
        let mut over = Vec::new();
        while let Some((_, host)) = self.ends.pop_front_if(|(ends, _)| *ends <= now) {
            let node = &self.nodes[host.at()];
            over.extend(node.active.filter(|_| node.ends <= now));
        }
        over.sort_unstable_by_key(|&id| (self.demand.pair(id).ticket, id));
        over.dedup();
        for id in over {
            let src = self.demand.pair(id).src;
            self.demand.touch_all(src);
            self.finish(id, now);
            self.remove_load(src.at());
            self.nodes[src.at()].active = None;
        }
    }
    /// The pair of a node that is first in turn.
    fn first(&self, host: HostId) -> Option<u32> {
        let active = self.nodes[host.at()].active;
        self.demand.backlog(host).iter().copied().find(|&id| active != Some(id))
    }
    /// Adds touched hosts and the contention groups of touched links to the affected set. Nodes that are
    /// scheduled already, and those that have been active for too short a time, are left out.
    fn affect(&mut self, now: Time) {
        while let Some(host) = self.demand.untouch_host() {
            // A host may have been touched for demand that is gone.
            if !self.demand.backlog(host).is_empty() {
                self.consider(host, now);
            }
        }
        while let Some(link) = self.demand.untouch() {
            // Often the first of many links already adds all hosts.
            if self.affected.considered() == self.demand.busy() {
                continue;
            }
            for at in 0..self.demand.links()[link].contenders.len() {
                self.consider(self.demand.links()[link].contenders[at].src, now);
            }
        }
    }
    #[inline]
    fn consider(&mut self, src: HostId, now: Time) {
        if !self.affected.begin(src) {
            return;
        }
        let node = &self.nodes[src.at()];
        let protected = node.active.is_some() && now.since(node.since) < self.protect;
        if let Some(first) = self.first(src).filter(|_| !protected) {
            self.affected.add(self.demand.pair(first).ticket, src);
        }
    }
    /// Tries to find a destination for an affected node.
    fn schedule(&mut self, host: HostId, now: Time, plan: &mut Plan) {
        let old = self.nodes[host.at()].active;
        self.remove_load(host.at());
        let stuck = self.is_stuck(host);
        debug_assert!(!stuck || !self.demand.backlog(host).iter().any(|&id| self.fits(id)));
        let backlog = if stuck { &[] } else { self.demand.backlog(host) };
        let mut others = backlog.iter().copied().filter(|&id| old != Some(id));
        let Some(id) = others.find(|&id| self.fits(id)).or(old) else {
            self.affected.allow(host);
            return;
        };
        self.add_load(id);
        if old == Some(id) {
            return;
        }
        if let Some(old) = old {
            self.demand.touch(old);
            self.finish(old, now);
        }
        self.permit(host, id, now, old.is_some());
        self.notify(host, now, plan);
    }
    /// Lets a node send for another pair. A node that is pre-empted does so within its timeslice.
    fn permit(&mut self, host: HostId, id: u32, now: Time, preempted: bool) {
        let node = &mut self.nodes[host.at()];
        node.active = Some(id);
        node.since = now;
        if !preempted {
            node.ends = now.after(self.slices[host.at()]);
            let place = self.ends.partition_point(|(ends, _)| *ends <= node.ends);
            self.ends.insert(place, (node.ends, host));
        }
        self.release_claim(id);
    }
    fn notify(&mut self, host: HostId, now: Time, plan: &mut Plan) {
        self.nodes[host.at()].notified = self.decision;
        plan.push(self.window(host, now));
    }
    /// The window of a node now.
    fn window(&self, src: HostId, now: Time) -> Decision {
        let node = &self.nodes[src.at()];
        let Some(id) = node.active else {
            return Decision::Window { src, dst: None, until: now, rate: None };
        };
        let until = now.after(node.ends.since(now).since(self.guard));
        let dst = Some(self.demand.pair(id).dst);
        Decision::Window { src, dst, until, rate: self.limit(id) }
    }
    /// The rate limit of a pair. `None`: it may use the full rate of its host's link.
    fn limit(&self, id: u32) -> Option<Rate> {
        let rate = self.demand.pair(id).rate;
        let uplink = self.demand.path(id).next().map(|link| self.links[link].line);
        (uplink > Some(rate)).then_some(Rate(rate))
    }
    /// Every report is answered, so that silence means that the controller is gone (§7).
    fn answer(&mut self, now: Time, plan: &mut Plan) {
        let mut unanswered = std::mem::take(&mut self.unanswered);
        for host in unanswered.drain(..) {
            self.nodes[host.at()].needs_answer = false;
            if self.nodes[host.at()].notified != self.decision {
                self.notify(host, now, plan);
            }
        }
        self.unanswered = unanswered;
    }
    fn request_answer(&mut self, host: HostId) {
        if !std::mem::replace(&mut self.nodes[host.at()].needs_answer, true) {
            self.unanswered.push(host);
        }
    }

    /// Makes a claim for the pair that is first in turn among those that starve: they have waited for more
    /// than twice as long as taking turns on their busiest link would take. Searches at most once a slice.
    fn claim(&mut self, now: Time) {
        if self.claim.is_some() || now < self.next_search {
            return;
        }
        self.next_search = now.after(self.slice);
        let hosts = (0..self.nodes.len()).map(|at| HostId(at as u32));
        let starving =
            hosts.filter_map(|host| self.first(host)).filter(|&id| self.starves(id, now));
        self.claim = starving.min_by_key(|&id| self.demand.pair(id).ticket);
        if let Some(id) = self.claim {
            let rate = self.demand.pair(id).rate;
            self.demand.path(id).for_each(|link| self.links[link].reserved += rate);
        }
    }
    fn starves(&self, id: u32, now: Time) -> bool {
        // For a pair that has waited for less than two slices, the division in `patience` is not needed.
        let waited = now.since(self.demand.pair(id).since);
        let pair = self.demand.pair(id);
        pair.rate > 0 && waited > self.longest.times(2) && waited > self.patience(id)
    }
    fn patience(&self, id: u32) -> Time {
        let links = self.demand.path(id).map(|link| &self.demand.links()[link]);
        let turns = links.map(|link| link.offered.div_ceil(link.capacity.max(1))).max();
        self.longest.times(2 * turns.unwrap_or(0))
    }
    /// Ends the claim of a pair that is served or gone.
    fn release_claim(&mut self, id: u32) {
        if self.claim == Some(id) {
            self.claim = None;
            let rate = self.demand.pair(id).rate;
            self.demand.path(id).for_each(|link| self.links[link].reserved -= rate);
        }
    }
}

impl Turns {
    /// The ticket of a new pair.
    fn first(&mut self, now: Time) -> u64 {
        match self {
            Turns::Fair { .. } => now.as_ps(),
            Turns::Waiting(tickets) => {
                *tickets += 1;
                *tickets
            }
        }
    }
    /// Computes the fair shares again if demand has changed, at most once in `interval`.
    fn refresh(&mut self, demand: &mut Demand, interval: Time, now: Time) {
        let Turns::Fair { shares, version, again } = self else { return };
        if *version != demand.version() && now >= *again {
            shares.share(demand);
            (*version, *again) = (demand.version(), now.after(interval));
        }
    }
}

impl Control for Timeslice {
    fn observe(&mut self, news: &News<'_>, now: Time) {
        let host = news.host();
        if host.at() >= self.nodes.len() {
            return;
        }
        match *news {
            News::Load { .. } | News::Flows { .. } => {}
            News::Joined(_) | News::Left(_) => self.report(host, &[], &[], now),
            News::Backlog { destinations, flows, .. } => {
                self.report(host, destinations, flows, now);
                self.request_answer(host);
            }
            News::Released { dst, .. } => {
                self.demand.find(host, dst).into_iter().for_each(|id| self.remove(id));
            }
        }
    }

    fn decide(&mut self, now: Time, plan: &mut Plan) -> Option<Time> {
        self.decision += 1;
        self.turns.refresh(&mut self.demand, self.slice, now);
        self.expire(now);
        self.affected.clear();
        self.affect(now);
        while let Some(host) = self.affected.next() {
            self.schedule(host, now, plan);
            self.affect(now);
        }
        self.claim(now);
        self.answer(now, plan);
        let nodes = &self.nodes;
        let over = |(ends, host): &mut (Time, HostId)| {
            let node = &nodes[host.at()];
            node.active.is_none() || node.ends != *ends
        };
        while self.ends.pop_front_if(over).is_some() {}
        self.ends.front().map(|(ends, _)| *ends)
    }

    /// A pair whose path has changed or has no room stops sending, and its host is informed.
    fn rewire(&mut self, network: &Network, _now: Time) {
        let active: Vec<u32> = self.nodes.iter().filter_map(|node| node.active).collect();
        let path = |demand: &Demand, id: u32| demand.path(id).collect::<Vec<_>>();
        let before: Vec<_> = active
            .iter()
            .map(|&id| {
                let pair = self.demand.pair(id);
                ((pair.src, pair.dst), self.limit(id), path(&self.demand, id))
            })
            .collect();
        self.claim.into_iter().for_each(|id| self.release_claim(id));
        self.demand.rewire(network);
        self.links = Link::all(network);
        for ((src, dst), limit, path) in before {
            let found = self.demand.find(src, dst);
            let same = |&id: &u32| self.demand.path(id).eq(path.iter().copied()) && self.fits(id);
            let still = found.filter(same);
            self.nodes[src.at()].active = still;
            still.into_iter().for_each(|id| self.add_load(id));
            if still.is_none_or(|id| self.limit(id) != limit) {
                self.request_answer(src);
            }
        }
    }

    fn flows(&self, link: u32) -> u64 {
        self.demand.links()[link as usize].flows
    }
}

#[cfg(test)]
#[path = "timeslice_tests.rs"]
mod tests;
