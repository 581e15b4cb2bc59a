//! XCo's local coordinator (§3.1): holds a host's packets back until the controller permits them.
//!
//! Packets wait in one FIFO per destination. A queue that fills is reported; a directive opens the
//! queue of a destination for a while, or at a rate; one that stays empty is given back. Acknowledgements
//! and small flows are exempt. Whoever hears nothing from the controller for too long sends uncontrolled
//! until it is back (§7).

mod queues;

use super::agent::{AGENT_TOKENS, Agent};
use super::controller::CONTROL_CLASS;
use super::{Census, Cx, Note};
use crate::control::xco::Xco;
use crate::control::xco::spec::{Mode, XcoSpec};
use crate::frame::{Kind, Packet};
use crate::id::{HostId, PortId};
use crate::time::Time;
use crate::units::Rate;
use crate::wire::xco::{Body, MAX_DESTINATIONS, Message, OVERHEAD, newer};
use queues::Queues;
use std::collections::VecDeque;

/// The agent of a host under XCo.
pub struct Coordinator {
    host: HostId,
    controller: HostId,
    slice: Time,
    /// After how long an unused permission is given back.
    hysteresis: Time,
    small_flow: u64,
    exempt_acks: bool,
    timeout: Time,
    report_interval: Time,

    queues: Queues,
    /// Messages to the controller, except reports.
    messages: VecDeque<Packet>,
    /// Packets that need no permission.
    exempt: VecDeque<Packet>,
    /// Whether the controller is silent, so that everything may leave.
    uncontrolled: bool,
    /// Whether a report has to be sent. It is written when it leaves: always up to date.
    report: bool,
    /// When the next report is due even if nothing changes; [`Time::MAX`] while there is nothing to do.
    beat: Time,
    /// When the controller was last heard, or from when on it had something to answer.
    heard: Time,
    directive: Option<u32>,
    next: u32,
    created: u64,
}

impl Coordinator {
    /// The coordinator of `host`, whose controller sits on `controller`.
    pub fn new(options: &Xco, host: HostId, controller: HostId) -> Coordinator {
        let spec = options.spec();
        Coordinator {
            host,
            controller,
            slice: spec.slice,
            hysteresis: hysteresis(spec),
            small_flow: spec.small_flow.0,
            exempt_acks: spec.exempt_acks,
            timeout: spec.timeout(),
            report_interval: spec.report_interval(),
            queues: Queues::default(),
            messages: VecDeque::new(),
            exempt: VecDeque::new(),
            uncontrolled: false,
            report: false,
            beat: Time::MAX,
            heard: Time::ZERO,
            directive: None,
            next: 0,
            created: 0,
        }
    }
    /// Whether the controller has been silent for too long, so that packets leave uncontrolled.
    pub fn uncontrolled(&self) -> bool {
        self.uncontrolled
    }
    /// Tells the controller that the host will send no more (§3.5, dynamic leave).
    pub fn leave(&mut self, cx: &mut Cx<'_>) {
        self.tell(Body::Leave, cx);
        self.kick(cx);
    }

    fn message(&mut self, body: Body, cx: &mut Cx<'_>) -> Packet {
        let seq = self.next;
        self.next = seq.wrapping_add(1);
        self.created += 1;
        let bytes =
            Message { host: self.host, seq, heard: self.directive.unwrap_or(0), body }.emit();
        cx.attach((self.host, self.controller), bytes, OVERHEAD, CONTROL_CLASS)
    }
    fn tell(&mut self, body: Body, cx: &mut Cx<'_>) {
        let packet = self.message(body, cx);
        self.messages.push_back(packet);
    }
    fn write_report(&mut self, cx: &mut Cx<'_>) -> Packet {
        self.report = false;
        let backlog = self.queues.backlog(MAX_DESTINATIONS);
        self.message(Body::Backlog(backlog), cx)
    }
    /// Has reports sent from time to time, while there is something to report.
    fn begin(&mut self, cx: &mut Cx<'_>) {
        if self.beat == Time::MAX {
            self.heard = cx.now;
            self.set_beat(cx);
        }
    }
    fn set_beat(&mut self, cx: &mut Cx<'_>) {
        self.beat = cx.now.after(self.report_interval);
        cx.wake(self.beat, AGENT_TOKENS);
    }
    fn beat(&mut self, cx: &mut Cx<'_>) {
        if cx.now < self.beat {
            return;
        }
        if self.queues.idle() {
            self.beat = Time::MAX;
            return;
        }
        if cx.now.since(self.heard) >= self.timeout {
            self.uncontrolled = true;
            self.queues.revoke_all();
            cx.note(Note::AllWithdrawn { host: self.host, except: None });
        }
        self.report = true;
        self.set_beat(cx);
    }

