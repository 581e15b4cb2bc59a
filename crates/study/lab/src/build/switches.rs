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
    in_order(&mut ends);
    ends
}

/// Where bumps limit flows; by default at all ports of switches that lead to hosts.
pub(crate) fn limiter_ports(bump: &BumpSpec, graph: &Graph) -> Vec<End> {
    let Some(spec) = &bump.reaction else { return vec![] };
    let kind = |end: End| graph.nodes[end.node.at()].kind;
    let mut ends: Vec<End> = if spec.at.is_empty() {
        let ends = graph.links.iter().flat_map(|link| [(link.a, link.b), (link.b, link.a)]);
        ends.filter(|(near, far)| kind(*near) == NodeKind::Switch && kind(*far) == NodeKind::Host)
            .map(|(near, _)| near)
            .collect()
    } else {
        spec.at.iter().flat_map(|name| switch_ports_named(graph, name)).collect()
    };
    in_order(&mut ends);
    ends
}

fn in_order(ends: &mut Vec<End>) {
    ends.sort_unstable_by_key(|end| (end.node, end.port));
    ends.dedup();
}

impl Builder<'_> {
    fn switch_config(&self, node: NodeId, reserve: Option<Reserve>) -> SwitchConfig {
        SwitchConfig {
            node,
            routes: Arc::clone(&self.routes),
            queue: self.queue_spec.clone(),
            ports: SwitchPort::all_of(&self.wiring, node),
            mtu: self.largest(),
            seed: self.seed,
            classifier: self.scheme.classifies(),
            senders: Senders::of(Arc::clone(&self.plan)),
            reserve,
        }
    }

    pub(super) fn switch(&self, node: NodeId, sample: Time, reserve: Option<Reserve>) -> Place {
        if let Some(hybrid) = &self.hybrid {
            return match hybrid.seat(node) {
                Some(seat) => {
                    let switch = Switch::new(self.switch_config(node, reserve));
                    let paces = self.wiring.of(node).iter().map(|wire| wire.lane.rate.pace());
                    hybrid.patched(seat, (switch, paces.collect()), self.largest(), &self.plan)
                }
                None => hybrid.place(node, &self.plan),
            };
        }
        if self.is_plain(node) {
            return Place::Switch;
        }
        let switch = Switch::new(self.switch_config(node, reserve));
        let here = |ends: &[End]| -> Vec<PortId> {
            ends.iter().filter(|end| end.node == node).map(|end| end.port).collect()
        };
        let (taps, limits) = (here(&self.taps), here(&self.limits));
        match &self.scheme.bump {
            Some(spec) if !taps.is_empty() || !limits.is_empty() => {
                let ports = SwitchPort::all_of(&self.wiring, node);
                let (spec, mtu, seed) = (spec.clone(), self.largest(), self.seed);
                let reaction = self.scheme.reaction.unwrap_or_default();
                Place::Node(Box::new(Bumped::new(BumpConfig {
                    switch,
                    node,
                    taps,
                    limits,
                    ports,
                    spec,
                    reaction,
                    mtu,
                    seed,
                    sample,
                })))
            }
            _ => Place::Node(Box::new(switch)),
        }
    }
}
