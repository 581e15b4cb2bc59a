//! The roles of the nodes and ports of a hybrid fabric.

use super::Down;
use crate::id::{HostId, NodeId, PortId};
use std::ops::Range;
use std::sync::Arc;

/// The hosts of racks. Hosts are numbered rack by rack.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RackHosts {
    /// By rack, its first host; and the number of all hosts.
    first: Arc<[u32]>,
    /// By host, its rack.
    rack: Arc<[u16]>,
}

impl RackHosts {
    /// For racks with these numbers of hosts.
    pub fn new(hosts: impl Iterator<Item = u32>) -> RackHosts {
        let (mut first, mut racks) = (vec![0], Vec::new());
        for (rack, hosts) in (0..u16::MAX).zip(hosts) {
            racks.resize(racks.len() + hosts as usize, rack);
            first.push(racks.len() as u32);
        }
        RackHosts { first: first.into(), rack: racks.into() }
    }
    /// The number of all hosts.
    pub fn all(&self) -> u32 {
        self.rack.len() as u32
    }
    /// The numbers of the hosts of a rack.
    #[inline]
    pub fn of(&self, rack: u32) -> Range<u32> {
        self.first[rack as usize]..self.first[rack as usize + 1]
    }
    /// The first host of a rack.
    #[inline]
    pub fn first(&self, rack: u32) -> HostId {
        HostId(self.first[rack as usize])
    }
    /// The number of hosts in a rack.
    pub fn count(&self, rack: u32) -> u32 {
        self.of(rack).len() as u32
    }
    /// The rack of a host; a number above all racks if there is no such host.
    #[inline]
    pub fn rack(&self, host: HostId) -> u32 {
        self.rack.get(host.at()).map_or(u32::MAX, |rack| u32::from(*rack))
    }
    /// The port of a host of `rack` at the switch of the rack.
    #[inline]
    pub fn port(&self, host: HostId, rack: u32) -> PortId {
        PortId((host.0 - self.first[rack as usize]) as u16)
    }
}

/// The roles of the nodes and ports of a hybrid fabric.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Roles {
    /// Racks.
    pub racks: u32,
    /// Their hosts.
    pub hosts: RackHosts,
    /// Whether there is a packet switch.
    pub packet: bool,
    /// Circuit switches.
    pub uplinks: u32,
    /// Core switches.
    pub cores: u32,
    /// Ports of a core switch at each circuit switch.
    pub slots: u32,
}

/// The role of a node of a hybrid fabric.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// A host.
    Host,
    /// The switch of a rack.
    Rack(u32),
    /// The packet switch.
    Packet,
    /// A circuit switch.
    Circuit(u32),
    /// A core switch.
    Core(u32),
    /// The scheduler.
    Scheduler,
}

/// The ports of a rack's switch: those of its hosts, to the packet switch, to the circuit switches, and to the
/// scheduler.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RackPorts {
    /// Hosts of the rack.
    pub hosts: u32,
    packet: bool,
    uplinks: u32,
}

impl RackPorts {
    /// Whether a host is at this port.
    #[inline]
    pub fn is_host(self, port: PortId) -> bool {
        u32::from(port.0) < self.hosts
    }
    /// The port to the packet switch, if there is one.
    #[inline]
    pub fn packet(self) -> Option<PortId> {
        self.packet.then_some(PortId(self.hosts as u16))
    }
    /// The port to a circuit switch.
    #[inline]
    pub fn circuit(self, uplink: u32) -> PortId {
        PortId((self.hosts + u32::from(self.packet) + uplink) as u16)
    }
    /// The port to the scheduler.
    #[inline]
    pub fn control(self) -> PortId {
        self.circuit(self.uplinks)
    }
}

impl Roles {
    /// The ports of a rack's switch.
    pub fn ports(&self, rack: u32) -> RackPorts {
        let Roles { packet, uplinks, .. } = *self;
        RackPorts { hosts: self.hosts.count(rack), packet, uplinks }
    }
    /// The switch of a rack.
    pub fn tor(&self, rack: u32) -> NodeId {
        NodeId(self.hosts.of(rack).end + rack)
    }
    /// The first node that belongs to no rack.
    fn above_racks(&self) -> u32 {
        self.hosts.all() + self.racks
    }
    /// The role of `node`.
    pub fn role(&self, node: NodeId) -> Role {
        let Some(above) = node.0.checked_sub(self.above_racks()) else { return self.in_rack(node) };
        match above.checked_sub(u32::from(self.packet)) {
            None => Role::Packet,
            Some(at) if at < self.uplinks => Role::Circuit(at),
            Some(at) if at < self.uplinks + self.cores => Role::Core(at - self.uplinks),
            Some(_) => Role::Scheduler,
        }
    }
    /// The role of a node of a rack.
    fn in_rack(&self, node: NodeId) -> Role {
        let (mut low, mut high) = (0, self.racks);
        while low < high {
            let middle = low.midpoint(high);
            match self.tor(middle) < node {
                true => low = middle + 1,
                false => high = middle,
            }
        }
        if self.tor(low) == node { Role::Rack(low) } else { Role::Host }
    }
    /// Its circuit switches.
    pub fn circuit_switches(&self) -> impl Iterator<Item = NodeId> + use<> {
        let first = self.above_racks() + u32::from(self.packet);
        (first..first + self.uplinks).map(NodeId)
    }
    /// The first core switch.
    pub(super) fn first_core(&self) -> u32 {
        self.above_racks() + u32::from(self.packet) + self.uplinks
    }
    /// The nodes that routes must avoid: the scheduler, and circuit switches. If there is no packet switch, routes may
    /// use the first circuit switch.
    pub fn unrouted(&self) -> Down {
        let first = self.above_racks();
        let switches = u32::from(self.packet) + self.uplinks + self.cores + 1;
        Down { nodes: (first + 1..first + switches).map(NodeId).collect(), ..Down::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    proptest::proptest! {
        #[test]
        fn hosts_and_racks_agree(sizes in proptest::collection::vec(1u32..40, 2..30)) {
            let hosts = RackHosts::new(sizes.iter().copied());
            let mut host = 0;
            for (rack, &size) in (0..).zip(&sizes) {
                proptest::prop_assert_eq!((hosts.first(rack), hosts.count(rack)), (HostId(host), size));
                for at in 0..size {
                    let found = hosts.rack(HostId(host));
                    proptest::prop_assert_eq!((found, hosts.port(HostId(host), rack)), (rack, PortId(at as u16)));
                    host += 1;
                }
            }
            proptest::prop_assert_eq!((hosts.all(), hosts.rack(HostId(host))), (host, u32::MAX));
        }
    }
}
