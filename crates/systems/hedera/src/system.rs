//! Hedera in a network: the scheduler runs on a host of its own, and the flow table of an edge switch is at the link
//! of each host.

use super::scheduler::Scheduler;
use super::spec::Hedera;
use super::survivors::Survivors;
use crate::node::{EdgeAgent, EdgeSwitch, SchedulerNode, TableConfig};
use slotline_net::error::SpecError;
use slotline_net::id::HostId;
use slotline_net::node::Node;
use slotline_net::node::agent::Agent;
use slotline_net::node::host::Spread;
use slotline_net::route::RoutingSpec;
use slotline_net::scheme::system::{
    MakeNode, PerFlow, Station, Surroundings, System, one_card_each,
};
use slotline_net::scheme::{Activity, Conditions, Network, Proposal};
use slotline_net::time::Time;
use slotline_net::topology::Graph;

impl Hedera {
    /// The table of a host none of whose connections is known before.
    fn table(&self, host: HostId, around: &Surroundings<'_>) -> TableConfig {
        let wires = around.wiring.of(around.graph.hosts[host.at()]);
        TableConfig {
            host,
            options: self.clone(),
            line: wires.first().map(|wire| wire.lane.rate).unwrap_or_default(),
            conns: 0..0,
            destinations: Vec::new(),
        }
    }
}

impl System for Hedera {
    fn stations(&self, graph: &Graph) -> Result<Vec<Station>, SpecError> {
        one_card_each(graph, "hedera")?;
        let mut station = Station::uppermost("scheduler", graph)?;
        station.lane.rate = self.spec().scheduler_rate.unwrap_or(station.lane.rate);
        Ok(vec![station])
    }
    fn station(&self, _at: usize, around: &Surroundings<'_>) -> Result<MakeNode, SpecError> {
        let network = around.network().first(around.hosts());
        let (options, map, host) = (self.clone(), around.map(), around.stations[0]);
        let seed = around.seed;
        Ok(Box::new(move || {
            let control = Box::new(Scheduler::new(options.clone(), &network, seed));
            Box::new(SchedulerNode::new(host, options.clone(), control, map.clone()))
        }))
    }
    fn agent(&self, host: HostId, around: &Surroundings<'_>) -> Result<Box<dyn Agent>, SpecError> {
        let sends = around.plan.sends(host);
        let conns = &around.plan.traffic.conns;
        let table = TableConfig {
            destinations: sends.clone().map(|conn| conns[conn as usize].dst).collect(),
            conns: sends,
            ..self.table(host, around)
        };
        Ok(Box::new(EdgeAgent::new(table, around.stations[0])))
    }
    fn path_life(&self) -> Option<Time> {
        Some(self.expire())
    }
    fn edge(
        &self,
        (me, hosts): (HostId, &[HostId]),
        around: &Surroundings<'_>,
    ) -> Option<Box<dyn Node>> {
        let tables = hosts.iter().map(|host| self.table(*host, around)).collect();
        let whole = around.network().first(around.hosts());
        let survivors = Survivors::new(whole, Default::default());
        let ends = (me, around.stations[0]);
        Some(Box::new(EdgeSwitch::new(self.clone(), tables, ends, survivors)))
    }
    fn routing(&self) -> Option<RoutingSpec> {
        Some(RoutingSpec::Pinned)
    }
    fn times_packets(&self) -> bool {
        false
    }
    /// A connection without a path from the scheduler takes that of its hash, as with equal-cost multipath (§4.1.1).
    fn spread(&self, _by_routing: Option<Spread>) -> Spread {
        Spread::PerFlow
    }
    fn proposals(&self, conditions: &Conditions) -> Vec<Proposal> {
        crate::fit::proposals(self.spec(), true, conditions)
    }
    fn activity(&self) -> Activity {
        crate::fit::ACTIVITY
    }
    fn per_flow(&self, network: &Network, seed: u64) -> Result<Option<PerFlow>, SpecError> {
        let spec = self.spec();
        Ok(Some(PerFlow {
            control: Box::new(Scheduler::new(self.clone(), network, seed)),
            poll: spec.poll,
            threshold: spec.threshold,
            computing: spec.computing.after(spec.gather),
            install: spec.install,
        }))
    }
}
