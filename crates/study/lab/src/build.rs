//! Builds the network of a scenario, for one scheme and one seed.

mod central;
mod external;
pub(crate) mod live;
mod presence;
mod queues;
mod switches;
mod timeline;
mod traffic;

use crate::build_flow::Parts;
use slotline_net::aqm::spec::QueueSpec;
use slotline_net::error::SpecError;
use slotline_net::id::{HostId, NodeId, PortId};
use slotline_net::node::control_switch::ControlSwitch;
use slotline_net::node::external_host;
use slotline_net::node::host::{Egress, Host, HostConfig, Plan, Spread};
use slotline_net::node::notify::Senders;
use slotline_net::node::reaction::Reaction;
use slotline_net::node::station::{Loss, StoppableNode};
use slotline_net::rng::Stream;
use slotline_net::route::{Routes, RoutingSpec};
use slotline_net::scheme::{ControlNetwork, SchemeSwitches, Station, Surroundings, System};
use slotline_net::time::Time;
use slotline_net::topology::{End, Graph, NodeKind, Wire, Wiring};
use slotline_net::workload::Traffic;
use slotline_scenario::port_names::{bump_ports, limiter_ports, switch_ports_named};
use slotline_scenario::{Files, MeasureSpec, Scenario, SchemeSpec};
use slotline_schemes as schemes;
use slotline_sim::{Follow, Network, Place};
use std::sync::Arc;
use timeline::changing_links;

pub use central::central_faults;
pub use traffic::{sample, traffic};

/// A network ready to run, and what is needed to read its results.
pub struct Assembly {
    /// The network.
    pub network: Network,
    /// Traffic, transport and path choice.
    pub plan: Arc<Plan>,
    /// Routes at the start.
    pub routes: Arc<Routes>,
    /// The ports of each node and the links at them.
    pub wiring: Wiring,
    /// Flows that must be complete before the run can end.
    pub flows: u64,
    /// Whether a scheme decides when packets leave hosts.
    pub times_packets: bool,
}

/// Builds one run: scheme number `at` of `scenario` under `seed`.
pub fn build(
    scenario: &Scenario,
    at: usize,
    seed: u64,
    files: &Files<'_>,
) -> Result<Assembly, SpecError> {
    assembled(builder(scenario, at, seed, files, Outside::of(scenario))?, scenario, at)
}

/// As [`build`], for a run to which flows of any class are added while it goes on.
pub fn build_open(
    scenario: &Scenario,
    at: usize,
    seed: u64,
    files: &Files<'_>,
) -> Result<Assembly, SpecError> {
    let builder = builder(scenario, at, seed, files, Outside::of(scenario))?;
    assembled(Builder { is_open: true, ..builder }, scenario, at)
}

fn assembled(builder: Builder<'_>, scenario: &Scenario, at: usize) -> Result<Assembly, SpecError> {
    let in_scheme = |e: SpecError| e.within(format_args!("scheme[{at}]"));
    let flows = builder.plan.traffic.flows.len() as u64;
    let timeline = builder.timeline(scenario)?;
    let sampled = builder.sampled(&scenario.measure);
    let (queues, buffers) = (builder.queues(), builder.buffers());
    let times_packets = builder.agents().is_some_and(|system| system.times_packets());
    let places = builder.places(scenario.measure.sample).map_err(in_scheme)?;
    let Builder { graph, wiring, routes, plan, .. } = builder;
    let interval = scenario.measure.sample.unwrap_or_default();
    let network = Network {
        graph,
        routes: Arc::clone(&routes),
        places,
        queues,
        buffers,
        senders: Senders::of(Arc::clone(&plan)),
        timeline,
        sampled,
        interval,
        follow: Follow::default(),
    };
    Ok(Assembly { network, plan, routes, wiring, flows, times_packets })
}

/// The parts of a run that the flow-level engine and real switches need. No nodes are attached to the network.
pub(crate) fn parts(
    scenario: &Scenario,
    at: usize,
    seed: u64,
    files: &Files<'_>,
) -> Result<Parts, SpecError> {
    let builder = builder(scenario, at, seed, files, Outside::of(scenario))?;
    let timeline = builder.timeline(scenario)?;
    let sampled = builder.sampled(&scenario.measure);
    let Builder { graph, wiring, routes, plan, system, .. } = builder;
    Ok(Parts { graph, wiring, plan, routes, timeline, sampled, system })
}

/// The hosts whose applications are outside of the network.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Outside {
    None,
    /// The applications of all hosts, in addition to the workload.
    All,
    /// The applications of one real machine, without a workload. `incarnation` differs with each start of its process.
    /// `threads` says whether allocators of Fastpass have threads of their own.
    Machine {
        host: Option<HostId>,
        incarnation: u64,
        threads: bool,
    },
}

