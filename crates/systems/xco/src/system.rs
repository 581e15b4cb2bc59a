//! XCo in a network: its controllers, and a coordinator in every host.

use super::levels::{Levels, links_below};
use super::scheduler::{OnDemand, RateLimit, Timeslice};
use super::spec::{Controllers, Mode, Xco};
use crate::node::controller::Controller;
use crate::node::controller::hierarchy::{Below, Hierarchy};
use crate::node::controller::standby::Standby;
use crate::node::coordinator::Coordinator;
use slotline_net::error::SpecError;
use slotline_net::id::{HostId, NodeId};
use slotline_net::node::agent::Agent;
use slotline_net::rng::Stream;
use slotline_net::scheme::system::{MakeNode, Station, Surroundings, System, one_card_each};
use slotline_net::scheme::{Activity, Conditions, Control, Network, Proposal};
use slotline_net::time::Time;
use slotline_net::topology::{Graph, NodeKind};

impl System for Xco {
    /// A scheduler of the calling program has periods of its own.
    fn proposals(&self, conditions: &Conditions) -> Vec<Proposal> {
        match self.scheduler {
            None => crate::fit::proposals(self.spec(), conditions),
            Some(_) => Vec::new(),
        }
    }
    fn turn(&self) -> Option<Time> {
        Some(self.spec().slice)
    }
    fn activity(&self) -> Activity {
        crate::fit::ACTIVITY
    }
    fn stations(&self, graph: &Graph) -> Result<Vec<Station>, SpecError> {
        one_card_each(graph, "xco")?;
        let first = Station::uppermost("controller", graph)?;
        Ok(match self.spec().controllers {
            Controllers::Single => vec![first],
            Controllers::Standby => {
                vec![first, Station::uppermost("controller-standby", graph)?]
            }
            Controllers::Hierarchical => {
                let levels = self.levels(graph, graph.hosts.len())?;
                let station = |(_, switch): (u8, NodeId)| Station {
                    name: format!("controller-{}", graph.nodes[switch.at()].name),
                    switch,
                    lane: first.lane,
                };
                levels.switches().into_iter().map(station).collect()
            }
        })
    }
    fn station(&self, at: usize, around: &Surroundings<'_>) -> Result<MakeNode, SpecError> {
        let weights = around.weights(&self.spec().weights).map_err(|e| e.within("control"))?;
        let xco = self.clone().with_weights(weights);
        let (map, host) = (around.map(), around.stations[at]);
        let place = self.place(at, around)?;
        Ok(Box::new(move || {
            let network = map.network();
            let hosts = network.hosts();
            let control = xco.control(network);
            let controller = xco.controller_of(host, hosts, control).with_map(map.clone());
            Box::new(place.clone().give(&xco, controller))
        }))
    }
    fn check_discovery(&self) -> Result<(), SpecError> {
        Ok(())
    }
    fn agent(&self, host: HostId, around: &Surroundings<'_>) -> Result<Box<dyn Agent>, SpecError> {
        let coordinator = match self.spec().controllers {
            Controllers::Single => self.coordinator(host, around.stations[0]),
            Controllers::Standby => Coordinator::below(self, host, vec![around.stations.to_vec()]),
            Controllers::Hierarchical => {
                let levels = self.levels(around.graph, around.hosts())?;
                let above = levels.above(host).map(|switch| vec![station_at(switch, around)]);
                Coordinator::below(self, host, above.collect()).with_levels(levels)
            }
        };
        let phase = Stream::named(around.seed, "xco.report", around.plan.host_key(host));
        let node = around.graph.hosts[host.at()];
        let line = around.wiring.of(node).first().map(|wire| wire.lane.rate);
        let coordinator = coordinator.with_machines(around.plan).with_phase(phase);
        Ok(Box::new(line.into_iter().fold(coordinator, Coordinator::with_line)))
    }
}

