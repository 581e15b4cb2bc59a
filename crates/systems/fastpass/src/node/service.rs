//! The service of an active arbiter: it receives demand, allocates batches of timeslots, and sends the
//! grants.

use super::Common;
use super::deadlines::Deadlines;
use super::isolation::Isolation;
use super::message_budget::MessageBudget;
use super::outbox::Outbox;
use crate::fcp::{ArbiterEvent, ArbiterSession};
use crate::paths::Fabric;
use crate::schedule::{Placed, Schedule};
use crate::wire::fastpass::Body;
use slotline_net::id::{HostId, PortId};
use slotline_net::node::Cx;
use slotline_net::time::Time;
use std::sync::Arc;

/// The counters of a service.
#[derive(Clone, Copy, Default)]
pub(super) struct ServiceCounters {
    /// Demands that are not valid.
    pub refused: u64,
    /// Timeslots that were no longer pending when they were granted.
    pub denied: u64,
    /// Batches that were left out, because messages waited or the batch had begun.
    pub left_out: u64,
}

/// The state of an active arbiter. It is dropped when the arbiter becomes passive.
pub(super) struct Service {
    common: Common,
    host: HostId,
    sessions: Vec<ArbiterSession>,
    due: Deadlines,
    pub schedule: Schedule,
    pub isolation: Isolation,
    /// The batch to be allocated next, if there is demand.
    batch: Option<u64>,
    /// The first batch that may be allocated.
    first: u64,
    budget: MessageBudget,
    /// The allocated batch (of all allocators), its first timeslot, and the number of entries that have been granted.
    pending: Vec<Placed>,
    base: u64,
    sent: usize,
    /// Whether that batch is being allocated.
    is_out: bool,
    /// When the next host gets its grants.
    grant_at: Time,
    /// The time between two hosts.
    step: Time,
    pub first_grant_at: Option<Time>,
    pub counters: ServiceCounters,
    events: Vec<ArbiterEvent>,
    buffer: Vec<u8>,
}

impl Service {
    /// Makes the service of an arbiter on `host` that becomes active at `now`. It has no demand yet.
    pub fn new(
        common: &Common,
        host: HostId,
        fabric: &Arc<Fabric>,
        schedule: Schedule,
        now: Time,
    ) -> Service {
        let session = |peer| ArbiterSession::new(common.session(host.0, peer, now.as_ps()));
        Service {
            sessions: (0..common.hosts).map(session).collect(),
            due: Deadlines::new(common.hosts as usize),
            schedule,
            isolation: Isolation::new(Arc::clone(fabric), common.options.spec(), common.apart),
            batch: None,
            first: 0,
            budget: MessageBudget::new(&common.timing),
            pending: Vec::new(),
            base: 0,
            sent: 0,
            is_out: false,
            grant_at: Time::ZERO,
            step: Time::ZERO,
            first_grant_at: None,
            counters: ServiceCounters::default(),
            events: Vec::new(),
            buffer: Vec::new(),
            common: common.clone(),
            host,
        }
    }
    /// Invites all endpoints to begin an epoch.
    pub fn announce(&mut self, out: &mut Outbox, cx: &mut Cx<'_>) {
        for peer in 0..self.common.hosts {
            self.sessions[peer as usize].announce();
            self.poll(peer, out, cx);
        }
    }
    /// By host, the timeslots that it has demanded and not been granted.
    pub fn waiting(&self) -> Vec<u64> {
        let all = || 0..self.common.hosts;
        let of = |session: &ArbiterSession| all().map(|dst| u64::from(session.pending(dst))).sum();
        self.sessions.iter().map(of).collect()
    }
    /// Sends the messages of a session that are due.
    fn poll(&mut self, peer: u32, out: &mut Outbox, cx: &mut Cx<'_>) {
        let session = &mut self.sessions[peer as usize];
        let first = u64::from(peer) + session.session().counters().timeouts;
        while session.poll_message(cx.now, &mut self.buffer) {
            let path = self.isolation.path(self.host, HostId(peer), first);
            let packet = out.packet(HostId(peer), path, self.buffer.clone(), cx);
            cx.send(PortId(0), packet);
        }
        self.due.set(peer, session.deadline().map(|at| at.max(cx.now.after(Time::ns(100)))));
    }
    /// Sends the messages of all sessions that are due.
    pub fn poll_due(&mut self, out: &mut Outbox, cx: &mut Cx<'_>) {
        while let Some(peer) = self.due.pop(cx.now) {
            self.poll(peer, out, cx);
        }
    }
    /// Receives an FCP message of `sender`. The session refuses one that names another host.
    pub fn on_message(&mut self, sender: HostId, bytes: &[u8], out: &mut Outbox, cx: &mut Cx<'_>) {
        let peer = sender.0;
        if peer >= self.common.hosts {
            return;
        }
        self.settle(cx.now);
        let mut events = std::mem::take(&mut self.events);
        // The session counts refused messages.
        let _refused = self.sessions[peer as usize].on_message(bytes, cx.now, &mut events);
        for event in events.drain(..) {
            match event {
                ArbiterEvent::Began => self.schedule.restart(peer as u16),
                ArbiterEvent::Demand { dst, slots } => {
                    let taken = self.schedule.demand(peer as u16, dst as u16, slots);
                    self.counters.refused += u64::from(!taken);
                }
            }
        }
        self.events = events;
        self.poll(peer, out, cx);
    }

