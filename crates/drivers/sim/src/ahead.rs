//! Departures from pulled ports of switches that are certain when packets arrive.
//!
//! A pulled port asks its node for a packet each time it is free, which is a second event for each hop. While the order
//! of departures is certain (see [`slotline_net::node::switch`]), a packet goes into the calendar when it arrives, as at
//! a FIFO port. If the order may change, packets that have not started are taken back into the switch. Results are those
//! of a port that asks.

use crate::calendar::{Calendar, Entry};
use crate::line::{Discipline, PORT_MASK};
use crate::links::{Links, own};
use crate::network::Place;
use crate::node_events::NodeEvent;
use crate::shard::{Item, NONE, Shard};
use slotline_net::frame::{ECT, Packet};
use slotline_net::id::PortId;
use slotline_net::node::egress::{Leaving, Passage, Sends, Stored};
use slotline_net::node::switch::Switch;
use slotline_net::node::{Cx, DropReason, Node, Payloads};
use slotline_net::time::Time;
use std::any::Any;
use std::collections::VecDeque;

/// A packet in the calendar that had not started when it was put there.
#[derive(Clone, Copy)]
pub(crate) struct Ahead {
    /// When its first bit leaves, ps.
    start: u64,
    /// Its place in the calendar.
    position: u32,
    leaving: Leaving,
}

/// The packets of a port that have not started, in order.
pub(crate) type Waiting = VecDeque<Ahead>;

/// Where a packet is while it is handled.
#[derive(Clone, Copy)]
enum Source {
    /// In the calendar.
    At(u32),
    /// The switch has made it.
    Made(Packet),
}

impl Source {
    #[inline(always)]
    fn packet<'a>(&'a self, calendar: &'a Calendar) -> &'a Packet {
        match self {
            Source::At(position) => &calendar.get(*position).packet,
            Source::Made(packet) => packet,
        }
    }
}

impl Links {
    /// The packets of `port` that have not started.
    #[inline]
    fn waiting(&mut self, port: u32) -> &mut Waiting {
        &mut self.ahead[(port - self.first_port) as usize]
    }

    /// When the present transmission of `port` ends.
    pub fn sends_until(&self, port: u32) -> u64 {
        let at = (port - self.first_port) as usize;
        let next = self.ahead.get(at).and_then(|waiting| waiting.front());
        next.map_or(self.lines[at].free_at, |next| next.start)
    }

    /// Reports the packets of `port` that started before `until` to the switch.
    #[inline]
    fn report_departures(&mut self, switch: &mut Switch, base: u32, port: PortId, until: u64) {
        let at = (base + u32::from(port.0) - self.first_port) as usize;
        let (waiting, line) = (&mut self.ahead[at], &mut self.lines[at]);
        if waiting.front().is_some_and(|first| first.start < until) {
            let next = || {
                let first = waiting.front().filter(|first| first.start < until)?;
                let departure = (first.leaving, Time::ps(first.start));
                line.count(first.leaving.len);
                waiting.pop_front();
                Some(departure)
            };
            switch.left(port, std::iter::from_fn(next));
        }
    }

    /// Takes the packets of `port` that start at `now` or later back into the switch. Returns whether there were any.
    fn take_back(&mut self, switch: &mut Switch, base: u32, port: PortId, now: u64) -> bool {
        self.report_departures(switch, base, port, now);
        let index = base + u32::from(port.0);
        if let Some(recorder) = &mut self.recorder {
            recorder.take_back((index - self.first_port) as usize, now);
        }
        let mut waiting = std::mem::take(self.waiting(index));
        if let Some(first) = waiting.front() {
            self.line(index).0.free_at = first.start;
        }
        let any = !waiting.is_empty();
        let own = self.shared.layout.own(self.shared.layout.node[index as usize] as usize);
        for Ahead { position, leaving, .. } in waiting.drain(..) {
            let packet = self.calendar.void(position, own);
            let Leaving { from, since, .. } = leaving;
            switch.take_back(port, Stored { packet, from, since });
        }
        *self.waiting(index) = waiting;
        any
    }
}

/// The departure of a packet from a pulled port.
#[derive(Clone, Copy)]
struct Departure {
    /// The index of the port among those of the shard.
    at: usize,
    sends: Sends,
    /// When and where it arrives.
    arrival: (u64, u32),
}

