//! From a scenario to a network: one scheme, one seed.

use crate::scenario::{EventKind, EventSpec, Scenario, SchemeSpec};
use slotline_net::aqm::spec::Policy;
use slotline_net::aqm::{Red, queue_stream};
use slotline_net::control::xco::Xco;
use slotline_net::control::{ControlSpec, Network as ControlNetwork};
use slotline_net::error::SpecError;
use slotline_net::id::{HostId, NodeId, PortId};
use slotline_net::node::controller::Controller;
use slotline_net::node::coordinator::Coordinator;
use slotline_net::node::host::{Egress, Host, HostConfig, Plan, Spread, pair_entropy};
use slotline_net::node::switch::{Switch, SwitchConfig, SwitchPort};
use slotline_net::node::{Change, Node};
use slotline_net::route::{Down, Routes, RoutingSpec};
use slotline_net::time::Time;
use slotline_net::topology::{End, Graph, Lane, Link, NodeKind};
use slotline_net::transport::Transport;
use slotline_net::units::Rate;
use slotline_net::workload::{Setting, Shape, Traffic, TrafficBuilder};
use slotline_sim::{Network, Place, Queue};
use std::sync::Arc;

/// Gives the text of a file that a scenario names.
pub type Files<'a> = dyn Fn(&str) -> Result<String, String> + 'a;

/// A network ready to run, and what is needed to read its results.
pub struct Assembly {
    /// The network.
    pub network: Network,
    /// Traffic, transport and path choice.
    pub plan: Arc<Plan>,
    /// Routes at the start.
    pub routes: Arc<Routes>,
    /// Flows that must be complete for the run to be over.
    pub flows: u64,
}

/// All traffic of `scenario` under `seed`: the same for every scheme.
pub fn traffic(scenario: &Scenario, graph: &Graph, seed: u64, files: &Files<'_>) -> Result<Traffic, SpecError> {
    let fabric = Shape::of(graph);
    let setting = Setting { fabric: &fabric, horizon: scenario.end.at.unwrap_or(Time::MAX), seed, files };
    let mut out = TrafficBuilder::new(graph.hosts.len() as u32);
    for (group, workload) in (0u16..).zip(&scenario.workload) {
        let in_table = |e: SpecError| SpecError::new(format!("workload[{group}].{}", e.key), e.message);
        workload.generate(group, &setting, &mut out).map_err(in_table)?;
    }
    out.finish().map_err(|e| SpecError::new("workload", e.message))
}

/// Builds one run of `scenario`.
pub fn build(scenario: &Scenario, scheme: &SchemeSpec, seed: u64, files: &Files<'_>) -> Result<Assembly, SpecError> {
    let mut graph = scenario.fabric.build().map_err(|e| within("fabric", e))?;
    let traffic = traffic(scenario, &graph, seed, files)?;
    let transport = scheme.transport.build().map_err(|e| within("scheme.transport", e))?;
    let controller = attach_controller(&mut graph, &scheme.control);
    let flows = traffic.flows.len() as u64;
    let spread = spread(scheme);
    let plan = Plan::new(traffic, transport, spread, graph.hosts.len(), seed)?;
    let builder = Builder {
        routes: Arc::new(Routes::build(&graph, scheme.routing, &Down::default(), seed)),
        plan: Arc::new(plan),
        changing: changing_links(&graph, &scenario.event)?,
        scheme,
        seed,
        controller,
        graph,
    };
    let timeline = builder.timeline(&scenario.event)?;
    let sampled = builder.sampled(scenario);
    let queues = builder.queues();
    let places = builder.places(&transport)?;
    let Builder { graph, routes, plan, .. } = builder;
    let interval = scenario.measure.sample.unwrap_or_default();
    let network = Network { graph, routes: Arc::clone(&routes), places, queues, timeline, sampled, interval };
    Ok(Assembly { network, plan, routes, flows })
}

fn within(table: &str, error: SpecError) -> SpecError {
    SpecError::new(format!("{table}.{}", error.key), error.message)
}

fn spread(scheme: &SchemeSpec) -> Spread {
    match (scheme.routing, &scheme.control) {
        (RoutingSpec::Spray, _) => Spread::PerPacket,
        (RoutingSpec::Pinned, _) => Spread::Pinned,
        (_, ControlSpec::None {}) => Spread::PerFlow,
        _ => Spread::PerPair,
    }
}

