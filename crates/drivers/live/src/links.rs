//! The links of a node whose messages go to the far ends of its links, whatever address they have.

use slotline_net::frame::Packet;
use slotline_net::id::{HostId, NodeId, PortId};
use slotline_net::topology::End;

/// Which machine is at the far end of each link; its number among daemons.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Links {
    /// The node at the far end, the node's own port, and the number of the machine.
    links: Vec<(NodeId, PortId, u32)>,
}

impl Links {
    /// The links: of each the node at the far end, the own port, and the number of the machine.
    pub fn new(links: Vec<(NodeId, PortId, u32)>) -> Links {
        Links { links }
    }
    /// The message as it is sent from machine `me` to the machine at `far`; `None` if no daemon is there. Without links,
    /// messages go to their address.
    pub fn addressed(&self, packet: &Packet, far: End, me: HostId) -> Option<Packet> {
        if self.links.is_empty() {
            return Some(*packet);
        }
        let (.., number) = self.links.iter().find(|(node, ..)| *node == far.node)?;
        Some(Packet { dst: HostId(*number), flow: me.0, ..*packet })
    }
    /// The port at which messages of machine `number` arrive. Without links, that is the only one.
    pub fn port(&self, number: u32) -> Option<PortId> {
        if self.links.is_empty() {
            return Some(PortId(0));
        }
        let found = self.links.iter().find(|(.., peer)| *peer == number);
        found.map(|(_, port, _)| *port)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_go_to_the_machine_at_the_far_end() {
        let links = Links::new(vec![(NodeId(9), PortId(4), 2), (NodeId(8), PortId(5), 3)]);
        let far = |node| End { node: NodeId(node), port: PortId(7) };
        let sent = links.addressed(&Packet::default(), far(8), HostId(1)).unwrap();
        assert_eq!((sent.dst, sent.flow), (HostId(3), 1));
        assert_eq!(links.addressed(&sent, far(1), HostId(1)), None);
        assert_eq!((links.port(2), links.port(7)), (Some(PortId(4)), None));
    }

    #[test]
    fn without_links_messages_have_addresses() {
        let packet = Packet { dst: HostId(5), flow: 6, ..Packet::default() };
        let far = End { node: NodeId(1), port: PortId(0) };
        assert_eq!(Links::default().addressed(&packet, far, HostId(1)), Some(packet));
        assert_eq!(Links::default().port(77), Some(PortId(0)));
    }
}
