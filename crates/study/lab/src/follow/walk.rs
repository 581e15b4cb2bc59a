//! The critical path of a flow, walked backwards from its last byte.
//!
//! The segment that completed the flow left when it did because an acknowledgement arrived, or a timer
//! expired, or the network card had room; the acknowledgement left because a segment arrived; and so on
//! until the flow's start. Each step accounts for the time between two events, so that the parts add up
//! to the completion time exactly.

use super::days::Days;
use super::permits::Permits;
use super::trip::{Leg, Trace, Trip};
use crate::record::{FlowRow, Part, WORST_PORTS, WhyRow};
use slotline_net::id::HostId;
use slotline_net::node::host::Plan;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// What a run recorded besides packets.
pub(super) struct Noted {
    pub permits: Permits,
    pub days: Days,
}

/// Explains a complete flow of a connection of which `trace` has all packets.
pub(super) fn explain(row: &FlowRow, plan: &Plan, trace: &Trace, noted: &Noted) -> WhyRow {
    let conn = plan.traffic.flows[row.flow as usize].conn;
    let ends = &plan.traffic.conns[conn.at()];
    let walk = Walk {
        trace,
        plan,
        noted,
        ends: (ends.src, ends.dst),
        reaction: plan.reaction(conn.0),
        start: row.start_ps,
        now: row.finish_ps,
        row: WhyRow { flow: row.flow, ..WhyRow::default() },
        waits: BTreeMap::new(),
    };
    walk.done()
}

/// An event on the path. Segments and acknowledgements are given by their index in the trace.
#[derive(Clone, Copy)]
enum Event {
    /// A segment reached the receiver.
    Arrived(usize),
    /// The sender made a segment.
    Made(usize),
    /// An acknowledgement reached the sender.
    Acknowledged(usize),
}

/// The cause of a segment: the event that allowed the sender to make it.
enum Cause {
    /// The flow began.
    Start,
    /// An acknowledgement allowed the segment.
    Acknowledged(usize),
    /// The network card had room again after an earlier segment.
    Room(usize),
    /// A timer expired, after the event given here.
    Timer(Option<Event>),
}

struct Walk<'a> {
    trace: &'a Trace,
    plan: &'a Plan,
    noted: &'a Noted,
    ends: (HostId, HostId),
    /// The longest time that hosts take to react, in picoseconds.
    reaction: u64,
    start: u64,
    /// The time from which everything until the flow's end is accounted for.
    now: u64,
    row: WhyRow,
    waits: BTreeMap<u32, u64>,
}

