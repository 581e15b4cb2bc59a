//! Departures from pulled ports of switches that are certain when packets arrive.
//!
//! A pulled port asks its node for a packet each time it is free, which is a second event for each hop. While the order
//! of departures is certain (see [`slotline_net::node::switch`]), a packet goes into the calendar when it arrives, as at
//! a FIFO port. If the order may change, packets that have not started are taken back into the switch. Results are those
//! of a port that asks.

use crate::ahead_queue::AheadQueue;
use crate::departure::{Departs, Source, leaving};
use crate::item::{Item, NONE};
use crate::line::PORT_MASK;
use crate::links::{Links, own};
use crate::network::Place;
use crate::node_events::NodeEvent;
use crate::shard::Shard;
use slotline_net::frame::Packet;
use slotline_net::id::PortId;
use slotline_net::node::egress::Passage;
use slotline_net::node::switch::Switch;
use slotline_net::node::{Cx, DropReason, Node, Payloads};
use slotline_net::time::Time;
use std::any::Any;

impl Shard {
    /// Calls a switch with its events of this window, in order. It is not a part of the loop over nodes, so that plain
    /// switches do not pay for its registers.
    #[inline(never)]
    pub fn handle_switch(&mut self, at: usize, switch: &mut Switch, items: &[Item]) {
        let id = self.first_node + at;
        let own_slot = self.links.shared.layout.own(id);
        let base = self.links.shared.layout.first[id];
        let (mut rest, is_quiet) = (items, self.is_quiet());
        loop {
            if is_quiet && !self.links.node_events.any_before(u64::MAX) {
                rest = &rest[self.forward_certain(id, switch, rest)..];
            }
            let Some((item, after)) = rest.split_first() else { break };
            rest = after;
            let Some((time, to)) = self.links.arrival_at(item.position, own_slot) else { continue };
            self.switch_events(at, switch, time);
            self.switch_arrival((at, base), switch, (time, to), item);
        }
        self.switch_events(at, switch, u64::MAX);
    }

    /// The own events before `until` of the switch at `at`.
    #[inline(always)]
    pub fn switch_events(&mut self, at: usize, switch: &mut Switch, until: u64) {
        while self.links.node_events.any_before(until) {
            self.next_switch_event(at, switch);
        }
    }

    #[inline(never)]
    fn next_switch_event(&mut self, at: usize, switch: &mut Switch) {
        let event = self.links.node_events.pop();
        if event.code() != own::FREE || !self.send_next(self.first_node + at, switch, event) {
            self.switch_event(at, switch, event);
        }
    }

    /// Forwards the first packets of this window whose departures are certain, in a loop without what they do not need.
    /// Returns their number.
    fn forward_certain(&mut self, id: usize, switch: &mut Switch, items: &[Item]) -> usize {
        if switch.has_only_thresholds() {
            self.forward_each(id, switch, items, Links::forward_on_arrival::<true>)
        } else {
            self.forward_each(id, switch, items, Links::forward_on_arrival::<false>)
        }
    }

    /// Calls `forward` for each of the first packets whose departures are certain. A function of its own needs fewer registers.
    #[inline(never)]
    fn forward_each(
        &mut self,
        id: usize,
        switch: &mut Switch,
        items: &[Item],
        forward: impl Fn(&mut Links, &mut Switch, (PortId, u32), &Item, &mut Payloads) -> Passage,
    ) -> usize {
        let links = &self.links;
        let (base, own) = (links.shared.layout.first[id], links.shared.layout.own(id));
        for (count, item) in items.iter().enumerate() {
            if item.port() == own || item.out == NONE {
                return count;
            }
            let from = PortId((item.port() - base) as u16);
            let payloads = self.effects.payloads();
            let passage = forward(&mut self.links, switch, (from, base), item, payloads);
            match passage {
                Passage::Sent(_) => self.hops += 1,
                Passage::Uncertain | Passage::NoRoom => return count,
                Passage::Refused(_) | Passage::Notified => {
                    self.hops += 1;
                    let out = PortId(item.out as u16);
                    let packet = self.links.calendar.get(item.position).packet;
                    let now = item.time(self.links.window_start);
                    self.finish_pass(id, switch, out, passage, &packet, now);
                    return count + 1;
                }
            }
        }
        items.len()
    }

