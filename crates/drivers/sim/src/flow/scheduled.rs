//! A central scheme that decides about paths, driven without packets.

use super::applications::Due;
use super::engine::Engine;
use slotline_net::id::{ConnId, HostId};
use slotline_net::node::Counter;
use slotline_net::route::Routes;
use slotline_net::scheme::{Decision, FlowCount, Map, News, PerFlow, counters};
use slotline_net::time::Time;
use slotline_net::topology::End;
use slotline_net::units::Rate;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A scheme under way.
pub(super) struct Scheduled {
    scheme: PerFlow,
    map: Map,
    next_poll: u64,
    /// Large flows of the last poll, by host.
    large: BTreeMap<HostId, Vec<FlowCount>>,
    /// By connection, the path it takes.
    paths: BTreeMap<u32, u16>,
    /// Decisions, in the order they were made.
    decided: Vec<(ConnId, u16)>,
    polls: u64,
    counted: u64,
}

impl Scheduled {
    pub fn new(scheme: PerFlow, map: Map) -> Scheduled {
        let next_poll = scheme.poll.as_ps().max(1);
        let (large, paths, decided) = (BTreeMap::new(), BTreeMap::new(), Vec::new());
        Scheduled { scheme, map, next_poll, large, paths, decided, polls: 0, counted: 0 }
    }

    /// When switches are asked next.
    pub fn next_poll(&self) -> u64 {
        self.next_poll
    }

    /// The path that was decided on for a connection.
    pub fn path(&self, conn: u32) -> Option<u16> {
        self.paths.get(&conn).copied()
    }

    /// What was counted over the run.
    pub fn counts(&self) -> Vec<(Counter, u64)> {
        vec![
            (counters::FLOW_DECISIONS, self.decided.len() as u64),
            (counters::FLOW_POLLS, self.polls),
            (counters::LARGE_FLOWS_SEEN, self.counted),
        ]
    }

    /// Tells the scheme what was counted and asks it; when its decisions are in force.
    fn decide(&mut self, large: BTreeMap<HostId, Vec<FlowCount>>, now: Time) -> (u64, usize) {
        let control = &mut self.scheme.control;
        let span = self.scheme.poll;
        let before = std::mem::take(&mut self.large);
        let gone = before.keys().filter(|host| !large.contains_key(host));
        let empty: (&[FlowCount], _) = (&[], ());
        let mut news: Vec<(HostId, &[FlowCount])> = gone.map(|&host| (host, empty.0)).collect();
        news.extend(large.iter().map(|(&host, flows)| (host, &flows[..])));
        news.sort_by_key(|(host, _)| *host);
        for (host, flows) in news {
            self.counted += flows.len() as u64;
            control.observe(&News::Flows { host, span, flows }, now);
        }
        let (mut plan, first) = (Vec::new(), self.decided.len());
        control.decide(now, &mut plan);
        for decision in plan {
            if let Decision::Path { conn, path, .. } = decision {
                self.decided.push((conn, path));
            }
        }
        self.polls += 1;
        self.large = large;
        (now.after(self.scheme.computing).after(self.scheme.install).as_ps(), first)
    }
}

impl Engine {
    /// Asks the switches which flows are large, and the scheme what to do, where it is time.
    pub(super) fn poll(&mut self) {
        let Some(mut scheduled) = self.scheduled.take() else { return };
        if scheduled.next_poll <= self.now {
            scheduled.next_poll = self.now.saturating_add(scheduled.scheme.poll.as_ps().max(1));
            let large = self.large(&scheduled.scheme);
            let (at, first) = scheduled.decide(large, Time::ps(self.now));
            let new = first as u32..scheduled.decided.len() as u32;
            new.for_each(|decision| self.applications.later(at, Due::Install(decision)));
        }
        self.scheduled = Some(scheduled);
    }

    /// Flows that sent more than a share of what their host's link carries since the last poll.
    fn large(&mut self, scheme: &PerFlow) -> BTreeMap<HostId, Vec<FlowCount>> {
        let mut large: BTreeMap<HostId, Vec<FlowCount>> = BTreeMap::new();
        let mut way = Vec::new();
        for (key, conn) in self.senders.all() {
            let bytes = self.senders.count(key, self.rates.left(key));
            self.rates.way(key, &mut way);
            let line = self.fabric.rate(way[0]).0 as f64 / 8.0;
            if bytes >= scheme.threshold * line * scheme.poll.as_secs_f64() && bytes > 0.0 {
                let info = &self.plan.traffic.conns[conn as usize];
                let count = FlowCount { conn: ConnId(conn), dst: info.dst, bytes: bytes as u64 };
                large.entry(info.src).or_default().push(count);
            }
        }
        large
    }

    /// A decision is in force.
    pub(super) fn install(&mut self, decision: u32) {
        let Some(scheduled) = &mut self.scheduled else { return };
        let (conn, path) = scheduled.decided[decision as usize];
        scheduled.paths.insert(conn.0, path);
        if let Some(key) = self.senders.key_of(conn.0) {
            self.reroute(key, conn.0);
        }
    }

    /// Tells the scheme that routes have changed.
    pub(super) fn tell_routes(&mut self, routes: &Arc<Routes>) {
        if let Some(scheduled) = &mut self.scheduled {
            scheduled.map.reroute(routes);
            scheduled.scheme.control.rewire(&scheduled.map.network(), Time::ps(self.now));
        }
    }

    /// Tells the scheme that a link has another rate.
    pub(super) fn tell_rate(&mut self, end: End, rate: Rate) {
        if let Some(scheduled) = &mut self.scheduled {
            scheduled.map.set_rate(end, rate);
            scheduled.scheme.control.rewire(&scheduled.map.network(), Time::ps(self.now));
        }
    }
}
