//! Switches with pause frames, whose packets leave at once where nothing waits.
//!
//! Pause frames may come at any time, so departures of packets that wait are not certain, and their port asks for each of
//! them. A packet that finds its port free, nothing paused, and less than the threshold of a pause has left before anything
//! can change. It needs no second event.

use crate::departure::{Source, leaving};
use crate::line::PORT_MASK;
use crate::node_events::NodeEvent;
use crate::shard::{Item, NONE, Shard};
use slotline_net::id::PortId;
use slotline_net::node::Cx;
use slotline_net::node::switch::Switch;
use slotline_net::time::Time;

impl Shard {
    /// Calls a switch with its events of this window, in order.
    #[inline(never)]
    pub fn handle_pausing(&mut self, at: usize, switch: &mut Switch, items: &mut [Item]) {
        let id = self.first_node + at;
        let own_slot = self.links.shared.layout.own(id);
        let base = self.links.shared.layout.first[id];
        self.look_up(id, switch, items);
        for item in items {
            let entry = self.links.calendar.get(item.position);
            let (time, to) = (entry.time, entry.to);
            if to & PORT_MASK == own_slot {
                let event = NodeEvent::new(time, entry.packet.flow, entry.packet.seq);
                self.links.node_events.push(event);
                continue;
            }
            self.handle_own_events(at, switch, time);
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
        self.handle_own_events(at, switch, u64::MAX);
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
        let leaving = leaving(&links.calendar.get(item.position).packet, from, now);
        let departure = links.departure(port, leaving.len, now).filter(|it| !it.sends.waits);
        let Some(departure) = departure else { return false };
        let Some(flags) = switch.start_at_once(out, &leaving, &departure.sends) else {
            return false;
        };
        let (source, payloads) = (Source::At(item.position), self.effects.payloads());
        self.links.send_ahead((switch, out), &departure, &source, flags, leaving, payloads);
        true
    }

    /// A packet that arrives by `from` waits for the port by which it leaves.
    #[inline(never)]
    fn wait(&mut self, id: usize, switch: &mut Switch, (from, now): (PortId, u64), item: &Item) {
        let (out, since) = (PortId(item.out as u16), Time::ps(now));
        let packet = self.links.calendar.get(item.position).packet;
        self.turn = NodeEvent::new(now, 0, 0);
        match switch.wait((from, out), packet, since) {
            Ok(false) => {}
            Ok(true) => self.pull(switch, id, from, now),
            Err(reason) => {
                let mut cx = Cx::new(since, &mut self.effects);
                switch.drop_arrived((from, out), &packet, reason, &mut cx);
                return self.carry_out(switch, id, now);
            }
        }
        let port = self.links.shared.layout.first[id] + item.out;
        if !self.links.line(port).1.armed {
            self.pull(switch, id, out, now);
        }
        self.pull_kicked(switch, id, now);
    }
}
