//! Racks joined by a packet switch, by circuit switches, or by both.

use super::builder::{Builder, count, positive, size};
use super::cores::CoreNetSpec;
use super::spec::Topology;
use super::{Down, Graph, LinkParams, NO_POD};
use crate::error::SpecError;
use crate::id::{HostId, NodeId, PortId};
use crate::time::Time;
use crate::units::Rate;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Racks of hosts, each with a switch (`tor0`, …) that queues packets by destination rack. The switches are linked to
/// one packet switch (`packet0`), to circuit switches (`circuit0`, …), or to both. Links that carry nothing else
/// connect them to the scheduler of the circuits (`scheduler`). A pod is a rack. Core packet switches (`core0`, …) may
/// be behind the circuit switches.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[schemars(transform = crate::schema::keep_comment)]
pub struct HybridSpec {
    /// Racks, from 2 on.
    pub racks: u32,
    /// Hosts in each rack.
    pub hosts_per_rack: u32,
    /// Rate of host links.
    #[serde(default = "super::spec::default_rate")]
    pub host_rate: Rate,
    /// Propagation delay of host links.
    #[serde(default = "super::spec::default_delay")]
    pub host_delay: Time,
    /// The packet switch; without it, packets wait for a circuit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub packet: Option<PacketNetSpec>,
    /// The circuit switches; without them, all packets go through the packet switch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub circuits: Option<CircuitNetSpec>,
    /// Core packet switches whose ports end at the circuit switches, as the uplinks of racks do. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub core: Option<CoreNetSpec>,
    /// Propagation delay of the links to the scheduler, which are as fast as those of hosts.
    #[serde(default = "super::spec::default_delay")]
    pub control_delay: Time,
}

/// The packet switch of a hybrid fabric.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct PacketNetSpec {
    /// Rate of the link from each rack.
    pub rate: Rate,
    /// Rate of the link to each rack. Default: `rate`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub down_rate: Option<Rate>,
    /// Propagation delay of each link. A packet crosses two of them.
    #[serde(default = "packet_delay")]
    pub delay: Time,
    /// Packets of one pair of racks that may wait in the packet switch before the source rack holds
    /// them back.
    #[serde(default = "inner")]
    #[schemars(range(min = 1, max = 1000))]
    pub inner_queue: u32,
    /// What happens to packets for which the packet switch has no room.
    #[serde(default)]
    pub inner_full: InnerFull,
}

/// What happens to packets of a pair of racks when their queue in the packet switch is full.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum InnerFull {
    /// Their source rack holds them back, and nothing is lost.
    ///
    /// Source: "Overcoming End-to-End Challenges in Reconfigurable Datacenter Networks" (Etalon), 2018,
    /// section 3.2.
    #[default]
    Hold,
    /// They return to their source rack. Up to five wait there and are sent again before all others; further ones are
    /// dropped. Each attempt takes time on the link to the packet switch. As in Etalon's emulator.
    Return,
}

/// The circuit switches of a hybrid fabric, all alike.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct CircuitNetSpec {
    /// Circuit switches; each rack has a link to each.
    #[serde(default = "super::spec::one")]
    pub switches: u32,
    /// Rate of a circuit.
    pub rate: Rate,
    /// Propagation delay from rack to rack.
    #[serde(default = "circuit_delay")]
    pub delay: Time,
    /// Length of a night: the time for which a circuit switch is dark while it reconfigures.
    #[serde(default = "night")]
    pub reconfiguration: Time,
    /// The circuits that are dark in a night.
    #[serde(default)]
    pub dark: Dark,
}

/// The circuits of a circuit switch that carry nothing in a night.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Dark {
    /// All circuits.
    ///
    /// Source: "Overcoming End-to-End Challenges in Reconfigurable Datacenter Networks" (Etalon), 2018,
    /// section 2.1, its pessimistic assumption.
    #[default]
    All,
    /// The circuits that change. A circuit that exists both in the day before and in the day after stays up, as in a
    /// patch panel whose mirrors move one by one.
    Changed,
}

