//! The endpoint (§6.1): holds a host's packets by destination, asks the arbiter for timeslots, and sends
//! in its timeslots and over their paths.
//!
//! A destination needs as many timeslots as its packets fill greedily, in order. What it needs, less what
//! it was granted and what it has asked for already, is asked for: so whatever happens to timeslots, to
//! messages or to an arbiter, what is left in the queues is asked for again. A timeslot that comes too
//! late is not used. Messages to the arbiter are not scheduled; as long as they take no more than
//! their share they leave first.

use super::Common;
use super::clock::Clock;
use super::losses::LossTrace;
use super::outbox::Outbox;
use super::peers::Peers;
use super::queues::Queues;
use super::slots::{Granted, Slots};
use super::timer::Timer;
use crate::Messages;
use crate::fcp::EndpointEvent;
use crate::wire::fastpass::{Body, Message};
use slotline_net::frame::Packet;
use slotline_net::id::{HostId, PortId};
use slotline_net::node::agent::{AGENT_TOKENS, Agent};
use slotline_net::node::reserve::Reserve;
use slotline_net::node::{Census, Cx, Note, Tally};
use slotline_net::time::Time;
use slotline_net::units::{InverseRate, Rate};
use std::collections::VecDeque;

const TALK: u32 = AGENT_TOKENS;
const SLOT: u32 = AGENT_TOKENS + 1;

/// Timeslots far ahead of the next that an endpoint can keep, beyond those of the lead.
const AHEAD: u64 = 512;

/// A timeslot that has begun.
struct Open {
    granted: Granted,
    /// Bytes that may still leave.
    room: u32,
    begun: bool,
}

/// What an endpoint has counted.
#[derive(Clone, Copy, Default)]
struct Counters {
    used: u64,
    unused: u64,
    late: u64,
    lost: u64,
    refused: u64,
    reports: u64,
    turns: u64,
}

/// The agent of a host under Fastpass.
pub struct Endpoint {
    common: Common,
    host: HostId,
    clock: Clock,
    /// The class of packets in their timeslots, unless it is their own: then messages leave first.
    class: Option<u8>,
    /// What messages may take of the link before packets.
    reserve: Reserve,
    pace: InverseRate,
    /// Packets per timeslot.
    lanes: u64,
    late: Time,
    /// How long before a timeslot is too late it has to be known.
    notice: Time,
    /// How long no arbiter may say anything before another one is tried.
    patience: Time,
    peers: Peers,
    queues: Queues,
    slots: Slots,
    /// Timeslots that have begun, in order.
    open: VecDeque<Open>,
    losses: LossTrace,
    next_report: Time,
    messages: VecDeque<Packet>,
    outbox: Outbox,
    talk: Timer,
    wait: Timer,
    events: Vec<EndpointEvent>,
    /// Destinations of timeslots that could not be kept.
    again: Vec<HostId>,
    buffer: Vec<u8>,
    counters: Counters,
}

impl Endpoint {
    /// The endpoint of `host`, which can send `lanes` packets per timeslot.
    pub fn new(common: Common, host: HostId, lanes: u16) -> Endpoint {
        let (spec, timing) = (common.options.spec(), common.timing);
        let reserved = spec.messages == Messages::Reserved;
        let slots = if reserved && common.options.is_exact() { 1 } else { 4 };
        let ahead = timing.lead.as_ps() / timing.slot.as_ps().max(1);
        Endpoint {
            host,
            clock: Clock::new(&common, host.0),
            class: common.options.classes().0,
            reserve: common.reserve(),
            pace: Rate(timing.slowest.0 * u64::from(lanes)).inverse_rate(),
            lanes: lanes.into(),
            late: spec.late.unwrap_or(timing.slot.times(slots)),
            notice: if reserved { timing.slot } else { Time::ZERO },
            patience: spec.watchdog_timeout.times(2),
            peers: Peers::new(&common, host),
            queues: Queues::new(timing.capacity),
            slots: Slots::new((2 * ahead + AHEAD) * u64::from(lanes)),
            open: VecDeque::new(),
            losses: LossTrace::new(spec.fault_window),
            next_report: Time::ZERO,
            messages: VecDeque::new(),
            outbox: Outbox::new(&common, host),
            talk: Timer::new(TALK),
            wait: Timer::new(SLOT),
            events: Vec::new(),
            again: Vec::new(),
            buffer: Vec::new(),
            counters: Counters::default(),
            common,
        }
    }

