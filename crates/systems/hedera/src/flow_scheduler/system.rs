//! The flow scheduler in a network: it runs on a station of its own and uses the flow tables of edge switches.

use super::FlowScheduler;
use super::spec::FlowScheduling;
use crate::node::SchedulerNode;
use slotline_net::error::SpecError;
use slotline_net::id::HostId;
use slotline_net::node::Node;
use slotline_net::node::agent::Agent;
use slotline_net::route::RoutingSpec;
use slotline_net::scheme::system::{
    MakeNode, PerFlow, Station, Surroundings, System, one_card_each,
};
use slotline_net::scheme::{Activity, Conditions, Network, Proposal};
use slotline_net::time::Time;
use slotline_net::topology::Graph;

impl System for FlowScheduling {
    fn stations(&self, graph: &Graph) -> Result<Vec<Station>, SpecError> {
        one_card_each(graph, "flow-scheduler")?;
        self.messages.stations(graph)
    }
    fn station(&self, _at: usize, around: &Surroundings<'_>) -> Result<MakeNode, SpecError> {
        let network = around.network().first(around.hosts());
        let (options, map, host) = (self.clone(), around.map(), around.stations[0]);
        Ok(Box::new(move || {
            let control = Box::new(FlowScheduler::new(network.clone(), options.forget));
            Box::new(SchedulerNode::new(host, options.messages.clone(), control, map.clone()))
        }))
    }
    fn agent(&self, host: HostId, around: &Surroundings<'_>) -> Result<Box<dyn Agent>, SpecError> {
        self.messages.agent(host, around)
    }
    fn times_packets(&self) -> bool {
        false
    }
    fn path_life(&self) -> Option<Time> {
        self.messages.path_life()
    }
    fn edge(
        &self,
        machine: (HostId, &[HostId]),
        around: &Surroundings<'_>,
    ) -> Option<Box<dyn Node>> {
        self.messages.edge(machine, around)
    }
    fn routing(&self) -> Option<RoutingSpec> {
        Some(RoutingSpec::Pinned)
    }
    fn proposals(&self, conditions: &Conditions) -> Vec<Proposal> {
        crate::fit::proposals(self.messages.spec(), false, conditions)
    }
    fn activity(&self) -> Activity {
        crate::fit::ACTIVITY
    }
    fn per_flow(&self, network: &Network, _seed: u64) -> Result<Option<PerFlow>, SpecError> {
        let spec = self.messages.spec();
        Ok(Some(PerFlow {
            control: Box::new(FlowScheduler::new(network.clone(), self.forget)),
            poll: spec.poll,
            threshold: spec.threshold,
            computing: spec.computing,
            install: spec.install,
        }))
    }
}