impl Outside {
    fn of(scenario: &Scenario) -> Outside {
        if scenario.engine.emulated().is_some() { Outside::All } else { Outside::None }
    }
    /// What distinguishes the starts of a real machine's process; 0 otherwise.
    fn incarnation(self) -> u64 {
        match self {
            Outside::Machine { incarnation, .. } => incarnation,
            _ => 0,
        }
    }
    /// The central scheme of the scenario's scheme number `at`.
    fn system(
        self,
        scenario: &Scenario,
        at: usize,
        seed: u64,
    ) -> Result<Option<Box<dyn System>>, SpecError> {
        let apart = matches!(self, Outside::Machine { threads: true, .. });
        let crew = apart.then(slotline_arbiter::threads);
        let system = system_of(scenario, &scenario.scheme[at], seed, crew.as_ref());
        system.map_err(|error| error.within("control"))
    }
    /// The workload, and connections for other applications.
    fn traffic(
        self,
        scenario: &Scenario,
        graph: &Graph,
        seed: u64,
        files: &Files<'_>,
    ) -> Result<Traffic, SpecError> {
        let hosts = graph.hosts.len() as u32;
        match self {
            Outside::None => traffic(scenario, graph, seed, files),
            Outside::All => {
                let mut traffic = traffic(scenario, graph, seed, files)?;
                external_host::add_shared_conns(&mut traffic, hosts);
                Ok(traffic)
            }
            Outside::Machine { host, .. } => Ok(external_host::conns_of(host, hosts)),
        }
    }
}

/// Everything but the nodes.
fn builder<'a>(
    scenario: &'a Scenario,
    at: usize,
    seed: u64,
    files: &Files<'_>,
    outside: Outside,
) -> Result<Builder<'a>, SpecError> {
    let scheme = &scenario.scheme[at];
    let in_scheme = |e: SpecError| e.within(format_args!("scheme[{at}]"));
    let fabric = scenario.fabric_of(scheme);
    let mut graph = fabric.build().map_err(|e| e.within("fabric"))?;
    let traffic = match scheme.fabric {
        // The traffic is the same on every fabric.
        Some(_) => outside.traffic(scenario, &scenario.fabric.build()?, seed, files)?,
        None => outside.traffic(scenario, &graph, seed, files)?,
    };
    let transport = scheme.transport.build().map_err(|e| in_scheme(e.within("transport")))?;
    let changing = changing_links(&graph, &scenario.event)?;
    let system = outside.system(scenario, at, seed).map_err(in_scheme)?;
    let attached = system.as_deref().filter(|_| has_stations(scenario));
    let stations = attach_stations(&mut graph, attached).map_err(in_scheme)?;
    let control = attach_control(&mut graph, attached, &stations, outside).map_err(in_scheme)?;
    let routing = system.as_ref().and_then(|s| s.routing()).unwrap_or(scheme.routing);
    let by_routing = spread_by(routing, scheme);
    let spread = match &system {
        Some(system) => system.spread(by_routing),
        None => by_routing.unwrap_or(Spread::PerFlow),
    };
    let mut plan = Plan::new(traffic, transport, spread, graph.host_keys(), seed)?;
    let routes = Routes::build(&graph, routing, &fabric.unrouted(), seed);
    let wiring = graph.wiring();
    if routes.is_pinned() && spread == Spread::PerFlow {
        plan.number_hashed_paths(&graph, &wiring, &routes);
    }
    if scenario.engine.is_packet() && !system.as_ref().is_some_and(|system| system.times_packets())
    {
        plan.react_by_paths(&graph, &wiring, &routes);
    }
    let bumps = |of: fn(&_, &Graph) -> Vec<End>| {
        scheme.bump.as_ref().map_or(Vec::new(), |bump| of(bump, &graph))
    };
    Ok(Builder {
        outside,
        is_open: false,
        taps: bumps(bump_ports),
        limits: bumps(limiter_ports),
        routes: Arc::new(routes),
        wiring,
        plan: Arc::new(plan),
        changing,
        queue_spec: scheme.queues(),
        scheme,
        routing,
        system,
        seed,
        stations,
        control,
        graph,
    })
}

/// Whether a scheme's stations are in the network. The scheduler of real switches is their controller, outside of it.
fn has_stations(scenario: &Scenario) -> bool {
    scenario.engine.is_packet() && !scenario.engine.has_real_switches()
}

/// The central scheme on the scenario's fabric.
pub(crate) fn system(
    scenario: &Scenario,
    scheme: &SchemeSpec,
    seed: u64,
) -> Result<Option<Box<dyn System>>, SpecError> {
    system_of(scenario, scheme, seed, None)
}

