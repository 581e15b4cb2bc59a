//! Prepares daemons of a real network: what an agent or an arbiter needs, from their configuration and its scenario.

mod discovered;
mod racks;
mod renewed;
mod standby;
mod switches;

use crate::build;
use crate::build::live::{Part, Start};
pub use renewed::Renewed;
use slotline_envelope::{KeyPair, PublicKey};
use slotline_linux::gate::Room;
use slotline_live::agent::{AgentSetup, MakeNode};
use slotline_live::arbiter::ArbiterSetup;
use slotline_live::channel::Peer;
use slotline_live::config::Config;
use slotline_live::links::Links;
use slotline_live::parts::Parts;
use slotline_live::quotas::Quotas;
use slotline_live::record::Header;
use slotline_live::role::{HostRole, Role};
use slotline_live::seat::Seat;
use slotline_net::id::HostId;
use slotline_net::scheme::system::System;
use slotline_net::time::Time;
use slotline_scenario::{EngineSpec, Loaded, Scenario, ScenarioError, SchemeSpec};
pub use slotline_schemes::waiting;
use std::sync::Arc;
use std::time::Duration;

/// Segments that are held together take at most this part of the time for which a host may send: where a turn begins late,
/// or other packets leave first, they may have to wait for the next one, and what they leave unused is lost.
pub const TURN_PARTS: u64 = 4;

/// The node of a host runs ahead of network time by this part of a slot, and at most by this time. An agent is rarely
/// later than that, and each packet takes so much longer.
const LEAD_PARTS: u64 = 8;
const MOST_LEAD: Time = Time::us(100);

/// Why daemons cannot run a network.
#[derive(Debug, thiserror::Error)]
pub enum LiveNetworkError {
    /// The scenario is not usable.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// The configuration and the scenario do not fit together.
    #[error("{0}")]
    Unfit(String),
}

/// A network whose machines run daemons.
#[derive(Clone)]
pub struct LiveNetwork {
    config: Config,
    loaded: Arc<Loaded>,
    scheme: usize,
}

impl LiveNetwork {
    /// Reads the scenario of a configuration, and checks that both fit together.
    ///
    /// # Errors
    /// They do not, or daemons cannot run the scheme.
    pub fn new(config: Config) -> Result<LiveNetwork, LiveNetworkError> {
        let loaded = Arc::new(Scenario::load(&config.scenario)?);
        if matches!(loaded.scenario.engine, EngineSpec::Flow(_)) {
            let file = config.scenario.display();
            return unfit(format!("{file}: daemons send packets: leave out `engine = \"flow\"`"));
        }
        let scheme = scheme(&config, &loaded)?;
        let network = match &config.discovery {
            None => LiveNetwork { config, loaded, scheme },
            Some(options) => {
                let loaded = Arc::new(Self::undiscovered(&config, options, &loaded, scheme)?);
                LiveNetwork { config, loaded, scheme: 0 }
            }
        };
        match racks::hybrid(&network.loaded, network.scheme) {
            Some((fabric, _)) => network.check_racks(fabric)?,
            None if network.config.discovery.is_some() => network.check_discovered()?,
            None if network.path_life().is_some() => network.check_switches()?,
            None => network.check(&network.part(None)?)?,
        }
        Ok(network)
    }

    /// The configuration.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The name of the scheme that daemons run.
    pub fn scheme(&self) -> &str {
        &self.loaded.scenario.scheme[self.scheme].name
    }

    fn part(&self, me: Option<HostId>) -> Result<Part, LiveNetworkError> {
        build::live::part(&self.loaded, self.scheme, me)
            .map_err(|error| self.loaded.blame(error).into())
    }

    /// Checks that the hosts and arbiters of the configuration are those of the scenario.
    fn check(&self, part: &Part) -> Result<(), LiveNetworkError> {
        let none = self.config.rack.is_empty() && (self.config.switch.is_empty() || self.chooses());
        if self.config.host.is_empty() || self.config.network.is_empty() || !none {
            let (scheme, switches) =
                (self.scheme(), if self.chooses() { "" } else { " and [[switch]]" });
            return unfit(format!(
                "scheme `{scheme}` runs on hosts: give `network` and a [[host]] for each, and no [[rack]]{switches}"
            ));
        }
        self.check_tags(part)?;
        for host in &self.config.host {
            self.number(part, &host.name)?;
        }
        self.check_arbiters(part)
    }

