//! Route changes after failures, at the times at which switches detect them.

use slotline_net::id::NodeId;
use slotline_net::node::Change;
use slotline_net::route::recovery::{LinkChange, RecoverySpec, Step, simulate};
use slotline_net::route::{Routes, RoutingSpec};
use slotline_net::time::Time;
use slotline_net::topology::{Down, Graph, NodeKind};
use std::sync::Arc;

/// The inputs that determine the routes of a run.
pub struct Ground<'a> {
    /// The network, stations included.
    pub graph: &'a Graph,
    /// How paths are chosen.
    pub routing: RoutingSpec,
    /// The seed of the run.
    pub seed: u64,
    /// The end of the run. Nothing happens at this time or later.
    pub end: Time,
}

/// The route changes of each switch, at the times at which its own table changes. Hosts and stations get every change,
/// because they use the routes of the switches.
pub fn follow(
    ground: &Ground<'_>,
    spec: &RecoverySpec,
    changes: &[LinkChange],
) -> Vec<(Time, NodeId, Change)> {
    let Ground { graph, routing, seed, end } = *ground;
    let convergence = simulate(graph, spec, changes, end, seed);
    let hosts = |node: &NodeId| graph.nodes[node.at()].kind == NodeKind::Host;
    let ends: Vec<NodeId> = (0..graph.nodes.len() as u32).map(NodeId).filter(hosts).collect();
    let updates = |step: &Step| {
        let down = Down::default();
        let routes = Arc::new(Routes::build_avoiding(graph, routing, &down, &step.avoid, seed));
        let at = step.at;
        let nodes: Vec<NodeId> = step.nodes.iter().chain(&ends).copied().collect();
        nodes.into_iter().map(move |node| (at, node, Change::Routes(Arc::clone(&routes))))
    };
    convergence.steps.iter().flat_map(updates).collect()
}
