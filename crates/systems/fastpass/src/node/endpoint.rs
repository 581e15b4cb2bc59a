//! The endpoint (§6.1). It holds a host's packets by destination, demands timeslots from the arbiter, and
//! sends in its timeslots over their paths.
//!
//! A destination needs as many timeslots as its packets fill greedily, in order. The endpoint demands what
//! the destination needs, minus what was granted and what was demanded already. So whatever happens to
//! timeslots, to messages or to an arbiter, packets that are left in the queues are demanded again. A
//! timeslot that comes too late is not used. Messages to the arbiter are not scheduled. They leave before
//! packets as long as they take no more than their share of the link.

use super::Common;
use super::clock::Clock;
use super::granted_slots::{Granted, GrantedSlots};
use super::losses::LossTrace;
use super::outbox::Outbox;
use super::peers::Peers;
use super::queues::Queues;
use super::timer::Timer;
use crate::Messages;
use crate::counters;
use crate::fcp::EndpointEvent;
use crate::wire::fastpass::{Body, Message};
use slotline_net::frame::Packet;
use slotline_net::id::{HostId, PortId};
use slotline_net::node::agent::{AGENT_TOKENS, Agent};
use slotline_net::node::reserve::Reserve;
use slotline_net::node::{Counters, Cx, Note, PacketAccount};
use slotline_net::prefetch::prefetch_value;
use slotline_net::time::Time;
use slotline_net::units::{InverseRate, Rate};
use std::collections::VecDeque;

const MESSAGE_TIMER: u32 = AGENT_TOKENS;
const SLOT_TIMER: u32 = AGENT_TOKENS + 1;

/// The number of timeslots ahead of the next that an endpoint can store, in addition to those of the lead.
const AHEAD: u64 = 512;

/// A timeslot that has begun.
struct Open {
    granted: Granted,
    /// Bytes that may still leave.
    room: u32,
    begun: bool,
    /// After this time it is too late to begin.
    last: Time,
}

/// The counters of an endpoint.
#[derive(Clone, Copy, Default)]
struct EndpointCounters {
    used: u64,
    unused: u64,
    late: u64,
    lost: u64,
    refused: u64,
    reports: u64,
    switches: u64,
}

/// The agent of a host under Fastpass.
pub struct Endpoint {
    common: Common,
    host: HostId,
    clock: Clock,
    /// The class of packets in their timeslots. `None`: they have their own class, and messages leave first.
    class: Option<u8>,
    /// The share of the link that messages may take before packets.
    reserve: Reserve,
    pace: InverseRate,
    /// The number of packets per timeslot.
    lanes: u64,
    late: Time,
    /// A timeslot has to be known this long before it is too late.
    notice: Time,
    /// After this time without a message from the arbiter, another one is tried.
    silence_limit: Time,
    peers: Peers,
    queues: Queues,
    slots: GrantedSlots,
    /// A timeslot and its [`Clock::times`].
    times: (u64, (Time, Time)),
    /// Timeslots that have begun, in order.
    open: VecDeque<Open>,
    losses: LossTrace,
    next_report: Time,
    messages: VecDeque<Packet>,
    outbox: Outbox,
    message_timer: Timer,
    /// No message has to be sent before this time, unless something happens.
    due: Time,
    /// Whether demand since messages were last sent may have changed `due`.
    has_asked: bool,
    slot_timer: Timer,
    events: Vec<EndpointEvent>,
    /// The destinations of timeslots that could not be stored.
    retry: Vec<HostId>,
    buffer: Vec<u8>,
    counters: EndpointCounters,
}

