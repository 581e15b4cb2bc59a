//! A switch whose ports are FIFOs of the engine.

use slotline_net::frame::Packet;
use slotline_net::id::{NodeId, PortId};
use slotline_net::node::{Change, Cx, DropReason, Node, PacketAccount};
use slotline_net::route::Routes;
use std::sync::Arc;

/// A plain switch as a node, for windows in which it has events other than packets.
pub(crate) struct PlainSwitch {
    pub id: NodeId,
    pub routes: Arc<Routes>,
}

impl PlainSwitch {
    /// The port by which `packet` leaves.
    #[inline]
    pub fn exit(&self, packet: &Packet) -> Option<PortId> {
        self.routes.next(self.id, packet.dst, packet.entropy)
    }
}

impl Node for PlainSwitch {
    fn start(&mut self, _cx: &mut Cx<'_>) {}
    fn receive(&mut self, _port: PortId, packet: Packet, cx: &mut Cx<'_>) {
        match self.exit(&packet) {
            Some(port) => cx.send(port, packet),
            None => cx.drop(&packet, DropReason::NoRoute),
        }
    }
    fn transmit(&mut self, _port: PortId, _cx: &mut Cx<'_>) -> Option<Packet> {
        None
    }
    fn expire(&mut self, _token: u32, _cx: &mut Cx<'_>) {}
    fn change(&mut self, change: &Change, _cx: &mut Cx<'_>) {
        if let Change::Routes(routes) = change {
            self.routes = Arc::clone(routes);
        }
    }
    fn account(&self) -> PacketAccount {
        PacketAccount::default()
    }
}
