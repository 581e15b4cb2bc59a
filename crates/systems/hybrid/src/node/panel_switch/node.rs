//! A panel switch as a node.

use super::PanelSwitch;
use crate::counters;
use slotline_net::frame::{Kind, Packet};
use slotline_net::id::PortId;
use slotline_net::node::{Change, Counters, Cx, Foresight, Node, PacketAccount};
use slotline_net::time::Time;

impl Node for PanelSwitch {
    fn start(&mut self, cx: &mut Cx<'_>) {
        self.run_schedule(cx);
    }

    fn receive(&mut self, port: PortId, packet: Packet, cx: &mut Cx<'_>) {
        match packet.kind {
            Kind::Control if port == self.news => self.receive_message(&packet, cx),
            Kind::Pause => self.config.switch.receive(port, packet, cx),
            _ => self.forward(port, packet, cx),
        }
    }

    fn transmit(&mut self, port: PortId, cx: &mut Cx<'_>) -> Option<Packet> {
        match self.panel(port) {
            Some(_) => self.by_panel(port, cx),
            None => self.config.switch.transmit(port, cx),
        }
    }

    fn has_more(&self, port: PortId) -> bool {
        self.config.switch.has_more(port)
    }

    fn expire(&mut self, _token: u32, cx: &mut Cx<'_>) {
        if self.wake <= cx.now {
            self.wake = Time::MAX;
        }
        self.run_schedule(cx);
    }

    fn change(&mut self, change: &Change, cx: &mut Cx<'_>) {
        match change {
            Change::Up(port) => self.set_link(*port, true, change, cx),
            Change::Down(port) => self.set_link(*port, false, change, cx),
            _ => {
                if let Change::Rate(port, rate) = change {
                    self.config.paces[port.at()] = rate.inverse_rate();
                }
                self.config.switch.change(change, cx);
            }
        }
    }

    fn account(&self) -> PacketAccount {
        let (own, inner) = (self.account, self.config.switch.account());
        PacketAccount {
            created: own.created + inner.created,
            consumed: own.consumed + inner.consumed,
            held: own.held + inner.held,
        }
    }

    fn add_counters(&self, counters: &mut Counters) {
        if self.is_rack() {
            self.counters.add_counters(&self.traffic.all(), counters);
        }
        counters.add(counters::LINKS_REWIRED, self.counts.rewirings);
        counters.add(counters::PACKETS_MOVED_BY_NIGHT, self.counts.moved);
        counters.add(counters::PACKETS_WITHOUT_ROUTE, self.counts.waited);
        counters.add(counters::PACKETS_BY_CORE, self.counts.by_core);
        counters.add(counters::RELAYED_PACKETS, self.counts.by_rack);
        if let Some(weekly) = self.config.weekly.as_ref().filter(|_| self.is_rack()) {
            counters.add(counters::LATE_WEEKS, weekly.late);
        }
    }

    fn queued(&self, port: PortId) -> u64 {
        self.config.switch.queued(port)
    }

    fn foresight(&mut self) -> Option<&mut dyn Foresight> {
        let switch = &self.config.switch;
        let foresees = switch.is_foreseeable() && !switch.notifies();
        foresees.then_some(self as &mut dyn Foresight)
    }
}