fn packet_delay() -> Time {
    Time::us(5)
}

fn circuit_delay() -> Time {
    Time::us(30)
}

fn night() -> Time {
    Time::us(20)
}

fn inner() -> u32 {
    3
}

/// The largest number of racks. Schedules have 16 bits for a destination, and there is a queue for each pair of racks.
const MOST_RACKS: u32 = 1024;

impl HybridSpec {
    /// A fabric of this size, with defaults for all other settings.
    pub fn new(racks: u32, hosts_per_rack: u32) -> HybridSpec {
        HybridSpec {
            racks,
            hosts_per_rack,
            host_rate: super::spec::default_rate(),
            host_delay: super::spec::default_delay(),
            packet: None,
            circuits: None,
            core: None,
            control_delay: super::spec::default_delay(),
        }
    }

    fn check(&self) -> Result<(), SpecError> {
        count("hosts-per-rack", self.hosts_per_rack, 4096)?;
        if !(2..=MOST_RACKS).contains(&self.racks) {
            let message = format!("`racks` = {} must be from 2 to {MOST_RACKS}", self.racks);
            return Err(SpecError::new("racks", message));
        }
        positive("host-rate", self.host_rate)?;
        if let Some(packet) = &self.packet {
            positive("packet.rate", packet.rate)?;
            positive("packet.down-rate", packet.down_rate.unwrap_or(packet.rate))?;
            count("packet.inner-queue", packet.inner_queue, 1000)?;
        }
        if let Some(circuits) = &self.circuits {
            positive("circuits.rate", circuits.rate)?;
            count("circuits.switches", circuits.switches, 256)?;
            let night = circuits.reconfiguration;
            if night == Time::ZERO || night > Time::s(1) {
                let message = format!(
                    "`reconfiguration` is {night}: it has to be above zero and at most 1s, for example \"20us\""
                );
                return Err(SpecError::new("circuits.reconfiguration", message));
            }
        }
        if let Some(core) = &self.core {
            core.check(self)?;
        }
        if self.packet.is_none() && self.circuits.is_none() {
            let message = "racks are not joined: give `packet`, `circuits` or both, for example \
                           packet = { rate = \"10Gbps\" }";
            return Err(SpecError::new("packet", message));
        }
        let racks = u64::from(self.racks);
        let uplinks = racks * u64::from(self.uplinks() + 2);
        size("racks", racks * u64::from(self.hosts_per_rack) + uplinks, racks)
    }

    /// Circuit switches.
    pub fn uplinks(&self) -> u32 {
        self.circuits.as_ref().map_or(0, |circuits| circuits.switches)
    }

    /// The length of a night; zero if there are no circuits.
    pub fn night(&self) -> Time {
        self.circuits.as_ref().map_or(Time::ZERO, |circuits| circuits.reconfiguration)
    }

    /// The circuits that are dark in a night.
    pub fn dark(&self) -> Dark {
        self.circuits.as_ref().map_or(Dark::All, |circuits| circuits.dark)
    }

    /// The roles of all nodes.
    pub fn roles(&self) -> Roles {
        Roles {
            racks: self.racks,
            hosts: self.hosts_per_rack,
            packet: self.packet.is_some(),
            uplinks: self.uplinks(),
            cores: self.core.as_ref().map_or(0, |core| core.switches),
            slots: self.core.as_ref().map_or(0, |core| core.ports / self.uplinks().max(1)),
        }
    }
}

