//! Networks that arbiters discover: machines and their numbers before any cable is known, and an arbiter's part of a network
//! that was found.
//!
//! Hosts need not know the network: the node of a host depends on the hosts and the rates of their links, which the
//! configuration has. So only arbiters begin anew when cables change.

use super::{LiveNetwork, LiveNetworkError, belongs, system, unfit};
use crate::build::live::Part;
use slotline_envelope::KeyPair;
use slotline_live::arbiter::topology::{Assemble, Assembled};
use slotline_live::config::{Config, DiscoveryOptions, span};
use slotline_live::discovery::{Discovered, Discovery, Member};
use slotline_live::neighbours::Heard;
use slotline_live::observer::ObserverSetup;
use slotline_live::parts::Parts;
use slotline_live::ports::{Named, Ports};
use slotline_net::id::HostId;
use slotline_net::topology::{GraphLink, GraphSpec};
use slotline_scenario::Loaded;
use std::net::IpAddr;
use std::sync::Arc;

/// A machine of the configuration: its name, its addresses, and whether it is a host.
type Machine<'a> = (&'a str, Vec<IpAddr>, bool);

impl LiveNetwork {
    /// The scenario of a configuration whose network is discovered, with all hosts at one switch until it is known.
    pub(super) fn undiscovered(
        config: &Config,
        options: &DiscoveryOptions,
        loaded: &Loaded,
        scheme: usize,
    ) -> Result<Loaded, LiveNetworkError> {
        let fits = system(loaded, scheme).map_or(Ok(()), |system| system.check_discovery());
        let place = format_args!("scheme[{scheme}]");
        fits.map_err(|error| loaded.blame(error.within(place)))?;
        let switches = config.switch.first().map(|switch| switch.name.clone());
        let network =
            Discovered { switches: switches.into_iter().collect(), ..Discovered::default() };
        Ok(loaded.on_fabric(fabric(config, options, &network), scheme)?)
    }

    /// Checks that one controller works at a time, wherever cables are.
    pub(super) fn check_discovered(&self) -> Result<(), LiveNetworkError> {
        let part = self.part(None)?;
        self.check_arbiters(&part)?;
        if part.stations.len() == 1 || self.elected(part.stations.len()).is_some() {
            return Ok(());
        }
        unfit(format!(
            "scheme `{}` has several controllers at a time: where the network is discovered, it can have one, or two of which \
             one is elected",
            self.scheme()
        ))
    }

    /// The number of a switch, which does not depend on cables: those of switches follow those of hosts and stations.
    pub(super) fn discovered_switch(
        &self,
        part: &Part,
        name: &str,
    ) -> Result<u32, LiveNetworkError> {
        match self.config.switch.iter().position(|switch| switch.name == name) {
            Some(at) => Ok((part.graph.hosts.len() + at) as u32),
            None => unfit(format!("the configuration has no [[switch]] `{name}`")),
        }
    }

