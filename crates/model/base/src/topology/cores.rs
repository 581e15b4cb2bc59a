//! Core packet switches behind the circuit switches of a hybrid fabric. The uplinks of racks and the ports of the core
//! end at the same patch panels. A panel connects uplinks with core ports, or uplinks with each other.

use super::builder::{Builder, count, positive};
use super::hybrid::{CircuitNetSpec, HybridSpec};
use super::roles::Roles;
use super::{LinkParams, NO_POD};
use crate::error::SpecError;
use crate::id::{NodeId, PortId};
use crate::units::Rate;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Core packet switches (`core0`, …), all alike, whose ports end at the circuit switches.
///
/// Source: Poutievski et al., "Jupiter Evolving: Transforming Google's Datacenter Network via Optical Circuit
/// Switches and Software-Defined Networking", SIGCOMM 2022, section 2: blocks and spines are joined by optical
/// circuit switches.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct CoreNetSpec {
    /// Core switches.
    #[schemars(range(min = 1, max = 256))]
    pub switches: u32,
    /// Ports of each core switch. They are divided evenly among the circuit switches, and evenly among the racks.
    pub ports: u32,
    /// Rate at which these ports send. Default: the rate of a circuit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
}

/// The largest number of ports at all circuit switches, because one message with a plan names every circuit.
const MOST_PORTS: u64 = 3_000;

impl CoreNetSpec {
    pub(super) fn check(&self, fabric: &HybridSpec) -> Result<(), SpecError> {
        let fail = |key: &str, why: String| Err(SpecError::new(key, why));
        let Some(circuits) = &fabric.circuits else {
            return fail(
                "core",
                "`core` needs `circuits`: its ports end at circuit switches, for example \
                 circuits = { switches = 8, rate = \"10Gbps\", dark = \"changed\" }"
                    .into(),
            );
        };
        if fabric.packet.is_some() {
            let why = "`core` and `packet` exclude each other: packets go through the core, so leave `packet` out";
            return fail("packet", why.into());
        }
        count("core.switches", self.switches, 256)?;
        positive("core.rate", self.rate.unwrap_or(circuits.rate))?;
        self.spread(u64::from(fabric.rack_count()), u64::from(circuits.switches))
    }

    /// Checks that the ports divide evenly among racks and circuit switches, and that there are enough uplinks for
    /// them.
    fn spread(&self, racks: u64, panels: u64) -> Result<(), SpecError> {
        let fail = |key: &str, why: String| Err(SpecError::new(key, why));
        let (each, cores) = (u64::from(self.ports), u64::from(self.switches));
        let (ports, uplinks) = (each * cores, racks * panels);
        let evenly = |of: &str, key: &str, by: u64| {
            format!(
                "`ports` = {each} must be a positive multiple of `{key}` = {by}, so that {of} gets as many"
            )
        };
        if each == 0 || !each.is_multiple_of(racks) {
            return fail("core.ports", evenly("every rack", "racks", racks));
        }
        if !each.is_multiple_of(panels) {
            return fail("core.ports", evenly("every circuit switch", "circuits.switches", panels));
        }
        if ports > uplinks {
            let why = format!(
                "{cores} core switches of {each} ports have {ports} together, more than the {uplinks} uplinks of \
                 {racks} racks with {panels} each: some core ports would have no uplink"
            );
            return fail("core.ports", why);
        }
        if ports + uplinks > MOST_PORTS {
            let all = ports + uplinks;
            let why = format!(
                "racks and core have {all} ports at circuit switches: at most {MOST_PORTS} with a `core`"
            );
            return fail("core", why);
        }
        Ok(())
    }

    /// The core switches, linked to the circuit switches.
    pub(super) fn build(
        &self,
        roles: &Roles,
        circuits: &CircuitNetSpec,
        b: &mut Builder,
    ) -> Vec<NodeId> {
        let up = LinkParams { rate: self.rate.unwrap_or(circuits.rate), delay: circuits.delay };
        let down = LinkParams { rate: circuits.rate, delay: circuits.delay };
        let one = |at| {
            let node = b.switch(format!("core{at}"), 3, NO_POD);
            for panel in roles.circuit_switches() {
                (0..roles.slots).for_each(|_| b.cable(node, panel, up, down));
            }
            node
        };
        (0..self.switches).map(one).collect()
    }
}

