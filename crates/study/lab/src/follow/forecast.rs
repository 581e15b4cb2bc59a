//! Foresees which flows of a run will be the slowest.

use slotline_net::frame::CLASSES;
use slotline_net::node::host::Plan;
use slotline_net::time::Time;
use slotline_sim::flow::{self, FlowNetwork, Model};
use slotline_sim::{Network, Options, Watch};
use std::cmp::Reverse;
use std::sync::Arc;

/// The flows of a run on `network`, in the order in which they would end if rates were max-min fair; the last one first.
pub(super) fn slowest_first(network: &Network, plan: &Arc<Plan>, seed: u64) -> Vec<u32> {
    let completions = plan.traffic.flows.len() as u64;
    let options = Options { threads: 1, end: Time::MAX, completions };
    let ended = flow::run(fluid(network, plan, seed), options, &Watch::default()).flows;
    let mut flows: Vec<u32> = (0..completions as u32).collect();
    flows.sort_by_key(|flow| Reverse(ended[*flow as usize].finished));
    flows
}

/// The same network without packets.
fn fluid(network: &Network, plan: &Arc<Plan>, seed: u64) -> FlowNetwork {
    FlowNetwork {
        graph: network.graph.clone(),
        plan: Arc::clone(plan),
        routes: Arc::clone(&network.routes),
        timeline: vec![],
        sampled: vec![],
        interval: Time::ZERO,
        model: Model::MaxMin { tolerance: 0.0 },
        weights: [1.0; CLASSES],
        store_and_forward: true,
        classifier: None,
        scheduler: None,
        seed,
    }
}
