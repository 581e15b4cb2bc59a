//! The agent of a host (§5.3). Packets wait by destination until a frame opens it, and the agent reports demand.
//!
//! A host that gets no message from the fabric manager for too long, and whose pause times are over, sends without
//! slots until a message arrives.

use super::TOKEN;
use super::buffer::ReceiveBuffer;
use super::nic::{NextSend, Nic};
use super::outbox::CONTROL_PORT;
use super::queues::Queues;
use crate::Tdma;
use crate::counters;
use crate::options::Reporting;
use crate::wire::{Body, Demand, Fragment, MAX_DEMANDS, Message};
use slotline_net::frame::{Kind, Packet};
use slotline_net::id::{HostId, PortId};
use slotline_net::node::agent::Agent;
use slotline_net::node::{Counters, Cx, Note, PacketAccount};
use slotline_net::rng::Stream;
use slotline_net::scheme::CONTROL_CLASS;
use slotline_net::time::Time;
use slotline_net::units::{Bytes, InverseRate, Rate};
use slotline_net::wire::ETHERNET_OVERHEAD;
use slotline_net::wire::mac_control::{Frame, Mac};
use slotline_net::wire::newer;
use std::collections::VecDeque;

/// The priority of short flows.
pub const SHORT_CLASS: u8 = 6;

/// The traffic of a host that needs no slots.
struct Short {
    /// The most bytes to a destination in each span.
    most: u64,
    span: Time,
    pace: InverseRate,
    /// When the next packet may leave.
    next: Time,
}

/// The state of reports to the fabric manager.
#[derive(Default)]
struct Reports {
    interval: Time,
    /// How often there is a report even if nothing has changed.
    heartbeat: Time,
    in_slot: bool,
    /// Whether a report is due. It is written when it leaves, so that it is up to date.
    due: bool,
    /// Whether there is demand that has not been reported.
    news: bool,
    number: u32,
    /// The number of the last report that has arrived.
    arrived: u32,
    last: Time,
    /// When the next report is considered.
    beat: Time,
}

/// The agent of a host under TDMA.
pub struct TdmaAgent {
    host: HostId,
    manager: HostId,
    /// Whether messages leave by the port of a control network.
    apart: bool,
    queues: Queues,
    nic: Nic,
    /// The hosts that take no part in the scheme, ascending.
    outside: Vec<HostId>,
    short: Option<Short>,
    reports: Reports,
    buffer: Option<ReceiveBuffer>,
    messages: VecDeque<Packet>,
    /// The number of the next message.
    next: u32,
    /// The number of the last message received.
    heard: Option<u32>,
    timeout: Time,
    /// When the last message of the fabric manager arrived, or when packets began to wait, if that was later.
    heard_at: Time,
    /// Whether the fabric manager has been silent for too long.
    released: bool,
    unscheduled: u64,
    created: u64,
}

impl TdmaAgent {
    /// The agent of `host`, whose link has the rate `line`; `manager` is the host of the fabric manager. In each
    /// round, `short` bytes to each destination count as a short flow. Its clock and delays are drawn from `rng`.
    pub fn new(
        tdma: &Tdma,
        host: HostId,
        manager: HostId,
        line: Rate,
        short: Option<Bytes>,
        rng: Stream,
    ) -> TdmaAgent {
        let spec = tdma.spec();
        let share = tdma.rounds().reserved(line);
        let short_of = |most: Bytes| Short {
            most: most.0,
            span: spec.round,
            pace: share.inverse_rate(),
            next: Time::ZERO,
        };
        TdmaAgent {
            host,
            manager,
            apart: spec.reports_apart(),
            queues: Queues::default(),
            outside: Vec::new(),
            nic: Nic::new(tdma, host, line, rng),
            short: short.map(short_of),
            reports: Reports {
                interval: spec.report_interval(),
                heartbeat: spec.round,
                in_slot: spec.reports == Reporting::Slot,
                beat: Time::MAX,
                ..Reports::default()
            },
            buffer: spec.receive_buffer.map(|size| ReceiveBuffer::new(size, spec.drain)),
            messages: VecDeque::new(),
            next: 0,
            heard: None,
            timeout: spec.manager_timeout(),
            heard_at: Time::ZERO,
            released: false,
            unscheduled: 0,
            created: 0,
        }
    }
    /// The same agent in a network where the hosts `outside`, ascending, take no part in the scheme. Packets to them need
    /// no slots.
    pub fn beside(self, outside: Vec<HostId>) -> TdmaAgent {
        TdmaAgent { outside, ..self }
    }
    /// The same agent where a packet has at most `bytes` on the wire. Longer ones are several packets of a real host, which
    /// leave together.
    pub fn with_packets_of(mut self, bytes: u16) -> TdmaAgent {
        self.nic.longest = bytes;
        self
    }
    /// Whether the fabric manager has been silent for too long, so that packets leave without slots.
    pub fn released(&self) -> bool {
        self.released
    }