/// A central scheduler has a host of its own, at the last switch (in trees, one of the uppermost).
fn attach_controller(graph: &mut Graph, control: &ControlSpec) -> Option<HostId> {
    if matches!(control, ControlSpec::None {}) {
        return None;
    }
    let lane = graph.links.first()?.ab;
    let switch = graph.nodes.iter().rposition(|n| n.kind == NodeKind::Switch)?;
    Some(graph.attach_host("controller", NodeId(switch as u32), lane))
}

/// By link: whether its rate changes in the run.
fn changing_links(graph: &Graph, events: &[EventSpec]) -> Result<Vec<bool>, SpecError> {
    let mut changing = vec![false; graph.links.len()];
    for event in events.iter().filter(|e| matches!(e.kind, EventKind::Rate { .. })) {
        for link in touched(graph, event)? {
            changing[link] = true;
        }
    }
    Ok(changing)
}

/// The links that an event is about.
fn touched(graph: &Graph, event: &EventSpec) -> Result<Vec<usize>, SpecError> {
    match &event.kind {
        EventKind::LinkDown { link } | EventKind::LinkUp { link } | EventKind::Rate { link, .. } => {
            let found = graph.links_named(link);
            if found.is_empty() {
                let message = format!("no link `{link}`: a link is named by its two ends, for example `{}`", example(graph));
                return Err(SpecError::new("event.link", message));
            }
            Ok(found.into_iter().map(|(at, _)| at).collect())
        }
        EventKind::SwitchDown { switch } | EventKind::SwitchUp { switch } => {
            let node = graph.node_named(switch).ok_or_else(|| {
                SpecError::new("event.switch", format!("no switch `{switch}` in this fabric"))
            })?;
            let at = |link: &Link| link.ends().iter().any(|end| end.node == node);
            Ok((0..graph.links.len()).filter(|&l| at(&graph.links[l])).collect())
        }
    }
}

fn example(graph: &Graph) -> String {
    let name = |end: End| graph.nodes[end.node.at()].name.clone();
    graph.links.first().map(|l| format!("{}-{}", name(l.a), name(l.b))).unwrap_or_default()
}

struct Builder<'a> {
    graph: Graph,
    routes: Arc<Routes>,
    plan: Arc<Plan>,
    changing: Vec<bool>,
    scheme: &'a SchemeSpec,
    seed: u64,
    controller: Option<HostId>,
}

/// One direction of a link as the node at `from` sees it.
struct Port {
    from: End,
    tx: Lane,
    rx: Lane,
    changing: bool,
}

