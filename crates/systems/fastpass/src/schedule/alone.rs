//! The schedule of a network by itself, without nodes and stations.

use super::EmptySchedule;
use crate::paths::Fabric;
use crate::spec::Fastpass;
use crate::timing::{Timing, lanes};
use slotline_net::error::SpecError;
use slotline_net::node::host::{Plan, Spread};
use slotline_net::route::{Routes, RoutingSpec};
use slotline_net::scheme::Surroundings;
use slotline_net::topology::{Down, TopologySpec};
use slotline_net::transport::TransportSpec;
use slotline_net::transport::congestion::AlgorithmKind;
use slotline_net::workload::Traffic;
use std::sync::Arc;

impl EmptySchedule {
    /// Prepares a schedule for the hosts of a network.
    ///
    /// # Errors
    /// The network is not valid, or Fastpass cannot work there.
    pub fn of_network(
        options: &Fastpass,
        network: &TopologySpec,
    ) -> Result<EmptySchedule, SpecError> {
        let graph = network.build()?;
        let transport = TransportSpec::of(AlgorithmKind::NewReno).build()?;
        let keys = graph.host_keys();
        let plan = Plan::new(Traffic::default(), transport, Spread::Pinned, keys, 1)?;
        let around = Surroundings {
            wiring: &graph.wiring(),
            routes: &Arc::new(Routes::build(&graph, RoutingSpec::Pinned, &Down::default(), 1)),
            plan: &Arc::new(plan),
            stations: &[],
            seed: 1,
            incarnation: 0,
            elected: false,
            graph: &graph,
        };
        let fabric = Arc::new(Fabric::new(&around, Timing::new(options, &around)?.slowest)?);
        EmptySchedule::new(options, &fabric, &lanes(&around)?)
    }
}