impl Endpoint {
    /// Makes the endpoint of `host`, which sends `lanes` packets per timeslot.
    pub fn new(common: Common, host: HostId, lanes: u16) -> Endpoint {
        let (spec, timing) = (common.options.spec(), common.timing);
        let reserved = spec.messages == Messages::Reserved;
        let slots = if reserved && common.options.is_exact() { 1 } else { 4 };
        let ahead = timing.lead.as_ps() / timing.slot.as_ps().max(1);
        let most = AHEAD.max(2 * u64::from(timing.batch));
        Endpoint {
            host,
            clock: Clock::new(&common, host),
            class: common.options.classes().0,
            reserve: common.reserve(),
            pace: Rate(timing.slowest.0 * u64::from(lanes)).inverse_rate(),
            lanes: lanes.into(),
            late: spec.late.unwrap_or(timing.slot.times(slots)),
            notice: if reserved { timing.slot } else { Time::ZERO },
            silence_limit: spec.watchdog_timeout.times(2),
            peers: Peers::new(&common, host),
            queues: Queues::new(timing.capacity),
            slots: GrantedSlots::new((2 * ahead + most) * u64::from(lanes)),
            times: (u64::MAX, (Time::MAX, Time::MAX)),
            open: VecDeque::new(),
            losses: LossTrace::new(spec.fault_window, common.apart),
            next_report: Time::ZERO,
            messages: VecDeque::new(),
            outbox: Outbox::new(&common, host),
            message_timer: Timer::new(MESSAGE_TIMER),
            due: Time::ZERO,
            has_asked: false,
            slot_timer: Timer::new(SLOT_TIMER),
            events: Vec::new(),
            retry: Vec::new(),
            buffer: Vec::new(),
            counters: EndpointCounters::default(),
            common,
        }
    }

    /// Requests what each call needs.
    fn expect_own(&self) {
        prefetch_value(&self.common.timing);
        prefetch_value(&self.peers);
        prefetch_value(&self.queues);
        prefetch_value(&self.slots);
        prefetch_value(&self.open);
        prefetch_value(&self.losses);
        prefetch_value(&self.messages);
        prefetch_value(&self.reserve);
        prefetch_value(&self.late);
        prefetch_value(&self.due);
        prefetch_value(&self.counters);
        prefetch_value(&self.class);
    }
    /// Demands the timeslots that packets for `dst` need, in addition to those granted or demanded already.
    fn request(&mut self, dst: HostId) {
        let Some(queue) = self.queues.get(dst) else { return };
        let session = &mut self.peers.current().session;
        let have = queue.granted.saturating_add(session.pending(dst.0));
        let more = queue.needed.saturating_sub(have);
        if more == 0 {
            return;
        }
        let before = session.demands();
        if session.demand(dst.0, more).is_err() {
            self.counters.refused += u64::from(more);
        }
        self.has_asked |= session.demands() != before;
    }
    fn request_all(&mut self) {
        let all: Vec<HostId> =
            self.queues.iter().filter(|queue| queue.needed > 0).map(|queue| queue.dst).collect();
        all.into_iter().for_each(|dst| self.request(dst));
    }
    /// Sends all messages that are due, and sets the timer for the next one.
    fn send_messages(&mut self, cx: &mut Cx<'_>) {
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
        let switch = self.is_waiting().then(|| self.peers.heard.after(self.silence_limit));
        let report = self.losses.has_losses().then_some(self.next_report);
        let at = [self.peers.deadline(), switch, report].into_iter().flatten().min();
        (self.due, self.has_asked) = (at.unwrap_or(Time::MAX), false);
        if let Some(at) = at {
            self.message_timer.set(at, cx);
        }
    }
    /// As [`Endpoint::send_messages`], after a packet came or left.
    fn send_messages_if_due(&mut self, cx: &mut Cx<'_>) {
        let may_report = self.losses.has_losses() || self.is_waiting();
        if self.has_asked || may_report || cx.now >= self.due {
            self.send_messages(cx);
        } else if !self.messages.is_empty() {
            cx.kick(PortId(0));
        }
    }
    /// Whether packets wait and there is another arbiter to switch to.
    fn is_waiting(&self) -> bool {
        self.queues.packets() > 0 && self.peers.has_other()
    }
    /// Reports lost packets, but not too often.
    fn report(&mut self, cx: &mut Cx<'_>) {
        if !self.losses.has_losses() || cx.now < self.next_report {
            return;
        }
        self.next_report = cx.now.after(self.common.options.spec().gap);
        self.counters.reports += 1;
        let body = Body::Losses(self.losses.take());
        let (arbiter, path) = (self.peers.current().host, self.peers.current().path());
        let packet = self.outbox.message(arbiter, path, body, &self.common, cx);
        self.messages.push_back(packet);
    }
    /// Switches to an arbiter that has announced itself, or from one that is silent.
    fn switch_to(&mut self, at: usize, now: Time) {
        self.counters.switches += u64::from(!self.peers.is_current(at));
        self.peers.switch_to(at, &self.common, now);
        self.request_all();
    }

