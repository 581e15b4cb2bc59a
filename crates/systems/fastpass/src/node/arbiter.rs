//! The arbiter: sessions with all endpoints, batches of timeslots, and the watchdog between two arbiters
//! (§5).

use super::Common;
use super::outbox::Outbox;
use super::service::{Service, ServiceCounters};
use super::timer::Timer;
use crate::EmptySchedule;
use crate::counters;
use crate::paths::Fabric;
use crate::schedule;
use crate::watchdog::{Transition, Watchdog};
use crate::wire::fastpass::{Body, Message};
use crate::wire::fcp;
use slotline_net::frame::{Kind, Packet};
use slotline_net::id::{HostId, PortId};
use slotline_net::node::{Change, Counters, Cx, DropReason, Fault, Node, PacketAccount};
use slotline_net::time::Time;
use std::sync::Arc;

const ALLOCATE_TIMER: u32 = 0;
const GRANT_TIMER: u32 = 1;
const MESSAGE_TIMER: u32 = 2;
const WATCHDOG_TIMER: u32 = 3;
const PROBE_TIMER: u32 = 4;

/// A take-over, and the time of the first grant after it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TakeOver {
    /// When this arbiter took over.
    pub at: Time,
    /// How long the other arbiter had been silent.
    pub silence: Time,
    /// When the first timeslot was granted after it.
    pub first_grant: Option<Time>,
}

/// The counters of services that have ended.
#[derive(Clone, Copy, Default)]
struct Past {
    schedule: schedule::Counters,
    counters: ServiceCounters,
}

/// An arbiter. It sends by its FIFO port 0.
pub struct Arbiter {
    common: Common,
    host: HostId,
    rank: u8,
    fabric: Arc<Fabric>,
    empty: EmptySchedule,
    watchdog: Option<Watchdog>,
    service: Option<Service>,
    outbox: Outbox,
    batch: Timer,
    message_timer: Timer,
    watchdog_timer: Timer,
    probe: Timer,
    take_overs: Vec<TakeOver>,
    step_backs: u64,
    /// The faults found by services that have ended.
    found: Vec<Fault>,
    past: Past,
    received: u64,
    received_bytes: u64,
    consumed: u64,
}

impl Arbiter {
    /// Makes the arbiter of rank `rank`; rank 0 is the primary. `empty` is a schedule without demand.
    pub fn new(common: Common, rank: u8, fabric: Arc<Fabric>, empty: EmptySchedule) -> Arbiter {
        let host = common.arbiters[usize::from(rank)];
        Arbiter {
            outbox: Outbox::new(&common, host),
            common,
            host,
            rank,
            fabric,
            empty,
            watchdog: None,
            service: None,
            batch: Timer::new(ALLOCATE_TIMER),
            message_timer: Timer::new(MESSAGE_TIMER),
            watchdog_timer: Timer::new(WATCHDOG_TIMER),
            probe: Timer::new(PROBE_TIMER),
            take_overs: Vec::new(),
            step_backs: 0,
            found: Vec::new(),
            past: Past::default(),
            received: 0,
            received_bytes: 0,
            consumed: 0,
        }
    }
    /// Whether this arbiter is active.
    pub fn is_active(&self) -> bool {
        self.service.is_some()
    }
    /// By host, the timeslots that it has demanded and not been granted; `None` if this arbiter is not active.
    pub fn waiting(&self) -> Option<Vec<u64>> {
        self.service.as_ref().map(Service::waiting)
    }
    /// Its take-overs, in order.
    pub fn take_overs(&self) -> impl Iterator<Item = TakeOver> {
        let last = self.take_overs.len().wrapping_sub(1);
        self.take_overs.iter().enumerate().map(move |(at, take_over)| TakeOver {
            first_grant: take_over
                .first_grant
                .or_else(|| self.first_grant().filter(|_| at == last)),
            ..*take_over
        })
    }
    fn first_grant(&self) -> Option<Time> {
        self.service.as_ref().and_then(|service| service.first_grant_at)
    }
    /// The links and switches that were found to be faulty, in order.
    pub fn found(&self) -> Vec<Fault> {
        let now = self.service.iter().flat_map(|service| &service.isolation.found);
        self.found.iter().chain(now).copied().collect()
    }

