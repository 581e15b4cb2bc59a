//! TDMA in a network: a fabric manager, optional controllers, and an agent in each host.

use super::Tdma;
use super::options::Controllers;
use crate::node::{FabricManager, ManagerConfig, SlotController, SwitchHosts, TdmaAgent};
use slotline_net::error::SpecError;
use slotline_net::id::{HostId, NodeId};
use slotline_net::node::agent::Agent;
use slotline_net::rng::Stream;
use slotline_net::scheme::system::{MakeNode, Station, Surroundings, System, one_card_each};
use slotline_net::scheme::{Activity, Conditions, ControlNetwork, Proposal};
use slotline_net::time::Time;
use slotline_net::topology::{Graph, NodeKind};
use slotline_net::units::{Bytes, Rate};
use slotline_net::workload::Hosts;

impl Tdma {
    fn manager(&self, around: &Surroundings<'_>) -> Result<ManagerConfig, SpecError> {
        let hosts = hosts_by_switch(self, around);
        let line = hosts.iter().flatten().map(|(_, rate)| *rate).min().unwrap_or_default();
        self.check_fit(line, around)?;
        Ok(ManagerConfig {
            tdma: self.clone(),
            host: around.stations[0],
            line: rate_of(around, around.stations[0]),
            control: self.spec().control_link().map(|link| link.rate),
            controllers: around.stations[1..].to_vec(),
            hosts,
            weights: around.weights(&self.spec().weights)?,
            network: around.network().first(around.hosts()),
            map: Some(around.map()),
        })
    }
    /// Checks that the hosts that take part exist, and that there are two of them.
    fn check_hosts(&self, graph: &Graph) -> Result<(), SpecError> {
        let Some(Hosts::List(ranges)) = &self.spec().hosts else { return Ok(()) };
        let (all, last) = (graph.hosts.len(), ranges.iter().map(|range| range.1).max());
        let count = (0..all as u32).filter(|host| self.takes_part(HostId(*host))).count();
        let valid = count >= 2 && last.is_some_and(|last| (last as usize) < all);
        SpecError::unless(valid, "hosts", Hosts::List(ranges.clone()), || {
            format!("a list of two hosts or more of {all}")
        })
    }
    /// Checks that a slot and a receive buffer hold two packets.
    fn check_fit(&self, line: Rate, around: &Surroundings<'_>) -> Result<(), SpecError> {
        let transport = &around.plan.transport;
        let packet = u64::from(transport.data_len(transport.mss()));
        let shortest = self.spec().min_slot.unwrap_or(self.spec().slot);
        let rate = self.rounds().scheduled(line);
        let fits = rate.inverse_rate().bytes_in(shortest);
        if fits < 2 * packet {
            let key = if self.spec().min_slot.is_some() { "min-slot" } else { "slot" };
            let least = rate.time_for(Bytes(2 * packet));
            let message = format!(
                "`{key}` is {shortest}, in which a host with {line} can send {fits} bytes: take at least \
                 {least}, for two packets of {packet} bytes"
            );
            return Err(SpecError::new(key, message));
        }
        match self.spec().receive_buffer {
            Some(Bytes(size)) if size < 2 * packet => {
                let message = format!(
                    "`receive-buffer` is {size}B: take at least two packets of {packet} bytes"
                );
                Err(SpecError::new("receive-buffer", message))
            }
            _ => Ok(()),
        }
    }
}

/// The hosts that take part, by switch, in order of the switches.
fn hosts_by_switch(tdma: &Tdma, around: &Surroundings<'_>) -> Vec<SwitchHosts> {
    let mut hosts: Vec<(NodeId, HostId)> = (0..around.hosts() as u32)
        .map(HostId)
        .filter(|host| tdma.takes_part(*host))
        .filter_map(|host| {
            let node = around.graph.hosts[host.at()];
            Some((around.wiring.of(node).first()?.far.node, host))
        })
        .collect();
    hosts.sort_unstable();
    let with_rate = |of: &(NodeId, HostId)| (of.1, rate_of(around, of.1));
    hosts.chunk_by(|a, b| a.0 == b.0).map(|group| group.iter().map(with_rate).collect()).collect()
}

fn rate_of(around: &Surroundings<'_>, host: HostId) -> Rate {
    let wires = around.wiring.of(around.graph.hosts[host.at()]);
    wires.first().map_or(Rate::default(), |wire| wire.lane.rate)
}

