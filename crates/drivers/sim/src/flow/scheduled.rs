//! A central scheme that chooses paths, driven by counts of flows instead of packets.

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
use std::ops::Range;
use std::sync::Arc;

/// A running scheme.
pub struct Scheduled {
    scheme: PerFlow,
    map: Map,
    next_poll: u64,
    /// The large flows of the last poll, by host.
    large: BTreeMap<HostId, Vec<FlowCount>>,
    /// By connection, the number of its path.
    paths: BTreeMap<u32, u16>,
    /// The decisions, in the order of time.
    decided: Vec<(ConnId, u16)>,
    polls: u64,
    counted: u64,
}

impl Scheduled {
    /// A scheme that begins to poll, in the network of `map`.
    pub fn new(scheme: PerFlow, map: Map) -> Scheduled {
        let next_poll = scheme.poll.as_ps().max(1);
        let (large, paths, decided) = (BTreeMap::new(), BTreeMap::new(), Vec::new());
        Scheduled { scheme, map, next_poll, large, paths, decided, polls: 0, counted: 0 }
    }

    /// The time of the next poll of switches.
    pub fn next_poll(&self) -> u64 {
        self.next_poll
    }

    /// The path that the scheme has chosen for a connection.
    pub fn path(&self, conn: u32) -> Option<u16> {
        self.paths.get(&conn).copied()
    }

    /// The counters of the run.
    pub fn counts(&self) -> Vec<(Counter, u64)> {
        vec![
            (counters::FLOW_DECISIONS, self.decided.len() as u64),
            (counters::FLOW_POLLS, self.polls),
            (counters::LARGE_FLOWS_SEEN, self.counted),
        ]
    }

    /// Whether a poll is due at `now`, in picoseconds. The next one is then due a whole period later.
    pub fn begin_poll(&mut self, now: u64) -> bool {
        let due = self.next_poll <= now;
        if due {
            self.next_poll = now.saturating_add(self.scheme.poll.as_ps().max(1));
        }
        due
    }

    /// Whether a flow is large that sent `bytes` on the wire in `span` over its host's link with the rate `line`.
    pub fn is_large(&self, bytes: f64, line: f64, span: Time) -> bool {
        bytes >= self.scheme.threshold * line / 8.0 * span.as_secs_f64() && bytes > 0.0
    }

    /// Tells the scheme of changed routes.
    pub fn reroute(&mut self, routes: &Arc<Routes>, now: Time) {
        self.map.reroute(routes);
        self.scheme.control.rewire(&self.map.network(), now);
    }

    /// Tells the scheme of a link's changed rate.
    pub fn set_rate(&mut self, end: End, rate: Rate, now: Time) {
        self.map.set_rate(end, rate);
        self.scheme.control.rewire(&self.map.network(), now);
    }

    /// A decision: a connection, and the number of its path.
    pub fn decision(&self, at: usize) -> (ConnId, u16) {
        self.decided[at]
    }

    /// Gives the scheme the large flows since the last poll, and asks for its decisions. Returns when they take effect, and
    /// the places of its decisions.
    pub fn decide(
        &mut self,
        large: BTreeMap<HostId, Vec<FlowCount>>,
        now: Time,
    ) -> (u64, Range<usize>) {
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
        (
            now.after(self.scheme.computing).after(self.scheme.install).as_ps(),
            first..self.decided.len(),
        )
    }
}

impl Engine {
    /// Polls the switches for large flows, and the scheme for decisions, if the poll is due.
    pub(super) fn poll(&mut self) {
        let Some(mut scheduled) = self.scheduled.take() else { return };
        if scheduled.begin_poll(self.now) {
            let large = self.large(&scheduled);
            let (at, new) = scheduled.decide(large, Time::ps(self.now));
            new.for_each(|decision| self.applications.later(at, Due::Install(decision as u32)));
        }
        self.scheduled = Some(scheduled);
    }

    /// The flows that sent more than a share of their host's link rate since the last poll.
    fn large(&mut self, scheduled: &Scheduled) -> BTreeMap<HostId, Vec<FlowCount>> {
        let mut large: BTreeMap<HostId, Vec<FlowCount>> = BTreeMap::new();
        let mut path = Vec::new();
        for (key, conn) in self.senders.all() {
            let bytes = self.senders.count(key, self.rates.left(key));
            self.rates.path(key, &mut path);
            let line = self.fabric.rate(path[0]).0 as f64;
            if scheduled.is_large(bytes, line, scheduled.scheme.poll) {
                let info = &self.plan.traffic.conns[conn as usize];
                let count = FlowCount { conn: ConnId(conn), dst: info.dst, bytes: bytes as u64 };
                large.entry(info.src).or_default().push(count);
            }
        }
        large
    }

    /// Puts a decision into effect.
    pub(super) fn install(&mut self, decision: u32) {
        let Some(scheduled) = &mut self.scheduled else { return };
        let (conn, path) = scheduled.decision(decision as usize);
        scheduled.paths.insert(conn.0, path);
        if let Some(key) = self.senders.key_of(conn.0) {
            self.reroute(key, conn.0);
        }
    }

    /// Notifies the scheme of changed routes.
    pub(super) fn notify_routes(&mut self, routes: &Arc<Routes>) {
        if let Some(scheduled) = &mut self.scheduled {
            scheduled.reroute(routes, Time::ps(self.now));
        }
    }

    /// Notifies the scheme of a link's changed rate.
    pub(super) fn notify_rate(&mut self, end: End, rate: Rate) {
        if let Some(scheduled) = &mut self.scheduled {
            scheduled.set_rate(end, rate, Time::ps(self.now));
        }
    }
}
