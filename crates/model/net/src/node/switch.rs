//! The general output-queued switch: priorities, a shared buffer, priority flow control.
//!
//! A plain FIFO switch is part of the engine, and computes departures when packets arrive. This switch is asked for a
//! packet each time a port is free. Both give the same results for queues that both support.

mod ahead;

use super::buffer::Buffer;
use super::egress::{Egress, Found, Place, PortStats, Stored};
use super::notify::Senders;
use super::pfc::{Ingress, headroom};
use super::pool::Pool;
use super::reserve::Reserve;
use super::{Change, Counters, Cx, DropReason, Node, PacketAccount, Stopped};
use crate::aqm::spec::QueueSpec;
use crate::aqm::{Feedback, Verdict};
use crate::frame::{Kind, Packet};
use crate::id::{HostId, NodeId, PortId};
use crate::route::Routes;
use crate::route::classifier::{Classifier, ClassifierSpec};
use crate::time::Time;
use crate::topology::{LinkParams, Wire, Wiring};
use std::sync::Arc;

/// The link at one port.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SwitchPort {
    /// From the switch.
    pub tx: LinkParams,
    /// To the switch.
    pub rx: LinkParams,
    /// The key of the port for random streams.
    pub key: u64,
}

impl SwitchPort {
    /// The ports of `node`.
    pub fn all_of(wiring: &Wiring, node: NodeId) -> Vec<SwitchPort> {
        let port = |wire: &Wire| {
            let back = wiring.of(wire.far.node)[wire.far.port.at()];
            SwitchPort { tx: wire.lane, rx: back.lane, key: wire.key }
        };
        wiring.of(node).iter().map(port).collect()
    }
}

/// The parts of a switch.
#[derive(Clone)]
pub struct SwitchConfig {
    /// Its node.
    pub node: NodeId,
    /// The routes of packets.
    pub routes: Arc<Routes>,
    /// The queues of its ports. They are validated.
    pub queue: QueueSpec,
    /// Its links, by port.
    pub ports: Vec<SwitchPort>,
    /// The largest packet in bytes on the wire.
    pub mtu: u64,
    /// The run's seed.
    pub seed: u64,
    /// How it moves flows among equal ports; `None` if only routes choose.
    pub classifier: Option<ClassifierSpec>,
    /// The senders of packets, if its queues notify them.
    pub senders: Senders,
    /// The class that has a share of each port before all others.
    pub reserve: Option<Reserve>,
}

/// A switch.
pub struct Switch {
    node: NodeId,
    routes: Arc<Routes>,
    egress: Vec<Egress>,
    ingress: Vec<Ingress>,
    /// The packets in the queues of all ports.
    stored: Pool<Stored>,
    /// The buffer that ports share, if they do.
    buffer: Option<Buffer>,
    obeys_pause: bool,
    /// Whether the disciplines of all ports only compare with thresholds.
    only_thresholds: bool,
    /// Whether any discipline hears of departures.
    decides_on_departure: bool,
    classifier: Option<(ClassifierSpec, Classifier)>,
    senders: Senders,
    notifies: bool,
    account: PacketAccount,
}

impl Switch {
    /// An empty switch with all links up.
    pub fn new(config: SwitchConfig) -> Switch {
        let SwitchConfig { node, routes, queue, ports, mtu, seed, classifier, senders, reserve } =
            config;
        let queue = queue.unshared();
        let classifier = classifier.map(|spec| (spec, Classifier::new(ports.len())));
        let egress = ports.iter().map(|link| {
            let place = Place { key: link.key, mtu, seed, reserve };
            Egress::new(&queue, link.tx.rate.inverse_rate(), &place)
        });
        let egress: Vec<Egress> = egress.collect();
        let ingress =
            ports.iter().map(|l| Ingress::new(queue.pfc.as_ref(), headroom(l.rx, l.tx, mtu)));
        Switch {
            node,
            routes,
            only_thresholds: egress.iter().all(Egress::compares_with_threshold),
            decides_on_departure: egress.iter().any(Egress::decides_on_departure),
            egress,
            ingress: ingress.collect(),
            stored: Pool::default(),
            buffer: queue.shared.map(Buffer::new),
            obeys_pause: queue.pfc.is_some(),
            classifier,
            senders,
            notifies: queue.notifies(),
            account: PacketAccount::default(),
        }
    }