impl Topology for HybridSpec {
    fn build(&self) -> Result<Graph, SpecError> {
        self.check()?;
        let mut b = Builder::default();
        let lane = LinkParams { rate: self.host_rate, delay: self.host_delay };
        let mut tors = Vec::new();
        for rack in 0..self.racks {
            let hosts = b.hosts(self.hosts_per_rack, rack);
            let tor = b.switch(format!("tor{rack}"), 1, rack);
            b.home(&hosts, &[tor], 1, lane);
            tors.push(tor);
        }
        if let Some(packet) = &self.packet {
            let node = b.switch("packet0".into(), 2, NO_POD);
            let up = LinkParams { rate: packet.rate, delay: packet.delay };
            let down = LinkParams { rate: packet.down_rate.unwrap_or(packet.rate), ..up };
            tors.iter().for_each(|&tor| b.cable(tor, node, up, down));
        }
        for (at, circuits) in (0..self.uplinks()).zip(self.circuits.iter().cycle()) {
            let node = b.switch(format!("circuit{at}"), 2, NO_POD);
            let lane = LinkParams { rate: circuits.rate, delay: circuits.delay };
            tors.iter().for_each(|&tor| b.link(tor, node, lane));
        }
        let cores = self.core.iter().zip(&self.circuits);
        let cores: Vec<NodeId> =
            cores.flat_map(|(core, circuits)| core.build(self.roles(), circuits, &mut b)).collect();
        let scheduler = b.switch("scheduler".into(), 3, NO_POD);
        let lane = LinkParams { rate: self.host_rate, delay: self.control_delay };
        tors.iter().chain(&cores).for_each(|&switch| b.link(switch, scheduler, lane));
        b.finish()
    }
}

/// The rack of a host, computed without a division for each packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RackOf {
    hosts: u32,
    /// 2⁴⁰ divided by the hosts of a rack, rounded up.
    per: u64,
}

impl RackOf {
    /// For racks with `hosts` hosts, at least one.
    pub fn new(hosts_per_rack: u32) -> RackOf {
        let hosts = hosts_per_rack.max(1);
        RackOf { hosts, per: (1u64 << 40).div_ceil(hosts.into()) }
    }
    /// The rack of a host below number 2²⁴ (there are no more ports); exact for up to 2¹⁶ hosts in a rack.
    #[inline]
    pub fn of(self, host: HostId) -> u32 {
        ((u64::from(host.0) * self.per) >> 40) as u32
    }
    /// The number of a host within its rack.
    #[inline]
    pub fn within(self, host: HostId, rack: u32) -> u32 {
        host.0.wrapping_sub(rack.wrapping_mul(self.hosts))
    }
}

/// The roles of the nodes and ports of a hybrid fabric.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Roles {
    /// Racks.
    pub racks: u32,
    /// Hosts per rack.
    pub hosts: u32,
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

