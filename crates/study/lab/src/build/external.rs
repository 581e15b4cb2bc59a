//! Hosts whose applications are outside of the network.

use super::Builder;
use slotline_net::id::{HostId, NodeId};
use slotline_net::node::external_host::ExternalHost;
use slotline_net::node::host::{Egress, Nic, NicConfig};
use slotline_sim::Place;
use std::sync::Arc;

impl Builder<'_> {
    pub(super) fn external_host(&self, id: HostId, node: NodeId, egress: Egress) -> Place {
        let config = NicConfig {
            node,
            routes: Arc::clone(&self.routes),
            egress,
            priorities: self.queue_spec.priorities,
            tsq_limit: self.plan.transport.tsq_limit(),
        };
        let wires = self.wiring.of(node);
        let paces: Vec<_> = wires.iter().map(|wire| wire.lane.rate.inverse_rate()).collect();
        let nic = Nic::new(config, &paces);
        let plan = Arc::clone(&self.plan);
        Place::Node(Box::new(ExternalHost::new(id, plan, nic, self.loss(id), self.seed)))
    }
}
