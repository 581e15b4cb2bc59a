//! The switches of a run that are not the engine's own, and the bumps in front of them.

use super::{Builder, switch_ports_named};
use slotline_net::id::{NodeId, PortId};
use slotline_net::node::bump::{BumpConfig, BumpSpec, Bumped};
use slotline_net::node::notify::Senders;
use slotline_net::node::reserve::Reserve;
use slotline_net::node::switch::{Switch, SwitchConfig, SwitchPort};
use slotline_net::time::Time;
use slotline_net::topology::{End, Graph, NodeKind};
use slotline_sim::Place;
use std::sync::Arc;

/// Where bumps are; by default at all ports of switches that lead to other switches.
pub(crate) fn bump_ports(bump: &BumpSpec, graph: &Graph) -> Vec<End> {
    let is_switch = |end: End| graph.nodes[end.node.at()].kind == NodeKind::Switch;
    let mut ends: Vec<End> = if bump.at.is_empty() {
        let ends = graph.links.iter().flat_map(|link| [(link.a, link.b), (link.b, link.a)]);
        ends.filter(|(near, far)| is_switch(*near) && is_switch(*far))
            .map(|(near, _)| near)
            .collect()
    } else {
        bump.at.iter().flat_map(|name| switch_ports_named(graph, name)).collect()
    };
    ends.sort_unstable_by_key(|end| (end.node, end.port));
    ends.dedup();
    ends
}

impl Builder<'_> {
    pub(super) fn switch(&self, node: NodeId, sample: Time, reserve: Option<Reserve>) -> Place {
        if let Some(hybrid) = &self.hybrid {
            return hybrid.place(node, &self.plan);
        }
        if self.is_plain(node) {
            return Place::Switch;
        }
        let config = SwitchConfig {
            node,
            routes: Arc::clone(&self.routes),
            queue: self.queue_spec.clone(),
            ports: SwitchPort::all_of(&self.wiring, node),
            mtu: self.largest(),
            seed: self.seed,
            classifier: self.scheme.classifies(),
            senders: Senders::of(Arc::clone(&self.plan)),
            reserve,
        };
        let switch = Switch::new(config);
        let taps: Vec<PortId> =
            self.taps.iter().filter(|e| e.node == node).map(|e| e.port).collect();
        match &self.scheme.bump {
            Some(spec) if !taps.is_empty() => {
                let ports = SwitchPort::all_of(&self.wiring, node);
                let (spec, mtu, seed) = (spec.clone(), self.largest(), self.seed);
                let config = BumpConfig { switch, node, taps, ports, spec, mtu, seed, sample };
                Place::Node(Box::new(Bumped::new(config)))
            }
            _ => Place::Node(Box::new(switch)),
        }
    }
}