/// The rate of the slowest host's link.
fn slowest(around: &Surroundings<'_>) -> Rate {
    (0..around.hosts() as u32).map(|host| rate_of(around, HostId(host))).min().unwrap_or_default()
}

/// The switches that have hosts that take part, in order, each with the link of its first such host.
fn edges(tdma: &Tdma, graph: &Graph) -> Vec<(NodeId, slotline_net::topology::LinkParams)> {
    let wiring = graph.wiring();
    let hosts = (0..).map(HostId).zip(&graph.hosts).filter(|(host, _)| tdma.takes_part(*host));
    let wires = hosts.filter_map(|(_, node)| wiring.of(*node).first());
    let mut edges: Vec<_> = wires.map(|wire| (wire.far.node, wire.lane)).collect();
    edges.sort_by_key(|edge| edge.0);
    edges.dedup_by_key(|edge| edge.0);
    edges
}

impl System for Tdma {
    fn proposals(&self, conditions: &Conditions) -> Vec<Proposal> {
        crate::fit::proposals(self.spec(), conditions)
    }
    fn activity(&self) -> Activity {
        crate::fit::ACTIVITY
    }
    fn turn(&self) -> Option<Time> {
        Some(self.spec().min_slot.unwrap_or(self.spec().slot))
    }
    /// Rounds are planned ahead.
    fn knows_slots(&self) -> bool {
        true
    }
    fn controls(&self, host: HostId) -> bool {
        self.takes_part(host)
    }
    fn stations(&self, graph: &Graph) -> Result<Vec<Station>, SpecError> {
        one_card_each(graph, "tdma")?;
        self.check_hosts(graph)?;
        let mut stations = vec![Station::uppermost("fabric-manager", graph)?];
        if self.spec().controllers == Controllers::PerSwitch {
            let switches = edges(self, graph)
                .into_iter()
                .filter(|(node, _)| graph.nodes[node.at()].kind == NodeKind::Switch);
            stations.extend(switches.map(|(switch, lane)| Station {
                name: format!("controller-{}", graph.nodes[switch.at()].name),
                switch,
                lane,
            }));
        }
        Ok(stations)
    }
    fn control_network(&self, graph: &Graph, stations: &[HostId]) -> Option<ControlNetwork> {
        let lane = self.spec().control_link()?;
        let hosts = (graph.hosts.len() - stations.len()) as u32;
        let apart = self.spec().reports_apart();
        let hosts = (0..hosts).map(HostId).filter(|host| apart && self.takes_part(*host));
        Some(ControlNetwork { members: stations.iter().copied().chain(hosts).collect(), lane })
    }
    fn station(&self, at: usize, around: &Surroundings<'_>) -> Result<MakeNode, SpecError> {
        let config = self.manager(around).map_err(|e| e.within("control"))?;
        if at == 0 {
            FabricManager::new(config.clone()).map_err(|e| e.within("control"))?;
            return Ok(Box::new(move || {
                let manager = FabricManager::new(config.clone());
                Box::new(manager.expect("this configuration has been checked"))
            }));
        }
        let (here, line) = (around.stations[at], rate_of(around, around.stations[at]));
        let (tdma, hosts) = (self.clone(), config.hosts[at - 1].clone());
        Ok(Box::new(move || {
            let controller = SlotController::new(&tdma, here, line, config.host, hosts.clone());
            Box::new(controller)
        }))
    }
    fn check_discovery(&self) -> Result<(), SpecError> {
        Ok(())
    }
    fn agent(&self, host: HostId, around: &Surroundings<'_>) -> Result<Box<dyn Agent>, SpecError> {
        let line = rate_of(around, host);
        let short = self.short_flow(around.hosts(), slowest(around));
        let manager = around.stations[0];
        let rng = Stream::named(around.seed, "tdma.host", around.plan.host_key(host));
        let all = (0..around.hosts() as u32).map(HostId);
        let outside = all.filter(|host| !self.takes_part(*host)).collect();
        let agent = TdmaAgent::new(self, host, manager, line, short, rng).beside(outside);
        Ok(Box::new(
            agent.with_packets_of(around.plan.transport.data_len(around.plan.transport.mss())),
        ))
    }
}