impl Builder<'_> {
    /// All ports of all nodes, by node, then port.
    fn ports(&self) -> Vec<Vec<Port>> {
        let mut ports: Vec<Vec<Port>> = self.graph.nodes.iter().map(|_| Vec::new()).collect();
        for (link, &changing) in self.graph.links.iter().zip(&self.changing) {
            ports[link.a.node.at()].push(Port { from: link.a, tx: link.ab, rx: link.ba, changing });
            ports[link.b.node.at()].push(Port { from: link.b, tx: link.ba, rx: link.ab, changing });
        }
        ports.iter_mut().for_each(|ports| ports.sort_by_key(|p| p.from.port));
        ports
    }

    /// Whether a switch can be the engine's own plain one. A rate that changes needs a queue of packets
    /// that have not left yet.
    fn is_plain(&self, ports: &[Port]) -> bool {
        self.scheme.queue.is_plain() && !ports.iter().any(|p| p.changing)
    }

    /// Whether hosts decide packet by packet what to send: under a scheduler, pause frames, classes,
    /// or a rate that changes.
    fn pulls(&self, ports: &[Port]) -> bool {
        let queue = &self.scheme.queue;
        self.controller.is_some() || queue.pfc.is_some() || queue.priorities || ports.iter().any(|p| p.changing)
    }

    fn is_controller(&self, node: usize) -> bool {
        self.controller.is_some_and(|host| self.graph.hosts[host.at()].at() == node)
    }

    fn queues(&self) -> Vec<Vec<Queue>> {
        let nodes = self.graph.nodes.iter().enumerate().zip(self.ports());
        nodes
            .map(|((node, info), ports)| {
                let pulled = match info.kind {
                    NodeKind::Host => self.pulls(&ports) && !self.is_controller(node),
                    NodeKind::Switch => !self.is_plain(&ports),
                };
                ports.iter().map(|port| self.queue(info.kind, pulled, port)).collect()
            })
            .collect()
    }

    fn queue(&self, kind: NodeKind, pulled: bool, port: &Port) -> Queue {
        let spec = &self.scheme.queue;
        if pulled || kind == NodeKind::Host {
            return Queue { pulled, ..Queue::default() };
        }
        let stream = || queue_stream(self.seed, port.from.node, port.from.port, 0);
        Queue {
            pulled: false,
            limit: Some(spec.limit),
            mark: match spec.policy {
                Policy::Ecn { threshold } => Some(threshold),
                _ => None,
            },
            red: match spec.policy {
                Policy::Red(red) => Some(Red::new(red, port.tx.rate.pace(), self.largest(), stream())),
                _ => None,
            },
        }
    }

    /// The largest packet on the wire.
    fn largest(&self) -> u64 {
        u64::from(self.plan.transport.data_len(self.plan.transport.mss()))
    }

    fn places(&self, transport: &Transport) -> Result<Vec<Place>, SpecError> {
        let mut hosts = (0..self.graph.hosts.len() as u32).map(HostId);
        let mut of_node = vec![None; self.graph.nodes.len()];
        self.graph.hosts.iter().for_each(|node| of_node[node.at()] = hosts.next());
        let ports = self.ports();
        let place = |(node, host): (usize, &Option<HostId>)| match host {
            Some(host) if Some(*host) == self.controller => self.controller_node(*host),
            Some(host) => self.host(*host, NodeId(node as u32), &ports[node]),
            None => Ok(self.switch(NodeId(node as u32), &ports[node], transport)),
        };
        of_node.iter().enumerate().map(place).collect()
    }

    fn switch(&self, node: NodeId, ports: &[Port], transport: &Transport) -> Place {
        if self.is_plain(ports) {
            return Place::Switch;
        }
        let config = SwitchConfig {
            node,
            routes: Arc::clone(&self.routes),
            queue: self.scheme.queue.clone(),
            ports: ports.iter().map(|p| SwitchPort { tx: p.tx, rx: p.rx }).collect(),
            mtu: u64::from(transport.data_len(transport.mss())),
            seed: self.seed,
        };
        Place::Node(Box::new(Switch::new(config)))
    }

    fn host(&self, id: HostId, node: NodeId, ports: &[Port]) -> Result<Place, SpecError> {
        let egress = match (&self.scheme.control, self.controller) {
            (ControlSpec::Xco(spec), Some(controller)) => {
                if ports.len() > 1 {
                    return Err(SpecError::new("scheme.control", "hosts with several network cards cannot be scheduled by xco: set nics = 1"));
                }
                Egress::Agent(Box::new(Coordinator::new(&self.xco(spec)?, id, controller)))
            }
            _ if self.pulls(ports) => Egress::Classes,
            _ => Egress::Fifo,
        };
        let config = HostConfig {
            id,
            node,
            plan: Arc::clone(&self.plan),
            routes: Arc::clone(&self.routes),
            rates: ports.iter().map(|p| p.tx.rate).collect(),
            egress,
            priorities: self.scheme.queue.priorities || self.scheme.queue.pfc.is_some(),
            seed: self.seed,
        };
        Ok(Place::Host(Box::new(Host::new(config))))
    }

    fn xco(&self, spec: &slotline_net::control::xco::spec::XcoSpec) -> Result<Xco, SpecError> {
        spec.build().map_err(|e| within("scheme.control", e))
    }

    fn controller_node(&self, host: HostId) -> Result<Place, SpecError> {
        let ControlSpec::Xco(spec) = &self.scheme.control else {
            return Err(SpecError::new("scheme.control", "a controller without a scheduler"));
        };
        let xco = self.xco(spec)?;
        let hosts = self.graph.hosts.len();
        let control = xco.control(self.control_network());
        let node: Box<dyn Node> = Box::new(Controller::new(host, hosts, spec.decision_time, spec.timeout(), control));
        Ok(Place::Node(node))
    }

    /// What the scheduler knows: capacities of directed links, and the path of each pair of hosts.
    fn control_network(&self) -> ControlNetwork {
        let first: Vec<u32> = self
            .graph
            .ports()
            .iter()
            .scan(0u32, |sum, &n| Some(std::mem::replace(sum, *sum + u32::from(n))))
            .collect();
        let capacity: Vec<Rate> = self.ports().iter().flatten().map(|p| p.tx.rate).collect();
        let (graph, routes, seed) = (self.graph.clone(), Arc::clone(&self.routes), self.seed);
        ControlNetwork::new(self.graph.hosts.len(), capacity, move |src, dst, out| {
            let path = routes.path(&graph, src, dst, pair_entropy(seed, src, dst)).unwrap_or_default();
            out.extend(path.iter().map(|(node, port)| first[node.at()] + u32::from(port.0)));
        })
    }

    /// Ports whose queue and throughput are sampled: those of switches, towards hosts first.
    fn sampled(&self, scenario: &Scenario) -> Vec<(NodeId, PortId)> {
        if scenario.measure.sample.is_none() {
            return Vec::new();
        }
        let is_host = |end: End| self.graph.nodes[end.node.at()].kind == NodeKind::Host;
        let ends = self.graph.links.iter().flat_map(|l| [(l.a, l.b), (l.b, l.a)]);
        let mut ports: Vec<_> = ends
            .filter(|(near, _)| !is_host(*near))
            .filter(|(_, far)| !self.is_controller(far.node.at()))
            .map(|(near, far)| (!is_host(far), near.node, near.port))
            .collect();
        ports.sort_unstable();
        ports.truncate(MOST_SAMPLED);
        ports.into_iter().map(|(_, node, port)| (node, port)).collect()
    }

    /// What the scenario's events mean for nodes, and the routes that follow them.
    fn timeline(&self, events: &[EventSpec]) -> Result<Vec<(Time, NodeId, Change)>, SpecError> {
        let mut out = Vec::new();
        let mut down = Down::default();
        let mut ordered: Vec<&EventSpec> = events.iter().collect();
        ordered.sort_by_key(|event| event.at);
        for event in ordered {
            let links = touched(&self.graph, event)?;
            for end in links.iter().flat_map(|&link| self.graph.links[link].ends()) {
                out.push((event.at, end.node, change(&event.kind, end.port)));
            }
            if matches!(event.kind, EventKind::Rate { .. }) {
                continue;
            }
            let fails = matches!(event.kind, EventKind::LinkDown { .. } | EventKind::SwitchDown { .. });
            links.iter().for_each(|&link| down.set(link, fails));
            let routes = Arc::new(Routes::build(&self.graph, self.scheme.routing, &down, self.seed));
            for node in 0..self.graph.nodes.len() as u32 {
                let change = Change::Routes(Arc::clone(&routes));
                out.push((event.at.after(event.reroute_after), NodeId(node), change));
            }
        }
        Ok(out)
    }
}