    /// Small flows (§4.4): acknowledgements, and a few bytes per slice to each destination. Never
    /// overtakes what waits for the same destination.
    fn is_exempt(&mut self, packet: &Packet, now: Time) -> bool {
        match packet.kind {
            Kind::Ack => self.exempt_acks,
            Kind::Control | Kind::Pause => true,
            Kind::Data | Kind::Datagram => {
                let (slice, allowance) = (self.slice, self.small_flow);
                self.queues.small(packet, now, slice, allowance)
            }
        }
    }
    fn hold(&mut self, packet: Packet, cx: &mut Cx<'_>) {
        let begins = self.queues.push(packet);
        if begins && !self.queues.is_permitted(packet.dst) {
            self.report |= !self.uncontrolled;
            self.begin(cx);
        }
    }
    /// Takes the next permitted packet.
    fn release(&mut self, cx: &mut Cx<'_>) -> Option<Packet> {
        if self.uncontrolled {
            return self.queues.pop_any();
        }
        let Some(dst) = self.queues.next(cx.now) else {
            if let Some(at) = self.queues.wait(cx.now) {
                cx.wake(at, AGENT_TOKENS);
            }
            return None;
        };
        let packet = self.queues.pop(dst, cx.now);
        if self.queues.is_empty(dst) {
            self.give_back_later(cx);
        }
        packet
    }
    fn give_back_later(&self, cx: &mut Cx<'_>) {
        cx.wake(cx.now.after(self.hysteresis), AGENT_TOKENS);
    }
    /// Work conservation (§3.1): gives back what has been unused for the hysteresis delay.
    fn give_back(&mut self, cx: &mut Cx<'_>) {
        while let Some(dst) = self.queues.revoke_unused(cx.now, self.hysteresis, self.next) {
            cx.note(Note::Withdrawn { host: self.host, dst });
            self.tell(Body::Release(dst), cx);
        }
    }

    /// Whether a directive is the latest; after a silence, any is.
    fn is_news(&self, seq: u32) -> bool {
        self.uncontrolled || self.directive.is_none_or(|last| newer(seq, last))
    }
    /// A permission that has crossed its own return is void: the controller counts on nothing being
    /// sent, and may have permitted others instead.
    fn open(&mut self, to: (HostId, Option<Rate>), until: Time, heard: u32, cx: &mut Cx<'_>) {
        let (dst, rate) = to;
        if self.queues.returned_since(dst, heard) {
            return;
        }
        self.queues.permit(dst, until, rate, cx.now);
        cx.note(Note::Permitted { host: self.host, dst, until, rate });
        if until < Time::MAX {
            cx.wake(until, AGENT_TOKENS);
        }
        if self.queues.is_empty(dst) {
            self.give_back_later(cx);
        }
    }
    fn obey(&mut self, body: Body, heard: u32, cx: &mut Cx<'_>) {
        match body {
            Body::Window { dst, duration, rate } => {
                self.queues.revoke_others(dst);
                cx.note(Note::AllWithdrawn { host: self.host, except: dst });
                if let Some(dst) = dst {
                    self.open((dst, rate), cx.now.after(duration), heard, cx);
                }
            }
            Body::Rates(rates) => {
                rates
                    .into_iter()
                    .for_each(|(dst, rate)| self.open((dst, Some(rate)), Time::MAX, heard, cx));
            }
            Body::Hello | Body::Leave | Body::Backlog(_) | Body::Release(_) => {}
        }
    }
    fn kick(&self, cx: &mut Cx<'_>) {
        let waiting = self.report || !self.messages.is_empty() || !self.exempt.is_empty();
        let open = self.uncontrolled && !self.queues.idle();
        if waiting || open || self.queues.next(cx.now).is_some() {
            cx.kick(PortId(0));
        }
    }
}

/// Without work conservation a slice is kept to its end, and a rate, on which everybody's rates depend,
/// is kept for a while in any case.
fn hysteresis(spec: &XcoSpec) -> Time {
    match spec.mode {
        Mode::Timeslice if spec.work_conserving => spec.hysteresis,
        Mode::Timeslice => spec.slice,
        Mode::RateLimit => spec.report_interval(),
    }
}

impl Agent for Coordinator {
    fn start(&mut self, cx: &mut Cx<'_>) {
        self.tell(Body::Hello, cx);
        self.kick(cx);
    }
    fn enqueue(&mut self, packet: Packet, cx: &mut Cx<'_>) {
        if self.is_exempt(&packet, cx.now) {
            self.queues.count(&packet);
            self.exempt.push_back(packet);
        } else {
            self.hold(packet, cx);
        }
        self.kick(cx);
    }
    fn dequeue(&mut self, cx: &mut Cx<'_>) -> Option<Packet> {
        if let Some(message) = self.messages.pop_front() {
            return Some(message);
        }
        if self.report {
            return Some(self.write_report(cx));
        }
        if let Some(packet) = self.exempt.pop_front() {
            self.queues.discount(&packet);
            return Some(packet);
        }
        self.release(cx)
    }
    fn control(&mut self, message: &[u8], cx: &mut Cx<'_>) {
        let Ok(Message { host, seq, heard, body }) = Message::parse(message) else {
            return;
        };
        if host != self.host || !self.is_news(seq) {
            return;
        }
        self.directive = Some(seq);
        self.heard = cx.now;
        self.uncontrolled = false;
        self.obey(body, heard, cx);
        self.kick(cx);
    }
    fn expire(&mut self, _token: u32, cx: &mut Cx<'_>) {
        self.report |= self.queues.revoke_ended(cx.now, self.next);
        self.give_back(cx);
        self.beat(cx);
        self.kick(cx);
    }
    fn queued(&self, dst: HostId) -> u64 {
        self.queues.bytes(dst)
    }
    fn census(&self) -> Census {
        let held = self.messages.len() + self.exempt.len() + self.queues.packets();
        Census { created: self.created, consumed: 0, held: held as u64 }
    }
}

#[cfg(test)]
mod tests;
