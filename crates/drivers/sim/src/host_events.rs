//! The events of hosts.
//!
//! Packets of some hosts wait in the calendar (`host_ahead.rs`). Others select each packet when their port is free. If that
//! packet waits in a class, it is copied from there to the calendar, without what the ports of other nodes may need.

use crate::item::Item;
use crate::line::PORT_MASK;
use crate::links::own;
use crate::node_events::NodeEvent;
use crate::shard::Shard;
use slotline_net::id::PortId;
use slotline_net::node::host::Host;
use slotline_net::node::{Cx, Node};
use slotline_net::time::Time;

impl Shard {
    /// Calls a host with its events of this window, in order.
    #[inline(never)]
    pub fn handle_host(&mut self, at: usize, host: &mut Host, items: &[Item]) {
        let own_slot = self.links.shared.layout.own(self.first_node + at);
        for item in items {
            let Some((time, to)) = self.links.arrival_at(item.position, own_slot) else { continue };
            self.host_events(at, host, time);
            match host.is_reported() {
                true => self.arrival_ahead(at, host, (time, to), item.position),
                false => self.arrival(at, host, time, to, item.position),
            }
        }
        self.host_events(at, host, u64::MAX);
    }

    /// The own events before `until` of the host at `at`.
    #[inline]
    fn host_events(&mut self, at: usize, host: &mut Host, until: u64) {
        while self.links.node_events.any_before(until) {
            let event = self.links.node_events.pop();
            if event.time() >= self.links.shared.end {
                continue;
            }
            if host.is_reported() {
                self.event_ahead(self.first_node + at, host, event);
                continue;
            }
            let may_send = event.code() == own::FREE && host.has_classes();
            if !(may_send && self.send_waiting(at, host, event)) {
                self.handle_own_event(at, host, event);
            }
        }
    }

    /// A packet arrives at a host whose packets wait in the calendar.
    #[inline]
    fn arrival_ahead(&mut self, at: usize, host: &mut Host, (time, to): (u64, u32), position: u32) {
        if time >= self.links.shared.end {
            return self.leftover.push(*self.links.calendar.get(position));
        }
        self.hops += 1;
        let id = self.first_node + at;
        let base = self.links.shared.layout.first[id];
        self.links.report_left(base, host, time);
        let port = PortId(((to & PORT_MASK) - base) as u16);
        let packet = self.links.calendar.get(position).packet;
        self.turn = NodeEvent::new(time, 0, 0);
        host.receive(port, packet, &mut Cx::new(Time::ps(time), &mut self.effects));
        self.carry_out_ahead(host, id, time);
    }

    /// An event of the host `id`, whose packets wait in the calendar.
    fn event_ahead(&mut self, id: usize, host: &mut Host, event: NodeEvent) {
        let (time, base) = (event.time(), self.links.shared.layout.first[id]);
        self.turn = event;
        // At equal times packets begin to leave before wake-ups and samples.
        self.links.report_left(base, host, time + 1);
        let mut cx = Cx::new(Time::ps(time), &mut self.effects);
        match event.code() {
            own::FREE => {
                self.links.line(base).0.disarm();
                host.resume_blocked(&mut cx);
            }
            own::WAKE => host.expire(event.token(), &mut cx),
            _ => return self.sample(id, host, time),
        }
        self.carry_out_ahead(host, id, time);
    }

    /// Sends the next packet of the port that is free at `event`, if one waits in a class. Otherwise nothing has changed.
    #[inline(always)]
    fn send_waiting(&mut self, at: usize, host: &mut Host, event: NodeEvent) -> bool {
        let (id, now, port) = (self.first_node + at, event.time(), PortId(event.token() as u16));
        let links = &mut self.links;
        let index = links.shared.layout.first[id] + event.token();
        let line = &mut links.lines[(index - links.first_port) as usize];
        let is_ready = line.is_pulled() && line.free_at <= now;
        if !is_ready || links.recorder.is_some() {
            return false;
        }
        let Some(packet) = host.take_waiting(port) else { return false };
        line.disarm();
        let (time, to) = line.transmit(packet.len, now);
        links.deliver(time, to, packet, self.effects.payloads());
        if host.is_blocked() {
            self.turn = event;
            host.resume_blocked(&mut Cx::new(Time::ps(now), &mut self.effects));
            if !self.effects.is_empty() {
                self.drain_to::<false>(id, now);
            }
        }
        if host.has_more(port) {
            self.arm(id, port);
        }
        self.pull_kicked(host, id, now);
        true
    }
}