    /// Queues a message to the fabric manager.
    fn queue_message(&mut self, body: Body, cx: &mut Cx<'_>) {
        self.next = self.next.wrapping_add(1);
        self.created += 1;
        let heard = self.heard.unwrap_or(0);
        let bytes = Message { host: self.host, seq: self.next, heard, body }.emit();
        let packet = cx.attach((self.host, self.manager), bytes, ETHERNET_OVERHEAD, CONTROL_CLASS);
        if self.apart {
            return cx.send(CONTROL_PORT, packet);
        }
        self.messages.push_back(packet);
    }
    fn report(&mut self, cx: &mut Cx<'_>) {
        let reports = &mut self.reports;
        (reports.due, reports.news, reports.last) = (false, false, cx.now);
        reports.number = reports.number.wrapping_add(1);
        let (report, (round, slot)) = (reports.number, self.nic.position);
        let free = self.buffer.as_mut().map_or(u64::MAX, |buffer| buffer.free(cx.now));
        let all: Vec<(HostId, u64)> = self.queues.waiting().collect();
        let parts = all.len().div_ceil(MAX_DEMANDS).max(1) as u16;
        for part in 0..parts {
            let waiting = all.iter().skip(usize::from(part) * MAX_DEMANDS).take(MAX_DEMANDS);
            let (waiting, part) = (waiting.copied().collect(), Fragment { part, parts });
            self.queue_message(
                Body::Demand(Demand { report, part, round, slot, whole: true, free, waiting }),
                cx,
            );
        }
        self.schedule_report(cx);
    }
    /// Requests a wake-up for the next report.
    fn schedule_report(&mut self, cx: &mut Cx<'_>) {
        let reports = &mut self.reports;
        let soon = reports.news || reports.arrived != reports.number;
        let at = reports.last.after(if soon { reports.interval } else { reports.heartbeat });
        if at < reports.beat {
            reports.beat = at;
            cx.wake(at, TOKEN);
        }
    }
    /// Requests a report, because the demand has changed.
    fn demand_changed(&mut self, cx: &mut Cx<'_>) {
        self.reports.news = true;
        if cx.now >= self.reports.last.after(self.reports.interval) || self.reports.number == 0 {
            self.reports.due = true;
        } else {
            self.schedule_report(cx);
        }
    }
    fn beat(&mut self, cx: &mut Cx<'_>) {
        if cx.now < self.reports.beat {
            return;
        }
        self.reports.beat = Time::MAX;
        let reports = &mut self.reports;
        let soon = reports.news || reports.arrived != reports.number;
        let span = if soon { reports.interval } else { reports.heartbeat };
        if cx.now >= reports.last.after(span) {
            reports.due = true;
        }
        // The silence is also noticed when reports wait for a slot that never comes.
        reports.beat = cx.now.after(if soon { reports.interval } else { reports.heartbeat });
        cx.wake(reports.beat, TOKEN);
        self.release_after_silence(cx);
    }
    fn release_after_silence(&mut self, cx: &mut Cx<'_>) {
        let silent = cx.now.since(self.heard_at) >= self.timeout && cx.now >= self.nic.paused_until;
        if self.queues.any() && silent && !self.released {
            self.released = true;
            self.nic.forget(cx);
            cx.note(Note::AllWithdrawn { host: self.host, except: None });
        }
    }
    fn manager_is_alive(&mut self, cx: &mut Cx<'_>) {
        self.heard_at = cx.now;
        self.released = false;
    }

    fn receive_message(&mut self, message: Message, cx: &mut Cx<'_>) {
        let Message { host, seq, body, .. } = message;
        if host != self.host || self.heard.is_some_and(|last| !newer(seq, last)) {
            return;
        }
        self.heard = Some(seq);
        self.manager_is_alive(cx);
        match body {
            Body::Hello => {
                self.nic.forget(cx);
                self.reports.due = true;
            }
            Body::Reported(number) => self.reports.arrived = number,
            Body::Classes { round, part, timing, classes }
                if self.nic.learn_round(round, part, timing, &classes, cx.now) =>
            {
                self.queue_message(Body::Ready(round), cx);
            }
            _ => {}
        }
    }
    fn receive_frame(&mut self, frame: Frame, cx: &mut Cx<'_>) {
        if frame.destination == Mac::of(self.host) {
            self.manager_is_alive(cx);
            self.nic.receive_frame(frame.pause, cx);
        }
    }
    /// Applies frames that are due. A report leaves well at the end of a slot, when no packet is in transmission.
    fn advance(&mut self, cx: &mut Cx<'_>) {
        let reports_open = self.nic.reports_open;
        let over = self.nic.advance(cx);
        let interval = cx.now >= self.reports.last.after(self.reports.interval);
        self.reports.due |= over && self.reports.news && interval;
        self.reports.due |= self.reports.in_slot && self.nic.reports_open && !reports_open;
    }

