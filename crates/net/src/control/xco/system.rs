//! XCo in a network: one controller, and a coordinator in every host.

use super::Xco;
use crate::control::system::{MakeNode, Station, Surroundings, System};
use crate::error::SpecError;
use crate::id::HostId;
use crate::node::agent::Agent;
use crate::topology::Graph;

impl System for Xco {
    fn stations(&self, graph: &Graph) -> Result<Vec<Station>, SpecError> {
        let one_card = |links: &u16| *links == 1;
        let ports = graph.ports();
        if !graph.hosts.iter().map(|node| &ports[node.at()]).all(one_card) {
            let message = "xco schedules hosts with one network card: set nics = 1 in the fabric";
            return Err(SpecError::new("control", message));
        }
        Ok(vec![Station::uppermost("controller", graph)?])
    }
    fn station(&self, _at: usize, around: &Surroundings<'_>) -> Result<MakeNode, SpecError> {
        let (xco, network, host) = (self.clone(), around.network(), around.stations[0]);
        let scheduler = around.scheduler.clone();
        Ok(Box::new(move || {
            let network = network.clone();
            let hosts = network.hosts();
            let control = match &scheduler {
                Some(make) => make(network),
                None => xco.control(network),
            };
            Box::new(xco.controller_of(host, hosts, control))
        }))
    }
    fn agent(&self, host: HostId, around: &Surroundings<'_>) -> Result<Box<dyn Agent>, SpecError> {
        Ok(Box::new(self.coordinator(host, around.stations[0])))
    }
}
