//! The event loop of the flow-level engine.

use super::ahead::Ahead;
use super::applications::{Applications, Due};
use super::fabric::Fabric;
use super::flow_paths::FlowPath;
use super::maxmin::FlowKey;
use super::network::{FlowNetwork, FlowOutcome, Passage};
use super::path_choice::PathChoice;
use super::rates::Rates;
use super::scheduled::Scheduled;
use super::senders::{Sender, Senders};
use crate::engine::Options;
use crate::parallel::Watch;
use slotline_net::id::NodeId;
use slotline_net::node::Change;
use slotline_net::node::host::Plan;
use slotline_net::order::ascending_large;
use slotline_net::samples::Samples;
use slotline_net::scheme::Map;
use slotline_net::time::Time;
use slotline_net::topology::End;
use slotline_net::workload::{Carrier, When};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Runs `network` to its end, on the calling thread.
///
/// # Panics
/// The byte counts do not balance: that is an error of this program.
pub fn run(network: FlowNetwork, options: Options, watch: &Watch) -> FlowOutcome {
    let mut engine = Engine::new(network, options);
    engine.begin();
    engine.go(watch);
    engine.finish(watch)
}

/// The number of steps between two checks whether the run must stop.
const LOOK_EVERY: u64 = 1024;

/// A running simulation.
pub(super) struct Engine {
    pub(super) plan: Arc<Plan>,
    pub(super) fabric: Fabric,
    pub(super) path_choice: PathChoice,
    pub(super) rates: Rates,
    pub(super) now: u64,
    pub(super) applications: Applications,
    pub(super) senders: Senders,
    /// The flows that have sent their last byte by now, in reverse order.
    ended: Vec<FlowKey>,
    pub(super) flows: Vec<Passage>,
    pub(super) scheduled: Option<Scheduled>,
    /// The path under consideration. If flows are spread, `shares` are those of its links.
    pub(super) path: Vec<u32>,
    pub(super) shares: Vec<f64>,
    pub(super) completed: u64,
    pub(super) events: u64,
    pub(super) samples: Samples,
    store_and_forward: bool,
    weights: [f64; slotline_net::frame::CLASSES],
    /// The flows that start at a given time, with these times, in order.
    pub(super) starts: Vec<(Time, u32)>,
    pub(super) next_start: usize,
    pub(super) ahead: Ahead,
    timeline: Vec<(u64, NodeId, Change)>,
    next_change: usize,
    sampled: Vec<u32>,
    interval: u64,
    next_sample: u64,
    next_tick: u64,
    /// Whether rates must be computed again.
    unsolved: bool,
    /// See [`super::network::Volume`].
    pub(super) missed: f64,
    pub(super) roundable: f64,
    options: Options,
}

impl Engine {
    fn new(network: FlowNetwork, options: Options) -> Engine {
        let fabric = Fabric::new(&network.graph, Arc::clone(&network.routes));
        let path_choice = PathChoice::new(&network, &fabric);
        let FlowNetwork { graph, plan, routes, timeline, sampled, interval, .. } = network;
        let capacities = path_choice.capacities(&fabric);
        let mut timeline: Vec<_> =
            timeline.into_iter().map(|(at, node, change)| (at.as_ps(), node, change)).collect();
        timeline.sort_by_key(|(at, ..)| *at);
        let (nodes, hosts) = (graph.nodes.len(), graph.hosts.len());
        let map = || Map::new(nodes, hosts, fabric.wiring(), &routes, network.seed);
        let scheduled = network.scheduler.map(|scheme| Scheduled::new(scheme, map()));
        let next_sample = if interval > Time::ZERO { interval.as_ps() } else { u64::MAX };
        Engine {
            rates: Rates::new(network.model, &capacities, network.seed, path_choice.are_spread()),
            path_choice,
            now: 0,
            applications: Applications::new(&plan),
            senders: Senders::new(plan.traffic.conns.len(), capacities.len()),
            ended: Vec::new(),
            flows: vec![Passage::NEVER; plan.traffic.flows.len()],
            scheduled,
            path: Vec::new(),
            shares: Vec::new(),
            completed: 0,
            events: 0,
            samples: Samples::of_ports(0..sampled.len() as u32),
            store_and_forward: network.store_and_forward,
            weights: network.weights,
            starts: starts(&plan),
            next_start: 0,
            ahead: Ahead::default(),
            timeline,
            next_change: 0,
            sampled: sampled.iter().map(|(node, port)| fabric.link(*node, *port)).collect(),
            interval: interval.as_ps(),
            next_sample,
            next_tick: u64::MAX,
            unsolved: false,
            missed: 0.0,
            roundable: 0.0,
            options,
            plan,
            fabric,
        }
    }