    fn is_short(&mut self, packet: &Packet, now: Time) -> bool {
        let Some(short) = &self.short else { return false };
        packet.kind == Kind::Ack
            || self.outside.binary_search(&packet.dst).is_ok()
            || self.queues.is_short(packet, now, short.span, short.most)
    }
    fn pop_short(&mut self, cx: &mut Cx<'_>) -> Option<Packet> {
        let short = self.short.as_mut()?;
        if !self.queues.has_short() {
            return None;
        }
        if short.next > cx.now {
            cx.wake(short.next, TOKEN);
            return None;
        }
        let packet = self.queues.pop_short()?;
        short.next = cx.now.after(short.pace.time_for(packet.len.into()));
        Some(Packet { class: SHORT_CLASS, ..packet })
    }
    fn pop_scheduled(&mut self, cx: &mut Cx<'_>) -> Option<Packet> {
        match self.nic.next_send(&self.queues, cx.now) {
            NextSend::Now(at) => {
                let packet = self.queues.pop(self.nic.destination(at))?;
                self.nic.sent(at, &packet, cx.now);
                Some(packet)
            }
            NextSend::At(next) => {
                cx.wake(next, TOKEN);
                None
            }
            NextSend::Never => None,
        }
    }
    fn report_leaves(&self) -> bool {
        self.reports.due && (!self.reports.in_slot || self.nic.reports_open || self.released)
    }
    fn kick(&mut self, cx: &mut Cx<'_>) {
        if self.apart && self.report_leaves() {
            self.report(cx);
        }
        let scheduled = matches!(self.nic.next_send(&self.queues, cx.now), NextSend::Now(_));
        let short = self.queues.has_short();
        let free = self.released && self.queues.any();
        if !self.messages.is_empty() || self.report_leaves() || scheduled || short || free {
            cx.kick(PortId(0));
        }
    }
}

impl Agent for TdmaAgent {
    fn start(&mut self, cx: &mut Cx<'_>) {
        // Numbers begin with the time, so that those of a host that has restarted are later.
        self.next = (cx.now.as_ns() / 1_000) as u32;
        self.heard_at = cx.now;
        self.queue_message(Body::Hello, cx);
        self.reports.due = true;
        self.kick(cx);
    }
    fn enqueue(&mut self, packet: Packet, cx: &mut Cx<'_>) {
        if self.is_short(&packet, cx.now) {
            self.queues.push_short(packet);
        } else {
            if !self.queues.any() {
                self.heard_at = self.heard_at.max(cx.now);
            }
            self.queues.push(packet);
            self.demand_changed(cx);
        }
        self.kick(cx);
    }
    fn dequeue(&mut self, cx: &mut Cx<'_>) -> Option<Packet> {
        self.advance(cx);
        if self.report_leaves() {
            self.report(cx);
        }
        if let Some(message) = self.messages.pop_front() {
            return Some(message);
        }
        if let Some(packet) = self.pop_short(cx) {
            return Some(packet);
        }
        if self.released {
            let packet = self.queues.pop_any();
            self.unscheduled += u64::from(packet.is_some());
            return packet;
        }
        self.pop_scheduled(cx)
    }
    fn control(&mut self, message: &[u8], cx: &mut Cx<'_>) {
        if let Ok(message) = Message::parse(message) {
            self.receive_message(message, cx);
        } else if let Ok(frame) = Frame::parse(message) {
            self.receive_frame(frame, cx);
        }
        self.kick(cx);
    }
    fn expire(&mut self, _token: u32, cx: &mut Cx<'_>) {
        self.advance(cx);
        self.beat(cx);
        self.kick(cx);
    }
    fn arrived(&mut self, packet: &Packet, cx: &mut Cx<'_>) -> bool {
        let Some(buffer) = &mut self.buffer else { return true };
        if !matches!(packet.kind, Kind::Data | Kind::Datagram) {
            return true;
        }
        let taken = buffer.take(packet.len.into(), cx.now);
        if buffer.fills() {
            self.demand_changed(cx);
        }
        taken
    }
    fn queued(&self, dst: HostId) -> u64 {
        self.queues.bytes(dst)
    }
    fn account(&self) -> PacketAccount {
        let held = self.messages.len() as u64 + self.queues.held();
        PacketAccount { created: self.created, consumed: 0, held }
    }
    fn add_counters(&self, counters: &mut Counters) {
        self.nic.add_counters(counters);
        counters.add(counters::PACKETS_WITHOUT_SLOT, self.unscheduled);
        self.buffer.iter().for_each(|buffer| buffer.add_counters(counters));
    }
}
