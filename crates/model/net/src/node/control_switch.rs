//! The switch of a control network, which carries only messages of a central scheme.

use super::{Cx, DropReason, Node, PacketAccount};
use crate::frame::Packet;
use crate::id::{HostId, PortId};

/// The destination of a message to all other members of a control network.
pub const EVERYONE: HostId = HostId(u32::MAX);

/// A switch with one port for each member. It forwards a message to its destination, or to all members but its sender.
/// Its FIFO ports have no limit.
pub struct ControlSwitch {
    /// The member at each port.
    members: Vec<HostId>,
    /// The members, ascending, with their ports.
    ports: Vec<(HostId, PortId)>,
    copied: u64,
    made: u64,
}

impl ControlSwitch {
    /// A switch with these members at its ports, in this order.
    pub fn new(members: Vec<HostId>) -> ControlSwitch {
        let mut ports: Vec<_> = members.iter().copied().zip((0..).map(PortId)).collect();
        ports.sort_unstable();
        ControlSwitch { members, ports, copied: 0, made: 0 }
    }
    fn port_of(&self, host: HostId) -> Option<PortId> {
        let at = self.ports.binary_search_by_key(&host, |(host, _)| *host).ok()?;
        Some(self.ports[at].1)
    }
    /// Sends a copy of `packet` by every port but `from`.
    fn copy(&mut self, from: PortId, packet: Packet, cx: &mut Cx<'_>) {
        let (source, bytes) = (HostId(packet.flow), cx.detach(&packet));
        self.copied += 1;
        for (&dst, port) in self.members.iter().zip((0..).map(PortId)) {
            if port != from {
                let made = cx.attach((source, dst), bytes.to_vec(), 0, packet.class);
                cx.send(port, Packet { dst, seq: made.seq, ..packet });
                self.made += 1;
            }
        }
    }
}

impl Node for ControlSwitch {
    fn start(&mut self, _cx: &mut Cx<'_>) {}
    fn receive(&mut self, port: PortId, packet: Packet, cx: &mut Cx<'_>) {
        if packet.dst == EVERYONE {
            return self.copy(port, packet, cx);
        }
        match self.port_of(packet.dst) {
            Some(to) => cx.send(to, packet),
            None => cx.drop(&packet, DropReason::Misrouted),
        }
    }
    fn transmit(&mut self, _port: PortId, _cx: &mut Cx<'_>) -> Option<Packet> {
        None
    }
    fn expire(&mut self, _token: u32, _cx: &mut Cx<'_>) {}
    fn account(&self) -> PacketAccount {
        PacketAccount { created: self.made, consumed: self.copied, held: 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node::{Collected, Effects};
    use crate::time::Time;

    /// The ports by which a message from the member at port 1 to `dst` leaves, with the destinations and contents.
    fn forwarded(dst: HostId) -> (Vec<(u16, u32, Vec<u8>)>, u64) {
        let mut switch = ControlSwitch::new(vec![HostId(7), HostId(2), HostId(4)]);
        let mut effects = Effects::default();
        let mut cx = Cx::new(Time::ZERO, &mut effects);
        let packet = cx.attach((HostId(2), dst), vec![1, 2, 3], 38, 7);
        switch.receive(PortId(1), packet, &mut cx);
        let collected = Collected::of(&mut effects);
        let content = |(port, packet): &(PortId, Packet)| {
            let bytes = effects.payloads().release(packet.seq).to_vec();
            assert_eq!((packet.flow, packet.len), (2, 84));
            (port.0, packet.dst.0, bytes)
        };
        (
            collected.sends.iter().map(content).collect(),
            collected.dropped[DropReason::Misrouted as usize],
        )
    }

    #[test]
    fn messages_go_to_one_member_or_to_all_others() {
        let bytes = vec![1, 2, 3];
        assert_eq!(forwarded(HostId(4)), (vec![(2, 4, bytes.clone())], 0));
        let all = vec![(0, 7, bytes.clone()), (2, 4, bytes)];
        assert_eq!(forwarded(EVERYONE), (all, 0));
        assert_eq!(forwarded(HostId(3)), (vec![], 1));
    }
}
