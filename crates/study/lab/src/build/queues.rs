//! The queues that the engine itself manages at ports.

use super::{Builder, Outside};
use slotline_net::aqm::spec::{EcnSpec, Policy, SharedSpec};
use slotline_net::aqm::{Discipline, queue_stream};
use slotline_net::id::{NodeId, PortId};
use slotline_net::scheme::SchemeSwitches;
use slotline_net::topology::{NodeInfo, NodeKind, Wire};
use slotline_sim::Queue;
use std::collections::BTreeMap;

impl Builder<'_> {
    /// Whether the engine's own plain switch is sufficient at `node`. A port whose rate changes needs a queue that
    /// holds packets until they leave.
    pub(super) fn is_plain(&self, node: NodeId) -> bool {
        let queue = &self.queue_spec;
        let bumped = self.taps.iter().chain(&self.limits).any(|end| end.node == node);
        let plain =
            queue.is_fifo(self.has_classes()) && !bumped && self.scheme.classifies().is_none();
        plain && !self.changes(self.wiring.of(node))
    }

    /// Whether priorities may have an effect: packets may be of several classes.
    fn has_classes(&self) -> bool {
        let is_inside = self.outside == Outside::None && self.system.is_none() && !self.is_open;
        let one = is_inside && self.plan.has_one_class() && !self.scheme.notifies();
        self.queue_spec.priorities && !one
    }

    /// Whether hosts select each packet at the time of sending. Schedulers, pause frames, classes and rates that change
    /// need this.
    pub(super) fn pulls(&self, wires: &[Wire]) -> bool {
        let queue = &self.queue_spec;
        let asks = self.agents().is_some() || self.scheme.notifies();
        let external = self.outside != Outside::None;
        external || asks || queue.pfc.is_some() || queue.priorities || self.changes(wires)
    }

    /// Whether packets that wait in a host's card leave in order, although it has classes.
    pub(super) fn sends_in_order(&self, wires: &[Wire]) -> bool {
        let is_paused = self.queue_spec.pfc.is_some();
        let is_inside = self.outside == Outside::None;
        is_inside && !is_paused && !self.changes(wires) && self.plan.has_one_class()
    }

    pub(super) fn queues(&self) -> Vec<Vec<Queue>> {
        let of_node = |(node, info): (usize, &NodeInfo)| {
            let id = NodeId(node as u32);
            let wires = self.wiring.of(id);
            let switches = self.scheme_switches().filter(|_| info.kind == NodeKind::Switch);
            if let Some(switches) = switches {
                return (0..).zip(wires).map(|at| self.scheme_queue(switches, id, at)).collect();
            }
            let pulled = match info.kind {
                NodeKind::Host => self.pulls(wires) && !self.is_station(node),
                NodeKind::Switch => !self.is_plain(NodeId(node as u32)),
                NodeKind::Control => false,
            };
            let is_control =
                |wire: &Wire| self.graph.nodes[wire.far.node.at()].kind == NodeKind::Control;
            let fifo = |wire: &Wire| match info.kind {
                NodeKind::Host if is_control(wire) => Queue::default(),
                NodeKind::Switch if !pulled => self.queue(wire),
                _ => Queue { pulled, ..Queue::default() },
            };
            wires.iter().map(fifo).collect()
        };
        self.graph.nodes.iter().enumerate().map(of_node).collect()
    }

    /// The buffers that the ports of plain switches share.
    pub(super) fn buffers(&self) -> BTreeMap<NodeId, SharedSpec> {
        let Some(shared) = self.queue_spec.shared else { return BTreeMap::new() };
        let is_switch = |node: &NodeId| self.graph.nodes[node.at()].kind == NodeKind::Switch;
        let nodes = (0..self.graph.nodes.len() as u32).map(NodeId);
        let plain = nodes.filter(|node| is_switch(node) && self.is_plain(*node));
        plain.map(|node| (node, shared)).collect()
    }

    /// A port of a switch of the scheme.
    fn scheme_queue(
        &self,
        switches: &dyn SchemeSwitches,
        node: NodeId,
        (port, wire): (u16, &Wire),
    ) -> Queue {
        let port = PortId(port);
        if switches.has_plain_queue(node, port) {
            return self.queue(wire);
        }
        Queue { pulled: switches.pulls(node, port), ..Queue::default() }
    }

    /// A plain switch's FIFO.
    fn queue(&self, wire: &Wire) -> Queue {
        let spec = &self.queue_spec;
        let stream = queue_stream(self.seed, wire.key, 0);
        let marker = spec.marker(wire.lane.rate.inverse_rate(), self.largest(), stream);
        // The port itself compares with a threshold.
        let decides = marker.marks_above().is_none() || marker.decides_on_departure();
        Queue {
            pulled: false,
            limit: Some(spec.limit),
            mark: match spec.policy {
                Policy::Ecn(EcnSpec { threshold, .. }) if !decides => Some(threshold),
                _ => None,
            },
            marker: decides.then_some(marker),
            largest: self.largest(),
        }
    }
}
