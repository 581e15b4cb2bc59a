//! Carries out the requests of nodes in simulated time.

use crate::links::{Links, own};
use crate::node_events::NodeEvent;
use crate::shard::Shard;
use slotline_net::frame::Packet;
use slotline_net::id::{NodeId, PortId};
use slotline_net::node::{Cx, DropReason, Handover, Node, Note, Payloads, Sink};
use slotline_net::time::Time;

/// The receiver of the effects of one call. `AHEAD`: the node is a host whose packets wait in the calendar.
struct Outlet<'a, const AHEAD: bool> {
    links: &'a mut Links,
    kicked: &'a mut Vec<PortId>,
    hold: &'a mut Time,
    /// The node that was called.
    node: usize,
    /// Its first port.
    base: u32,
    /// The time of the call, in ps.
    now: u64,
    /// The event of the call, if it is not a packet.
    turn: NodeEvent,
    /// Bytes of packets that have begun to leave, if `AHEAD`.
    started: u64,
}

impl<const AHEAD: bool> Sink for Outlet<'_, AHEAD> {
    #[inline]
    fn hold(&mut self, span: Time) {
        *self.hold = span;
    }
    fn rewire(&mut self, port: PortId, node: NodeId, far: PortId) {
        let shared = &self.links.shared;
        let epoch = shared.epoch(node, far, self.now);
        let to = shared.layout.port(node, far) | u32::from(epoch) << 24;
        self.links.line(self.base + u32::from(port.0)).0.rewire(to);
    }
    #[inline]
    fn send(&mut self, port: PortId, packet: &mut Packet, payloads: &mut Payloads) {
        if AHEAD {
            let when = (self.now, self.hold.as_ps());
            self.started += self.links.send_in_order(self.base, packet, self.turn, when, payloads);
            return;
        }
        let start = self.now + self.hold.as_ps();
        self.links.send(self.base + u32::from(port.0), packet, start, payloads);
    }
    #[inline]
    fn wake(&mut self, at: Time, token: u32) {
        self.links.schedule(self.node, at.as_ps().max(self.now), own::WAKE, token);
    }
    #[inline]
    fn kick(&mut self, port: PortId) {
        self.kicked.push(port);
    }
    fn complete(&mut self, flow: u32) {
        self.links.reports.completed += 1;
        if let Some(recorder) = &mut self.links.recorder {
            recorder.complete(flow, self.now);
        }
    }
    fn dropped(&mut self, reason: DropReason) {
        self.links.reports.dropped[reason as usize] += 1;
    }
    fn note(&mut self, at: Time, note: Note) {
        // One for each packet under Fastpass, which only logs of real hosts need.
        if !matches!(note, Note::Timeslot { .. }) {
            self.links.reports.notes.list.push((at, note));
        }
    }
    fn hand_over(&mut self, at: Time, what: Handover) {
        self.links.reports.handovers.push((at, what));
    }
}

impl Shard {
    /// Carries out the requests that node `id` made in a call at `now`.
    #[inline(always)]
    fn drain(&mut self, id: usize, now: u64) {
        self.drain_to::<false>(id, now);
    }

    /// As [`Shard::drain`]. Returns the bytes of packets that have begun to leave, if the node is a host whose packets wait
    /// in the calendar.
    #[inline(always)]
    pub fn drain_to<const AHEAD: bool>(&mut self, id: usize, now: u64) -> u64 {
        let Shard { effects, links, kicked, hold, turn, .. } = self;
        let (base, turn) = (links.shared.layout.first[id], *turn);
        let mut outlet =
            Outlet::<AHEAD> { links, kicked, hold, node: id, base, now, turn, started: 0 };
        effects.drain(&mut outlet);
        outlet.started
    }

    /// [`Shard::drain`], not inlined.
    #[cold]
    #[inline(never)]
    fn drain_out_of_line(&mut self, id: usize, now: u64) {
        self.drain(id, now);
    }

    /// Calls [`Shard::drain`], and then asks `node` for packets to send on the free ports among those that it
    /// kicked.
    pub fn carry_out<N: Node + ?Sized>(&mut self, node: &mut N, id: usize, now: u64) {
        self.drain(id, now);
        self.pull_kicked(node, id, now);
    }

    /// Ends an event: asks `node` for packets to send on the ports that it kicked, until none is left.
    pub fn pull_kicked<N: Node + ?Sized>(&mut self, node: &mut N, id: usize, now: u64) {
        while let Some(port) = self.kicked.pop() {
            self.pull(node, id, port, now);
        }
        self.hold = Time::ZERO;
    }

    /// Asks for the next packet of a pulled port, if the port is free.
    pub fn pull<N: Node + ?Sized>(&mut self, node: &mut N, id: usize, port: PortId, now: u64) {
        let index = self.links.shared.layout.first[id] + u32::from(port.0);
        let (line, _) = self.links.line(index);
        if line.is_armed() || !line.is_pulled() {
            return;
        }
        // A port that is free now becomes so in its turn among the events of the same time.
        let in_turn = NodeEvent::new(now, own::FREE, u32::from(port.0));
        if line.free_at > now || (line.is_busy(now) && self.turn < in_turn) {
            return self.arm(id, port);
        }
        self.send_next_of(node, (id, index), port, now);
    }

    /// Asks for the next packet of a pulled port, which is free and has this index.
    #[inline(always)]
    pub fn send_next_of<N: Node + ?Sized>(
        &mut self,
        node: &mut N,
        (id, index): (usize, u32),
        port: PortId,
        now: u64,
    ) {
        let packet = node.transmit(port, &mut Cx::new(Time::ps(now), &mut self.effects));
        // A node rarely requests anything else when a packet leaves.
        if !self.effects.is_empty() {
            self.drain_out_of_line(id, now);
        }
        if let Some(packet) = packet {
            self.transmit(index, &packet, now);
            if node.has_more(port) {
                self.arm(id, port);
            }
        }
    }

    /// Lets pulled `port` ask for a packet when it is free.
    #[inline]
    pub fn arm(&mut self, id: usize, port: PortId) {
        let index = self.links.shared.layout.first[id] + u32::from(port.0);
        let (line, _) = self.links.line(index);
        line.arm();
        let at = line.free_at;
        self.links.schedule(id, at, own::FREE, u32::from(port.0));
    }

    /// The ports of a node that are sending ask for a packet when they are free, even if nothing waits now.
    pub fn arm_busy(&mut self, id: usize, now: u64) {
        let base = self.links.shared.layout.first[id];
        for port in self.ports_of(id) {
            let (line, _) = self.links.line(base + u32::from(port.0));
            let is_pulled = line.is_pulled();
            if is_pulled && !line.is_armed() && line.is_busy(now) {
                self.arm(id, port);
            }
        }
    }

    /// Sends a packet on pulled port `index`, which is free.
    #[inline(always)]
    fn transmit(&mut self, index: u32, packet: &Packet, now: u64) {
        let Shard { links, effects, hold, .. } = self;
        let (line, _) = links.line(index);
        let start = if line.free_at < now { now + hold.as_ps() } else { now };
        let (time, to) = line.transmit(packet.len, start);
        if links.recorder.is_some() {
            links.record(index, packet, time);
        }
        links.deliver(time, to, packet, effects.payloads());
    }
}