    fn check_arbiters(&self, part: &Part) -> Result<(), LiveNetworkError> {
        let (needed, given) = (part.stations.len(), self.config.arbiter.len());
        if needed == given || self.elects(needed) {
            return Ok(());
        }
        let (scheme, second) = (self.scheme(), if needed == 1 { ", or two for one" } else { "" });
        unfit(format!(
            "scheme `{scheme}` has {needed} arbiters or controllers, and the configuration has {given} [[arbiter]]: \
             give one for each{second}"
        ))
    }

    /// Whether two arbiters elect the one on which the only controller of the scheme runs.
    fn elects(&self, controllers: usize) -> bool {
        controllers == 1 && self.config.arbiter.len() == 2
    }

    fn number(&self, part: &Part, name: &str) -> Result<HostId, LiveNetworkError> {
        let hosts = part.graph.hosts.len() - part.stations.len();
        let named = |node: &slotline_net::id::NodeId| part.graph.nodes[node.at()].name == name;
        match part.graph.hosts[..hosts].iter().position(named) {
            Some(at) => Ok(HostId(at as u32)),
            None => unfit(format!(
                "the fabric of {} has no host `{name}`: its hosts are `{}` and so on",
                self.config.scenario.display(),
                part.graph.nodes[part.graph.hosts[0].at()].name,
            )),
        }
    }

    /// What the agent of a host or rack needs; `key` is the key pair of the machine.
    ///
    /// # Errors
    /// The configuration does not name the machine, or has another key for it.
    pub fn agent(&self, name: &str, key: KeyPair) -> Result<AgentSetup, LiveNetworkError> {
        if let Some((fabric, _)) = racks::hybrid(&self.loaded, self.scheme) {
            return self.rack_agent(fabric, name, key);
        }
        let is_switch = self.config.switch.iter().any(|switch| switch.name == name);
        if let Some(life) = self.path_life().or(is_switch.then_some(switches::UNUSED)) {
            return self.switch_agent(life, name, key);
        }
        let all = self.part(None)?;
        let Some(host) = self.config.host.iter().find(|host| host.name == name) else {
            return unfit(format!("the configuration has no [[host]] with the name `{name}`"));
        };
        belongs(&key, host.key, &format!("host `{name}`"))?;
        let me = self.number(&all, name)?;
        let part = self.part(Some(me))?;
        let mut hosts = std::collections::HashMap::new();
        for host in &self.config.host {
            let number = self.number(&all, &host.name)?;
            hosts.extend(host.address.iter().map(|address| (*address, number)));
        }
        let paths = self.host_paths(&all, host)?;
        let conns = &part.plan.traffic.conns;
        let flows = part.plan.sends(me).map(|conn| (conns[conn as usize].dst, conn)).collect();
        Ok(AgentSetup {
            me,
            key,
            address: self.config.socket(host.address[0]),
            arbiters: self.arbiters(&part),
            role: Role::Host(HostRole { hosts, flows, plan: part.plan, paths }),
            wires: part.wires,
            make: self.make(me)?,
            agent: self.config.agent.clone(),
            clock: self.config.clock.clone(),
            digest: self.digest(),
            timeslots: None,
            wrong_cables: Default::default(),
            heard: self.heard(),
            lead: self.lead(),
            elected: self.elected(all.stations.len()),
        })
    }

    /// How far ahead of network time the node of a host runs where the kernel keeps packets until they leave. Zero if its
    /// scheme may decide later than that.
    fn lead(&self) -> Duration {
        let system = system(&self.loaded, self.scheme);
        let system = system.filter(|of| of.knows_slots() && self.config.agent.departure_times);
        let turn = system.and_then(|system| system.turn()).unwrap_or(Time::ZERO);
        Duration::from_nanos((turn.as_ns() / LEAD_PARTS).min(MOST_LEAD.as_ns()))
    }

    /// Whether packets of a machine leave at given times where the kernel can keep them until then.
    pub fn is_timed(&self, role: &Role) -> bool {
        matches!(role, Role::Host(_)) && !self.lead().is_zero()
    }

    /// The room for segments that a host's agent holds as one packet: [a part](TURN_PARTS) of the shortest time for which
    /// the scheme lets it send, at the rate of its link. `None` if they are held one by one.
    ///
    /// # Errors
    /// The fabric has no such host.
    pub fn room(&self, name: &str, role: &Role) -> Result<Option<Room>, LiveNetworkError> {
        let turn = system(&self.loaded, self.scheme).and_then(|system| system.turn());
        let (Role::Host(_), Some(turn), true) = (role, turn, self.config.agent.join_segments)
        else {
            return Ok(None);
        };
        let me = self.number(&self.part(None)?, name)?;
        let part = self.part(Some(me))?;
        let rate = part.wires[0].lane.rate;
        Ok(Some(Room {
            bytes: rate.inverse_rate().bytes_in(turn) / TURN_PARTS,
            framing: part.plan.transport.framing(),
        }))
    }

