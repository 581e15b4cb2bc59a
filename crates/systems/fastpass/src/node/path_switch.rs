//! A real switch. It forwards by the tags of packets, which its rules know from the beginning on. It tells arbiters which of
//! its links do not work.

use super::Common;
use super::outbox::Outbox;
use crate::counters;
use crate::wire::fastpass::Body;
use slotline_net::frame::Packet;
use slotline_net::id::{HostId, PortId};
use slotline_net::node::{Change, Counters, Cx, DropReason, Node, PacketAccount};

/// The node of a real switch. Messages leave by its port 0.
pub struct PathSwitch {
    common: Common,
    outbox: Outbox,
    reports: u64,
}

impl PathSwitch {
    /// The switch with the number `me` among machines: switches follow hosts and stations.
    pub fn new(common: Common, me: HostId) -> PathSwitch {
        PathSwitch { outbox: Outbox::new(&common, me), common, reports: 0 }
    }
}

impl Node for PathSwitch {
    fn start(&mut self, _cx: &mut Cx<'_>) {}
    fn receive(&mut self, _port: PortId, packet: Packet, cx: &mut Cx<'_>) {
        cx.drop(&packet, DropReason::Misrouted);
    }
    fn transmit(&mut self, _port: PortId, _cx: &mut Cx<'_>) -> Option<Packet> {
        None
    }
    fn expire(&mut self, _token: u32, _cx: &mut Cx<'_>) {}
    /// If the message is lost, reports of lost packets show what it would have said. Arbiters themselves find out when a link
    /// works again.
    fn change(&mut self, change: &Change, cx: &mut Cx<'_>) {
        let Change::Down(port) = change else { return };
        self.reports += 1;
        for &arbiter in &self.common.arbiters {
            let body = Body::Down { port: port.0 };
            let packet = self.outbox.message(arbiter, 0, body, &self.common, cx);
            cx.send(PortId(0), packet);
        }
    }
    fn account(&self) -> PacketAccount {
        PacketAccount { created: self.outbox.messages, ..PacketAccount::default() }
    }
    fn add_counters(&self, counters: &mut Counters) {
        counters.add(counters::LINK_REPORTS, self.reports);
    }
}