/// The same, whose allocators a crew may run.
fn system_of(
    scenario: &Scenario,
    scheme: &SchemeSpec,
    seed: u64,
    crew: Option<&slotline_arbiter::MakeCrew>,
) -> Result<Option<Box<dyn System>>, SpecError> {
    scheme.control.system(&schemes::Setting {
        fabric: scenario.fabric_of(scheme),
        voq: scheme.voq.unwrap_or_default(),
        workloads: &scenario.workload,
        loss: scheme.control_loss,
        seed,
        crew,
    })
}

/// How packets are spread over equal-cost paths; `None` for a routing that does not spread them.
fn spread_by(routing: RoutingSpec, scheme: &SchemeSpec) -> Option<Spread> {
    match routing {
        RoutingSpec::Spray => Some(Spread::PerPacket),
        RoutingSpec::Flowlet => {
            Some(Spread::PerBurst(scheme.flowlet_gap.unwrap_or(SchemeSpec::FLOWLET_GAP)))
        }
        RoutingSpec::EcmpDestination => Some(Spread::PerDestination),
        RoutingSpec::Pinned => Some(Spread::Pinned),
        _ => None,
    }
}

/// Attaches the stations of a central scheme to the graph.
fn attach_stations(
    graph: &mut Graph,
    system: Option<&dyn System>,
) -> Result<Vec<HostId>, SpecError> {
    let stations = system.map_or(Ok(Vec::new()), |system| system.stations(graph))?;
    let attach = |s: Station| graph.attach_host(s.name, s.switch, s.lane);
    Ok(stations.into_iter().map(attach).collect())
}

/// The switch of a control network, with the members at its ports.
struct ControlPlace {
    node: NodeId,
    members: Vec<HostId>,
}

/// Attaches the control network of a central scheme to the graph, if it has one.
fn attach_control(
    graph: &mut Graph,
    system: Option<&dyn System>,
    stations: &[HostId],
    outside: Outside,
) -> Result<Option<ControlPlace>, SpecError> {
    let asked = system.and_then(|system| system.control_network(graph, stations));
    let Some(ControlNetwork { members, lane }) = asked else { return Ok(None) };
    if outside != Outside::None {
        let message = "a control network is simulated: take engine = \"packet\"";
        return Err(SpecError::new("control", message));
    }
    let nodes: Vec<NodeId> = members.iter().map(|host| graph.hosts[host.at()]).collect();
    let node = graph.attach_control_switch("control-switch", &nodes, lane);
    Ok(Some(ControlPlace { node, members }))
}

struct Builder<'a> {
    outside: Outside,
    /// Whether flows are added during the run.
    is_open: bool,
    graph: Graph,
    wiring: Wiring,
    routes: Arc<Routes>,
    plan: Arc<Plan>,
    /// For each link of the fabric, whether its rate changes in the run.
    changing: Vec<bool>,
    scheme: &'a SchemeSpec,
    /// The scheme's queues, as its scheduler needs them.
    queue_spec: QueueSpec,
    routing: RoutingSpec,
    system: Option<Box<dyn System>>,
    seed: u64,
    stations: Vec<HostId>,
    control: Option<ControlPlace>,
    /// Ports of switches at which packets arrive through a bump.
    taps: Vec<End>,
    /// Ports of switches at which packets arrive through a bump that limits flows.
    limits: Vec<End>,
}

