//! Switches that assign flows to their least loaded ports, and rearrange some periodically, without packets.
//!
//! They are those of the packet engine ([`slotline_net::route::classifier`]). Their counters are updated before
//! they choose a port for a flow, and before they rearrange flows.

use super::engine::Engine;
use super::fabric::Fabric;
use super::maxmin::FlowKey;
use super::path_choice::PathChoice;
use slotline_net::id::{HostId, NodeId, PortId};
use slotline_net::route::classifier::{Classifier, ClassifierSpec};

/// The state of all switches.
#[derive(Clone, Debug)]
pub(super) struct Classified {
    spec: ClassifierSpec,
    /// The time of the next rearrangement.
    next: u64,
    /// By node. Hosts have none.
    switches: Vec<Option<Classifier>>,
}

impl Classified {
    /// The switches of `fabric`.
    pub fn new(spec: ClassifierSpec, fabric: &Fabric) -> Classified {
        let of = |node: u32| Some(Classifier::new(fabric.wiring().of(NodeId(node)).len()));
        let mut switches: Vec<_> = (0..fabric.nodes() as u32).map(of).collect();
        fabric.hosts().iter().for_each(|host| switches[host.at()] = None);
        let next = spec.period.as_ps();
        Classified { spec, next, switches }
    }

    /// The time of the next rearrangement.
    pub fn next(&self) -> u64 {
        self.next
    }

    /// Adds `bytes` of a connection to the counters of the switches on a path.
    fn carry(&mut self, fabric: &Fabric, key: (u32, HostId), path: &[u32], bytes: u64) {
        for node in path.iter().map(|&link| fabric.near(link)) {
            if let Some(switch) = &mut self.switches[node.at()] {
                switch.carry(key, bytes);
            }
        }
    }
}

impl Engine {
    /// Stores the links that switches choose for `conn` in `self.path`; none if there is no path.
    pub(super) fn classify(&mut self, conn: u32) {
        let info = self.plan.traffic.conns[conn as usize];
        let [mut at, goal] = [info.src, info.dst].map(|host| self.fabric.host(host));
        let mut path = Vec::new();
        while at != goal {
            let Some(port) = self.exit(at, (conn, info.dst)) else {
                path.clear();
                break;
            };
            let link = self.fabric.link(at, port);
            path.push(link);
            at = self.fabric.far(link);
        }
        self.path = path;
    }

    /// The port by which a connection leaves a node. If a switch must choose, its counters are updated first.
    fn exit(&mut self, at: NodeId, key: (u32, HostId)) -> Option<PortId> {
        let PathChoice::Classified(state) = &self.path_choice else { return None };
        let choices = self.fabric.routes().choices(at, key.1);
        let Some(switch) = &state.switches[at.at()] else {
            return self.fabric.routes().next(at, key.1, self.plan.entropy(key.0));
        };
        if choices.len() > 1 && !switch.knows(key) {
            let links: Vec<u32> = choices.iter().map(|port| self.fabric.link(at, port)).collect();
            let there: Vec<FlowKey> = links.iter().flat_map(|&link| self.keys_on(link)).collect();
            there.into_iter().for_each(|flow| self.tally(flow));
        }
        let PathChoice::Classified(state) = &mut self.path_choice else { return None };
        let choices = self.fabric.routes().choices(at, key.1);
        state.switches[at.at()].as_mut()?.exit(key, choices)
    }

    /// Updates the counters of switches for a flow, if switches choose ports.
    pub(super) fn tally(&mut self, key: FlowKey) {
        let Engine {
            path_choice: PathChoice::Classified(state), fabric, rates, senders, plan, ..
        } = self
        else {
            return;
        };
        let conn = senders.of(key).conn;
        let bytes = senders.count(key, rates.left(key)).max(0.0).round() as u64;
        let mut path = Vec::new();
        rates.path(key, &mut path);
        state.carry(fabric, (conn, plan.traffic.conns[conn as usize].dst), &path, bytes);
    }

    /// Lets all switches rearrange flows, if the period has ended.
    pub(super) fn rearrange(&mut self) {
        if !matches!(&self.path_choice, PathChoice::Classified(state) if state.next <= self.now) {
            return;
        }
        self.senders.all().into_iter().for_each(|(key, _)| self.tally(key));
        let PathChoice::Classified(state) = &mut self.path_choice else { return };
        state.next = self.now.saturating_add(state.spec.period.as_ps());
        let (moves, routes) = (state.spec.moves, self.fabric.routes());
        for (node, switch) in (0..).map(NodeId).zip(&mut state.switches) {
            if let Some(switch) = switch {
                switch.rearrange(moves, |dst| routes.choices(node, dst));
            }
        }
        for (key, conn) in self.senders.all() {
            self.reroute(key, conn);
        }
    }
}