    fn begin(&mut self, cx: &mut Cx<'_>) {
        let schedule = self.empty.begin(self.common.options.crew());
        self.service = Some(Service::new(&self.common, self.host, &self.fabric, schedule, cx.now));
    }
    fn end(&mut self) {
        let first_grant = self.first_grant();
        if let Some(last) = self.take_overs.last_mut() {
            last.first_grant = last.first_grant.or(first_grant);
        }
        if let Some(mut service) = self.service.take() {
            service.schedule.collect();
            add(&mut self.past, &service);
            self.found.extend(service.isolation.found);
        }
    }
    /// Sends a watchdog message if one is due, or checks the other arbiter.
    fn check_watchdog(&mut self, cx: &mut Cx<'_>) {
        let Some(watchdog) = &mut self.watchdog else { return };
        let transition = watchdog.check(cx.now);
        let term = watchdog.beat(cx.now);
        self.watchdog_timer.set(watchdog.deadline(), cx);
        self.apply_transition(transition, cx);
        if let Some(term) = term {
            let other = self.common.arbiters[1 - usize::from(self.rank)];
            // The messages use all paths in turn. A broken path is no reason to take over.
            let path =
                (cx.now.as_ps() / self.common.options.spec().watchdog_interval.as_ps()) as u16;
            let body = Body::Watchdog { term, sent: Time::ns(cx.now.as_ns()) };
            let packet = self.outbox.message(other, path, body, &self.common, cx);
            cx.send(PortId(0), packet);
        }
    }
    fn apply_transition(&mut self, transition: Transition, cx: &mut Cx<'_>) {
        match transition {
            Transition::Stay => {}
            Transition::TakeOver { silence } => {
                self.take_overs.push(TakeOver { at: cx.now, silence, first_grant: None });
                self.begin(cx);
                if let Some(service) = &mut self.service {
                    service.announce(&mut self.outbox, cx);
                }
            }
            Transition::StepBack => {
                self.step_backs += 1;
                self.end();
            }
        }
    }
    /// Handles a message of `sender`. A message that names another host as its source is ignored.
    fn on_message(&mut self, sender: HostId, bytes: &[u8], cx: &mut Cx<'_>) {
        if bytes.first() == Some(&fcp::VERSION) {
            if let Some(service) = &mut self.service {
                service.on_message(sender, bytes, &mut self.outbox, cx);
            }
            return;
        }
        let key = self.common.key(self.host.0, sender.0);
        let Ok(message) = Message::parse(bytes, &key) else { return };
        if message.destination == self.host.0 && message.source == sender.0 {
            self.on_body(sender.0, message.body, cx);
        }
    }
    fn on_body(&mut self, source: u32, body: Body, cx: &mut Cx<'_>) {
        if let Body::Watchdog { term, sent } = body {
            if !self.common.arbiters.contains(&HostId(source)) {
                return;
            }
            let transition = self.watchdog.as_mut().map(|watchdog| watchdog.hear(term, sent));
            return self.apply_transition(transition.unwrap_or(Transition::Stay), cx);
        }
        let Some(Service { isolation, schedule, .. }) = &mut self.service else { return };
        let spec = self.common.options.spec();
        match body {
            Body::Losses(losses) if spec.isolate_faults && source < self.common.hosts => {
                isolation.lost(source, &losses, schedule, cx.now);
            }
            Body::Down { port } if spec.isolate_faults => {
                isolation.down(source, port, schedule, cx.now);
            }
            Body::Echo { token, .. } => isolation.echo(token, schedule, cx.now),
            _ => {}
        }
        if isolation.has_exclusions() {
            self.probe.set(cx.now.after(spec.probe_interval), cx);
        }
    }
    /// Sets the timers for the next events.
    fn arm(&mut self, cx: &mut Cx<'_>) {
        let Some(service) = &mut self.service else { return };
        if let Some(at) = service.next_batch(cx.now) {
            self.batch.set_exactly(at, cx);
        }
        if let Some(at) = service.next_due() {
            self.message_timer.set(at, cx);
        }
    }
    fn probe(&mut self, cx: &mut Cx<'_>) {
        let Some(service) = &mut self.service else { return };
        if service.isolation.has_exclusions() {
            service.probe(&mut self.outbox, cx);
            self.probe.set(cx.now.after(self.common.options.spec().probe_interval), cx);
        }
    }
    fn allocate(&mut self, cx: &mut Cx<'_>) {
        let Some(service) = &mut self.service else { return };
        match service.allocate(&mut self.outbox, cx) {
            Some(at) if at > cx.now => cx.wake(at, GRANT_TIMER),
            Some(_) => self.send_grants(cx),
            None => {}
        }
    }
    /// Uses other routes or rates from the next batch on.
    fn reroute(&mut self, fabric: Arc<Fabric>, now: Time) {
        if self.empty.reroute(&fabric).is_err() {
            return; // A selector cannot have so many paths. The old routes stay in use.
        }
        self.service.iter_mut().for_each(|service| service.reroute(&fabric, now));
        self.fabric = fabric;
    }
    fn send_grants(&mut self, cx: &mut Cx<'_>) {
        let Some(service) = &mut self.service else { return };
        if let Some(at) = service.send_grants(&mut self.outbox, cx) {
            cx.wake(at, GRANT_TIMER);
        }
    }
}