    /// The counters of `port` so far.
    pub fn stats(&self, port: PortId) -> PortStats {
        self.egress[port.at()].stats()
    }

    /// Finds room for a packet that goes from port `from` to port `out`, or a reason to drop it.
    #[inline(always)]
    fn admit(
        &mut self,
        (from, out): (PortId, PortId),
        packet: &Packet,
        now: Time,
    ) -> Result<(Verdict, Found), DropReason> {
        let egress = &mut self.egress[out.at()];
        if !egress.up {
            return Err(DropReason::LinkDown);
        }
        let found = egress.arrival(packet, now);
        let verdict = egress.judge(packet, &found, now);
        let ingress = &self.ingress[from.at()];
        if verdict == Verdict::Drop && !ingress.is_lossless(packet.class) {
            return Err(DropReason::Early);
        }
        let len = u64::from(packet.len);
        let has_room = egress.fits(&found) && self.has_shared_room(out, len, found.drained(), now);
        let ingress = &mut self.ingress[from.at()];
        if has_room {
            if let Some(buffer) = &mut self.buffer {
                buffer.wait(len);
            }
            if self.obeys_pause {
                ingress.charge(packet.class, len);
            }
        } else if !self.obeys_pause || !ingress.charge_reserve(packet.class, len) {
            return Err(DropReason::Full);
        }
        Ok((verdict, found))
    }

    /// Whether the shared buffer has room for a packet of `len` bytes whose queue then needs `wait` for all its bytes.
    #[inline]
    fn has_shared_room(&mut self, out: PortId, len: u64, wait: Time, now: Time) -> bool {
        let (egress, pace) = (&self.egress, self.egress[out.at()].pace());
        self.buffer
            .as_mut()
            .is_none_or(|buffer| buffer.has_room(len, (wait, pace), || all_leaving(egress, now)))
    }

    /// Tells the shared buffer how many bytes ports have begun or decided to send, and have not yet sent.
    #[cold]
    fn count_leaving(&mut self, now: Time) {
        if let Some(buffer) = &mut self.buffer {
            buffer.set_leaving(all_leaving(&self.egress, now));
        }
    }

    /// A packet of `len` bytes begins to leave, or will certainly do so.
    #[inline(always)]
    fn leaves(&mut self, len: u16) {
        if let Some(buffer) = &mut self.buffer {
            buffer.leave(len.into());
        }
    }

    /// Frees the room of a packet that does not wait any more.
    #[inline]
    fn release(&mut self, stored: &Stored, cx: &mut Cx<'_>) {
        let mut freed = u64::from(stored.packet.len);
        self.account.held -= 1;
        if self.obeys_pause {
            freed = self.ingress[stored.from.at()].release(stored.packet.class, freed);
            self.send_pause_frame(stored.from, cx);
        }
        if let Some(buffer) = &mut self.buffer {
            buffer.release(freed);
        }
    }

    /// Sends a pause frame to the far end of `from`, if one is due.
    fn send_pause_frame(&mut self, from: PortId, cx: &mut Cx<'_>) {
        if self.ingress[from.at()].has_frame() {
            cx.kick(from);
        }
    }

    fn route(&mut self, packet: &Packet) -> Option<PortId> {
        match &mut self.classifier {
            None => self.routes.next(self.node, packet.dst, packet.entropy),
            Some((_, state)) => state.port(packet, self.routes.choices(self.node, packet.dst)),
        }
    }

    /// Bytes that `port` has not yet sent.
    pub fn unsent(&self, port: PortId, now: Time) -> u64 {
        self.egress[port.at()].unsent(now)
    }