    /// Asks for the timeslots that packets for `dst` need, beyond those granted or asked for.
    fn request(&mut self, dst: HostId) {
        let Some(queue) = self.queues.get(dst) else { return };
        let session = &mut self.peers.current().session;
        let have = queue.granted.saturating_add(session.wanted(dst.0));
        let more = queue.needed.saturating_sub(have);
        if session.demand(dst.0, more).is_err() {
            self.counters.refused += u64::from(more);
        }
    }
    fn request_all(&mut self) {
        let all: Vec<HostId> =
            self.queues.iter().filter(|queue| queue.needed > 0).map(|queue| queue.dst).collect();
        all.into_iter().for_each(|dst| self.request(dst));
    }
    /// Sends what there is to say, and asks to be woken for what comes next.
    fn talk(&mut self, cx: &mut Cx<'_>) {
        self.report(cx);
        for peer in self.peers.all() {
            while peer.session.poll_message(cx.now, &mut self.buffer) {
                let packet = self.outbox.packet(peer.host, peer.path(), self.buffer.clone(), cx);
                self.messages.push_back(packet);
            }
        }
        if !self.messages.is_empty() {
            cx.kick(PortId(0));
        }
        let turn = self.is_waiting().then(|| self.peers.heard.after(self.patience));
        let report = self.losses.any().then_some(self.next_report);
        if let Some(at) = [self.peers.deadline(), turn, report].into_iter().flatten().min() {
            self.talk.set(at, cx);
        }
    }
    /// Whether there is something that only an arbiter can help with, and another one to ask.
    fn is_waiting(&self) -> bool {
        self.queues.packets() > 0 && self.peers.has_other()
    }
    /// Reports lost packets, not too often.
    fn report(&mut self, cx: &mut Cx<'_>) {
        if !self.losses.any() || cx.now < self.next_report {
            return;
        }
        self.next_report = cx.now.after(self.common.options.spec().gap);
        self.counters.reports += 1;
        let body = Body::Losses(self.losses.take());
        let (arbiter, path) = (self.peers.current().host, self.peers.current().path());
        let packet = self.outbox.say(arbiter, path, body, &self.common, cx);
        self.messages.push_back(packet);
    }
    /// Turns to another arbiter if that in use is silent, or to one that has announced itself.
    fn turn_to(&mut self, at: usize, now: Time) {
        self.counters.turns += u64::from(!self.peers.is_current(at));
        self.peers.turn_to(at, &self.common, now);
        self.request_all();
    }

    fn on_fcp(&mut self, at: usize, message: &[u8], now: Time) {
        let mut events = std::mem::take(&mut self.events);
        let heard = self.peers.all()[at].session.on_message(message, now, &mut events).is_ok();
        if heard && self.peers.is_current(at) {
            self.peers.heard = now;
        }
        events.drain(..).for_each(|event| self.obey(at, event, now));
        self.events = events;
        // Not before all timeslots of a message are kept.
        while let Some(dst) = self.again.pop() {
            self.request(dst);
        }
    }
    fn obey(&mut self, at: usize, event: EndpointEvent, now: Time) {
        match event {
            EndpointEvent::Began => self.turn_to(at, now),
            EndpointEvent::Granted { .. } if !self.peers.is_current(at) => {}
            EndpointEvent::Granted { dst, path, first, slots } => {
                let mut rest = slots;
                while rest != 0 {
                    let slot = first + u64::from(rest.trailing_zeros());
                    rest &= rest - 1;
                    self.keep(Granted { slot, dst: HostId(dst), path }, now);
                }
            }
            EndpointEvent::Lost { slots, .. } => self.counters.lost += u64::from(slots),
        }
    }
    /// Keeps a timeslot, unless it is over, or there is one at that time already.
    fn keep(&mut self, granted: Granted, now: Time) {
        let over = self.is_late(granted.slot, now.after(self.notice));
        let Endpoint { queues, slots, lanes, .. } = self;
        let mut places = (granted.slot * *lanes..).take(*lanes as usize);
        match queues.get_mut(granted.dst) {
            Some(queue) if !over && places.any(|slot| slots.put(Granted { slot, ..granted })) => {
                queue.granted += 1;
            }
            _ => {
                self.counters.late += 1;
                self.again.push(granted.dst);
            }
        }
    }
    fn is_late(&self, slot: u64, now: Time) -> bool {
        now > self.clock.start(slot).after(self.late)
    }
    /// Opens the timeslots whose time has come.
    fn advance(&mut self, cx: &mut Cx<'_>) {
        while let Some(next) = self.slots.next() {
            let next = Granted { slot: next.slot / self.lanes, ..next };
            let fire = self.clock.fire(next.slot);
            if fire > cx.now {
                return self.wait.set_exactly(fire, cx);
            }
            self.slots.pop();
            self.open.push_back(Open {
                granted: next,
                room: self.common.timing.capacity,
                begun: false,
            });
            cx.kick(PortId(0));
        }
    }
    /// The next packet of the timeslots that are open.
    fn release(&mut self, cx: &mut Cx<'_>) -> Option<Packet> {
        while let Some(open) = self.open.front() {
            let Open { granted, room, begun } = *open;
            let late = !begun && self.is_late(granted.slot, cx.now);
            let packet = if late { None } else { self.queues.pop(granted.dst, room) };
            if let Some(packet) = packet {
                return Some(self.leave(packet, cx));
            }
            self.close(late);
        }
        None
    }
    /// A packet leaves in the first open timeslot.
    fn leave(&mut self, packet: Packet, cx: &mut Cx<'_>) -> Packet {
        let Some(open) = self.open.front_mut() else { return packet };
        let Granted { slot, dst, path } = open.granted;
        if !open.begun {
            let until = self.common.timing.start(slot + 1).max(cx.now);
            cx.note(Note::Permitted { host: self.host, dst, until, rate: None });
        }
        open.begun = true;
        open.room = open.room.saturating_sub(packet.len.into());
        self.losses.leaves(&packet, path, cx.now);
        Packet { entropy: path, class: self.class.unwrap_or(packet.class), ..packet }
    }
    /// The next message leaves.
    fn message(&mut self, now: Time) -> Option<Packet> {
        let message = self.messages.pop_front()?;
        self.reserve.leaves(now, self.pace.time_for(message.len.into()));
        Some(message)
    }
    /// The first open timeslot is over.
    fn close(&mut self, late: bool) {
        let Some(Open { granted, begun, .. }) = self.open.pop_front() else { return };
        if let Some(queue) = self.queues.get_mut(granted.dst) {
            queue.granted = queue.granted.saturating_sub(1);
        }
        if begun {
            self.counters.used += 1;
            self.queues.served(granted.dst);
        } else if late {
            self.counters.late += 1;
        } else {
            self.counters.unused += 1;
        }
        self.request(granted.dst);
    }
    /// Something that is not FCP.
    fn on_other(&mut self, bytes: &[u8], cx: &mut Cx<'_>) {
        let Some(source) = Message::source(bytes) else { return };
        let key = self.common.key(self.host.0, source);
        let Ok(Message { destination, body, .. }) = Message::parse(bytes, &key) else { return };
        if let Body::Probe { token, path } = body
            && destination == self.host.0
        {
            let echo = Body::Echo { token, path };
            let packet = self.outbox.say(HostId(source), path, echo, &self.common, cx);
            self.messages.push_back(packet);
            cx.kick(PortId(0));
        }
    }
}

