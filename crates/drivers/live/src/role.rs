//! The kinds of machines with an agent: hosts, the switches of racks, and switches that send flows on paths.

use crate::channel::Peer;
use crate::forwarding::Hosts;
use crate::ip;
use crate::links::Links;
use slotline_linux::flows::FlowOptions;
use slotline_linux::tags::TagOptions;
use slotline_net::frame::{Kind, Packet, RETRANSMITTED};
use slotline_net::id::{HostId, NodeId, PortId};
use slotline_net::node::host::Plan;
use slotline_net::topology::End;
use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

/// Addresses that have the same leading bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Prefix {
    address: IpAddr,
    bits: u8,
}

impl Prefix {
    /// Reads a prefix, such as `10.1.0.0/24`.
    pub fn parse(text: &str) -> Option<Prefix> {
        let (address, bits) = text.split_once('/')?;
        let (address, bits): (IpAddr, u8) = (address.parse().ok()?, bits.parse().ok()?);
        let most = if address.is_ipv4() { 32 } else { 128 };
        (bits <= most).then_some(Prefix { address, bits })
    }
    /// The number of bits.
    pub fn bits(self) -> u8 {
        self.bits
    }
    /// Whether an address has these bits.
    pub fn contains(self, address: IpAddr) -> bool {
        let shifted =
            |bits: u128, length: u8| bits.checked_shr((length - self.bits).into()).unwrap_or(0);
        match (self.address, address) {
            (IpAddr::V4(a), IpAddr::V4(b)) => {
                shifted(a.to_bits().into(), 32) == shifted(b.to_bits().into(), 32)
            }
            (IpAddr::V6(a), IpAddr::V6(b)) => {
                shifted(a.to_bits(), 128) == shifted(b.to_bits(), 128)
            }
            _ => false,
        }
    }
}

/// What the machine does for a packet that its node sends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Departure {
    /// The held packet with this handle leaves, with a mark.
    Packet(u32, Option<u32>),
    /// The connection is sent on this path.
    Order(u32, u16),
    /// Packets to the host without a path of their own are sent on this path, or are spread again.
    Detour(HostId, Option<u16>),
}

/// The machine on which an agent runs.
pub enum Role {
    /// A host.
    Host(HostRole),
    /// The switch of a rack.
    Rack(RackRole),
    /// A switch whose kernel forwards.
    Switch(SwitchRole),
}

/// A host: the packets of its applications are held, and leave when the node hands them over.
pub struct HostRole {
    /// The host of each address.
    pub hosts: HashMap<IpAddr, HostId>,
    /// The connection to each host.
    pub flows: HashMap<HostId, u32>,
    /// Connections from this host to each other one, and the framing of packets.
    pub plan: Arc<Plan>,
    /// How its packets take the paths that its scheme chooses, where switches know them.
    pub paths: Option<HostPaths>,
}

/// How the packets of a host take paths.
#[derive(Clone)]
pub struct HostPaths {
    /// The tags of packets.
    pub tags: TagOptions,
    /// The address from which it probes paths to other hosts.
    pub address: SocketAddr,
    /// The other hosts, and the addresses at which they answer.
    pub peers: Vec<Peer>,
}

/// The switch of a rack: packets that it forwards to other racks are held, and leave when the node sends them.
pub struct RackRole {
    /// Prefixes of the hosts in other racks, the longest first, and the first host of their rack in the network.
    pub racks: Vec<(Prefix, HostId)>,
    /// The framing of packets.
    pub plan: Arc<Plan>,
    /// The node of the packet switch, if there is one.
    pub packet_switch: Option<NodeId>,
    /// The first port to a circuit switch.
    pub first: PortId,
    /// The mark of packets that leave by the first circuit switch. The marks of further ones follow.
    pub mark: u32,
    /// The link to the arbiter.
    pub links: Links,
}

/// A switch: its kernel counts flows and sends them on the paths that the node orders. No packet is held.
pub struct SwitchRole {
    /// The hosts of the network.
    pub hosts: Hosts,
    /// What the kernel counts, and its paths.
    pub flows: FlowOptions,
    /// The ports of the node towards the switches above.
    pub ports: Vec<PortId>,
    /// How long a path is used after its order.
    pub expire: Duration,
    /// The framing of packets.
    pub plan: Arc<Plan>,
    /// The hosts for which this switch acts.
    pub links: Links,
}