    fn begin(&mut self) {
        let steps = (0..).zip(&self.plan.traffic.steps);
        for (step, start) in steps.map(|(id, step)| (id, step.start)) {
            if let slotline_net::workload::Start::At(at) = start {
                self.applications.later(at.as_ps(), Due::Ready(step));
            }
        }
    }

    fn go(&mut self, watch: &Watch) {
        while let Some(next) = self.next_time() {
            if next >= self.options.end.as_ps() {
                self.now = self.options.end.as_ps();
                break;
            }
            self.now = next;
            self.rates.advance(next);
            self.turn();
            self.events += 1;
            if self.completed >= self.options.completions {
                break;
            }
            if self.events.is_multiple_of(LOOK_EVERY) {
                watch.reached.store(self.now, Ordering::Relaxed);
                watch.completed.store(self.completed, Ordering::Relaxed);
                if watch.cancel.load(Ordering::Relaxed) {
                    break;
                }
            }
        }
    }

    /// The time of the next event, if there is one that can change the result.
    fn next_time(&mut self) -> Option<u64> {
        let flow = self.rates.next_end().unwrap_or(u64::MAX);
        let start = self.starts.get(self.next_start);
        let start = start.map_or(u64::MAX, |(at, _)| at.as_ps());
        let change = self.timeline.get(self.next_change).map_or(u64::MAX, |(at, ..)| *at);
        let due = self.applications.next().unwrap_or(u64::MAX);
        let active = self.senders.active() > 0;
        let tick = if active { self.next_tick } else { u64::MAX };
        let next = flow.min(start).min(change).min(due).min(tick);
        let poll = self.scheduled.as_ref().map_or(u64::MAX, Scheduled::next_poll);
        let timed = self.options.end < Time::MAX && self.options.completions == u64::MAX;
        let alive = next < u64::MAX || timed || (active && self.scheduled.is_some());
        let regular = self.next_sample.min(poll).min(self.path_choice.next());
        let others = if alive { regular } else { u64::MAX };
        let next = next.min(others);
        if next == u64::MAX && timed {
            self.now = self.options.end.as_ps();
        }
        (next < u64::MAX).then_some(next)
    }

    /// Handles all events of the current time.
    fn turn(&mut self) {
        while self.change() || self.sent() || self.due() || self.start() {}
        if self.next_sample <= self.now {
            self.sample();
        }
        self.rearrange();
        self.poll();
        self.find_rates();
    }

    fn find_rates(&mut self) {
        match &mut self.rates {
            Rates::MaxMin(rates) if self.unsolved => rates.solve(),
            Rates::Spread(rates) if self.unsolved => rates.solve(),
            Rates::MaxMin(_) | Rates::Spread(_) => {}
            Rates::Aimd(rates) => {
                let (tick, now) = (rates.aimd.tick_length().as_ps(), self.now);
                if self.next_tick == u64::MAX && !rates.aimd.is_empty() {
                    self.next_tick = now.div_ceil(tick) * tick;
                }
                if self.next_tick <= now {
                    rates.tick();
                    self.next_tick = now + tick;
                }
                if rates.aimd.is_empty() {
                    self.next_tick = u64::MAX;
                }
            }
        }
        self.unsolved = false;
    }

