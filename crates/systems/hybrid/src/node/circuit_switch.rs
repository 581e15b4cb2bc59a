//! A circuit switch. Racks that it connects reach each other as if by one cable, so a packet arrives here only if
//! there is no circuit, and is dropped.

use slotline_net::frame::Packet;
use slotline_net::id::PortId;
use slotline_net::node::{Cx, DropReason, Node, PacketAccount};

/// A circuit switch, which drops the packets that were sent without a circuit.
#[derive(Default)]
pub struct CircuitSwitch;

impl Node for CircuitSwitch {
    fn start(&mut self, _cx: &mut Cx<'_>) {}
    fn receive(&mut self, _port: PortId, packet: Packet, cx: &mut Cx<'_>) {
        cx.drop(&packet, DropReason::LinkDown);
    }
    fn transmit(&mut self, _port: PortId, _cx: &mut Cx<'_>) -> Option<Packet> {
        None
    }
    fn expire(&mut self, _token: u32, _cx: &mut Cx<'_>) {}
    fn account(&self) -> PacketAccount {
        PacketAccount::default()
    }
}