    /// The time that `port` needs for what it has not yet sent.
    #[inline]
    pub fn wait_at(&self, port: PortId, now: Time) -> Time {
        self.egress[port.at()].wait(now)
    }

    /// Notifies the sender of `packet`, which leaves by `out`, of a queue. Returns whether the sender is known.
    pub(super) fn notify(
        &mut self,
        out: PortId,
        packet: &Packet,
        what: Feedback,
        cx: &mut Cx<'_>,
    ) -> bool {
        let Some(notice) = self.notice(out, packet, what, cx) else { return false };
        self.forward(out, notice, cx);
        true
    }

    /// The sender of `packet`, if it is known.
    pub(super) fn sender(&self, packet: &Packet) -> Option<HostId> {
        self.senders.of_packet(packet)
    }

    /// The port by which `packet` would leave.
    pub(super) fn exit(&mut self, packet: &Packet) -> Option<PortId> {
        self.route(packet)
    }

    /// A packet that arrived by port `from`, or was made as if it had, joins the queue of the port by which it leaves.
    pub fn forward(&mut self, from: PortId, packet: Packet, cx: &mut Cx<'_>) {
        let Some(out) = self.route(&packet) else {
            return cx.drop(&packet, DropReason::NoRoute);
        };
        self.enqueue(from, out, packet, cx);
    }

    /// A packet that did not arrive by a link joins the queue of `out`. It counts as a packet from port `from`.
    pub(super) fn inject(&mut self, from: PortId, out: PortId, packet: Packet, cx: &mut Cx<'_>) {
        self.account.created += 1;
        self.enqueue(from, out, packet, cx);
    }

    /// A packet that arrived by port `from` joins the queue of `out`, if there is room.
    #[inline(always)]
    pub(super) fn join(
        &mut self,
        from: PortId,
        out: PortId,
        packet: &Packet,
        now: Time,
    ) -> Result<Verdict, DropReason> {
        let (verdict, found) = self.admit((from, out), packet, now)?;
        let stored = Stored { packet: *packet, from, since: now };
        self.egress[out.at()].push(stored, &found, verdict, &mut self.stored);
        self.account.held += 1;
        Ok(verdict)
    }

    /// A packet that arrived by port `from` joins the queue of `out`.
    pub fn enqueue(&mut self, from: PortId, out: PortId, packet: Packet, cx: &mut Cx<'_>) {
        match self.join(from, out, &packet, cx.now) {
            Ok(verdict) => {
                cx.kick(out);
                if let Verdict::Notify(what) = verdict {
                    self.notify(out, &packet, what, cx);
                }
            }
            Err(reason) => return self.drop_arrived((from, out), &packet, reason, cx),
        }
        self.send_pause_frame(from, cx);
    }

    /// Drops a packet from port `from` that found no room in the queue of `out`.
    pub fn drop_arrived(
        &mut self,
        (from, out): (PortId, PortId),
        packet: &Packet,
        reason: DropReason,
        cx: &mut Cx<'_>,
    ) {
        self.egress[out.at()].drop(packet, reason, cx);
        self.send_pause_frame(from, cx);
    }

    /// The far end of `port` requests that classes pause or send again.
    fn obey(&mut self, port: PortId, frame: &Packet, cx: &mut Cx<'_>) {
        self.account.consumed += 1;
        let egress = &mut self.egress[port.at()];
        egress.stats.pauses_received += 1;
        if self.obeys_pause && egress.up {
            egress.queues.obey(frame);
            cx.kick(port);
        }
    }

    /// The next packet that leaves by `port`, with its port and time of arrival.
    #[inline(always)]
    pub fn pull(&mut self, port: PortId, cx: &mut Cx<'_>) -> Option<Stored> {
        loop {
            let (stored, verdict) = self.egress[port.at()].pop(cx.now, &mut self.stored)?;
            self.release(&stored, cx);
            if verdict != Verdict::Drop {
                self.leaves(stored.packet.len);
                return Some(stored);
            }
            self.egress[port.at()].drop(&stored.packet, DropReason::Early, cx);
        }
    }