    fn start(&mut self) -> bool {
        let next = self.starts.get(self.next_start).copied();
        let due = next.filter(|(at, _)| at.as_ps() <= self.now);
        let Some((_, flow)) = due else { return false };
        self.look_ahead();
        self.next_start += 1;
        self.start_flow(flow);
        self.ahead.pass();
        true
    }

    fn due(&mut self) -> bool {
        let due = self.applications.take(self.now);
        due.into_iter().for_each(|due| self.happen(due));
        due.is_some()
    }

    /// Starts a flow. It is sent when the earlier flows of its connection have been sent.
    pub(super) fn start_flow(&mut self, flow: u32) {
        self.flows[flow as usize].started = Time::ps(self.now);
        let conn = self.plan.traffic.flows[flow as usize].conn;
        if self.senders.is_idle(conn.0) && self.next_of(conn.0) == Some(flow) {
            self.send(conn.0);
        }
    }

    /// The flow that `conn` sends next, whether it has begun or not.
    fn next_of(&self, conn: u32) -> Option<u32> {
        let info = &self.plan.traffic.conns[conn as usize];
        let sent = self.senders.sent(conn);
        (sent < info.count).then_some(info.first.0 + sent)
    }

    /// Sends the next flow of `conn`, which has begun.
    pub(super) fn send(&mut self, conn: u32) {
        let Some(flow) = self.next_of(conn) else { return };
        self.begin_burst(conn);
        self.find_path(conn);
        if self.path.is_empty() {
            return self.senders.wait_for_path(conn);
        }
        let info = &self.plan.traffic.conns[conn as usize];
        let cap = self.cap(conn);
        let weight = self.weights[usize::from(info.class)];
        let (wire, _) = self.plan.wire_bytes(flow);
        let key = self.rates.insert(
            FlowPath { links: &self.path, shares: &self.shares },
            weight,
            cap,
            wire as f64,
        );
        self.senders.put(key, Sender::new(conn, flow, wire));
        self.unsolved = true;
        if let Carrier::Udp { on, off, .. } = info.carrier
            && off > Time::ZERO
        {
            self.applications.later(self.now.saturating_add(on.as_ps()), Due::Pause(conn));
        }
    }

    /// The rate of datagrams, in bytes per second.
    pub(super) fn cap(&self, conn: u32) -> f64 {
        match self.plan.traffic.conns[conn as usize].carrier {
            Carrier::Tcp => f64::INFINITY,
            Carrier::Udp { rate, .. } => rate.0 as f64 / 8.0,
        }
    }

    /// Returns whether a flow has sent its last byte by now. If so, it has been handled.
    fn sent(&mut self) -> bool {
        if self.ended.is_empty() {
            self.rates.ended(&mut self.ended);
            self.ended.sort_unstable_by(|one, other| other.cmp(one));
            if !self.ended.is_empty() {
                self.look_at_next_sent();
            }
        }
        let Some(key) = self.ended.pop() else { return false };
        let Sender { conn, flow, .. } = *self.senders.of(key);
        self.all_sent(flow, key);
        let next = self.senders.complete(conn);
        let info = &self.plan.traffic.conns[conn as usize];
        let next = (next < info.count).then_some(info.first.0 + next);
        match next.filter(|&next| self.flows[next as usize].started < Time::MAX) {
            Some(next) => {
                let (wire, _) = self.plan.wire_bytes(next);
                self.senders.go_on(key, next, wire);
                self.rates.extend(key, wire as f64);
            }
            None => self.stop_sending(key, conn),
        }
        true
    }

    fn stop_sending(&mut self, key: FlowKey, conn: u32) {
        self.missed += self.rates.left(key).abs();
        self.may_round(key);
        self.book_up_to(key, 0.0);
        self.tally(key);
        self.end_burst(conn);
        self.rates.remove(key);
        self.senders.rest(conn);
        self.unsolved = true;
    }