impl Role {
    /// The packet of the model for an IP packet, and its length in bytes; `None` if the packet is not for a machine of
    /// the network.
    pub fn classify(&self, bytes: &[u8]) -> Option<(Packet, u16)> {
        let (destination, length) = ip::destination(bytes)?;
        let packet = match self {
            Role::Host(role) => role.packet(destination, length),
            Role::Rack(role) => role.packet(destination, length),
            Role::Switch(_) => None,
        };
        let packet = packet.map(|packet| Packet { kind: Kind::Datagram, ..packet });
        packet.map(|packet| (self.identified(packet, bytes, length), length))
    }
    /// Names the segment of a packet where losses tell about paths. Whether it was sent before shows in what was sent, so
    /// each may be one that is sent again.
    fn identified(&self, packet: Packet, bytes: &[u8], length: u16) -> Packet {
        let Role::Host(HostRole { paths: Some(_), .. }) = self else { return packet };
        let named = ip::segment(bytes, length);
        named.map_or(packet, |seq| Packet {
            kind: Kind::Data,
            seq,
            flags: packet.flags | RETRANSMITTED,
            ..packet
        })
    }
    /// The mark of a host's packet that leaves, by which it gets the tag of its path.
    pub fn tag(&self, packet: &Packet) -> Option<u32> {
        let Role::Host(HostRole { paths: Some(HostPaths { tags, .. }), .. }) = self else {
            return None;
        };
        let path = usize::from(packet.entropy);
        (path < tags.paths).then(|| tags.mark + u32::from(packet.entropy))
    }
    /// What follows from a packet that the node sends to `far`; `None` if it leaves later.
    pub fn leaves(&self, packet: &Packet, far: End) -> Option<Departure> {
        match self {
            Role::Host(_) => None,
            Role::Rack(role) => Some(Departure::Packet(packet.stamp, role.mark(far))),
            Role::Switch(_) if packet.flow == u32::MAX => {
                let path = Some(packet.entropy).filter(|path| *path != u16::MAX);
                Some(Departure::Detour(packet.dst, path))
            }
            Role::Switch(_) => Some(Departure::Order(packet.flow, packet.entropy)),
        }
    }
    /// The framing of packets, and the connections of a host.
    pub fn plan(&self) -> &Arc<Plan> {
        match self {
            Role::Host(role) => &role.plan,
            Role::Rack(role) => &role.plan,
            Role::Switch(role) => &role.plan,
        }
    }
    /// The links of its node.
    pub fn links(&self) -> Links {
        match self {
            Role::Host(_) => Links::default(),
            Role::Rack(role) => role.links.clone(),
            Role::Switch(role) => role.links.clone(),
        }
    }
    /// Whether the machine has to hear its arbiter all the time, because circuits and paths no longer change if the arbiter
    /// fails. That arbiter may have no other message for a switch than answers to its time requests.
    pub fn needs_beat(&self) -> bool {
        !matches!(self, Role::Host(_))
    }
}

impl HostRole {
    fn packet(&self, destination: IpAddr, length: u16) -> Option<Packet> {
        let dst = *self.hosts.get(&destination)?;
        let flow = *self.flows.get(&dst)?;
        let (len, entropy) =
            (self.plan.transport.datagram_len(length.into()), self.plan.entropy(flow));
        Some(Packet { dst, flow, len, entropy, ..Packet::default() })
    }
}

impl RackRole {
    fn packet(&self, destination: IpAddr, length: u16) -> Option<Packet> {
        let (_, dst) = *self.racks.iter().find(|(prefix, _)| prefix.contains(destination))?;
        let len = self.plan.transport.datagram_len(length.into());
        Some(Packet { dst, len, ..Packet::default() })
    }
    /// A circuit leads from a port of this switch to the same port of another one.
    fn mark(&self, far: End) -> Option<u32> {
        let circuit = Some(far.node) != self.packet_switch;
        circuit.then(|| self.mark + u32::from(far.port.0.saturating_sub(self.first.0)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::net::{Ipv4Addr, Ipv6Addr};

    #[test]
    fn prefixes_are_read() {
        for wrong in ["10.0.0.0", "10.0.0.0/33", "fd00::/129", "x/8", "10.0.0.0/-1"] {
            assert_eq!(Prefix::parse(wrong), None, "{wrong}");
        }
        let all = Prefix::parse("0.0.0.0/0").unwrap();
        assert!(
            all.contains(Ipv4Addr::BROADCAST.into()) && !all.contains(Ipv6Addr::LOCALHOST.into())
        );
        assert!(Prefix::parse("::/0").unwrap().contains(Ipv6Addr::LOCALHOST.into()));
        let one = Prefix::parse("10.1.2.3/32").unwrap();
        assert!(one.contains([10, 1, 2, 3].into()) && !one.contains([10, 1, 2, 2].into()));
    }

    proptest! {
        #[test]
        fn a_prefix_has_the_addresses_with_its_leading_bits(a: u32, b: u32, bits in 0u8..=32) {
            let prefix = Prefix { address: Ipv4Addr::from_bits(a).into(), bits };
            let common = (a ^ b).leading_zeros() >= bits.into();
            prop_assert_eq!(prefix.contains(Ipv4Addr::from_bits(b).into()), common);
            let wide = |v4: u32| Ipv6Addr::from_bits(u128::from(v4) << 96).into();
            prop_assert_eq!(Prefix { address: wide(a), bits }.contains(wide(b)), common);
        }
    }
}
