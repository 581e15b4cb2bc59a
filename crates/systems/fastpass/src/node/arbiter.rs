//! The arbiter: sessions with all endpoints, batches of timeslots, and the watchdog between two arbiters
//! (§5).

use super::Common;
use super::outbox::Outbox;
use super::service::{Counters, Service};
use super::timer::Timer;
use crate::Schedule;
use crate::fabric::Fabric;
use crate::schedule;
use crate::watchdog::{Turn, Watchdog};
use crate::wire::fastpass::{Body, Message};
use crate::wire::fcp;
use slotline_net::frame::{Kind, Packet};
use slotline_net::id::{HostId, PortId};
use slotline_net::node::{Change, Cx, DropReason, Fault, Node, PacketAccount, Tally};
use slotline_net::time::Time;
use std::sync::Arc;

const BATCH: u32 = 0;
const GIVE: u32 = 1;
const TALK: u32 = 2;
const WATCH: u32 = 3;
const PROBE: u32 = 4;

/// When a take-over happened and when it had its first effect.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TakeOver {
    /// When it happened.
    pub at: Time,
    /// How long the other arbiter had been silent.
    pub silence: Time,
    /// When the first timeslot was given out after it.
    pub given: Option<Time>,
}

/// What was counted by the services of an arbiter that are over.
#[derive(Clone, Copy, Default)]
struct Past {
    schedule: schedule::Counters,
    counters: Counters,
}

/// An arbiter. Sends by its FIFO port 0.
pub struct Arbiter {
    common: Common,
    host: HostId,
    rank: u8,
    fabric: Arc<Fabric>,
    empty: Schedule,
    watchdog: Option<Watchdog>,
    service: Option<Service>,
    outbox: Outbox,
    batch: Timer,
    talk: Timer,
    watch: Timer,
    probe: Timer,
    take_overs: Vec<TakeOver>,
    step_backs: u64,
    /// What was found faulty, by services that are over.
    found: Vec<Fault>,
    past: Past,
    received: u64,
    received_bytes: u64,
    consumed: u64,
}

impl Arbiter {
    /// The arbiter of rank `rank`: 0 is the primary. `empty` is a schedule without demand.
    pub fn new(common: Common, rank: u8, fabric: Arc<Fabric>, empty: Schedule) -> Arbiter {
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
            batch: Timer::new(BATCH),
            talk: Timer::new(TALK),
            watch: Timer::new(WATCH),
            probe: Timer::new(PROBE),
            take_overs: Vec::new(),
            step_backs: 0,
            found: Vec::new(),
            past: Past::default(),
            received: 0,
            received_bytes: 0,
            consumed: 0,
        }
    }
    /// Whether it serves.
    pub fn is_active(&self) -> bool {
        self.service.is_some()
    }
    /// Its take-overs, in order.
    pub fn take_overs(&self) -> impl Iterator<Item = TakeOver> {
        let last = self.take_overs.len().wrapping_sub(1);
        self.take_overs.iter().enumerate().map(move |(at, take_over)| TakeOver {
            given: take_over.given.or_else(|| self.given().filter(|_| at == last)),
            ..*take_over
        })
    }
    fn given(&self) -> Option<Time> {
        self.service.as_ref().and_then(|service| service.given_at)
    }
    /// The links and switches that were found to be faulty, in order.
    pub fn found(&self) -> Vec<Fault> {
        let now = self.service.iter().flat_map(|service| &service.isolation.found);
        self.found.iter().chain(now).copied().collect()
    }

    fn begin(&mut self, cx: &mut Cx<'_>) {
        let schedule = self.empty.clone();
        self.service = Some(Service::new(&self.common, self.host, &self.fabric, schedule, cx.now));
    }
    fn end(&mut self) {
        let given = self.given();
        if let Some(last) = self.take_overs.last_mut() {
            last.given = last.given.or(given);
        }
        if let Some(service) = self.service.take() {
            add(&mut self.past, &service);
            self.found.extend(service.isolation.found);
        }
    }
    /// Says that it is there, or looks whether the other one is.
    fn watch(&mut self, cx: &mut Cx<'_>) {
        let Some(watchdog) = &mut self.watchdog else { return };
        let turn = watchdog.check(cx.now);
        let term = watchdog.beat(cx.now);
        self.watch.set(watchdog.deadline(), cx);
        self.take_turn(turn, cx);
        if let Some(term) = term {
            let other = self.common.arbiters[1 - usize::from(self.rank)];
            // Over all paths in turn: one that does not work is no reason to take over.
            let path =
                (cx.now.as_ps() / self.common.options.spec().watchdog_interval.as_ps()) as u16;
            let body = Body::Watchdog { term, sent: Time::ns(cx.now.as_ns()) };
            let packet = self.outbox.say(other, path, body, &self.common, cx);
            cx.send(PortId(0), packet);
        }
    }
    fn take_turn(&mut self, turn: Turn, cx: &mut Cx<'_>) {
        match turn {
            Turn::Stay => {}
            Turn::TakeOver { silence } => {
                self.take_overs.push(TakeOver { at: cx.now, silence, given: None });
                self.begin(cx);
                if let Some(service) = &mut self.service {
                    service.announce(&mut self.outbox, cx);
                }
            }
            Turn::StepBack => {
                self.step_backs += 1;
                self.end();
            }
        }
    }
    fn hear(&mut self, bytes: &[u8], cx: &mut Cx<'_>) {
        if bytes.first() == Some(&fcp::VERSION) {
            if let Some(service) = &mut self.service {
                service.hear(bytes, &mut self.outbox, cx);
            }
            return;
        }
        let Some(source) = Message::source(bytes) else { return };
        let key = self.common.key(self.host.0, source);
        let Ok(message) = Message::parse(bytes, &key) else { return };
        if message.destination == self.host.0 {
            self.obey(source, message.body, cx);
        }
    }
    fn obey(&mut self, source: u32, body: Body, cx: &mut Cx<'_>) {
        if let Body::Watchdog { term, sent } = body {
            let turn = self.watchdog.as_mut().map(|watchdog| watchdog.hear(term, sent));
            return self.take_turn(turn.unwrap_or(Turn::Stay), cx);
        }
        let Some(Service { isolation, schedule, .. }) = &mut self.service else { return };
        let spec = self.common.options.spec();
        match body {
            Body::Losses(losses) if spec.isolate_faults && source < self.common.hosts => {
                isolation.lost(source, &losses, schedule, cx.now);
            }
            Body::Echo { token, .. } => isolation.echo(token, schedule, cx.now),
            _ => {}
        }
        if isolation.any() {
            self.probe.set(cx.now.after(spec.probe_interval), cx);
        }
    }
    /// Asks to be woken for what comes next.
    fn arm(&mut self, cx: &mut Cx<'_>) {
        let Some(service) = &mut self.service else { return };
        if let Some(at) = service.next_batch(cx.now) {
            self.batch.set_exactly(at, cx);
        }
        if let Some(at) = service.next_due() {
            self.talk.set(at, cx);
        }
    }
    fn probe(&mut self, cx: &mut Cx<'_>) {
        let Some(service) = &mut self.service else { return };
        if service.isolation.any() {
            service.probe(&mut self.outbox, cx);
            self.probe.set(cx.now.after(self.common.options.spec().probe_interval), cx);
        }
    }
    fn allocate(&mut self, cx: &mut Cx<'_>) {
        let Some(service) = &mut self.service else { return };
        match service.allocate(cx.now) {
            Some(at) if at > cx.now => cx.wake(at, GIVE),
            Some(_) => self.give_out(cx),
            None => {}
        }
    }
    /// The network has told of other routes or rates: timeslots follow from the next batch on.
    fn reroute(&mut self, fabric: Arc<Fabric>, now: Time) {
        if self.empty.reroute(&fabric).is_err() {
            return; // more paths than a selector can have: those of before are as good as any
        }
        self.service.iter_mut().for_each(|service| service.reroute(&fabric, now));
        self.fabric = fabric;
    }
    fn give_out(&mut self, cx: &mut Cx<'_>) {
        let Some(service) = &mut self.service else { return };
        if let Some(at) = service.give_out(&mut self.outbox, cx) {
            cx.wake(at, GIVE);
        }
    }
}

