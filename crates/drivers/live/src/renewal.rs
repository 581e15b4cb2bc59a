//! What a daemon takes over while it runs: the parts of a changed configuration, and hosts that are to be drained.

use crate::agent::AgentSetup;
use crate::arbiter::ArbiterSetup;
use crate::channel::Peer;
use crate::config::{AgentOptions, ClockOptions};
use crate::observer::ObserverSetup;
use crate::quotas::Quotas;
use crate::role::Role;
use slotline_envelope::KeyPair;
use slotline_net::id::HostId;
use std::collections::HashMap;
use std::net::IpAddr;

/// A request to a daemon that runs.
pub enum Request {
    /// To use a changed configuration.
    Renew(Box<Renewal>),
    /// To begin anew with another scenario: an agent.
    AgentAnew(Box<AgentSetup>),
    /// The same for an arbiter.
    ArbiterAnew(Box<ArbiterSetup>),
    /// To take a host out of the schedule, or to take it back.
    DrainHost {
        /// The number of the host.
        number: u32,
        /// Its name.
        name: String,
        /// Whether it is taken out.
        drained: bool,
    },
}

/// What may change while a daemon runs. Hosts that are not named any more leave, and new ones may join.
#[derive(Clone)]
pub struct Renewal {
    /// The daemon's own key.
    pub key: KeyPair,
    /// The other daemons that it talks to.
    pub peers: Vec<Peer>,
    /// The other hosts with which a host probes paths.
    pub probes: Vec<Peer>,
    /// Quotas of an arbiter.
    pub quotas: Quotas,
    /// The host of each address, for the agent of a host or of a switch that sends flows on paths.
    pub hosts: HashMap<IpAddr, HostId>,
    /// Options of an agent.
    pub agent: AgentOptions,
    /// Options of time transfer.
    pub clock: ClockOptions,
    /// The witnesses of two arbiters.
    pub witnesses: Vec<u32>,
}

impl From<AgentSetup> for Renewal {
    fn from(setup: AgentSetup) -> Renewal {
        let AgentSetup { key, arbiters: peers, role, agent, clock, .. } = setup;
        let (hosts, probes) = match role {
            Role::Host(role) => (role.hosts, role.paths.map_or(Vec::new(), |paths| paths.peers)),
            Role::Rack(_) => (HashMap::new(), Vec::new()),
            Role::Switch(role) => (role.hosts.all, Vec::new()),
        };
        let (quotas, witnesses) = Default::default();
        Renewal { key, peers, probes, quotas, hosts, agent, clock, witnesses }
    }
}

impl From<ObserverSetup> for Renewal {
    fn from(setup: ObserverSetup) -> Renewal {
        let ObserverSetup { key, arbiters: peers, .. } = setup;
        let (probes, quotas, hosts, agent, clock, witnesses) = Default::default();
        Renewal { key, peers, probes, quotas, hosts, agent, clock, witnesses }
    }
}

impl From<ArbiterSetup> for Renewal {
    fn from(setup: ArbiterSetup) -> Renewal {
        let ArbiterSetup { key, peers, quotas, clock, standby, .. } = setup;
        let witnesses = standby.map(|standby| standby.witnesses).unwrap_or_default();
        let (hosts, agent, probes) = Default::default();
        Renewal { key, peers, probes, quotas, hosts, agent, clock, witnesses }
    }
}
