//! Where the messages of a node go: to the far ends of its links, whatever address they have, or to the machines that
//! act for hosts.

use slotline_net::frame::Packet;
use slotline_net::id::{HostId, NodeId, PortId};
use slotline_net::topology::End;
use std::collections::BTreeMap;

/// Which machine is at the far end of each link, or acts for each host; its number among daemons.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Links {
    /// The node at the far end, the node's own port, and the number of the machine.
    links: Vec<(NodeId, PortId, u32)>,
    /// The machine of each host that has no daemon itself: its switch.
    acting: BTreeMap<u32, u32>,
}

impl Links {
    /// The links: of each the node at the far end, the own port, and the number of the machine.
    pub fn new(links: Vec<(NodeId, PortId, u32)>) -> Links {
        Links { links, acting: BTreeMap::new() }
    }
    /// Also hears machine `number`, which is no daemon, at `port`. Nothing is sent to it as a message.
    pub fn hearing(mut self, port: PortId, number: u32) -> Links {
        self.links.push((NodeId(u32::MAX), port, number));
        self
    }
    /// Machines that act for hosts: the numbers of hosts, and of their machines.
    pub fn acting(machines: BTreeMap<u32, u32>) -> Links {
        Links { links: Vec::new(), acting: machines }
    }
    /// The message as it is sent from machine `me` to the machine at `far`, and the number of that machine; `None` if no
    /// daemon is there. Without links, messages go to their address.
    pub fn addressed(&self, packet: &Packet, far: End, me: HostId) -> Option<(u32, Packet)> {
        if self.links.is_empty() {
            return Some((self.machine(packet.dst.0), *packet));
        }
        let (.., number) = self.links.iter().find(|(node, ..)| *node == far.node)?;
        Some((*number, Packet { dst: HostId(*number), flow: me.0, ..*packet }))
    }
    /// The port at which messages of `source` arrive. Without links, that is the only one.
    pub fn port(&self, source: u32) -> Option<PortId> {
        if self.links.is_empty() {
            return Some(PortId(0));
        }
        let found = self.links.iter().find(|(.., peer)| *peer == source);
        found.map(|(_, port, _)| *port)
    }
    /// Whether a message that machine `from` has sent to machine `me` names machines for which these act.
    pub fn accepts(&self, packet: &Packet, from: u32, me: HostId) -> bool {
        self.machine(packet.flow) == from && self.machine(packet.dst.0) == me.0
    }
    /// The machine that acts for a host.
    fn machine(&self, host: u32) -> u32 {
        self.acting.get(&host).copied().unwrap_or(host)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_go_to_the_machine_at_the_far_end() {
        let links = Links::new(vec![(NodeId(9), PortId(4), 2), (NodeId(8), PortId(5), 3)]);
        let far = |node| End { node: NodeId(node), port: PortId(7) };
        let (to, sent) = links.addressed(&Packet::default(), far(8), HostId(1)).unwrap();
        assert_eq!((to, sent.dst, sent.flow), (3, HostId(3), 1));
        assert_eq!(links.addressed(&sent, far(1), HostId(1)), None);
        assert_eq!((links.port(2), links.port(7)), (Some(PortId(4)), None));
        let links = links.hearing(PortId(6), 7);
        assert_eq!(
            (links.port(7), links.addressed(&sent, far(1), HostId(1))),
            (Some(PortId(6)), None)
        );
    }

    #[test]
    fn without_links_messages_have_addresses() {
        let packet = Packet { dst: HostId(5), flow: 6, ..Packet::default() };
        let far = End { node: NodeId(1), port: PortId(0) };
        assert_eq!(Links::default().addressed(&packet, far, HostId(1)), Some((5, packet)));
        assert_eq!(Links::default().port(77), Some(PortId(0)));
    }

    #[test]
    fn a_switch_acts_for_its_hosts() {
        let links = Links::acting(BTreeMap::from([(0, 30), (1, 30), (2, 31)]));
        let packet = Packet { dst: HostId(16), flow: 1, ..Packet::default() };
        assert!(links.accepts(&packet, 30, HostId(16)));
        assert!(!links.accepts(&packet, 31, HostId(16)), "another switch");
        assert!(!links.accepts(&packet, 30, HostId(17)), "another arbiter");
        let far = End { node: NodeId(1), port: PortId(0) };
        let answer = Packet { dst: HostId(2), flow: 16, ..Packet::default() };
        assert_eq!(links.addressed(&answer, far, HostId(16)), Some((31, answer)));
        assert!(links.accepts(&answer, 16, HostId(31)) && !links.accepts(&answer, 16, HostId(30)));
    }
}