impl Agent for Endpoint {
    fn start(&mut self, _cx: &mut Cx<'_>) {}
    fn enqueue(&mut self, packet: Packet, cx: &mut Cx<'_>) {
        if self.queues.packets() == 0 {
            self.peers.heard = cx.now;
        }
        self.losses.comes(&packet, cx.now);
        if self.queues.push(packet) {
            self.request(packet.dst);
            self.talk(cx);
        }
    }
    fn dequeue(&mut self, cx: &mut Cx<'_>) -> Option<Packet> {
        if self.class.is_none() || self.reserve.goes_first(cx.now) {
            let message = self.message(cx.now);
            if message.is_some() {
                return message;
            }
        }
        let packet = self.release(cx);
        self.talk(cx);
        packet.or_else(|| self.message(cx.now))
    }
    fn control(&mut self, message: &[u8], cx: &mut Cx<'_>) {
        match self.peers.sender(message) {
            Some(at) => self.on_fcp(at, message, cx.now),
            None => self.on_other(message, cx),
        }
        self.advance(cx);
        self.talk(cx);
    }
    fn expire(&mut self, token: u32, cx: &mut Cx<'_>) {
        if token == SLOT {
            if self.wait.ring(cx.now) {
                self.advance(cx);
            }
        } else if self.talk.ring(cx.now) {
            if self.is_waiting() && cx.now >= self.peers.heard.after(self.patience) {
                self.turn_to(self.peers.other(), cx.now);
            }
            self.talk(cx);
        }
    }
    fn queued(&self, dst: HostId) -> u64 {
        self.queues.get(dst).map_or(0, |queue| queue.bytes)
    }
    fn census(&self) -> Census {
        let held = self.messages.len() + self.queues.packets();
        Census { created: self.outbox.messages, consumed: 0, held: held as u64 }
    }
    fn tally(&self, tally: &mut Tally) {
        let Counters { used, unused, late, lost, refused, reports, turns } = self.counters;
        tally.add("slots_used", used);
        tally.add("slots_unused", unused);
        tally.add("slots_late", late);
        tally.add("slots_lost", lost);
        tally.add("slots_refused", refused);
        tally.add("loss_reports", reports);
        tally.add("arbiter_changes", turns);
        tally.add("endpoint_messages", self.outbox.messages);
        tally.add("endpoint_message_bytes", self.outbox.bytes);
    }
}