/// The ends at circuit switches. An *end* has one port at each circuit switch. Each rack is one end. A core switch has
/// as many ends as it has ports at one circuit switch. Ends of racks are numbered first.
impl Roles {
    /// Ends at each circuit switch.
    pub fn ends(&self) -> u32 {
        self.racks + self.cores * self.slots
    }
    /// Switches with ports at circuit switches: racks first, then cores.
    pub fn seats(&self) -> u32 {
        self.racks + self.cores
    }
    /// The switch that has an end: a rack's number below `racks`, or `racks` plus the number of a core switch.
    pub fn seat_of(&self, end: u32) -> u32 {
        match end.checked_sub(self.racks) {
            None => end,
            Some(core) => self.racks + core / self.slots.max(1),
        }
    }
    /// The node of switch `seat`, numbered as in [`Roles::seat_of`].
    pub fn node_of(&self, seat: u32) -> NodeId {
        match seat.checked_sub(self.racks) {
            None => self.tor(seat),
            Some(core) => NodeId(self.first_core() + core),
        }
    }
    /// The ends of switch `seat`.
    pub fn ends_of(&self, seat: u32) -> std::ops::Range<u32> {
        match seat.checked_sub(self.racks) {
            None => seat..seat + 1,
            Some(core) => {
                let first = self.racks + core * self.slots;
                first..first + self.slots
            }
        }
    }
    /// The port of an end at circuit switch `uplink`.
    pub fn end_port(&self, end: u32, uplink: u32) -> PortId {
        match end.checked_sub(self.racks) {
            None => self.ports(end).circuit(uplink),
            Some(core) => PortId((uplink * self.slots + core % self.slots.max(1)) as u16),
        }
    }
    /// The port of switch `seat` to the scheduler.
    pub fn news_port(&self, seat: u32) -> PortId {
        match seat < self.racks {
            true => self.ports(seat).control(),
            false => PortId((self.uplinks * self.slots) as u16),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::Time;
    use crate::topology::{Dark, TopologySpec};

    fn fabric() -> HybridSpec {
        let circuits = CircuitNetSpec {
            switches: 4,
            rate: Rate(10_000_000_000),
            delay: Time::us(1),
            reconfiguration: Time::ms(1),
            dark: Dark::Changed,
        };
        let core = CoreNetSpec { switches: 2, ports: 8, rate: None };
        HybridSpec { circuits: Some(circuits), core: Some(core), ..HybridSpec::new(4, 2) }
    }

    #[test]
    fn ends_are_where_roles_say() {
        let spec = fabric();
        let graph = TopologySpec::Hybrid(spec.clone()).build().unwrap();
        let (roles, wiring) = (spec.roles(), graph.wiring());
        assert_eq!((roles.ends(), roles.seats(), roles.slots), (8, 6, 2));
        for end in 0..roles.ends() {
            let seat = roles.seat_of(end);
            assert!(roles.ends_of(seat).contains(&end));
            let node = roles.node_of(seat);
            let name = if seat < 4 { format!("tor{seat}") } else { format!("core{}", seat - 4) };
            assert_eq!(graph.nodes[node.at()].name, name);
            for uplink in 0..4 {
                let far = wiring.of(node)[roles.end_port(end, uplink).at()].far;
                assert_eq!(graph.nodes[far.node.at()].name, format!("circuit{uplink}"));
                assert_eq!(u32::from(far.port.0), end);
            }
            let far = wiring.of(node)[roles.news_port(seat).at()].far;
            let at = (graph.nodes[far.node.at()].name.clone(), u32::from(far.port.0));
            assert_eq!(at, ("scheduler".into(), seat));
        }
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        let no = |change: &dyn Fn(&mut HybridSpec)| {
            let mut spec = fabric();
            change(&mut spec);
            TopologySpec::Hybrid(spec).build().unwrap_err()
        };
        let core = |spec: &mut HybridSpec, switches, ports| {
            spec.core = Some(CoreNetSpec { switches, ports, rate: None });
        };
        let zero = no(&|spec| {
            spec.core.iter_mut().for_each(|core| core.rate = Some(Rate(0)));
        });
        assert_eq!(zero.key, "core.rate");
        assert!(zero.message.contains("above zero"), "{zero}");
        let many = no(&|spec| core(spec, 3, 8));
        assert_eq!(many.key, "core.ports");
        assert!(many.message.contains("more than the 16 uplinks"), "{many}");
        assert!(no(&|spec| core(spec, 1, 6)).message.contains("`racks` = 4"));
        assert!(no(&|spec| core(spec, 1, 0)).message.contains("`racks` = 4"));
        assert_eq!(no(&|spec| core(spec, 0, 8)).key, "core.switches");
        let odd = no(&|spec| spec.circuits.iter_mut().for_each(|c| c.switches = 3));
        assert!(odd.message.contains("`circuits.switches` = 3"), "{odd}");
        assert_eq!(no(&|spec| spec.circuits = None).key, "core");
    }
}