    fn on_fcp(&mut self, at: usize, message: &[u8], cx: &mut Cx<'_>) {
        let now = cx.now;
        let mut events = std::mem::take(&mut self.events);
        let heard = self.peers.all()[at].session.on_message(message, now, &mut events).is_ok();
        if heard && self.peers.is_current(at) {
            self.peers.heard = now;
        }
        events.drain(..).for_each(|event| self.on_event(at, event, cx));
        self.events = events;
        // This is done after all timeslots of a message are stored.
        while let Some(dst) = self.retry.pop() {
            self.request(dst);
        }
    }
    fn on_event(&mut self, at: usize, event: EndpointEvent, cx: &mut Cx<'_>) {
        match event {
            EndpointEvent::Began => self.switch_to(at, cx.now),
            EndpointEvent::Granted { .. } if !self.peers.is_current(at) => {}
            EndpointEvent::Granted { dst, path, first, slots } => {
                let mut rest = slots;
                while rest != 0 {
                    let slot = first + u64::from(rest.trailing_zeros());
                    rest &= rest - 1;
                    self.store(Granted { slot, dst: HostId(dst), path }, cx);
                }
            }
            EndpointEvent::Lost { slots, .. } => self.counters.lost += u64::from(slots),
        }
    }
    /// Stores a timeslot, unless it is over or its time is taken.
    fn store(&mut self, granted: Granted, cx: &mut Cx<'_>) {
        let over = self.is_late(granted.slot, cx.now.after(self.notice));
        let Endpoint { queues, slots, lanes, .. } = self;
        let mut places = (granted.slot * *lanes..).take(*lanes as usize);
        match queues.get_mut(granted.dst) {
            Some(queue) if !over && places.any(|slot| slots.put(Granted { slot, ..granted })) => {
                queue.granted += 1;
                let Granted { slot, dst, .. } = granted;
                cx.note(Note::Timeslot { host: self.host, dst, slot });
            }
            _ => {
                self.counters.late += 1;
                self.retry.push(granted.dst);
            }
        }
    }
    fn is_late(&self, slot: u64, now: Time) -> bool {
        now > self.clock.start(slot).after(self.late)
    }
    /// When a timeslot begins, and when its transmission does. It is asked for again when its time has come.
    fn next_times(&mut self, slot: u64) -> (Time, Time) {
        let (known, times) = self.times;
        if known == slot {
            return times;
        }
        let times = self.clock.times(slot);
        self.times = (slot, times);
        times
    }
    /// Opens the timeslots whose time has come.
    fn advance(&mut self, cx: &mut Cx<'_>) {
        while let Some(next) = self.slots.next() {
            let next = Granted { slot: next.slot / self.lanes, ..next };
            let (start, fire) = self.next_times(next.slot);
            if fire > cx.now {
                return self.slot_timer.set_exactly(fire, cx);
            }
            self.slots.pop();
            self.open.push_back(Open {
                granted: next,
                room: self.common.timing.capacity,
                begun: false,
                last: start.after(self.late),
            });
            cx.kick(PortId(0));
        }
    }
    /// The next packet of the timeslots that are open.
    fn release(&mut self, cx: &mut Cx<'_>) -> Option<Packet> {
        while let Some(open) = self.open.front() {
            let Open { granted, room, begun, last } = *open;
            let late = !begun && cx.now > last;
            let packet = if late { None } else { self.queues.pop(granted.dst, room) };
            if let Some(packet) = packet {
                return Some(self.leave(packet, cx));
            }
            self.close(late);
        }
        None
    }
    /// Counts a packet that leaves in the first open timeslot, and sets its path and class.
    fn leave(&mut self, packet: Packet, cx: &mut Cx<'_>) -> Packet {
        let Some(open) = self.open.front_mut() else { return packet };
        let Granted { slot, dst, path } = open.granted;
        if !open.begun {
            let until = self.common.timing.start(slot + 1).max(cx.now);
            cx.note(Note::Permitted { host: self.host, dst, until, rate: None });
        }
        open.begun = true;
        open.room = open.room.saturating_sub(packet.len.into());
        self.losses.on_send(&packet, path, cx.now);
        Packet { entropy: path, class: self.class.unwrap_or(packet.class), ..packet }
    }
    /// Takes the next message and counts it against the share of messages.
    fn next_message(&mut self, now: Time) -> Option<Packet> {
        let message = self.messages.pop_front()?;
        self.reserve.leaves(now, self.pace.time_for(message.len.into()));
        Some(message)
    }
    /// Closes the first open timeslot and demands what its destination still needs.
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
    /// Receives a message that is not FCP.
    fn on_other(&mut self, bytes: &[u8], cx: &mut Cx<'_>) {
        let Some(source) = Message::source(bytes) else { return };
        let key = self.common.key(self.host.0, source);
        let Ok(Message { destination, body, .. }) = Message::parse(bytes, &key) else { return };
        if destination != self.host.0 {
            return;
        }
        let (to, path, body) = match body {
            Body::Probe { token, path } => (HostId(source), path, Body::Echo { token, path }),
            Body::Trial { token, path, to } if self.common.arbiters.contains(&HostId(source)) => {
                (HostId(to), path, Body::Probe { token, path })
            }
            // The echo of a trial.
            Body::Echo { .. } => (self.peers.current().host, self.peers.current().path(), body),
            _ => return,
        };
        let packet = self.outbox.message(to, path, body, &self.common, cx);
        self.messages.push_back(packet);
        cx.kick(PortId(0));
    }
}