impl Links {
    /// The departure of a packet of `len` bytes that arrives at `now`, if its arrival can be put into the calendar, where
    /// it must stay in its place until it has started.
    #[inline(always)]
    fn departure(&self, at: usize, len: u16, now: u64) -> Option<Departure> {
        let line = &self.lines[at];
        let (busy, start) = (line.is_busy(now), line.free_at.max(now));
        let end = start + line.time_for(len);
        let arrival = line.arrival(end);
        let stays = line.discipline() == Discipline::Pulled
            && (!busy || (self.is_mine(arrival.1) && self.calendar.is_near(arrival.0)));
        let sends = Sends { start: Time::ps(start), end: Time::ps(end), waits: busy };
        stays.then_some(Departure { at, sends, arrival })
    }

    /// Puts a packet that was admitted into the calendar. Its departure is reported to the switch later, if it waits.
    #[inline(always)]
    fn send_ahead(
        &mut self,
        (switch, out): (&mut Switch, PortId),
        departure: &Departure,
        source: &Source,
        flags: u8,
        leaving: Leaving,
        payloads: &mut Payloads,
    ) {
        let Departure { at, sends, arrival: (time, to) } = *departure;
        self.lines[at].free_at = sends.end.as_ps();
        if self.recorder.is_some() {
            let packet = *source.packet(&self.calendar);
            self.record_ahead(departure, packet, flags, leaving.since.as_ps());
        }
        let position = match source {
            Source::At(position) if self.is_mine(to) => {
                self.calendar.push_again(*position, time, to, flags)
            }
            _ => {
                let packet = source.packet(&self.calendar);
                let packet = Packet { flags: packet.flags | flags, ..*packet };
                self.deliver(time, to, &packet, payloads)
            }
        };
        if !sends.waits {
            return self.lines[at].count(leaving.len);
        }
        if self.ahead[at].len() == self.ahead[at].capacity() {
            self.make_space(switch, out, at, leaving.since.as_ps());
        }
        self.ahead[at].push_back(Ahead { start: sends.start.as_ps(), position, leaving });
    }

    /// Forgets what has started, because there is no space for more.
    #[inline(never)]
    fn make_space(&mut self, switch: &mut Switch, out: PortId, at: usize, now: u64) {
        let base = self.first_port + at as u32 - u32::from(out.0);
        self.report_departures(switch, base, out, now);
    }
}

impl Links {
    /// Records a packet that was admitted, if it is followed.
    #[cold]
    fn record_ahead(&mut self, departure: &Departure, packet: Packet, flags: u8, now: u64) {
        let Departure { at, sends, arrival: (time, _) } = *departure;
        let packet = Packet { flags: packet.flags | flags, ..packet };
        let port = self.first_port + at as u32;
        if sends.waits {
            self.expect(port, &packet, time, now)
        } else {
            self.record(port, &packet, time)
        }
    }
}

impl Calendar {
    /// Turns the event at `position` into one that means nothing, of the node with the slot `own`. Returns its packet.
    fn void(&mut self, position: u32, own: u32) -> Packet {
        let entry = self.get_mut(position);
        let packet = Packet { flow: own::NOTHING, ..Packet::default() };
        let voided = Entry { time: entry.time, to: own, packet };
        std::mem::replace(entry, voided).packet
    }
}

impl Shard {
    /// Calls a switch with its events of this window, in order.
    pub fn handle_switch(&mut self, at: usize, switch: &mut Switch, items: &mut [Item]) {
        let id = self.first_node + at;
        let own_slot = self.links.shared.layout.own(id);
        let base = self.links.shared.layout.first[id];
        self.look_up(id, switch, items);
        for item in &*items {
            let entry = self.links.calendar.get(item.position);
            let (time, to) = (entry.time, entry.to);
            if to & PORT_MASK == own_slot {
                let event = NodeEvent::new(time, entry.packet.flow, entry.packet.seq);
                self.links.node_events.push(event);
                continue;
            }
            while self.links.node_events.any_before(time) {
                let event = self.links.node_events.pop();
                self.switch_event(at, switch, event);
            }
            self.switch_arrival((at, base), switch, (time, to), item);
        }
        while self.links.node_events.any_before(u64::MAX) {
            let event = self.links.node_events.pop();
            self.switch_event(at, switch, event);
        }
    }

