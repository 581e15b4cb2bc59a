//! Racks joined by a packet switch, by circuit switches, or by both.

use super::builder::{Builder, count, positive, size};
use super::cores::CoreNetSpec;
use super::racks::{RackSpec, RacksOf};
use super::roles::{RackHosts, Roles};
use super::spec::Topology;
use super::{Graph, LinkParams, NO_POD};
use crate::error::SpecError;
use crate::id::NodeId;
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
    #[serde(default, skip_serializing_if = "is_zero")]
    pub racks: u32,
    /// Hosts in each rack.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub hosts_per_rack: u32,
    /// Instead of `racks` and `hosts-per-rack`, for the fabric of a scheme: its racks are those of the scenario's fabric.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub racks_of: Option<RacksOf>,
    /// Instead of `racks` and `hosts-per-rack`: the racks one by one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rack: Vec<RackSpec>,
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

fn is_zero(count: &u32) -> bool {
    *count == 0
}

/// The largest number of racks. Schedules have 16 bits for a destination, and there is a queue for each pair of racks.
const MOST_RACKS: u32 = 1024;
/// The largest number of hosts in a rack.
pub(super) const MOST_HOSTS: u32 = 4096;

impl HybridSpec {
    /// A fabric of this size, with defaults for all other settings.
    pub fn new(racks: u32, hosts_per_rack: u32) -> HybridSpec {
        HybridSpec {
            racks,
            hosts_per_rack,
            racks_of: None,
            rack: Vec::new(),
            host_rate: super::spec::default_rate(),
            host_delay: super::spec::default_delay(),
            packet: None,
            circuits: None,
            core: None,
            control_delay: super::spec::default_delay(),
        }
    }

    fn check(&self) -> Result<(), SpecError> {
        self.check_racks()?;
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
        let racks = u64::from(self.rack_count());
        let uplinks = racks * u64::from(self.uplinks() + 2);
        size("racks", u64::from(self.rack_hosts().all()) + uplinks, racks)
    }

    fn check_racks(&self) -> Result<(), SpecError> {
        if self.racks_of.is_some() {
            let why = "`racks-of` is for `[scheme.fabric]`, whose racks are those of the scenario's `[fabric]`";
            return Err(SpecError::new("racks-of", why));
        }
        let (racks, of_list) = (self.rack_count(), !self.rack.is_empty());
        if !(2..=MOST_RACKS).contains(&racks) {
            let message = format!("`racks` = {racks} must be from 2 to {MOST_RACKS}");
            return Err(SpecError::new(if of_list { "rack" } else { "racks" }, message));
        }
        if !of_list {
            return count("hosts-per-rack", self.hosts_per_rack, MOST_HOSTS);
        }
        if self.racks > 0 || self.hosts_per_rack > 0 {
            let why = "`rack` lists the racks: leave `racks` and `hosts-per-rack` out";
            return Err(SpecError::new("rack", why));
        }
        self.rack.iter().enumerate().try_for_each(|(at, rack)| {
            rack.check().map_err(|error| error.within(format_args!("rack[{at}]")))
        })
    }

    /// The number of racks.
    pub fn rack_count(&self) -> u32 {
        if self.rack.is_empty() { self.racks } else { self.rack.len() as u32 }
    }

    /// The name of the switch of a rack.
    pub fn rack_switch(&self, rack: u32) -> String {
        let given = self.rack.get(rack as usize).and_then(|rack| rack.switch.clone());
        given.unwrap_or_else(|| format!("tor{rack}"))
    }

    /// The hosts of racks.
    pub fn rack_hosts(&self) -> RackHosts {
        match self.rack.is_empty() {
            // The numbers may be wrong, and then a check says so.
            true => {
                let hosts = self.hosts_per_rack.min(MOST_HOSTS);
                RackHosts::new((0..self.racks.min(MOST_RACKS)).map(|_| hosts))
            }
            false => RackHosts::new(self.rack.iter().map(|rack| rack.hosts.len() as u32)),
        }
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
            racks: self.rack_count(),
            hosts: self.rack_hosts(),
            packet: self.packet.is_some(),
            uplinks: self.uplinks(),
            cores: self.core.as_ref().map_or(0, |core| core.switches),
            slots: self.core.as_ref().map_or(0, |core| core.ports / self.uplinks().max(1)),
        }
    }
}

impl HybridSpec {
    /// A rack; links of its hosts are as `usual` if the rack does not say otherwise.
    fn build_rack(&self, rack: u32, usual: LinkParams, b: &mut Builder) -> NodeId {
        let own = self.rack.get(rack as usize);
        let hosts = match own {
            None => b.hosts(self.hosts_per_rack, rack),
            Some(own) => own.hosts.iter().map(|name| b.named_host(name.clone(), rack)).collect(),
        };
        let tor = b.switch(self.rack_switch(rack), 1, rack);
        b.home(&hosts, &[tor], 1, own.map_or(usual, |own| own.lane(usual)));
        tor
    }
}

impl Topology for HybridSpec {
    fn build(&self) -> Result<Graph, SpecError> {
        self.check()?;
        let mut b = Builder::default();
        let lane = LinkParams { rate: self.host_rate, delay: self.host_delay };
        let tors: Vec<NodeId> =
            (0..self.rack_count()).map(|rack| self.build_rack(rack, lane, &mut b)).collect();
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
        let cores: Vec<NodeId> = cores
            .flat_map(|(core, circuits)| core.build(&self.roles(), circuits, &mut b))
            .collect();
        let scheduler = b.switch("scheduler".into(), 3, NO_POD);
        let lane = LinkParams { rate: self.host_rate, delay: self.control_delay };
        tors.iter().chain(&cores).for_each(|&switch| b.link(switch, scheduler, lane));
        b.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::PortId;
    use crate::topology::{Role, TopologySpec};

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
                let ports = roles.ports(rack);
                assert_eq!(far(ports.control()), ("scheduler".into(), rack as u16));
                if circuits {
                    assert_eq!(far(ports.circuit(1)), ("circuit1".into(), rack as u16));
                }
                if let Some(port) = ports.packet() {
                    assert_eq!(far(port), ("packet0".into(), rack as u16));
                }
            }
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