fn add(past: &mut Past, service: &Service) {
    let (counts, schedule) = (service.counters, service.schedule.counters());
    past.schedule.batches += schedule.batches;
    past.schedule.granted += schedule.granted;
    past.schedule.unplaced += schedule.unplaced;
    past.counters.refused += counts.refused;
    past.counters.denied += counts.denied;
}

impl Node for Arbiter {
    fn start(&mut self, cx: &mut Cx<'_>) {
        if self.common.arbiters.len() > 1 {
            let spec = self.common.options.spec();
            let (interval, timeout) = (spec.watchdog_interval, spec.watchdog_timeout);
            self.watchdog = Some(Watchdog::new(self.rank, interval, timeout, cx.now));
        }
        if self.watchdog.as_ref().is_none_or(Watchdog::is_active) {
            self.begin(cx);
        }
        self.watch(cx);
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
            self.hear(&bytes, cx);
            self.arm(cx);
        }
    }
    fn transmit(&mut self, _port: PortId, _cx: &mut Cx<'_>) -> Option<Packet> {
        None
    }
    fn expire(&mut self, token: u32, cx: &mut Cx<'_>) {
        match token {
            BATCH if self.batch.ring(cx.now) => self.allocate(cx),
            GIVE => self.give_out(cx),
            TALK if self.talk.ring(cx.now) => {
                if let Some(service) = &mut self.service {
                    service.poll_due(&mut self.outbox, cx);
                }
            }
            WATCH if self.watch.ring(cx.now) => self.watch(cx),
            PROBE if self.probe.ring(cx.now) => self.probe(cx),
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
    fn tally(&self, tally: &mut Tally) {
        let mut all = self.past;
        self.service.iter().for_each(|service| add(&mut all, service));
        tally.add("batches", all.schedule.batches);
        tally.add("slots_granted", all.schedule.granted - all.counters.denied);
        tally.add("slots_unplaced", all.schedule.unplaced);
        tally.add("slots_denied", all.counters.denied);
        tally.add("demands_refused", all.counters.refused);
        tally.add("arbiter_messages", self.outbox.messages);
        tally.add("arbiter_message_bytes", self.outbox.bytes);
        tally.add("arbiter_received", self.received);
        tally.add("arbiter_received_bytes", self.received_bytes);
        tally.add("take_overs", self.take_overs.len() as u64);
        tally.add("step_backs", self.step_backs);
        let found = self.found();
        let cleared = found.iter().filter(|fault| fault.cleared.is_some()).count();
        tally.add("faults_found", found.len() as u64);
        tally.add("faults_cleared", cleared as u64);
        for take_over in self.take_overs() {
            tally.most("take_over_at_ns", take_over.at.as_ns());
            tally.most("take_over_silence_ns", take_over.silence.as_ns());
            let given = take_over.given.map(|at| at.since(take_over.at).as_ns());
            tally.most("take_over_to_grant_ns", given.unwrap_or(0));
        }
        for fault in found {
            tally.most("last_fault_at_ns", fault.found.as_ns());
            tally.fault(fault);
        }
    }
}
