//! Departures from nodes that know them when packets arrive (see [`slotline_net::node::Foresight`]).
//!
//! As at a switch that decides ahead, a packet whose departure is certain goes into the calendar when it arrives. When anything but
//! such a packet comes to the node, packets that have not started are taken back, and their ports ask for each packet. When
//! the departures of all packets of a port are certain again, they go into the calendar together.

use crate::departure::{Departs, Source, leaving};
use crate::item::Item;
use crate::line::PORT_MASK;
use crate::links::own;
use crate::node_events::NodeEvent;
use crate::shard::Shard;
use slotline_net::id::PortId;
use slotline_net::node::egress::{Leaving, Passage, Stored};
use slotline_net::node::{Cx, Foresight, Way};
use slotline_net::time::Time;

impl Departs for dyn Foresight + '_ {
    #[inline]
    fn report<'a>(
        &mut self,
        out: PortId,
        departures: impl Iterator<Item = (&'a Leaving, Time)>,
        _behind: impl Fn(u32, Time, u64) -> u64,
    ) {
        departures.for_each(|(leaving, start)| self.left(out, leaving, start));
    }
    fn return_to(&mut self, out: PortId, stored: Stored) {
        self.take_back(out, stored);
    }
}

impl Shard {
    /// Calls a node with its events of this window, in order.
    #[inline(never)]
    pub fn handle_foreseeing(&mut self, at: usize, node: &mut dyn Foresight, items: &[Item]) {
        let own_slot = self.links.shared.layout.own(self.first_node + at);
        for item in items {
            let Some((time, to)) = self.links.arrival_at(item.position, own_slot) else { continue };
            self.foreseen_events(at, node, time);
            if !self.pass_on(at, node, (time, to), item.position) {
                self.arrival(at, node, time, to, item.position);
            }
        }
        self.foreseen_events(at, node, u64::MAX);
    }

    /// The own events before `until` of the node at `at`.
    #[inline(always)]
    fn foreseen_events(&mut self, at: usize, node: &mut dyn Foresight, until: u64) {
        while self.links.node_events.any_before(until) {
            self.next_foreseen_event(at, node);
        }
    }

    #[inline(never)]
    fn next_foreseen_event(&mut self, at: usize, node: &mut dyn Foresight) {
        let event = self.links.node_events.pop();
        let (id, time) = (self.first_node + at, event.time());
        if event.code() == own::NOTHING || time >= self.links.shared.end {
            return;
        }
        match event.code() {
            own::CHANGE => self.all_ports_ask(id, node, time),
            // A port that becomes free at the same time has sent its next packet before.
            own::WAKE => self.all_ports_ask(id, node, time + 1),
            own::FREE => return self.ask_node(at, node, event),
            _ => self.report_all_departures(id, node, time + 1),
        }
        self.handle_own_event(at, node, event);
    }

    /// A port that asks for each packet is free.
    fn ask_node(&mut self, at: usize, node: &mut dyn Foresight, event: NodeEvent) {
        let (id, port) = (self.first_node + at, PortId(event.token() as u16));
        if !node.has_more(port) {
            let index = self.links.shared.layout.first[id] + event.token();
            self.links.line(index).0.disarm();
            return self.links.turn(index, event.time(), self.effects.payloads());
        }
        self.handle_own_event(at, node, event);
        self.decide_again(id, node, port, event.time());
    }

    /// Handles a packet whose departure is certain. Otherwise prepares the node to receive it, and returns false.
    #[inline(always)]
    fn pass_on(
        &mut self,
        at: usize,
        node: &mut dyn Foresight,
        (time, to): (u64, u32),
        position: u32,
    ) -> bool {
        let (id, index) = (self.first_node + at, to & PORT_MASK);
        if time >= self.links.shared.end || u32::from(self.epoch(index)) != to >> 24 {
            return false;
        }
        let from = PortId((index - self.links.shared.layout.first[id]) as u16);
        let packet = &self.links.calendar.get(position).packet;
        match node.way(from, packet, Time::ps(time)) {
            Way::By(out, needs_reports) => {
                if needs_reports {
                    self.report_all_departures(id, node, time);
                }
                if self.pass_by(id, node, (from, out), position, time) {
                    return true;
                }
                self.report_all_departures(id, node, time);
                self.ask(id, node, out, time);
            }
            Way::Ends => self.report_all_departures(id, node, time),
            Way::Unknown => self.all_ports_ask(id, node, time),
        }
        false
    }

    /// Handles the packet at `position` that goes from a port to another, if its departure is certain. Otherwise nothing has
    /// changed.
    #[inline(always)]
    fn pass_by(
        &mut self,
        id: usize,
        node: &mut dyn Foresight,
        (from, out): (PortId, PortId),
        position: u32,
        now: u64,
    ) -> bool {
        let port = self.links.shared.layout.first[id] + u32::from(out.0) - self.links.first_port;
        let leaving = leaving(&self.links.calendar.get(position).packet, from, now);
        let Some(departure) = self.links.departure(port as usize, leaving.len, now) else {
            return false;
        };
        let packet = &mut self.links.calendar.get_mut(position).packet;
        match node.pass(out, packet, &leaving, &departure.sends) {
            Passage::Sent(flags) => {
                let (source, payloads) = (Source::At(position), self.effects.payloads());
                self.links.send_ahead(
                    (&mut *node, out),
                    &departure,
                    &source,
                    flags,
                    leaving,
                    payloads,
                );
            }
            Passage::Refused(why) => {
                let packet = *packet;
                let mut cx = Cx::new(Time::ps(now), &mut self.effects);
                node.refuse((from, out), &packet, why, &mut cx);
                self.carry_out(node, id, now);
            }
            Passage::Uncertain | Passage::NoRoom | Passage::Notified => return false,
        }
        self.hops += 1;
        true
    }

    /// Puts all packets that wait for `port`, which is sending, into the calendar, if all their departures are certain.
    fn decide_again(&mut self, id: usize, node: &mut dyn Foresight, port: PortId, now: u64) {
        let index = self.links.shared.layout.first[id] + u32::from(port.0);
        let at = (index - self.links.first_port) as usize;
        let line = &self.links.lines[at];
        let busy_until = line.free_at;
        let asks = line.is_armed() && line.is_pulled();
        if busy_until <= now || !asks {
            return;
        }
        let Some(drained) = node.drained(port, Time::ps(busy_until)) else { return };
        let (last, to) = line.arrival(drained.as_ps());
        if !self.links.is_mine(to) || !self.links.calendar.is_near(last) {
            return;
        }
        while let Some(stored) = node.give_away(port, Time::ps(self.links.lines[at].free_at)) {
            let leaving = Leaving::of(&stored);
            let departure = self.links.departure_after_all(at, leaving.len, now);
            let (source, payloads) = (Source::Made(stored.packet), self.effects.payloads());
            self.links.send_ahead((&mut *node, port), &departure, &source, 0, leaving, payloads);
        }
    }
}
