//! The parts of a network that daemons run: one host, one station, or one switch of a scheme.

use super::{Builder, Outside, builder};
use slotline_net::error::SpecError;
use slotline_net::id::{HostId, NodeId, PortId};
use slotline_net::node::Node;
use slotline_net::node::host::Plan;
use slotline_net::topology::{Graph, Wire};
use slotline_scenario::Loaded;
use slotline_sim::Place;
use std::sync::Arc;

/// What daemons need to know about a network.
pub struct Part {
    /// The network, stations included: they are its last hosts.
    pub graph: Graph,
    /// The stations.
    pub stations: Vec<HostId>,
    /// Connections from the host to each other one; none for a station.
    pub plan: Arc<Plan>,
    /// The links of the host or station.
    pub wires: Vec<Wire>,
}

/// The part for `me`. Without `me`, it has no links and no connections.
pub fn part(loaded: &Loaded, scheme: usize, me: Option<HostId>) -> Result<Part, SpecError> {
    let builder = of_machine(loaded, scheme, me, Start::default())?;
    let wires = |me: HostId| builder.wiring.of(builder.graph.hosts[me.at()]).to_vec();
    let wires = me.map(wires).unwrap_or_default();
    let Builder { graph, stations, plan, .. } = builder;
    Ok(Part { graph, stations, plan, wires })
}

/// One start of the process of a machine.
#[derive(Clone, Copy, Default)]
pub struct Start {
    /// A number that differs with each start.
    pub incarnation: u64,
    /// Whether allocators of Fastpass have threads of their own.
    pub threads: bool,
}

/// The node of host or station `me`.
pub fn node(
    loaded: &Loaded,
    scheme: usize,
    me: HostId,
    start: Start,
) -> Result<Box<dyn Node>, SpecError> {
    let builder = of_machine(loaded, scheme, Some(me), start)?;
    let place = match builder.stations.iter().position(|station| *station == me) {
        Some(at) => builder.station(at)?,
        None => builder.host(me, builder.graph.hosts[me.at()])?,
    };
    match place {
        Place::Node(node) => Ok(node),
        _ => Err(SpecError::new("control", "no node of the scheme runs on hosts")),
    }
}

/// A switch of a scheme, or the scheduler of its circuits, as a machine of a real network.
pub struct SwitchPart {
    /// The node.
    pub node: Box<dyn Node>,
    /// Its links.
    pub wires: Vec<Wire>,
    /// The framing of packets.
    pub plan: Arc<Plan>,
}

/// The switch of a scheme at `node`.
pub fn switch(loaded: &Loaded, scheme: usize, node: NodeId) -> Result<SwitchPart, SpecError> {
    let builder = of_machine(loaded, scheme, None, Start::default())?;
    let wires = builder.wiring.of(node).to_vec();
    Ok(SwitchPart { node: builder.machine(node)?, wires, plan: builder.plan })
}

/// A switch that chooses among paths, as a machine of a real network.
pub struct EdgePart {
    /// Its links.
    pub wires: Vec<Wire>,
    /// The framing of packets.
    pub plan: Arc<Plan>,
    /// The switches above, and the ports of the switch towards them.
    pub up: Vec<NodeId>,
    pub ports: Vec<PortId>,
    /// By path, the one of `up` to which its packets go.
    pub paths: Vec<usize>,
}

/// The switch at `node` among those that choose paths; `None` if it has no choice, or if the number of a path does not
/// decide it alone.
pub fn edge(loaded: &Loaded, scheme: usize, node: NodeId) -> Result<Option<EdgePart>, SpecError> {
    let builder = of_machine(loaded, scheme, None, Start::default())?;
    let wires = builder.wiring.of(node).to_vec();
    let Some((ports, paths)) = builder.ways(node) else { return Ok(None) };
    let up = ports.iter().map(|port| wires[port.at()].far.node).collect();
    Ok(Some(EdgePart { wires, plan: builder.plan, up, ports, paths }))
}

/// The node of a switch that chooses paths: machine `me`, which counts the flows of these hosts.
pub fn edge_node(
    loaded: &Loaded,
    scheme: usize,
    me: HostId,
    hosts: &[HostId],
) -> Result<Box<dyn Node>, SpecError> {
    let builder = of_machine(loaded, scheme, None, Start::default())?;
    let node = builder.system.as_ref().and_then(|s| s.edge((me, hosts), &builder.surroundings()));
    node.ok_or_else(|| SpecError::new("control", "the scheme has no nodes for switches"))
}

impl Builder<'_> {
    /// The ports of a switch among which paths choose, and by path the one of them that it takes.
    fn ways(&self, node: NodeId) -> Option<(Vec<PortId>, Vec<usize>)> {
        let hosts = || (0..(self.graph.hosts.len() - self.stations.len()) as u32).map(HostId);
        let choices = |dst| self.routes.choices(node, dst);
        let several: Vec<HostId> = hosts().filter(|dst| choices(*dst).len() > 1).collect();
        let mut up: Vec<PortId> = several.iter().flat_map(|dst| choices(*dst).iter()).collect();
        up.sort_unstable();
        up.dedup();
        let pairs = hosts().flat_map(|src| hosts().map(move |dst| (src, dst)));
        let numbers = |(src, dst)| self.routes.numbers(&self.wiring, src, dst);
        let count = pairs.map(numbers).max().unwrap_or(0);
        let way = |path: u32| {
            let taken = |dst: &HostId| self.routes.next(node, *dst, path as u16);
            let first = several.first().and_then(taken)?;
            let same = several.iter().all(|dst| taken(dst) == Some(first));
            up.iter().position(|port| *port == first && same)
        };
        let paths = (0..count).map(way).collect::<Option<Vec<usize>>>()?;
        (!paths.is_empty()).then_some((up, paths))
    }
}

fn of_machine(
    loaded: &Loaded,
    scheme: usize,
    host: Option<HostId>,
    Start { incarnation, threads }: Start,
) -> Result<Builder<'_>, SpecError> {
    let scenario = &loaded.scenario;
    let outside = Outside::Machine { host, incarnation, threads };
    builder(scenario, scheme, scenario.seed.into(), loaded, outside)
}