    /// Looks up the ports by which packets of this window leave, and loads the state of all of them, so that cache misses
    /// overlap.
    #[inline]
    fn look_up(&mut self, id: usize, switch: &Switch, items: &mut [Item]) {
        let links = &mut self.links;
        if links.shared.changes {
            return;
        }
        let base = links.shared.layout.first[id] - links.first_port;
        let (mut latest, row) = (0, switch.row());
        for item in items {
            let packet = &links.calendar.get(item.position).packet;
            if let Some(out) = Switch::exit_by(&row, packet) {
                item.out = u32::from(out.0);
                let line = &links.lines[(base + item.out) as usize];
                latest = latest.max(line.free_at ^ switch.touch(out));
            }
        }
        links.latest = latest;
    }

    fn switch_event(&mut self, at: usize, switch: &mut Switch, event: NodeEvent) {
        let (id, time) = (self.first_node + at, event.time());
        let base = self.links.shared.layout.first[id];
        if event.code() == own::NOTHING || time >= self.links.shared.end {
            return;
        }
        match event.code() {
            own::CHANGE => self.all_ports_ask(id, switch, time),
            own::FREE => {
                let port = PortId(event.token() as u16);
                if !switch.has_waiting(port) {
                    self.links.line(base + event.token()).1.armed = false;
                    return;
                }
            }
            own::SAMPLE => self.report_all_departures(id, switch, time + 1),
            _ => {}
        }
        self.handle_own_event(at, switch, event);
    }

    fn ports_of(&self, id: usize) -> impl Iterator<Item = PortId> + use<> {
        let first = &self.links.shared.layout.first;
        (0..(first[id + 1] - 1 - first[id]) as u16).map(PortId)
    }

    fn report_all_departures(&mut self, id: usize, switch: &mut Switch, until: u64) {
        let base = self.links.shared.layout.first[id];
        for port in self.ports_of(id) {
            self.links.report_departures(switch, base, port, until);
        }
    }

    /// From now on `port` asks for each packet.
    fn ask(&mut self, id: usize, switch: &mut Switch, port: PortId, now: u64) {
        let base = self.links.shared.layout.first[id];
        let index = base + u32::from(port.0);
        if self.links.take_back(switch, base, port, now) && !self.links.line(index).1.armed {
            self.arm(id, port);
        }
    }

    fn all_ports_ask(&mut self, id: usize, switch: &mut Switch, now: u64) {
        let base = self.links.shared.layout.first[id];
        for port in self.ports_of(id) {
            self.ask(id, switch, port, now);
            let (line, cold) = self.links.line(base + u32::from(port.0));
            if !cold.armed && line.is_busy(now) {
                self.arm(id, port);
            }
        }
    }

    /// A packet arrives at the node `at`, whose first port is `base`.
    #[inline(always)]
    fn switch_arrival(
        &mut self,
        (at, base): (usize, u32),
        switch: &mut Switch,
        (time, to): (u64, u32),
        item: &Item,
    ) {
        let (id, index, position) = (self.first_node + at, to & PORT_MASK, item.position);
        let from = PortId((index - base) as u16);
        let arrives = time < self.links.shared.end && u32::from(self.epoch(index)) == to >> 24;
        let out = match item.out {
            NONE => switch.certain_exit(&self.links.calendar.get(position).packet),
            out => Some(PortId(out as u16)),
        };
        if arrives && self.pass((id, base), switch, (from, out), &Source::At(position), time) {
            self.hops += 1;
            return;
        }
        self.arrival(at, switch, time, to, position);
    }