    /// What an arbiter needs; `key` is the key pair of the arbiter.
    ///
    /// # Errors
    /// The configuration has no such arbiter, or another key for it.
    pub fn arbiter(&self, rank: usize, key: KeyPair) -> Result<ArbiterSetup, LiveNetworkError> {
        if let Some((fabric, _)) = racks::hybrid(&self.loaded, self.scheme) {
            return self.circuit_arbiter(fabric, rank, key);
        }
        let all = self.part(None)?;
        let Some(arbiter) = self.config.arbiter.get(rank) else {
            return unfit(format!("the configuration has no arbiter number {rank}"));
        };
        belongs(&key, arbiter.key, &format!("arbiter {rank}"))?;
        let mut peers = self.arbiters(&all);
        let numbers = peers.iter().map(|peer| peer.number).collect();
        let me = match self.elects(all.stations.len()) {
            // The controller has one number on either machine, and the other machine has the next free one.
            true => {
                peers[0].number = peers[1].number;
                all.stations[0]
            }
            false => all.stations[rank],
        };
        peers.remove(rank);
        for host in &self.config.host {
            let number = self.number(&all, &host.name)?.0;
            let address = self.config.socket(host.address[0]);
            peers.push(Peer { number, address, key: host.key });
        }
        peers.extend(self.switches(&all)?);
        Ok(ArbiterSetup {
            me,
            rank,
            key,
            address: self.config.socket(arbiter.address),
            peers,
            arbiters: numbers,
            wires: self.part(Some(me))?.wires,
            links: self.acting(&all)?,
            hook: None,
            program: None,
            switches: 0,
            standby: self.standby(all.stations.len(), |name| self.host(name))?,
            parts: Parts::from(&all.graph),
            make: self.make(me)?,
            discovery: self.discovery(me)?,
            clock: self.config.clock.clone(),
            quotas: self.quotas(&all)?,
            threads: self.config.threads,
            digest: self.digest(),
            scenario: (self.loaded.resolved(), self.scheme().into()),
            recorder: None,
        })
    }

    /// The number of a host or switch with an agent.
    ///
    /// # Errors
    /// The configuration has no such host or switch.
    pub fn host(&self, name: &str) -> Result<u32, LiveNetworkError> {
        if let Some(switch) = self.config.switch.iter().find(|switch| switch.name == name) {
            return self.switch_number(&self.part(None)?, &switch.name);
        }
        if !self.config.host.iter().any(|host| host.name == name) {
            return unfit(format!("the configuration has no [[host]] with the name `{name}`"));
        }
        Ok(self.number(&self.part(None)?, name)?.0)
    }

    fn quotas(&self, part: &Part) -> Result<Quotas, LiveNetworkError> {
        let number = |name: &String| Ok(self.number(part, name)?.0);
        let tenants = self.config.tenant.iter().map(|tenant| {
            let numbers: Result<Vec<u32>, LiveNetworkError> =
                tenant.hosts.iter().map(number).collect();
            Ok((numbers?, tenant.quota))
        });
        let tenants = tenants.collect::<Result<_, LiveNetworkError>>()?;
        Ok(Quotas { each: self.config.quota, tenants })
    }

    fn arbiters(&self, part: &Part) -> Vec<Peer> {
        let peer = |(number, arbiter): (HostId, &slotline_live::config::Arbiter)| Peer {
            number: number.0,
            address: self.config.socket(arbiter.address),
            key: arbiter.key,
        };
        let free = part.graph.hosts.len() + part.graph.nodes.len();
        let second = self.elects(part.stations.len()).then_some(HostId(free as u32));
        let numbers = part.stations.iter().copied().chain(second);
        numbers.zip(&self.config.arbiter).map(peer).collect()
    }

    /// The function that makes the node of `me`. It is called once here to find errors early.
    fn make(&self, me: HostId) -> Result<MakeNode, LiveNetworkError> {
        let (loaded, scheme) = (Arc::clone(&self.loaded), self.scheme);
        let threads = self.config.allocation_threads;
        let make = move |incarnation| {
            build::live::node(&loaded, scheme, me, Start { incarnation, threads })
        };
        make(0).map_err(|error| self.loaded.blame(error))?;
        Ok(Box::new(make))
    }
}

