//! Routes that follow failures as switches find out about them, as part of a run's timeline.

use slotline_net::id::NodeId;
use slotline_net::node::Change;
use slotline_net::route::recovery::{LinkChange, RecoverySpec, Step, simulate};
use slotline_net::route::{Routes, RoutingSpec};
use slotline_net::time::Time;
use slotline_net::topology::{Down, Graph, NodeKind};
use std::sync::Arc;

/// What a run's routes follow from.
pub struct Ground<'a> {
    /// The network, stations included.
    pub graph: &'a Graph,
    /// How paths are chosen.
    pub routing: RoutingSpec,
    /// The seed of the run.
    pub seed: u64,
    /// Nothing at or after this time happens.
    pub end: Time,
}

/// Tells each switch its routes when its own table changes. Hosts, and the stations of a scheme, are told
/// each time: what they know of the network is what its switches do.
pub fn follow(
    ground: &Ground<'_>,
    spec: &RecoverySpec,
    changes: &[LinkChange],
) -> Vec<(Time, NodeId, Change)> {
    let Ground { graph, routing, seed, end } = *ground;
    let story = simulate(graph, spec, changes, end, seed);
    let hosts = |node: &NodeId| graph.nodes[node.at()].kind == NodeKind::Host;
    let ends: Vec<NodeId> = (0..graph.nodes.len() as u32).map(NodeId).filter(hosts).collect();
    let told = |step: &Step| {
        let down = Down::default();
        let routes = Arc::new(Routes::build_avoiding(graph, routing, &down, &step.avoid, seed));
        let at = step.at;
        let nodes: Vec<NodeId> = step.nodes.iter().chain(&ends).copied().collect();
        nodes.into_iter().map(move |node| (at, node, Change::Routes(Arc::clone(&routes))))
    };
    story.steps.iter().flat_map(told).collect()
}
