//! Racks that circuits join: what the agents of their switches need, and the controller of the circuits.

use super::{LiveNetwork, LiveNetworkError, belongs, unfit};
use crate::build::live::{self, SwitchPart};
use slotline_envelope::KeyPair;
use slotline_hybrid::control::CircuitsSpec;
use slotline_live::agent::AgentSetup;
use slotline_live::arbiter::ArbiterSetup;
use slotline_live::channel::Peer;
use slotline_live::config::Rack;
use slotline_live::hook::Hook;
use slotline_live::links::Links;
use slotline_live::quotas::Quotas;
use slotline_live::role::{Prefix, RackRole, Role};
use slotline_net::id::{HostId, NodeId, PortId};
use slotline_net::topology::{End, HybridSpec, Roles, Wire};
use slotline_scenario::{Loaded, SchemeSpec};
use slotline_schemes::ControlSpec;
use std::sync::Arc;
use std::time::Duration;

/// The number of errors of a clock that fit into a night: a circuit stays up for a quarter of a night after its day, in
/// which two clocks may be wrong.
const GUARDS: u64 = 8;

/// The fabric of a scheme with circuits, and its options.
pub(super) fn hybrid(loaded: &Loaded, scheme: usize) -> Option<(&HybridSpec, &CircuitsSpec)> {
    let scheme: &SchemeSpec = &loaded.scenario.scheme[scheme];
    match &scheme.control {
        ControlSpec::Circuits(spec) => Some((loaded.scenario.fabric_of(scheme).hybrid()?, spec)),
        _ => None,
    }
}

/// The node of the scheduler: the last one, as there is no core.
fn scheduler(roles: &Roles) -> NodeId {
    NodeId(roles.tor(roles.racks - 1).0 + 1 + u32::from(roles.packet) + roles.uplinks)
}

/// The machines at the far ends of the links of the switch of `rack`: the controller, whose number follows those of
/// racks.
fn links_of_rack(roles: &Roles, rack: u32) -> Links {
    Links::new(vec![(scheduler(roles), roles.ports(rack).control(), roles.racks)])
}

/// The machines at the far ends of the links of the controller.
fn links_of_controller(roles: &Roles) -> Links {
    let rack = |rack| (roles.tor(rack), PortId(rack as u16), rack);
    let racks = Links::new((0..roles.racks).map(rack).collect());
    let port = |switch: u32| PortId((roles.seats() + switch) as u16);
    (0..roles.uplinks)
        .fold(racks, |all, switch| all.hearing(port(switch), switches(roles) + switch))
}

/// The number of the first circuit switch among machines: those of racks, of the controller and of another arbiter come before.
fn switches(roles: &Roles) -> u32 {
    roles.racks + 2
}

/// The controller. After its links to racks it has one to each circuit switch, which a simulated network does not need.
fn controller(
    loaded: &Loaded,
    scheme: usize,
    roles: &Roles,
) -> Result<SwitchPart, LiveNetworkError> {
    let part = live::switch(loaded, scheme, scheduler(roles));
    let mut part = part.map_err(|error| loaded.blame(error))?;
    let lane = part.wires[0];
    let to = |node| Wire { far: End { node, port: PortId(0) }, ..lane };
    part.wires.extend(roles.circuit_switches().map(to));
    Ok(part)
}

impl LiveNetwork {
    /// Checks that the racks and the arbiter of the configuration are those of the scenario.
    pub(super) fn check_racks(&self, fabric: &HybridSpec) -> Result<(), LiveNetworkError> {
        let scheme = self.scheme();
        if !self.config.host.is_empty() {
            return unfit(format!(
                "scheme `{scheme}` has circuits between racks: give a [[rack]] for each switch of a rack, and no [[host]]"
            ));
        }
        for rack in &self.config.rack {
            self.rack_number(&fabric.roles(), &rack.name)?;
        }
        if self.config.arbiter.len() > 2 {
            return unfit(format!(
                "scheme `{scheme}` has one controller, and the configuration has {} [[arbiter]]: give one, or two, of which \
                 one is active",
                self.config.arbiter.len()
            ));
        }
        if self.config.circuits.command.is_empty() {
            return unfit(
                "circuits.command: give the program that drives the circuit switches, and its arguments, such as \
                 [\"/usr/local/bin/ocs\", \"/dev/ttyUSB0\"]"
                    .into(),
            );
        }
        let (guard, night) = (self.config.clock.guard, fabric.night());
        if guard.times(GUARDS) > night {
            return unfit(format!(
                "clock.guard is {guard}: at most an eighth of a night, which lasts {night} (`reconfiguration` of the \
                 fabric's `circuits`)"
            ));
        }
        controller(&self.loaded, self.scheme, &fabric.roles()).map(drop)
    }

    fn rack_number(&self, roles: &Roles, name: &str) -> Result<u32, LiveNetworkError> {
        let number = name.strip_prefix("tor").and_then(|number| number.parse().ok());
        match number.filter(|number| *number < roles.racks && name == format!("tor{number}")) {
            Some(number) => Ok(number),
            None => unfit(format!(
                "the fabric of {} has no rack `{name}`: its racks are `tor0` to `tor{}`",
                self.config.scenario.display(),
                roles.racks - 1
            )),
        }
    }

