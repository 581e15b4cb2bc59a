//! Builds the network of a scenario for the flow-level engine, for one scheme and one seed.

use crate::build;
use slotline_net::error::SpecError;
use slotline_net::id::NodeId;
use slotline_net::node::Change;
use slotline_net::node::host::Plan;
use slotline_net::route::Routes;
use slotline_net::scheme::{Map, PerFlow};
use slotline_net::time::Time;
use slotline_net::topology::{Graph, Wiring};
use slotline_net::units::Rate;
use slotline_scenario::{EngineSpec, Files, FlowSpec, RatesSpec, Scenario};
use slotline_sim::flow::{AimdOptions, FlowNetwork, Model};
use std::sync::Arc;

/// A network of flows ready to run.
pub struct FlowAssembly {
    /// The network.
    pub network: FlowNetwork,
    /// The ports of each node and the links at them.
    pub wiring: Wiring,
    /// Flows that must be complete before the run can end.
    pub flows: u64,
}

/// Builds one run: scheme number `at` of `scenario` under `seed`.
///
/// # Errors
/// The scenario asks for something that the flow-level engine cannot do.
pub fn build(
    scenario: &Scenario,
    at: usize,
    seed: u64,
    files: &Files<'_>,
) -> Result<FlowAssembly, SpecError> {
    let EngineSpec::Flow(spec) = &scenario.engine else {
        return Err(SpecError::new("engine", "`engine` is not \"flow\""));
    };
    let parts = build::parts(scenario, at, seed, files)?;
    let scheduler = scheduler(&parts, seed).map_err(|e| e.within(format_args!("scheme[{at}]")))?;
    let flows = parts.plan.traffic.flows.len() as u64;
    let timeline = without_repeated_routes(parts.timeline);
    let network = FlowNetwork {
        graph: parts.graph,
        plan: parts.plan,
        routes: parts.routes,
        timeline,
        sampled: parts.sampled,
        interval: scenario.measure.sample.unwrap_or_default(),
        model: model(spec),
        weights: std::array::from_fn(|class| spec.weights.get(class).copied().unwrap_or(1.0)),
        store_and_forward: true,
        classifier: scenario.scheme[at].classifies(),
        scheduler,
        seed,
    };
    Ok(FlowAssembly { network, wiring: parts.wiring, flows })
}

/// The parts of a run that both engines need.
pub struct Parts {
    /// The network.
    pub graph: Graph,
    /// The ports of each node and the links at them.
    pub wiring: Wiring,
    /// Traffic, transport and path choice.
    pub plan: Arc<Plan>,
    /// Routes at the start.
    pub routes: Arc<Routes>,
    /// Changes of nodes, with their times.
    pub timeline: Vec<(Time, NodeId, Change)>,
    /// Ports that are sampled.
    pub sampled: Vec<(NodeId, slotline_net::id::PortId)>,
    /// The central scheme.
    pub system: Option<Box<dyn slotline_net::scheme::System>>,
}

/// Removes repeated changes of routes. Each node gets a change of its own, but the flow-level engine needs only one.
/// Routes are always those of the whole network, even if only some switches have new ones.
fn without_repeated_routes(timeline: Vec<(Time, NodeId, Change)>) -> Vec<(Time, NodeId, Change)> {
    let mut last: Option<Arc<Routes>> = None;
    let mut is_new = |(_, _, change): &(Time, NodeId, Change)| {
        let Change::Routes(routes) = change else { return true };
        let known = last.as_ref().is_some_and(|last| Arc::ptr_eq(last, routes));
        last = Some(Arc::clone(routes));
        !known
    };
    timeline.into_iter().filter(|change| is_new(change)).collect()
}

/// The central scheme, asked about flows by their counts.
///
/// # Errors
/// It decides about packets.
pub(crate) fn scheduler(parts: &Parts, seed: u64) -> Result<Option<PerFlow>, SpecError> {
    let Some(system) = &parts.system else { return Ok(None) };
    let (nodes, hosts) = (parts.graph.nodes.len(), parts.graph.hosts.len());
    let network = Map::new(nodes, hosts, &parts.wiring, &parts.routes, seed).network();
    let scheme = system.per_flow(&network, seed)?;
    let unable = || SpecError::new("control", "the scheme decides about packets, not about flows");
    scheme.ok_or_else(unable).map(Some)
}

fn model(spec: &FlowSpec) -> Model {
    match spec.rates {
        RatesSpec::MaxMin => Model::MaxMin { tolerance: spec.tolerance },
        RatesSpec::Aimd => Model::Aimd(AimdOptions {
            tick: spec.tick.unwrap_or(Time::us(100)),
            increase: spec.increase.unwrap_or(Rate(120_000_000)).0 as f64 / 8.0,
        }),
    }
}