impl Xco {
    /// Makes the scheduler alone.
    pub fn control(&self, network: Network) -> Box<dyn Control> {
        if let Some(make) = &self.scheduler {
            return make.control(network);
        }
        let all: Box<dyn Control> = match self.spec().mode {
            Mode::Timeslice => Box::new(Timeslice::new(self, network.clone())),
            Mode::RateLimit => Box::new(RateLimit::new(self, network.clone())),
        };
        match &self.spec().on_demand {
            None => all,
            Some(options) => Box::new(OnDemand::new(options, network, all)),
        }
    }
    /// Makes the node that runs the scheduler on `host`, a host of its own in `network`.
    pub fn controller(&self, host: HostId, network: Network) -> Controller {
        let hosts = network.hosts();
        self.controller_of(host, hosts, self.control(network))
    }
    /// Makes the node for another scheduler than XCo's, for `hosts` hosts. Its decisions take the same time.
    pub fn controller_of(
        &self,
        host: HostId,
        hosts: usize,
        control: Box<dyn Control>,
    ) -> Controller {
        Controller::new(host, hosts, self.spec().decision_time, self.spec().timeout(), control)
    }
    /// Makes the standby state of one of two controllers, beside `peer`. The `active` one has control first.
    pub fn standby(&self, peer: HostId, active: bool) -> Standby {
        Standby::new(peer, self.spec().beat(), self.spec().takeover(), active)
    }
    /// Makes the agent of `host`, whose controller runs on `controller`.
    pub fn coordinator(&self, host: HostId, controller: HostId) -> Coordinator {
        Coordinator::new(self, host, controller)
    }
}

/// The role of a controller among the others.
#[derive(Clone)]
enum Place {
    Alone,
    Beside { peer: HostId, active: bool },
    InTree(u8, Hierarchy),
}

impl Place {
    fn give(self, xco: &Xco, controller: Controller) -> Controller {
        match self {
            Place::Alone => controller,
            Place::Beside { peer, active } => controller.with_standby(xco.standby(peer, active)),
            Place::InTree(level, hierarchy) => controller.in_tree(level, hierarchy),
        }
    }
}

impl Xco {
    fn place(&self, at: usize, around: &Surroundings<'_>) -> Result<Place, SpecError> {
        Ok(match self.spec().controllers {
            Controllers::Single => Place::Alone,
            Controllers::Standby => {
                Place::Beside { peer: around.stations[1 - at], active: at == 0 }
            }
            Controllers::Hierarchical => {
                let levels = self.levels(around.graph, around.hosts())?;
                let (level, switch) = levels.switches()[at];
                Place::InTree(level, self.hierarchy(&levels, level, switch, around))
            }
        })
    }
    fn hierarchy(
        &self,
        levels: &Levels,
        level: u8,
        switch: NodeId,
        around: &Surroundings<'_>,
    ) -> Hierarchy {
        let map = around.map();
        let links = |switch: NodeId| -> Vec<u32> {
            let ends = links_below(around.graph, switch);
            ends.into_iter().map(|end| map.link(end.node, end.port)).collect()
        };
        let (up, down) = levels.around(level, switch);
        let above = up.into_iter().map(|switch| station_at(switch, around)).collect();
        let below = |switch| Below::new(station_at(switch, around), links(switch));
        let below = down.into_iter().map(below).collect();
        let spec = self.spec();
        Hierarchy::new(above, below, links(switch), spec.beat(), spec.timeout(), spec.slice)
    }
}

/// The station attached to a switch. Each switch of a hierarchy has one.
fn station_at(switch: NodeId, around: &Surroundings<'_>) -> HostId {
    let at = |host: &&HostId| {
        let node = around.graph.hosts[host.at()];
        let own = around.wiring.of(node).first();
        own.is_some_and(|wire| wire.far.node == switch)
            && around.graph.nodes[switch.at()].kind == NodeKind::Switch
    };
    *around.stations.iter().find(at).expect("every switch of a hierarchy has a station")
}