    fn machines(&self) -> Vec<Machine<'_>> {
        let hosts = self.config.host.iter().map(|of| (&*of.name, of.address.clone(), true));
        let switches = self.config.switch.iter().map(|of| (&*of.name, vec![of.address], false));
        hosts.chain(switches).collect()
    }

    /// The ports of a machine of a network that is discovered.
    ///
    /// # Errors
    /// The scenario has other machines.
    pub fn ports(&self, heard: &Arc<Heard>) -> Result<Ports, LiveNetworkError> {
        let named = |(name, addresses, _): Machine<'_>| {
            Ok(Named { number: self.host(name)?, name: name.to_owned(), addresses })
        };
        let named: Result<Vec<Named>, LiveNetworkError> =
            self.machines().into_iter().map(named).collect();
        Ok(Ports::new(named?, Arc::clone(heard)))
    }

    /// The cables of a machine, if the network is discovered.
    pub(super) fn heard(&self) -> Option<Arc<Heard>> {
        self.config.discovery.as_ref().map(|_| Arc::default())
    }

    /// Whether a machine only tells its neighbours.
    pub fn is_observer(&self, name: &str) -> bool {
        self.config.discovery.is_some() && self.config.switch.iter().any(|of| of.name == name)
    }

    /// What the daemon of a switch needs that only tells its neighbours; `key` is the key pair of the machine.
    ///
    /// # Errors
    /// The configuration does not name the switch, or has another key for it.
    pub fn observer(&self, name: &str, key: KeyPair) -> Result<ObserverSetup, LiveNetworkError> {
        let Some(switch) = self.config.switch.iter().find(|switch| switch.name == name) else {
            return unfit(format!("the configuration has no [[switch]] with the name `{name}`"));
        };
        belongs(&key, switch.key, &format!("switch `{name}`"))?;
        let part = self.part(None)?;
        Ok(ObserverSetup {
            address: self.config.socket(switch.address),
            key,
            arbiters: self.arbiters(&part),
            heard: Arc::default(),
            timeout: self.elected(part.stations.len()).map(|(_, timeout)| timeout),
        })
    }

    /// How arbiter `me` discovers the network, if it does.
    pub(super) fn discovery(
        &self,
        me: HostId,
    ) -> Result<Option<(Discovery, Assemble)>, LiveNetworkError> {
        let Some(options) = self.config.discovery.clone() else { return Ok(None) };
        let member = |(name, _, is_host): Machine<'_>| {
            Ok(Member { number: self.host(name)?, name: name.to_owned(), is_host })
        };
        let members: Result<Vec<Member>, LiveNetworkError> =
            self.machines().into_iter().map(member).collect();
        let discovery = Discovery::new(members?, span(options.patience));
        let (config, loaded) = (self.config.clone(), Arc::clone(&self.loaded));
        let assemble = move |network: &Discovered| {
            assembled(&config, &options, &loaded, me, network).map_err(|error| error.to_string())
        };
        Ok(Some((discovery, Arc::new(assemble))))
    }
}

/// The part of arbiter `me` in a network that was found.
fn assembled(
    config: &Config,
    options: &DiscoveryOptions,
    loaded: &Loaded,
    me: HostId,
    network: &Discovered,
) -> Result<Assembled, LiveNetworkError> {
    // The scenario has no other scheme.
    let loaded = Arc::new(loaded.on_fabric(fabric(config, options, network), 0)?);
    let network = LiveNetwork { config: config.clone(), loaded, scheme: 0 };
    let part = network.part(Some(me))?;
    Ok(Assembled {
        wires: part.wires,
        parts: Parts::from(&part.graph),
        make: network.make(me)?,
        scenario: (network.loaded.resolved(), network.scheme().into()),
    })
}

/// The fabric of a network. Hosts that are no part of it are at its first switch; the arbiter does not hear them.
fn fabric(config: &Config, options: &DiscoveryOptions, network: &Discovered) -> GraphSpec {
    let is_host = |name: &str| config.host.iter().any(|host| host.name == name);
    let rate = |[a, b]: &[String; 2]| match [a, b].into_iter().find(|name| is_host(name)) {
        Some(host) => options.rate_of(host),
        None => options.rate,
    };
    let link = |ends: [String; 2]| {
        let rate = Some(rate(&ends));
        let [a, b] = ends;
        GraphLink { a, b, rate, ..GraphLink::default() }
    };
    let first = network.switches.first().cloned().unwrap_or_default();
    let has_cable = |name: &str| network.cables.iter().flatten().any(|end| end == name);
    let apart = config.host.iter().filter(|host| !has_cable(&host.name));
    let apart = apart.map(|host| [host.name.clone(), first.clone()]);
    GraphSpec {
        hosts: config.host.iter().map(|host| host.name.clone()).collect(),
        switches: network.switches.clone(),
        delay: Some(options.delay),
        rate: Some(options.rate),
        link: network.cables.iter().cloned().chain(apart).map(link).collect(),
        ..GraphSpec::default()
    }
}