/// Checks that a key pair has the configured public key.
fn belongs(own: &KeyPair, public: PublicKey, whose: &str) -> Result<(), LiveNetworkError> {
    match own.public() {
        found if found == public => Ok(()),
        found => unfit(format!(
            "the configuration has the key {public} for {whose}, but this machine's key is {found}: put that into the \
             configuration, or choose the right file with `key` or `--key`"
        )),
    }
}

fn unfit<T>(what: String) -> Result<T, LiveNetworkError> {
    Err(LiveNetworkError::Unfit(what))
}

/// The scheme that the configuration names, or the only one that daemons can run.
fn scheme(config: &Config, loaded: &Loaded) -> Result<usize, LiveNetworkError> {
    let schemes = &loaded.scenario.scheme;
    let can_run: Vec<usize> = (0..schemes.len()).filter(|&at| daemons_run(loaded, at)).collect();
    let names = |of: &[usize]| {
        let names: Vec<String> = of.iter().map(|&at| format!("`{}`", schemes[at].name)).collect();
        names.join(", ")
    };
    let file = config.scenario.display();
    match (&config.scheme, &can_run[..]) {
        (Some(name), _) => match schemes.iter().position(|scheme| scheme.name == *name) {
            Some(at) if can_run.contains(&at) => Ok(at),
            Some(_) => unfit(format!(
                "daemons cannot run scheme `{name}`: they run fastpass, tdma, xco, hedera, flow-scheduler and circuits"
            )),
            None => {
                unfit(format!("{file} has no scheme `{name}`; daemons can run {}", names(&can_run)))
            }
        },
        (None, [only]) => Ok(*only),
        (None, []) => unfit(format!(
            "{file} has no scheme that daemons can run: one with control fastpass, tdma, xco, hedera, flow-scheduler or circuits is needed"
        )),
        (None, several) => unfit(format!(
            "{file} has several schemes that daemons can run: choose one with `scheme`: {}",
            names(several)
        )),
    }
}

/// Whether agents of the scheme hold packets, in hosts or in the switches of racks, or send flows on paths, so that
/// daemons can run it.
fn daemons_run(loaded: &Loaded, at: usize) -> bool {
    let runs = |system: Box<dyn System>| system.times_packets() || system.path_life().is_some();
    racks::hybrid(loaded, at).is_some() || system(loaded, at).is_some_and(runs)
}

/// The central scheme number `at`, if it is one, and valid.
fn system(loaded: &Loaded, at: usize) -> Option<Box<dyn System>> {
    let (scenario, scheme) = (&loaded.scenario, &loaded.scenario.scheme[at]);
    build::system(scenario, scheme, scenario.seed.into()).ok().flatten()
}

/// The controller whose log has this `header`, at its start, and its links, in the network of `loaded`.
///
/// # Errors
/// The scenario has no such scheme, or the scheme no such controller.
pub fn recorded_controller(
    loaded: &Loaded,
    header: &Header,
) -> Result<(Seat, Links), LiveNetworkError> {
    let named = |scheme: &SchemeSpec| scheme.name == header.scheme;
    let Some(scheme) = loaded.scenario.scheme.iter().position(named) else {
        return unfit(format!(
            "the scenario has no scheme `{}`, which the log is about",
            header.scheme
        ));
    };
    if let Some((fabric, _)) = racks::hybrid(loaded, scheme) {
        let (part, links) = racks::recorded(loaded, scheme, fabric, header.station)?;
        return Ok((Seat::new(part.node, &part.wires, Time::ZERO), links));
    }
    let (me, blame) = (HostId(header.station), |error| loaded.blame(error));
    let part = build::live::part(loaded, scheme, None).map_err(blame)?;
    if !part.stations.contains(&me) {
        return unfit(format!(
            "the scenario has no controller with the number {}, which the log is about",
            me.0
        ));
    }
    let wires = build::live::part(loaded, scheme, Some(me)).map_err(blame)?.wires;
    let start = Start { incarnation: header.incarnation, threads: false };
    let node = build::live::node(loaded, scheme, me, start).map_err(blame)?;
    // All messages arrive at one port, whoever acts for their hosts.
    Ok((Seat::new(node, &wires, Time::ZERO), Links::default()))
}