    /// Whether all packets of this window arrive by links that work, before the end of the run.
    #[inline]
    fn is_quiet(&self) -> bool {
        !self.links.shared.changes && self.links.window_end <= self.links.shared.end
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
                    self.links.line(base + event.token()).0.disarm();
                    return;
                }
            }
            own::SAMPLE => self.report_all_departures(id, switch, time + 1),
            _ => {}
        }
        self.handle_own_event(at, switch, event);
    }

    pub fn ports_of(&self, id: usize) -> impl Iterator<Item = PortId> + use<> {
        let first = &self.links.shared.layout.first;
        (0..(first[id + 1] - 1 - first[id]) as u16).map(PortId)
    }

    pub fn report_all_departures<S: Departs + ?Sized>(
        &mut self,
        id: usize,
        switch: &mut S,
        until: u64,
    ) {
        let base = self.links.shared.layout.first[id];
        for port in self.ports_of(id) {
            self.links.report_departures(switch, base, port, until);
        }
    }

    /// From now on `port` asks for each packet.
    pub fn ask<S: Departs + ?Sized>(&mut self, id: usize, switch: &mut S, port: PortId, now: u64) {
        let base = self.links.shared.layout.first[id];
        let index = base + u32::from(port.0);
        let taken = self.links.take_back(switch, base, port, now);
        if taken && !self.links.line(index).0.is_armed() {
            self.arm(id, port);
        }
    }

    pub fn all_ports_ask<S: Departs + ?Sized>(&mut self, id: usize, switch: &mut S, now: u64) {
        self.ports_of(id).for_each(|port| self.ask(id, switch, port, now));
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
        if item.out == NONE || !arrives || switch.notifies() {
            return self.arrival(at, switch, time, to, position);
        }
        self.hops += 1;
        self.wait_for_turn(id, switch, (from, time), item);
    }

    /// [`Shard::wait`], not inlined.
    #[inline(never)]
    fn wait_for_turn(
        &mut self,
        id: usize,
        switch: &mut Switch,
        arrival: (PortId, u64),
        item: &Item,
    ) {
        self.wait(id, switch, arrival, item);
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
        let leaving = leaving(packet, from, now);
        let Some(departure) = self.links.departure(port, leaving.len, now) else {
            self.prepare(id, switch, out, now);
            return false;
        };
        if switch.decides_on_departure() {
            self.links.report_departures(switch, base, out, now);
        }
        let passage = switch.pass(out, &leaving, &departure.sends);
        let flags = match passage {
            Passage::Sent(flags) => flags,
            Passage::Notified => 0,
            Passage::Refused(_) => {
                let packet = *source.packet(&self.links.calendar);
                self.finish_pass(id, switch, out, passage, &packet, now);
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
            self.finish_pass(id, switch, out, passage, &packet, now);
        }
        true
    }

    /// What follows when a packet was refused, or when its sender is to be notified.
    #[inline(never)]
    fn finish_pass(
        &mut self,
        id: usize,
        switch: &mut Switch,
        out: PortId,
        passage: Passage,
        packet: &Packet,
        now: u64,
    ) {
        match passage {
            Passage::Refused(reason) => self.refuse(id, switch, out, packet, reason, now),
            Passage::Notified => self.notify(id, switch, out, packet, now),
            Passage::Uncertain | Passage::NoRoom | Passage::Sent(_) => {}
        }
    }

    /// Prepares the switch to receive a packet that goes to port `out`.
    #[inline(never)]
    fn prepare(&mut self, id: usize, switch: &mut Switch, out: PortId, now: u64) {
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
            Place::Node(node) => {
                let foresees = node.foresight().is_some() || any_switch(&mut **node).is_some();
                foresees.then_some(())
            }
            _ => None,
        });
        let captures = self.links.recorder.as_ref().is_some_and(|recorder| recorder.captures());
        if nodes.next().is_some() && !captures {
            self.links.ahead.resize_with(self.links.lines.len(), AheadQueue::default);
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
            for port in ports {
                if let Some(node) = node.foresight() {
                    self.links.take_back(node, base, port, until);
                } else if let Some(switch) = switch_of(&mut **node) {
                    self.links.take_back(switch, base, port, until);
                }
            }
        }
    }
}

/// The node, if it is a switch whose departures may be certain.
fn switch_of(node: &mut dyn Node) -> Option<&mut Switch> {
    any_switch(node).filter(|switch| switch.is_foreseeable())
}

/// The node, if it is a switch.
pub(crate) fn any_switch(node: &mut dyn Node) -> Option<&mut Switch> {
    let any: &mut dyn Any = node;
    any.downcast_mut()
}