    /// Takes out the packets that wait for `port`, in order.
    pub fn empty(&mut self, port: PortId, cx: &mut Cx<'_>) -> Vec<Stored> {
        let egress = &mut self.egress[port.at()];
        let all = egress.go_down(cx.now, &mut self.stored);
        egress.up = true;
        all.iter().for_each(|stored| self.release(stored, cx));
        all
    }

    /// Counts a packet that was to leave by `port` as dropped.
    pub fn lose(&mut self, port: PortId, packet: &Packet, why: DropReason, cx: &mut Cx<'_>) {
        self.egress[port.at()].drop(packet, why, cx);
    }

    fn plan_rearranging(&self, cx: &mut Cx<'_>) {
        if let Some((spec, _)) = &self.classifier {
            cx.wake(cx.now.after(spec.period), 0);
        }
    }

    fn go_down(&mut self, port: PortId, cx: &mut Cx<'_>) {
        for stored in self.egress[port.at()].go_down(cx.now, &mut self.stored) {
            self.egress[port.at()].drop(&stored.packet, DropReason::LinkDown, cx);
            self.release(&stored, cx);
        }
    }

    fn come_up(&mut self, port: PortId, cx: &mut Cx<'_>) {
        self.egress[port.at()].up = true;
        self.ingress[port.at()].restart();
        cx.kick(port);
    }
}

/// Bytes that ports have begun or decided to send, and have not yet sent.
fn all_leaving(egress: &[Egress], now: Time) -> u64 {
    egress.iter().map(|egress| egress.leaving(now)).sum()
}

impl Node for Switch {
    fn start(&mut self, cx: &mut Cx<'_>) {
        self.plan_rearranging(cx);
    }

    fn receive(&mut self, port: PortId, packet: Packet, cx: &mut Cx<'_>) {
        match packet.kind {
            Kind::Pause => self.obey(port, &packet, cx),
            _ => self.forward(port, packet, cx),
        }
    }

    fn transmit(&mut self, port: PortId, cx: &mut Cx<'_>) -> Option<Packet> {
        let egress = &mut self.egress[port.at()];
        if !egress.up {
            return None;
        }
        if let Some(frame) = self.ingress[port.at()].take_frame() {
            egress.stats.pauses_sent += 1;
            self.account.created += 1;
            return Some(frame);
        }
        self.pull(port, cx).map(|stored| stored.packet)
    }

    #[inline]
    fn has_more(&self, port: PortId) -> bool {
        self.has_waiting(port)
    }

    fn expire(&mut self, _token: u32, cx: &mut Cx<'_>) {
        if let Some((spec, state)) = &mut self.classifier {
            let (routes, node) = (&self.routes, self.node);
            state.rearrange(spec.moves, |dst| routes.choices(node, dst));
        }
        self.plan_rearranging(cx);
    }

    fn change(&mut self, change: &Change, cx: &mut Cx<'_>) {
        match change {
            Change::Up(port) => self.come_up(*port, cx),
            Change::Down(port) => self.go_down(*port, cx),
            Change::Rate(port, rate) => {
                self.egress[port.at()].set_pace(rate.inverse_rate(), &self.stored);
            }
            Change::Routes(routes) => self.routes = Arc::clone(routes),
            Change::Elsewhere(..)
            | Change::Leave
            | Change::Join
            | Change::Stop
            | Change::Restart => {}
        }
    }

    fn account(&self) -> PacketAccount {
        self.account
    }

    fn add_counters(&self, counters: &mut Counters) {
        for (port, egress) in (0..).map(PortId).zip(&self.egress) {
            egress.guests().for_each(|(class, failure)| {
                let node = self.node;
                let stopped = |failure| Stopped { node, port, bump: None, class, failure };
                counters.guest(failure.map(stopped));
            });
        }
    }

    fn queued(&self, port: PortId) -> u64 {
        self.egress[port.at()].waiting()
    }
}

#[cfg(test)]
mod tests;