    /// The earliest deadline of the sessions.
    pub fn next_due(&mut self) -> Option<Time> {
        self.due.next()
    }
    /// When the next batch is to be allocated, if there is demand.
    pub fn next_batch(&mut self, now: Time) -> Option<Time> {
        if self.schedule.is_idle() {
            self.batch = None;
            return None;
        }
        let timing = self.common.timing;
        let batch = *self.batch.get_or_insert_with(|| timing.next_batch(now).max(self.first));
        Some(timing.allocation(batch))
    }
    /// Begins to allocate the batch that is due, unless it has begun or too many of the messages sent so far still wait.
    /// Returns when to send its grants.
    pub fn allocate(&mut self, out: &mut Outbox, cx: &mut Cx<'_>) -> Option<Time> {
        let (timing, now) = (self.common.timing, cx.now);
        self.batch.filter(|&batch| timing.allocation(batch) <= now)?;
        self.collect();
        let batch = self.batch.take()?;
        self.first = batch + 1;
        let begun = now > timing.start(timing.first_slot(batch));
        if begun || self.budget.is_spent(batch, out.bytes) {
            self.counters.left_out += u64::from(self.common.options.spec().allocators);
            return None;
        }
        self.send_rest(out, cx);
        self.isolation.pass(now);
        self.base = timing.first_slot(batch);
        self.pending.clear();
        (self.sent, self.grant_at) = (0, now.after(self.common.options.spec().processing));
        self.is_out = true;
        self.schedule.begin();
        if !self.schedule.is_out() {
            self.collect();
        }
        self.isolation.avoids(timing.start(self.base));
        Some(self.grant_at)
    }
    /// Takes the batch that was begun, when it is allocated. If a crew allocates it, this waits.
    fn collect(&mut self) {
        if !std::mem::take(&mut self.is_out) {
            return;
        }
        let timing = self.common.timing;
        self.schedule.collect();
        self.pending.extend_from_slice(self.schedule.placed());
        let slots: u32 = self.pending.iter().map(|placed| placed.slots.count_ones()).sum();
        self.budget.allocated(f64::from(slots) / f64::from(self.common.hosts * timing.batch));
        let sources = self.pending.chunk_by(|a, b| a.src == b.src).count();
        self.step = Time::ps(timing.grant_span.as_ps() / sources.max(1) as u64);
        if self.schedule.is_idle() {
            self.batch = None;
        }
    }
    /// Takes the batch that was begun if the next one is late. Whether there is a next one, and which, must depend on the
    /// demand before `now` only, not on when a crew is done.
    fn settle(&mut self, now: Time) {
        let timing = self.common.timing;
        if self.batch.is_some_and(|batch| timing.allocation(batch) < now) {
            self.collect();
        }
    }
    /// Sends the grants of the batch, host by host. Messages that left all at once would delay packets of the
    /// arbiter's rack for longer than a timeslot. Returns when to continue.
    pub fn send_grants(&mut self, out: &mut Outbox, cx: &mut Cx<'_>) -> Option<Time> {
        if self.is_out && self.grant_at > cx.now {
            return Some(self.grant_at);
        }
        self.collect();
        let pending = std::mem::take(&mut self.pending);
        while let Some(first) = pending.get(self.sent).filter(|_| self.grant_at <= cx.now) {
            let of_one = pending[self.sent..].iter().take_while(|placed| placed.src == first.src);
            self.sent += of_one.map(|placed| self.grant(placed, cx.now)).count();
            self.poll(first.src.into(), out, cx);
            self.grant_at = self.grant_at.after(self.step);
        }
        self.pending = pending;
        (self.sent < self.pending.len()).then_some(self.grant_at)
    }
    /// Sends the remaining grants of the batch before. There are some if the arbiter wakes up late.
    fn send_rest(&mut self, out: &mut Outbox, cx: &mut Cx<'_>) {
        self.grant_at = Time::ZERO;
        self.send_grants(out, cx);
    }
    fn grant(&mut self, placed: &Placed, now: Time) {
        let Placed { src, batch, dst, path, slots } = *placed;
        let base = self.base + u64::from(batch) * u64::from(self.common.options.spec().batch);
        let session = &mut self.sessions[usize::from(src)];
        // Fewer slots are pending if the endpoint has restarted since.
        let pending = session.pending(dst.into());
        let slots = lowest(slots, pending.min(64));
        let denied = placed.slots.count_ones() - slots.count_ones();
        if denied > 0 {
            self.counters.denied += u64::from(denied);
            self.schedule.denied(src, dst, denied);
        }
        if slots != 0 && session.grant(dst.into(), path, base, slots).is_ok() {
            self.first_grant_at.get_or_insert(now);
            if self.common.options.spec().isolate_faults {
                self.isolation.sent(&Placed { slots, ..*placed });
            }
        }
    }
    /// Uses the paths of `fabric` from the next batch on.
    pub fn reroute(&mut self, fabric: &Arc<Fabric>, now: Time) {
        if self.schedule.reroute(fabric).is_ok() {
            self.isolation.reroute(fabric, now);
        }
    }
    /// Asks endpoints for echoes over excluded components, or for trials of them.
    pub fn probe(&mut self, out: &mut Outbox, cx: &mut Cx<'_>) {
        if self.common.apart {
            for (host, to, path, token) in self.isolation.trials() {
                let trial = Body::Trial { token, path, to: to.0 };
                let packet = out.message(host, path, trial, &self.common, cx);
                cx.send(PortId(0), packet);
            }
            return;
        }
        for (host, path, token) in self.isolation.probes(self.host) {
            let packet = out.message(host, path, Body::Probe { token, path }, &self.common, cx);
            cx.send(PortId(0), packet);
        }
    }
}

/// The lowest `most` set bits.
fn lowest(slots: u64, most: u32) -> u64 {
    let mut rest = slots;
    (0..most).for_each(|_| rest &= rest.wrapping_sub(1));
    slots & !rest
}