    /// Handles a packet that arrives by `from` if its departure, by `out` if that is certain, is certain. Otherwise prepares
    /// the switch to receive it, and returns false.
    #[inline(always)]
    fn pass(
        &mut self,
        (id, base): (usize, u32),
        switch: &mut Switch,
        (from, out): (PortId, Option<PortId>),
        source: &Source,
        now: u64,
    ) -> bool {
        let Some(out) = out else {
            self.report_all_departures(id, switch, now);
            self.ask(id, switch, from, now);
            return false;
        };
        let port = (base + u32::from(out.0) - self.links.first_port) as usize;
        let packet = source.packet(&self.links.calendar);
        let (len, class, ect) = (packet.len, packet.class, packet.has(ECT));
        let leaving = Leaving { len, class, ect, from, since: Time::ps(now) };
        let Some(departure) = self.links.departure(port, len, now) else {
            self.prepare(id, switch, out, now);
            return false;
        };
        let mut passage = switch.pass(out, &leaving, &departure.sends, false);
        if passage == Passage::NoRoom {
            passage = self.pass_reported(id, switch, out, leaving, departure.sends);
        }
        let flags = match passage {
            Passage::Sent(flags) => flags,
            Passage::Notified => 0,
            Passage::Refused(reason) => {
                let packet = *source.packet(&self.links.calendar);
                self.refuse(id, switch, out, &packet, reason, now);
                return true;
            }
            Passage::Uncertain | Passage::NoRoom => {
                self.prepare(id, switch, out, now);
                return false;
            }
        };
        let payloads = self.effects.payloads();
        self.links.send_ahead((switch, out), &departure, source, flags, leaving, payloads);
        if passage == Passage::Notified {
            let packet = *source.packet(&self.links.calendar);
            self.notify(id, switch, out, &packet, now);
        }
        true
    }

    /// As [`Switch::pass`], when all departures have been reported.
    #[inline(never)]
    fn pass_reported(
        &mut self,
        id: usize,
        switch: &mut Switch,
        out: PortId,
        leaving: Leaving,
        sends: Sends,
    ) -> Passage {
        self.report_all_departures(id, switch, leaving.since.as_ps());
        switch.pass(out, &leaving, &sends, true)
    }

    /// Prepares the switch to receive a packet that goes to port `out`.
    #[inline(never)]
    fn prepare(&mut self, id: usize, switch: &mut Switch, out: PortId, now: u64) {
        self.report_all_departures(id, switch, now);
        if switch.notifies() {
            return self.ports_of(id).for_each(|port| self.ask(id, switch, port, now));
        }
        self.ask(id, switch, out, now);
    }

    #[cold]
    fn notify(&mut self, id: usize, switch: &mut Switch, out: PortId, packet: &Packet, now: u64) {
        let what = switch.feedback(out);
        let mut cx = Cx::new(Time::ps(now), &mut self.effects);
        let Some(notice) = switch.notice(out, packet, what, &mut cx) else { return };
        let (ports, base) =
            ((out, switch.certain_exit(&notice)), self.links.shared.layout.first[id]);
        if !self.pass((id, base), switch, ports, &Source::Made(notice), now) {
            switch.forward(out, notice, &mut Cx::new(Time::ps(now), &mut self.effects));
            self.carry_out(switch, id, now);
        }
    }

    #[cold]
    fn refuse(
        &mut self,
        id: usize,
        switch: &mut Switch,
        out: PortId,
        packet: &Packet,
        reason: DropReason,
        now: u64,
    ) {
        switch.lose(out, packet, reason, &mut Cx::new(Time::ps(now), &mut self.effects));
        self.carry_out(switch, id, now);
    }

    /// Lets switches decide ahead, unless all packets of a port are recorded, which are wanted when they leave.
    pub fn decide_ahead(&mut self) {
        let mut nodes = self.places.iter_mut().filter_map(|place| match place {
            Place::Node(node) => switch_of(&mut **node),
            _ => None,
        });
        let captures = self.links.recorder.as_ref().is_some_and(|recorder| recorder.captures());
        if nodes.next().is_some() && !captures {
            self.links.ahead.resize_with(self.links.lines.len(), Waiting::new);
        }
    }

    /// At the end of the run, which reached `reached`: packets that have not started are in the switches again.
    pub fn finish_switches(&mut self, reached: u64) {
        if self.links.ahead.is_empty() {
            return;
        }
        let until = self.links.window_end.max(reached).min(self.links.shared.end);
        for at in 0..self.places.len() {
            let id = self.first_node + at;
            let base = self.links.shared.layout.first[id];
            let ports = self.ports_of(id);
            let Place::Node(node) = &mut self.places[at] else { continue };
            let Some(switch) = switch_of(&mut **node) else { continue };
            for port in ports {
                self.links.take_back(switch, base, port, until);
            }
        }
    }
}

/// The node, if it is a switch whose departures may be certain.
pub(crate) fn switch_of(node: &mut dyn Node) -> Option<&mut Switch> {
    let any: &mut dyn Any = node;
    any.downcast_mut().filter(|switch: &&mut Switch| switch.is_foreseeable())
}
