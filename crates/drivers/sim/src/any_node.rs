//! Nodes that are called through their trait. A packet that such a node only passes on is not copied to it and back, and its
//! requests are looked at only if there are any.

use crate::item::Item;
use crate::line::PORT_MASK;
use crate::links::own;
use crate::node_events::NodeEvent;
use crate::shard::Shard;
use slotline_net::id::PortId;
use slotline_net::node::{Cx, DropReason, Node};
use slotline_net::time::Time;

impl Shard {
    /// Calls a node with its events of this window, in order.
    #[inline]
    pub fn handle_node(&mut self, at: usize, node: &mut dyn Node, items: &[Item]) {
        if !self.links.ahead.is_empty()
            && let Some(node) = node.foresight()
        {
            return self.handle_foreseeing(at, node, items);
        }
        let own_slot = self.links.shared.layout.own(self.first_node + at);
        for item in items {
            let Some((time, to)) = self.links.arrival_at(item.position, own_slot) else { continue };
            self.events_before(at, node, time);
            self.packet_arrives(at, node, (time, to), item.position);
        }
        self.events_before(at, node, u64::MAX);
    }

    /// The own events before `until` of the node at `at`.
    #[inline(always)]
    fn events_before(&mut self, at: usize, node: &mut dyn Node, until: u64) {
        while self.links.node_events.any_before(until) {
            let event = self.links.node_events.pop();
            match event.code() {
                own::FREE => self.is_free(self.first_node + at, node, event),
                _ => self.handle_own_event(at, node, event),
            }
        }
    }

    /// A packet arrives at the node, which may pass it on as it is.
    #[inline(always)]
    fn packet_arrives(
        &mut self,
        at: usize,
        node: &mut dyn Node,
        (time, to): (u64, u32),
        position: u32,
    ) {
        if time >= self.links.shared.end {
            return self.leftover.push(*self.links.calendar.get(position));
        }
        self.hops += 1;
        let (id, index) = (self.first_node + at, to & PORT_MASK);
        let base = self.links.shared.layout.first[id];
        let is_lost = u32::from(self.epoch(index)) != to >> 24;
        let packet = &self.links.calendar.get(position).packet;
        if is_lost {
            let packet = *packet;
            return self.links.lose(&packet, DropReason::LinkDown, self.effects.payloads());
        }
        let (port, mut cx) =
            (PortId((index - base) as u16), Cx::new(Time::ps(time), &mut self.effects));
        match node.arrive(port, packet, &mut cx) {
            Some(out) => self.pass_on_as_it_is(base + u32::from(out.0), position, time),
            None if self.effects.is_empty() => {}
            None => {
                self.turn = NodeEvent::new(time, 0, 0);
                let Some(port) = self.effects.take_lone_kick() else {
                    return self.carry_out(node, id, time);
                };
                self.pull(node, id, port, time);
                if !self.kicked.is_empty() {
                    self.pull_kicked(node, id, time);
                }
            }
        }
    }

    #[inline(never)]
    fn pass_on_as_it_is(&mut self, port: u32, position: u32, now: u64) {
        let (links, payloads) = (&mut self.links, self.effects.payloads());
        // No port of such a node notifies senders. If the packet is held, the node has an event of its own, for which it looks
        // before each packet.
        match links.recorder {
            None => links.forward::<false, false>(port, position, now, payloads),
            Some(_) => links.forward::<true, false>(port, position, now, payloads),
        };
    }

    /// A pulled port is free.
    #[inline(always)]
    fn is_free(&mut self, id: usize, node: &mut dyn Node, event: NodeEvent) {
        let (now, port) = (event.time(), PortId(event.token() as u16));
        if now >= self.links.shared.end {
            return;
        }
        let index = self.links.shared.layout.first[id] + event.token();
        let (line, _) = self.links.line(index);
        line.disarm();
        if !line.is_pulled() {
            return self.links.turn(index, now, self.effects.payloads());
        }
        if line.free_at > now {
            return self.arm(id, port);
        }
        self.turn = event;
        self.send_next_of(node, (id, index), port, now);
        if !self.kicked.is_empty() {
            self.pull_kicked(node, id, now);
        }
    }
}