    /// What the agent of the switch of a rack needs.
    pub(super) fn rack_agent(
        &self,
        fabric: &HybridSpec,
        name: &str,
        key: KeyPair,
    ) -> Result<AgentSetup, LiveNetworkError> {
        let roles = &fabric.roles();
        let Some(rack) = self.config.rack.iter().find(|rack| rack.name == name) else {
            return unfit(format!("the configuration has no [[rack]] with the name `{name}`"));
        };
        belongs(&key, rack.key, &format!("rack `{name}`"))?;
        let me = self.rack_number(roles, name)?;
        let part = live::switch(&self.loaded, self.scheme, roles.tor(me));
        let SwitchPart { wires, plan, .. } = part.map_err(|error| self.loaded.blame(error))?;
        let ports = roles.ports(me);
        let packet_switch = ports.packet().map(|port| wires[port.at()].far.node);
        Ok(AgentSetup {
            me: HostId(me),
            key,
            address: self.config.socket(rack.address),
            arbiters: self.circuit_arbiters(roles),
            role: Role::Rack(RackRole {
                racks: self.destinations(roles, rack)?,
                plan,
                packet_switch,
                first: ports.circuit(0),
                mark: self.config.circuits.mark,
                links: links_of_rack(roles, me),
            }),
            wires,
            make: self.make_switch(roles.tor(me)),
            agent: self.config.agent.clone(),
            clock: self.config.clock.clone(),
            digest: self.digest(),
            timeslots: None,
            wrong_cables: Default::default(),
            heard: None,
            lead: Duration::ZERO,
            elected: self.elected(1),
        })
    }

    /// The prefixes of hosts in other racks than `own`, the longest first, and the first host of their rack.
    fn destinations(
        &self,
        roles: &Roles,
        own: &Rack,
    ) -> Result<Vec<(Prefix, HostId)>, LiveNetworkError> {
        let mut all = Vec::new();
        for rack in self.config.rack.iter().filter(|rack| rack.name != own.name) {
            let first = roles.hosts.first(self.rack_number(roles, &rack.name)?);
            all.extend(rack.hosts.iter().filter_map(|text| Some((Prefix::parse(text)?, first))));
        }
        all.sort_by_key(|(prefix, _)| std::cmp::Reverse(prefix.bits()));
        Ok(all)
    }

    /// The arbiters as racks know them. Their numbers follow those of racks.
    fn circuit_arbiters(&self, roles: &Roles) -> Vec<Peer> {
        let peer = |(number, arbiter): (u32, &slotline_live::config::Arbiter)| Peer {
            number,
            address: self.config.socket(arbiter.address),
            key: arbiter.key,
        };
        (roles.racks..).zip(&self.config.arbiter).map(peer).collect()
    }

    /// What the controller of circuits needs on the machine of arbiter `rank`.
    pub(super) fn circuit_arbiter(
        &self,
        fabric: &HybridSpec,
        rank: usize,
        key: KeyPair,
    ) -> Result<ArbiterSetup, LiveNetworkError> {
        let roles = &fabric.roles();
        let Some(arbiter) = self.config.arbiter.get(rank) else {
            return unfit(format!("the configuration has no arbiter number {rank}"));
        };
        belongs(&key, arbiter.key, &format!("arbiter {rank}"))?;
        let mut others = self.circuit_arbiters(roles);
        let arbiters = others.iter().map(|peer| peer.number).collect();
        others.remove(rank);
        // The controller has one number on either machine.
        others.iter_mut().for_each(|other| other.number = roles.racks + 1);
        let peer = |rack: &Rack| {
            let number = self.rack_number(roles, &rack.name)?;
            Ok(Peer { number, address: self.config.socket(rack.address), key: rack.key })
        };
        let mut peers: Vec<Peer> =
            self.config.rack.iter().map(peer).collect::<Result<_, LiveNetworkError>>()?;
        peers.extend(others);
        Ok(ArbiterSetup {
            parts: Default::default(),
            me: HostId(roles.racks),
            rank,
            key,
            address: self.config.socket(arbiter.address),
            peers,
            arbiters,
            wires: controller(&self.loaded, self.scheme, roles)?.wires,
            links: links_of_controller(roles),
            hook: None,
            program: Some(self.config.circuits.clone()),
            switches: switches(roles),
            standby: self.standby(1, |name| self.rack_number(roles, name))?,
            make: self.make_switch(scheduler(roles)),
            discovery: None,
            clock: self.config.clock.clone(),
            quotas: Quotas { each: self.config.quota, tenants: Vec::new() },
            threads: self.config.threads,
            digest: self.digest(),
            scenario: (self.loaded.resolved(), self.scheme().into()),
            recorder: None,
        })
    }

    /// Starts the program that drives the circuit switches, if the scheme has circuits. Where arbiters are elected, the
    /// active one starts it.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn start_hook(&self) -> std::io::Result<Option<Hook>> {
        let circuits = hybrid(&self.loaded, self.scheme).is_some() && !self.elects(1);
        circuits.then(|| Hook::start(&self.config.circuits)).transpose()
    }

    /// The function that makes the node of a switch. It has been called once for errors.
    fn make_switch(&self, node: NodeId) -> slotline_live::agent::MakeNode {
        let (loaded, scheme) = (Arc::clone(&self.loaded), self.scheme);
        Box::new(move |_| Ok(live::switch(&loaded, scheme, node)?.node))
    }
}

/// The controller of circuits whose log has `station` as its number, and its links.
pub(super) fn recorded(
    loaded: &Loaded,
    scheme: usize,
    fabric: &HybridSpec,
    station: u32,
) -> Result<(SwitchPart, Links), LiveNetworkError> {
    let roles = &fabric.roles();
    if station != roles.racks {
        return unfit(format!(
            "the scenario has no controller with the number {station}, which the log is about"
        ));
    }
    Ok((controller(loaded, scheme, roles)?, links_of_controller(roles)))
}