impl Walk<'_> {
    fn done(mut self) -> WhyRow {
        let mut next = self.trace.data_at(self.now).map(Event::Arrived);
        while let Some(event) = next.filter(|_| self.now > self.start) {
            next = self.before(event);
        }
        self.spend(Part::Unknown, self.start);
        let mut worst: Vec<(u32, u64)> = self.waits.into_iter().collect();
        worst.sort_unstable_by_key(|&(port, ps)| (Reverse(ps), port));
        worst.truncate(WORST_PORTS);
        worst.resize(WORST_PORTS, (0, 0));
        self.row.worst.copy_from_slice(&worst);
        self.row
    }

    /// Accounts for the time between `event` and its cause.
    fn before(&mut self, event: Event) -> Option<Event> {
        let trace = self.trace;
        match event {
            Event::Arrived(at) => {
                let trip = &trace.data[at];
                self.travel(trip);
                let made = self.made_at(trip);
                self.wait_in_host(self.ends, trip, made);
                Some(Event::Made(at))
            }
            Event::Made(at) => self.before_made(at),
            Event::Acknowledged(at) => {
                let ack = &trace.acks[at];
                self.row.round_trips += 1;
                self.travel(ack);
                let answered = trace.answered(ack)?;
                let (src, dst) = self.ends;
                self.wait_in_host((dst, src), ack, trace.data[answered].arrive());
                Some(Event::Arrived(answered))
            }
        }
    }

    fn before_made(&mut self, at: usize) -> Option<Event> {
        match self.cause(at) {
            Cause::Start => {
                self.spend(Part::Host, self.start);
                None
            }
            Cause::Acknowledged(ack) => Some(Event::Acknowledged(ack)),
            Cause::Room(earlier) => {
                let earlier_made = self.made_at(&self.trace.data[earlier]);
                self.wait_for_card(&self.trace.data[at], earlier_made);
                Some(Event::Made(earlier))
            }
            Cause::Timer(before) => {
                self.spend(Part::Timeout, before.map_or(self.start, |event| self.time_of(event)));
                before
            }
        }
    }

    fn time_of(&self, event: Event) -> u64 {
        match event {
            Event::Arrived(at) => self.trace.data[at].arrive(),
            Event::Made(at) => self.made_at(&self.trace.data[at]),
            Event::Acknowledged(at) => self.trace.acks[at].arrive(),
        }
    }

    /// When a segment was made, in picoseconds. The time is exact if an acknowledgement or the flow's start caused the
    /// segment, and rounded down to nanoseconds otherwise.
    fn made_at(&self, trip: &Trip) -> u64 {
        let ns = trip.made_ns();
        let ack = self.trace.ack_until(ns).map(|ack| self.trace.acks[ack].arrive());
        let exact = ack.into_iter().chain([self.start]).find(|time| time / 1000 == ns);
        exact.unwrap_or(ns * 1000)
    }

    fn cause(&self, at: usize) -> Cause {
        let trip = &self.trace.data[at];
        let ns = trip.made_ns();
        let ack = self.trace.ack_until(ns);
        let heard = ack.map(|ack| self.trace.acks[ack].arrive());
        let earlier = (0..at).rev().find(|&earlier| self.trace.data[earlier].made_ns() <= ns);
        let sent = earlier.map(|earlier| self.made_at(&self.trace.data[earlier]));
        if trip.packet.timed_out() {
            let ack = ack.map(Event::Acknowledged);
            return Cause::Timer(if heard >= sent { ack } else { earlier.map(Event::Made) });
        }
        match (ack, heard, earlier, sent) {
            (Some(ack), Some(heard), ..) if heard / 1000 == ns => Cause::Acknowledged(ack),
            (_, _, Some(earlier), Some(sent)) if ns > self.start / 1000 && sent >= self.start => {
                Cause::Room(earlier)
            }
            _ => Cause::Start,
        }
    }

    /// Accounts for the trip of a packet, from its arrival back to its start.
    fn travel(&mut self, trip: &Trip) {
        if trip.resent() {
            return self.spend(Part::Retransmitting, trip.start());
        }
        let legs = self.trace.legs(trip);
        for (at, leg) in legs.iter().enumerate().rev() {
            self.spend(Part::Propagating, leg.leave);
            self.spend(Part::Serialising, leg.start);
            if let Some(before) = at.checked_sub(1) {
                self.wait_in_switch(leg, legs.get(at + 1), legs[before].arrive);
            }
        }
    }

    /// Accounts for the wait in a switch since `since`. Before a circuit, the time without a circuit to the start of
    /// the `next` leg counts as waiting for the circuit.
    fn wait_in_switch(&mut self, leg: &Leg, next: Option<&Leg>, since: u64) {
        if let Some(next) = next.filter(|_| leg.circuit) {
            let (from, until) = (since.max(self.start).min(self.now), self.now);
            let dark = self.noted.days.dark((leg.from, next.from), from, until);
            self.wait(Part::Queue, leg, from + dark);
            return self.wait(Part::Circuit, leg, since);
        }
        self.wait(Part::Queue, leg, since);
    }

    /// Accounts for the time from the start of a trip back to the time at which its host could send the packet.
    fn wait_in_host(&mut self, pair: (HostId, HostId), trip: &Trip, since: u64) {
        let (from, until) = (since.max(self.start), self.now);
        let span = until.saturating_sub(from);
        if span <= self.reaction {
            return self.spend(Part::Host, from);
        }
        let delayed = self.plan.transport.delayed_ack().as_ps();
        let (is_answer, leg) = (pair != self.ends, self.trace.first_leg(trip));
        if is_answer && delayed > 0 {
            self.spend(Part::Host, until - span.min(delayed));
        }
        if is_answer {
            return self.wait(Part::Card, leg, from);
        }
        let permits = &self.noted.permits;
        let barred = if permits.any() { permits.barred(pair, from, until) } else { 0 };
        self.wait(Part::Grant, leg, until - barred);
        self.wait_for_card(trip, from);
    }

    /// Accounts for the wait for the sender's network card since `since`. The time in which the card was busy with
    /// segments of this connection does not count as waiting.
    fn wait_for_card(&mut self, trip: &Trip, since: u64) {
        let (trace, until) = (self.trace, self.now);
        let leg = |trip: &Trip| trace.first_leg(trip);
        let first = trace.data.partition_point(|earlier| leg(earlier).leave <= since);
        let within = trace.data[first..].iter().map(leg);
        let within = within.take_while(|leg| leg.start < until);
        let own: u64 = within.map(|leg| leg.leave.min(until) - leg.start.max(since)).sum();
        self.spend(Part::Serialising, until.saturating_sub(own).max(since));
        self.wait(Part::Card, leg(trip), since);
    }

    /// Accounts for the wait at the port of `leg` since `since`.
    fn wait(&mut self, part: Part, leg: &Leg, since: u64) {
        let before = self.now;
        self.spend(part, since);
        if self.now < before {
            *self.waits.entry(leg.port).or_default() += before - self.now;
        }
    }

    /// Accounts for the time since `since`, or since the start of the flow, as `part`.
    fn spend(&mut self, part: Part, since: u64) {
        let since = since.max(self.start).min(self.now);
        self.row.parts[part as usize] += self.now - since;
        self.now = since;
    }
}
