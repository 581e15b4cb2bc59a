//! The switch of a rack as a node.

use super::Tor;
use crate::counters;
use crate::{Voq, VoqStats};
use slotline_net::frame::{Kind, Packet};
use slotline_net::id::PortId;
use slotline_net::node::{Change, Counters, Cx, Node, PacketAccount};
use slotline_net::time::Time;

impl Node for Tor {
    fn start(&mut self, cx: &mut Cx<'_>) {
        if cx.now > Time::ZERO {
            self.join(cx.now);
        }
        self.run_schedule(cx);
    }

    fn receive(&mut self, port: PortId, packet: Packet, cx: &mut Cx<'_>) {
        if let Some(out) = self.arrive(port, &packet, cx) {
            cx.send(out, packet);
        }
    }

    fn arrive(&mut self, port: PortId, packet: &Packet, cx: &mut Cx<'_>) -> Option<PortId> {
        match packet.kind {
            Kind::Control if port == self.ports.control() => self.receive_message(packet, cx),
            Kind::Pause => self.receive_hold(packet, cx),
            _ => return self.forward(port, packet, cx),
        }
        None
    }

    fn transmit(&mut self, port: PortId, cx: &mut Cx<'_>) -> Option<Packet> {
        if self.ports.packet() == Some(port) {
            return self.by_packet_switch(cx);
        }
        let first = self.ports.circuit(0);
        self.by_circuit(usize::from(port.0 - first.0), cx)
    }

    fn has_more(&self, port: PortId) -> bool {
        if self.ports.packet() == Some(port) {
            return self.turns.peek().is_some();
        }
        let uplink = usize::from(port.0 - self.ports.circuit(0).0);
        let Some((to, _)) = self.open[uplink] else { return false };
        match &self.relay {
            None => !self.voqs[usize::from(to)].is_empty(),
            Some(relay) => relay.has_any(to.into()),
        }
    }

    fn expire(&mut self, _token: u32, cx: &mut Cx<'_>) {
        if self.wake <= cx.now {
            self.wake = Time::MAX;
        }
        self.run_schedule(cx);
    }

    fn change(&mut self, change: &Change, cx: &mut Cx<'_>) {
        match change {
            Change::Up(port) => self.set_link(*port, true, cx),
            Change::Down(port) => self.set_link(*port, false, cx),
            Change::Rate(port, rate) => {
                let first = self.ports.circuit(0).0;
                let at = port.0.checked_sub(first).map(usize::from);
                if let Some(pace) = at.and_then(|at| self.paces.get_mut(at)) {
                    *pace = rate.inverse_rate();
                }
            }
            _ => {}
        }
    }

    fn account(&self) -> PacketAccount {
        self.account
    }

    fn add_counters(&self, counters: &mut Counters) {
        let stats: Vec<VoqStats> = self.voqs.iter().map(|voq| voq.stats).collect();
        self.counters.add_counters(&stats, counters);
        if let Some(relay) = &self.relay {
            let (stored, refused) = relay.counts();
            counters.add(counters::RELAYED_PACKETS, stored);
            counters.add(counters::RELAY_DROPS, refused);
        }
        if let Some(notifications) = &self.notifications {
            counters.add(counters::CIRCUIT_NOTIFICATIONS, notifications.sent);
        }
        if let Some(weekly) = &self.config.weekly {
            counters.add(counters::LATE_WEEKS, weekly.late);
        }
    }

    fn queued(&self, port: PortId) -> u64 {
        let all = || self.voqs.iter().map(Voq::bytes).sum();
        let circuit = u32::from(port.0).checked_sub(self.ports.circuit(0).0.into());
        let open = circuit.and_then(|uplink| self.open.get(uplink as usize).copied());
        match open {
            Some(open) => open.map_or(0, |(to, _)| self.voqs[usize::from(to)].bytes()),
            None if self.ports.packet() == Some(port) => all(),
            None => 0,
        }
    }
}