/// Most ports sampled in one run.
const MOST_SAMPLED: usize = 256;

fn change(kind: &EventKind, port: PortId) -> Change {
    match kind {
        EventKind::LinkDown { .. } | EventKind::SwitchDown { .. } => Change::Down(port),
        EventKind::LinkUp { .. } | EventKind::SwitchUp { .. } => Change::Up(port),
        EventKind::Rate { rate, .. } => Change::Rate(port, *rate),
    }
}

/// How long each flow would take alone: [`slotline_net::transport::lone_flow`].
pub fn ideal(assembly: &Assembly, flow: usize) -> Time {
    let traffic = &assembly.plan.traffic;
    let (graph, routes) = (&assembly.network.graph, &assembly.routes);
    let flow = &traffic.flows[flow];
    let conn = &traffic.conns[flow.conn.at()];
    let lanes = |src, dst| -> Vec<Lane> {
        let path = routes.path(graph, src, dst, 0).unwrap_or_default();
        path.iter().filter_map(|(node, port)| lane(graph, *node, *port)).collect()
    };
    let (path, back) = (lanes(conn.src, conn.dst), lanes(conn.dst, conn.src));
    slotline_net::transport::lone_flow::lone_flow_time(flow.bytes, &assembly.plan.transport, &path, &back)
}

fn lane(graph: &Graph, node: NodeId, port: PortId) -> Option<Lane> {
    let from = End { node, port };
    graph.links.iter().find_map(|l| {
        if l.a == from { Some(l.ab) } else { (l.b == from).then_some(l.ba) }
    })
}

