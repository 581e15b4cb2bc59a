//! Packets that leave at once or wait in the queues of their switch.
//!
//! Where pause frames may come at any time, departures of packets that wait are not certain, and their port asks for each of
//! them. A packet that finds its port free, nothing paused, and less than the threshold of a pause has left before anything
//! can change. It needs no second event. Both events of a packet that waits have ways of their own here, which copy it from
//! the calendar to its place in the switch and back, and do only what such packets need. All others take the ways of any
//! node.

use crate::departure::{Source, leaving};
use crate::item::{Item, NONE};
use crate::line::PORT_MASK;
use crate::node_events::NodeEvent;
use crate::shard::Shard;
use slotline_net::id::PortId;
use slotline_net::node::Cx;
use slotline_net::node::egress::Stored;
use slotline_net::node::switch::Switch;
use slotline_net::time::Time;

impl Shard {
    /// Calls a switch with its events of this window, in order.
    #[inline(never)]
    pub fn handle_pausing(&mut self, at: usize, switch: &mut Switch, items: &[Item]) {
        let id = self.first_node + at;
        let own_slot = self.links.shared.layout.own(id);
        let base = self.links.shared.layout.first[id];
        for (nth, item) in items.iter().enumerate() {
            // The one after the next, without a branch on whether there is one.
            switch.expect_packet(items[(nth + 2).min(items.len() - 1)].out);
            let Some((time, to)) = self.links.arrival_at(item.position, own_slot) else { continue };
            self.switch_events(at, switch, time);
            if item.out == NONE || time >= self.links.shared.end {
                self.arrival(at, switch, time, to, item.position);
                continue;
            }
            self.hops += 1;
            let from = PortId(((to & PORT_MASK) - base) as u16);
            if !self.start_at_once(base, switch, (from, time), item) {
                self.wait(id, switch, (from, time), item);
            }
        }
        self.switch_events(at, switch, u64::MAX);
    }

    /// Sends the next packet of the port that is free at `event`, if priorities and pauses alone select it. Otherwise
    /// nothing has changed.
    #[inline(always)]
    pub fn send_next(&mut self, id: usize, switch: &mut Switch, event: NodeEvent) -> bool {
        let (links, now, port) = (&mut self.links, event.time(), PortId(event.token() as u16));
        let index = links.shared.layout.first[id] + event.token();
        let line = &mut links.lines[(index - links.first_port) as usize];
        let is_ready = line.is_pulled() && line.free_at <= now;
        if !is_ready || now >= links.shared.end || links.recorder.is_some() {
            return false;
        }
        let Some(Stored { packet, from, .. }) = switch.next_plain(port, Time::ps(now)) else {
            return false;
        };
        line.disarm();
        let (time, to) = line.transmit(packet.len, now);
        links.deliver(time, to, packet, self.effects.payloads());
        let from = *from;
        if switch.has_waiting(port) {
            self.arm(id, port);
        }
        if switch.has_frame(from) {
            self.turn = event;
            self.pull(switch, id, from, now);
            self.pull_kicked(switch, id, now);
        }
        true
    }

    /// Sends a packet that arrives by `from` and can leave at once. Returns whether it could.
    #[inline(always)]
    fn start_at_once(
        &mut self,
        base: u32,
        switch: &mut Switch,
        (from, now): (PortId, u64),
        item: &Item,
    ) -> bool {
        let (links, out) = (&self.links, PortId(item.out as u16));
        let port = (base + item.out - links.first_port) as usize;
        if links.lines[port].is_busy(now) {
            return false;
        }
        let leaving = leaving(&links.calendar.get(item.position).packet, from, now);
        let Some(departure) = links.departure(port, leaving.len, now) else { return false };
        let Some(flags) = switch.start_at_once(out, &leaving, &departure.sends) else {
            return false;
        };
        let (source, payloads) = (Source::At(item.position), self.effects.payloads());
        self.links.send_ahead((switch, out), &departure, &source, flags, leaving, payloads);
        true
    }

    /// A packet that arrives by `from` waits for the port by which it leaves.
    #[inline(always)]
    pub fn wait(
        &mut self,
        id: usize,
        switch: &mut Switch,
        (from, now): (PortId, u64),
        item: &Item,
    ) {
        let (out, since) = (PortId(item.out as u16), Time::ps(now));
        let packet = &self.links.calendar.get(item.position).packet;
        let joined = switch.wait((from, out), packet, since);
        let (line, _) = self.links.line(self.links.shared.layout.first[id] + item.out);
        match joined {
            Ok(false) if line.is_armed() => {}
            Ok(false) if line.is_busy(now) => self.arm(id, out),
            Ok(frame) => {
                self.turn = NodeEvent::new(now, 0, 0);
                if frame {
                    self.pull(switch, id, from, now);
                }
                self.pull(switch, id, out, now);
                self.pull_kicked(switch, id, now);
            }
            Err(reason) => {
                let packet = self.links.calendar.get(item.position).packet;
                self.turn = NodeEvent::new(now, 0, 0);
                let mut cx = Cx::new(since, &mut self.effects);
                switch.drop_arrived((from, out), &packet, reason, &mut cx);
                self.carry_out(switch, id, now);
            }
        }
    }
}
