//! The parts of a network that daemons run: one host, one station, or one switch of a scheme.

use super::{Builder, Outside, builder};
use slotline_net::error::SpecError;
use slotline_net::id::{HostId, NodeId};
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
    let builder = of_machine(loaded, scheme, me, 0)?;
    let wires = |me: HostId| builder.wiring.of(builder.graph.hosts[me.at()]).to_vec();
    let wires = me.map(wires).unwrap_or_default();
    let Builder { graph, stations, plan, .. } = builder;
    Ok(Part { graph, stations, plan, wires })
}

/// The node of host or station `me`, for one start of its process.
pub fn node(
    loaded: &Loaded,
    scheme: usize,
    me: HostId,
    incarnation: u64,
) -> Result<Box<dyn Node>, SpecError> {
    let builder = of_machine(loaded, scheme, Some(me), incarnation)?;
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
    let builder = of_machine(loaded, scheme, None, 0)?;
    let wires = builder.wiring.of(node).to_vec();
    Ok(SwitchPart { node: builder.machine(node)?, wires, plan: builder.plan })
}

fn of_machine(
    loaded: &Loaded,
    scheme: usize,
    host: Option<HostId>,
    incarnation: u64,
) -> Result<Builder<'_>, SpecError> {
    let scenario = &loaded.scenario;
    let outside = Outside::Machine { host, incarnation };
    builder(scenario, scheme, scenario.seed.into(), loaded, outside)
}