    /// Handles the departure of the last byte of `flow`. It and its acknowledgement arrive later.
    fn all_sent(&mut self, flow: u32, key: FlowKey) {
        self.last_path(key);
        let (_, last) = self.plan.wire_bytes(flow);
        let last = if self.store_and_forward { last } else { 0 };
        let latency = self.fabric.latency(self.path.iter().copied(), last);
        self.applications.later(self.now.saturating_add(latency.as_ps()), Due::Delivered(flow));
        if self.is_udp(self.senders.of(key).conn) {
            self.completed += 1;
            self.flow_done(flow, When::Acked);
        }
    }

    /// Handles the arrival of the last byte of `flow` at its receiver.
    pub(super) fn delivered(&mut self, flow: u32) {
        let info = self.plan.traffic.flows[flow as usize];
        let passage = &mut self.flows[flow as usize];
        (passage.finished, passage.delivered) = (Time::ps(self.now), info.bytes);
        let conn = self.plan.traffic.conns[info.conn.at()];
        if conn.carrier == Carrier::Tcp {
            self.completed += 1;
            if info.also.is_some() || matches!(info.then, Some((_, When::Acked))) {
                self.return_path(info.conn.0);
                let bytes = self.plan.transport.ack_len();
                let bytes = if self.store_and_forward { bytes } else { 0 };
                let back = self.fabric.crossing(self.path.iter().copied(), bytes.into());
                self.applications.later(self.now.saturating_add(back.as_ps()), Due::Acked(flow));
            }
        }
        self.flow_done(flow, When::Received);
    }

    /// Applies the next change of the network, if it is due.
    fn change(&mut self) -> bool {
        let Some((at, node, change)) = self.timeline.get(self.next_change) else { return false };
        if *at > self.now {
            return false;
        }
        let (node, change) = (*node, change.clone());
        self.next_change += 1;
        match change {
            Change::Down(port) => self.set_link(self.fabric.link(node, port), true),
            Change::Up(port) => self.set_link(self.fabric.link(node, port), false),
            Change::Rate(port, rate) => {
                let link = self.fabric.link(node, port);
                self.fabric.set_rate(link, rate);
                self.refit(link);
                self.notify_rate(End { node, port }, rate);
            }
            Change::Routes(routes) => {
                self.notify_routes(&routes);
                self.fabric.set_routes(routes);
                self.ahead.forget();
                self.reroute_all();
            }
            Change::Elsewhere(..)
            | Change::Stop
            | Change::Restart
            | Change::Leave
            | Change::Join => {}
        }
        true
    }

    fn set_link(&mut self, link: u32, down: bool) {
        self.fabric.set_down(link, down);
        self.refit(link);
    }

    /// Requests new rates. They are computed after all events of the current time.
    pub(super) fn solve_later(&mut self) {
        self.unsolved = true;
    }

    fn sample(&mut self) {
        if let Rates::Aimd(_) = &self.rates {
            self.book_all();
        } else {
            let of_link = |&link: &u32| self.keys_on(link);
            let keys: Vec<FlowKey> = self.sampled.iter().flat_map(of_link).collect();
            keys.into_iter().for_each(|key| self.book(key));
        }
        let mut samples = std::mem::take(&mut self.samples);
        let carried = |link: u32| self.carried(link).round() as u64;
        samples.take(self.now, |port| (0, carried(self.sampled[port as usize])));
        self.samples = samples;
        self.next_sample += self.interval;
    }
}

/// The flows that start at a given time, with these times, in order.
fn starts(plan: &Plan) -> Vec<(Time, u32)> {
    let all = (0..plan.traffic.flows.len() as u32).map(|flow| (plan.start_time(flow), flow));
    let starts: Vec<_> = all.filter(|(at, _)| *at < Time::MAX).collect();
    let order = ascending_large(starts.iter().map(|(at, _)| at.as_ps()).collect());
    order.into_iter().map(|at| starts[at as usize]).collect()
}