fn add(past: &mut Past, service: &Service) {
    let (counts, schedule) = (service.counters, service.schedule.counters());
    past.schedule.batches += schedule.batches;
    past.schedule.granted += schedule.granted;
    past.schedule.unplaced += schedule.unplaced;
    past.schedule.refused += schedule.refused;
    past.counters.refused += counts.refused;
    past.counters.denied += counts.denied;
    past.counters.left_out += counts.left_out;
}

impl Node for Arbiter {
    fn start(&mut self, cx: &mut Cx<'_>) {
        let elected = self.common.elected && self.common.arbiters.len() > 1;
        if self.common.arbiters.len() > 1 && !elected {
            let spec = self.common.options.spec();
            let (interval, timeout) = (spec.watchdog_interval, spec.watchdog_timeout);
            self.watchdog = Some(Watchdog::new(self.rank, interval, timeout, cx.now));
        }
        if self.watchdog.as_ref().is_none_or(Watchdog::is_active) {
            self.begin(cx);
        }
        if let (true, Some(service)) = (elected, &mut self.service) {
            service.announce(&mut self.outbox, cx);
        }
        self.check_watchdog(cx);
    }
    fn receive(&mut self, _port: PortId, packet: Packet, cx: &mut Cx<'_>) {
        if packet.dst != self.host {
            cx.drop(&packet, DropReason::Misrouted);
            return;
        }
        self.consumed += 1;
        if packet.kind == Kind::Control {
            self.received += 1;
            self.received_bytes += u64::from(packet.len);
            let bytes = cx.detach(&packet);
            self.on_message(HostId(packet.flow), &bytes, cx);
            self.arm(cx);
        }
    }
    fn transmit(&mut self, _port: PortId, _cx: &mut Cx<'_>) -> Option<Packet> {
        None
    }
    fn expire(&mut self, token: u32, cx: &mut Cx<'_>) {
        match token {
            ALLOCATE_TIMER if self.batch.ring(cx.now) => self.allocate(cx),
            GRANT_TIMER => self.send_grants(cx),
            MESSAGE_TIMER if self.message_timer.ring(cx.now) => {
                if let Some(service) = &mut self.service {
                    service.poll_due(&mut self.outbox, cx);
                }
            }
            WATCHDOG_TIMER if self.watchdog_timer.ring(cx.now) => self.check_watchdog(cx),
            PROBE_TIMER if self.probe.ring(cx.now) => self.probe(cx),
            _ => {}
        }
        self.arm(cx);
    }
    fn change(&mut self, change: &Change, cx: &mut Cx<'_>) {
        let fabric = match change {
            Change::Routes(routes) => self.fabric.rerouted(routes),
            Change::Elsewhere(end, rate) => self.fabric.with_rate(*end, *rate),
            _ => return,
        };
        self.reroute(Arc::new(fabric), cx.now);
    }
    fn account(&self) -> PacketAccount {
        PacketAccount { created: self.outbox.messages, consumed: self.consumed, held: 0 }
    }
    fn add_counters(&self, counters: &mut Counters) {
        let mut all = self.past;
        self.service.iter().for_each(|service| add(&mut all, service));
        counters.add(counters::BATCHES, all.schedule.batches);
        counters.add(counters::BATCHES_LEFT_OUT, all.counters.left_out);
        counters.add(counters::SLOTS_GRANTED, all.schedule.granted - all.counters.denied);
        counters.add(counters::SLOTS_UNPLACED, all.schedule.unplaced);
        counters.add(counters::SLOTS_DENIED, all.counters.denied);
        counters.add(counters::DEMANDS_REFUSED, all.counters.refused + all.schedule.refused);
        counters.add(counters::ARBITER_MESSAGES, self.outbox.messages);
        counters.add(counters::ARBITER_MESSAGE_BYTES, self.outbox.bytes);
        counters.add(counters::ARBITER_RECEIVED, self.received);
        counters.add(counters::ARBITER_RECEIVED_BYTES, self.received_bytes);
        counters.add(counters::TAKE_OVERS, self.take_overs.len() as u64);
        counters.add(counters::STEP_BACKS, self.step_backs);
        let found = self.found();
        let cleared = found.iter().filter(|fault| fault.cleared.is_some()).count();
        counters.add(counters::FAULTS_FOUND, found.len() as u64);
        counters.add(counters::FAULTS_CLEARED, cleared as u64);
        for take_over in self.take_overs() {
            counters.add(counters::TAKE_OVER_AT_NS, take_over.at.as_ns());
            counters.add(counters::TAKE_OVER_SILENCE_NS, take_over.silence.as_ns());
            let first_grant = take_over.first_grant.map(|at| at.since(take_over.at).as_ns());
            counters.add(counters::TAKE_OVER_TO_GRANT_NS, first_grant.unwrap_or(0));
        }
        for fault in found {
            counters.add(counters::LAST_FAULT_AT_NS, fault.found.as_ns());
            counters.add_fault(fault);
        }
    }
}