impl Builder<'_> {
    fn changes(&self, wires: &[Wire]) -> bool {
        wires.iter().any(|wire| self.changing.get(wire.link) == Some(&true))
    }

    /// The scheme, if it has agents in hosts.
    fn agents(&self) -> Option<&dyn System> {
        self.system.as_deref().filter(|system| system.has_agents())
    }

    /// The switches of the scheme, if it has any.
    fn scheme_switches(&self) -> Option<&dyn SchemeSwitches> {
        self.system.as_deref().and_then(|system| system.switches())
    }

    fn is_station(&self, node: usize) -> bool {
        self.stations.iter().any(|host| self.graph.hosts[host.at()].at() == node)
    }

    /// The largest packet on the wire.
    fn largest(&self) -> u64 {
        u64::from(self.plan.transport.data_len(self.plan.transport.mss()))
    }

    fn places(&self, sample: Option<Time>) -> Result<Vec<Place>, SpecError> {
        let reserve = match &self.system {
            Some(system) => system.reserve(&self.surroundings())?,
            None => None,
        };
        let mut of_node = vec![None; self.graph.nodes.len()];
        (0..)
            .zip(&self.graph.hosts)
            .for_each(|(host, node)| of_node[node.at()] = Some(HostId(host)));
        let place = |(node, host): (usize, &Option<HostId>)| match host {
            Some(host) => match self.stations.iter().position(|station| station == host) {
                Some(at) => self.station(at),
                None => self.host(*host, NodeId(node as u32)),
            },
            None => {
                let node = NodeId(node as u32);
                let control = self.control_switch(node);
                Ok(control
                    .unwrap_or_else(|| self.switch(node, sample.unwrap_or_default(), reserve)))
            }
        };
        of_node.iter().enumerate().map(place).collect()
    }

    /// The switch of the control network, if it is at `node`.
    fn control_switch(&self, node: NodeId) -> Option<Place> {
        let place = self.control.as_ref().filter(|place| place.node == node)?;
        Some(Place::Node(Box::new(ControlSwitch::new(place.members.clone()))))
    }

    /// The links of `node`, without that to the control network.
    fn data_wires(&self, node: NodeId) -> &[Wire] {
        let wires = self.wiring.of(node);
        let control = self.control.as_ref().map(|place| place.node);
        let count = wires.iter().filter(|wire| Some(wire.far.node) != control).count();
        &wires[..count]
    }

    fn host(&self, id: HostId, node: NodeId) -> Result<Place, SpecError> {
        let wires = self.data_wires(node);
        let egress = match self.agents().filter(|system| system.controls(id)) {
            Some(system) => {
                let agent = system.agent(id, &self.surroundings())?;
                Egress::Agent(agent, self.loss(id))
            }
            None if self.scheme.notifies() => {
                let spec = self.scheme.reaction.unwrap_or_default();
                let line = wires.iter().map(|wire| wire.lane.rate).max().unwrap_or_default();
                Egress::Agent(Box::new(Reaction::new(spec, line)), Loss::default())
            }
            None if self.pulls(wires) && self.sends_in_order(wires) => Egress::InOrder,
            None if self.pulls(wires) => Egress::Classes,
            None => Egress::Fifo,
        };
        if self.outside != Outside::None {
            return Ok(self.external_host(id, node, egress));
        }
        let config = HostConfig {
            id,
            node,
            plan: Arc::clone(&self.plan),
            routes: Arc::clone(&self.routes),
            rates: wires.iter().map(|wire| wire.lane.rate).collect(),
            egress,
            priorities: self.queue_spec.priorities,
            news: self.scheme.voq.and_then(|voq| voq.notify).map(|_| self.loss(id)),
            seed: self.seed,
        };
        Ok(Place::Host(Box::new(Host::new(config))))
    }

    fn surroundings(&self) -> Surroundings<'_> {
        Surroundings {
            graph: &self.graph,
            wiring: &self.wiring,
            routes: &self.routes,
            plan: &self.plan,
            stations: &self.stations,
            seed: self.seed,
            incarnation: self.outside.incarnation(),
            elected: matches!(self.outside, Outside::Machine { .. }),
        }
    }

    /// The loss of the central scheme's messages on arrival at `host`.
    fn loss(&self, host: HostId) -> Loss {
        let stream = Stream::named(self.seed, "control.loss", self.plan.host_key(host));
        Loss::new(self.scheme.control_loss, stream)
    }

    fn station(&self, at: usize) -> Result<Place, SpecError> {
        let Some(system) = &self.system else {
            return Err(SpecError::new("control", "a station without a scheme"));
        };
        let make = system.station(at, &self.surroundings())?;
        Ok(Place::Node(Box::new(StoppableNode::new(make, self.loss(self.stations[at])))))
    }

    /// Ports whose queue and throughput are sampled.
    fn sampled(&self, measure: &MeasureSpec) -> Vec<(NodeId, PortId)> {
        let named = measure.ports.iter().flat_map(|name| switch_ports_named(&self.graph, name));
        match (measure.sample, measure.ports.is_empty()) {
            (None, _) => Vec::new(),
            (_, true) => self.switch_ports(),
            (_, false) => named.map(|end| (end.node, end.port)).collect(),
        }
    }

    /// The ports of switches. Those towards hosts come first.
    fn switch_ports(&self) -> Vec<(NodeId, PortId)> {
        let kind = |end: End| self.graph.nodes[end.node.at()].kind;
        let is_host = |end: End| kind(end) == NodeKind::Host;
        let ends = self.graph.links.iter().flat_map(|l| [(l.a, l.b), (l.b, l.a)]);
        let mut ports: Vec<_> = ends
            .filter(|(near, _)| kind(*near) == NodeKind::Switch)
            .filter(|(_, far)| !self.is_station(far.node.at()))
            .map(|(near, far)| (!is_host(far), near.node, near.port))
            .collect();
        ports.sort_unstable();
        ports.truncate(MOST_SAMPLED);
        ports.into_iter().map(|(_, node, port)| (node, port)).collect()
    }
}

/// Most ports sampled in one run.
const MOST_SAMPLED: usize = 256;
