//! Hosts whose applications are outside of the network.

use super::{Builder, Outside};
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
        // A real machine has the shaper that its own kernel has.
        let shaper = plan.transport.shaper().filter(|_| self.outside == Outside::All);
        let host = ExternalHost::new(id, plan, nic, self.loss(id), self.seed);
        Place::Node(Box::new(host.with_shaper(shaper)))
    }
}