impl Agent for Endpoint {
    fn start(&mut self, _cx: &mut Cx<'_>) {}
    fn enqueue(&mut self, packet: Packet, cx: &mut Cx<'_>) {
        if self.queues.packets() == 0 {
            self.peers.heard = cx.now;
        }
        self.losses.on_enqueue(&packet, cx.now);
        if self.queues.push(packet) {
            self.request(packet.dst);
            self.send_messages_if_due(cx);
        }
    }
    fn dequeue(&mut self, cx: &mut Cx<'_>) -> Option<Packet> {
        if self.class.is_none() || self.reserve.goes_first(cx.now) {
            let message = self.next_message(cx.now);
            if message.is_some() {
                return message;
            }
        }
        let packet = self.release(cx);
        self.send_messages_if_due(cx);
        packet.or_else(|| self.next_message(cx.now))
    }
    fn dequeue_again(&mut self, _cx: &mut Cx<'_>) -> Option<Packet> {
        // No timeslot is open, and all messages that are due have been sent.
        None
    }
    fn control(&mut self, message: &[u8], cx: &mut Cx<'_>) {
        match self.peers.sender(message) {
            Some(at) => self.on_fcp(at, message, cx),
            None => self.on_other(message, cx),
        }
        self.advance(cx);
        self.send_messages(cx);
    }
    fn expire(&mut self, token: u32, cx: &mut Cx<'_>) {
        if token == SLOT_TIMER {
            if self.slot_timer.ring(cx.now) {
                self.advance(cx);
            }
        } else if self.message_timer.ring(cx.now) {
            if self.is_waiting() && cx.now >= self.peers.heard.after(self.silence_limit) {
                self.switch_to(self.peers.other(), cx.now);
            }
            self.send_messages(cx);
        }
    }
    fn expect(&self, step: usize) {
        match step {
            0 => self.expect_own(),
            1 => {
                self.peers.expect();
                self.slots.expect();
                self.queues.expect();
            }
            _ => self.slots.first().into_iter().for_each(|dst| self.queues.expect_packet(dst)),
        }
    }
    fn queued(&self, dst: HostId) -> u64 {
        self.queues.get(dst).map_or(0, |queue| queue.bytes)
    }
    fn account(&self) -> PacketAccount {
        let held = self.messages.len() + self.queues.packets();
        PacketAccount { created: self.outbox.messages, consumed: 0, held: held as u64 }
    }
    fn add_counters(&self, counters: &mut Counters) {
        let EndpointCounters { used, unused, late, lost, refused, reports, switches } =
            self.counters;
        counters.add(counters::SLOTS_USED, used);
        counters.add(counters::SLOTS_UNUSED, unused);
        counters.add(counters::SLOTS_LATE, late);
        counters.add(counters::SLOTS_LOST, lost);
        counters.add(counters::SLOTS_REFUSED, refused);
        counters.add(counters::LOSS_REPORTS, reports);
        counters.add(counters::ARBITER_CHANGES, switches);
        counters.add(counters::ENDPOINT_MESSAGES, self.outbox.messages);
        counters.add(counters::ENDPOINT_MESSAGE_BYTES, self.outbox.bytes);
    }
}
