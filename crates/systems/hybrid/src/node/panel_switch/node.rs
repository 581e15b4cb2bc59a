//! A panel switch as a node.

use super::PanelSwitch;
use slotline_net::frame::{Kind, Packet};
use slotline_net::id::PortId;
use slotline_net::node::{Change, Cx, Node, PacketAccount, Tally};
use slotline_net::time::Time;

impl Node for PanelSwitch {
    fn start(&mut self, cx: &mut Cx<'_>) {
        self.run_schedule(cx);
    }

    fn receive(&mut self, port: PortId, packet: Packet, cx: &mut Cx<'_>) {
        let news = self.config.roles.news_port(self.config.seat);
        match packet.kind {
            Kind::Control if port == news => self.receive_message(&packet, cx),
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

    fn tally(&self, tally: &mut Tally) {
        if self.is_rack() {
            self.counters.tally(&self.traffic.all(), tally);
        }
        tally.add("links_rewired", self.counts.rewirings);
        tally.add("packets_moved_by_night", self.counts.moved);
        tally.add("packets_without_a_way", self.counts.waited);
        tally.add("packets_by_core", self.counts.by_core);
        tally.add("relayed_packets", self.counts.by_rack);
        if let Some(weekly) = self.config.weekly.as_ref().filter(|_| self.is_rack()) {
            tally.add("late_weeks", weekly.late);
        }
    }

    fn queued(&self, port: PortId) -> u64 {
        self.config.switch.queued(port)
    }
}
