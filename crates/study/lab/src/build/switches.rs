//! The switches of a run that are not the engine's own, and the bumps in front of them.

use super::Builder;
use slotline_net::error::SpecError;
use slotline_net::id::{NodeId, PortId};
use slotline_net::node::Node;
use slotline_net::node::bump::{BumpConfig, Bumped};
use slotline_net::node::notify::Senders;
use slotline_net::node::reserve::Reserve;
use slotline_net::node::switch::{Switch, SwitchConfig, SwitchPort};
use slotline_net::scheme::SwitchPlace;
use slotline_net::time::Time;
use slotline_net::topology::End;
use slotline_sim::Place;
use std::sync::Arc;

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

    /// The node of a switch that is a machine of a real network.
    pub(super) fn machine(&self, node: NodeId) -> Result<Box<dyn Node>, SpecError> {
        let Some(switches) = self.scheme_switches() else {
            return Err(SpecError::new("control", "the scheme has no switches of its own"));
        };
        let ordinary = || Switch::new(self.switch_config(node, None));
        let (wiring, mtu, plan) = (&self.wiring, self.largest(), &self.plan);
        switches.machine(&SwitchPlace { node, ordinary: &ordinary, wiring, mtu, plan })
    }

    pub(super) fn switch(&self, node: NodeId, sample: Time, reserve: Option<Reserve>) -> Place {
        if let Some(switches) = self.scheme_switches() {
            let ordinary = || Switch::new(self.switch_config(node, reserve));
            let (wiring, mtu, plan) = (&self.wiring, self.largest(), &self.plan);
            let place = SwitchPlace { node, ordinary: &ordinary, wiring, mtu, plan };
            return Place::Node(switches.node(&place));
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
                    key: self.wiring.key(node),
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