impl Roles {
    /// The switch of a rack.
    pub fn tor(&self, rack: u32) -> NodeId {
        NodeId(rack * (self.hosts + 1) + self.hosts)
    }
    /// The port of a rack's switch to the packet switch, if there is one.
    pub fn packet_port(&self) -> Option<PortId> {
        self.packet.then_some(PortId(self.hosts as u16))
    }
    /// The port of a rack's switch to a circuit switch.
    pub fn circuit_port(&self, uplink: u32) -> PortId {
        PortId((self.hosts + u32::from(self.packet) + uplink) as u16)
    }
    /// The port of a rack's switch to the scheduler.
    pub fn control_port(&self) -> PortId {
        self.circuit_port(self.uplinks)
    }
    /// The role of `node`.
    pub fn role(&self, node: NodeId) -> Role {
        let racks = self.racks * (self.hosts + 1);
        if node.0 < racks {
            let (rack, at) = (node.0 / (self.hosts + 1), node.0 % (self.hosts + 1));
            return if at == self.hosts { Role::Rack(rack) } else { Role::Host };
        }
        match (node.0 - racks).checked_sub(u32::from(self.packet)) {
            None => Role::Packet,
            Some(at) if at < self.uplinks => Role::Circuit(at),
            Some(at) if at < self.uplinks + self.cores => Role::Core(at - self.uplinks),
            Some(_) => Role::Scheduler,
        }
    }
    /// Its circuit switches.
    pub fn circuit_switches(&self) -> impl Iterator<Item = NodeId> + use<> {
        let first = self.racks * (self.hosts + 1) + u32::from(self.packet);
        (first..first + self.uplinks).map(NodeId)
    }
    /// The nodes that routes must avoid: the scheduler, and circuit switches. If there is no packet switch, routes may
    /// use the first circuit switch.
    pub fn unrouted(&self) -> Down {
        let first = self.racks * (self.hosts + 1);
        let switches = u32::from(self.packet) + self.uplinks + self.cores + 1;
        Down { nodes: (first + 1..first + switches).map(NodeId).collect(), ..Down::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::TopologySpec;

    fn etalon() -> HybridSpec {
        let packet = PacketNetSpec {
            rate: Rate(10_000_000_000),
            down_rate: None,
            delay: packet_delay(),
            inner_queue: 3,
            inner_full: InnerFull::Hold,
        };
        let circuits = CircuitNetSpec {
            switches: 2,
            rate: Rate(80_000_000_000),
            delay: circuit_delay(),
            reconfiguration: night(),
            dark: Dark::All,
        };
        HybridSpec { packet: Some(packet), circuits: Some(circuits), ..HybridSpec::new(3, 4) }
    }

    #[test]
    fn nodes_and_ports_are_where_roles_say() {
        for (packet, circuits) in [(true, true), (true, false), (false, true)] {
            let mut spec = etalon();
            if !packet {
                spec.packet = None;
            }
            if !circuits {
                spec.circuits = None;
            }
            let graph = TopologySpec::Hybrid(spec.clone()).build().unwrap();
            let (roles, wiring) = (spec.roles(), graph.wiring());
            for (at, node) in graph.nodes.iter().enumerate() {
                let name = match roles.role(NodeId(at as u32)) {
                    Role::Host => node.name.clone(),
                    Role::Rack(rack) => format!("tor{rack}"),
                    Role::Packet => "packet0".into(),
                    Role::Circuit(at) => format!("circuit{at}"),
                    Role::Core(at) => format!("core{at}"),
                    Role::Scheduler => "scheduler".into(),
                };
                assert_eq!(node.name, name);
                assert_eq!(node.name.starts_with('h'), roles.role(NodeId(at as u32)) == Role::Host);
            }
            for rack in 0..3 {
                let far = |port: PortId| {
                    let far = wiring.of(roles.tor(rack))[port.at()].far;
                    (graph.nodes[far.node.at()].name.clone(), far.port.0)
                };
                assert_eq!(far(roles.control_port()), ("scheduler".into(), rack as u16));
                if circuits {
                    assert_eq!(far(roles.circuit_port(1)), ("circuit1".into(), rack as u16));
                }
                if let Some(port) = roles.packet_port() {
                    assert_eq!(far(port), ("packet0".into(), rack as u16));
                }
            }
        }
    }

    proptest::proptest! {
        #[test]
        fn racks_of_hosts_are_found_as_by_division(hosts in 1u32..65_536, host in 0u32..1 << 24) {
            let of = RackOf::new(hosts);
            let rack = of.of(HostId(host));
            proptest::prop_assert_eq!((rack, of.within(HostId(host), rack)), (host / hosts, host % hosts));
        }
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        let no = |change: &dyn Fn(&mut HybridSpec)| {
            let mut spec = etalon();
            change(&mut spec);
            TopologySpec::Hybrid(spec).build().unwrap_err()
        };
        assert_eq!(no(&|spec| spec.racks = 1).key, "racks");
        assert_eq!(no(&|spec| spec.hosts_per_rack = 0).key, "hosts-per-rack");
        let zero = |spec: &mut HybridSpec| {
            spec.circuits.iter_mut().for_each(|circuits| circuits.rate = Rate(0));
        };
        assert!(no(&zero).message.contains("above zero"));
        let unjoined = |spec: &mut HybridSpec| (spec.packet, spec.circuits) = (None, None);
        assert!(no(&unjoined).message.contains("not joined"));
        let instant = |spec: &mut HybridSpec| {
            spec.circuits.iter_mut().for_each(|c| c.reconfiguration = Time::ZERO);
        };
        assert_eq!(no(&instant).key, "circuits.reconfiguration");
    }
}
