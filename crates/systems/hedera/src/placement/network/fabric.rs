//! The network as placement sees it: the wires of a flow on each of its paths.

use super::HostLocations;
use super::Tiers;
use super::{FlowPart, PathModel};
use crate::placement::{Flow, UNIT};
use slotline_net::id::HostId;
use slotline_net::scheme::Network;
use slotline_net::units::Rate;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The paths of a network between hosts, and the capacities of its links.
///
/// Fat-trees and leaf-spine fabrics in which all links work are recognised and need no memory for
/// paths. In any other network the fabric lists the paths of each pair of hosts that has a flow.
#[derive(Clone, Debug)]
pub struct Fabric {
    /// The rates of NICs, as shares of the fastest.
    nics: NicRates,
    pub(in crate::placement) locations: Arc<HostLocations>,
    pub(in crate::placement) shape: Shape,
}

/// By host, the rates at which its NIC sends and receives.
#[derive(Clone, Debug, Default)]
struct NicRates {
    send: Vec<f64>,
    receive: Vec<f64>,
}

#[derive(Clone, Debug)]
pub(in crate::placement) enum Shape {
    Tiers(Tiers),
    Listed(Listed),
}

/// Paths that are listed pair by pair.
#[derive(Clone, Debug)]
pub(in crate::placement) struct Listed {
    network: Network,
    pub capacities: Vec<i32>,
    /// By pair of hosts, its first path and the number of its paths.
    pairs: BTreeMap<(u32, u32), (u32, u32)>,
    /// By path, the index of its first wire; at the end, the number of wires.
    first: Vec<u32>,
    wires: Vec<u32>,
}

/// A rate in units of 1 / [`UNIT`] of the rate `unit`, rounded up. Demands are rounded down, so a demand that
/// fits is never refused.
pub(in crate::placement) fn in_units(rate: Rate, unit: Rate) -> i32 {
    let share = u128::from(rate.0) * u128::from(UNIT as u32);
    let units = share.div_ceil(u128::from(unit.0.max(1)));
    units.min(i32::MAX as u128 / 4) as i32
}

impl Fabric {
    /// A fat-tree of `k` pods, all of whose links are alike.
    pub fn fat_tree(k: u32) -> Fabric {
        let tiers = Tiers::fat_tree(k);
        let hosts = tiers.locations.edge.len();
        let nics = NicRates { send: vec![1.0; hosts], receive: vec![1.0; hosts] };
        Fabric { nics, locations: Arc::clone(&tiers.locations), shape: Shape::Tiers(tiers) }
    }
    /// The fabric of `network`.
    pub fn new(network: &Network) -> Fabric {
        let locations = HostLocations::new(network);
        let (send, receive) = nic_rates(network);
        let unit = send.iter().chain(&receive).copied().max().unwrap_or(Rate(1));
        let share = |rates: Vec<Rate>| -> Vec<f64> {
            rates.iter().map(|rate| rate.0 as f64 / unit.0.max(1) as f64).collect()
        };
        let nics = NicRates { send: share(send), receive: share(receive) };
        match Tiers::new(network, &locations, unit) {
            Some(tiers) => {
                Fabric { nics, locations: Arc::clone(&tiers.locations), shape: Shape::Tiers(tiers) }
            }
            None => {
                let capacities =
                    network.capacity().iter().map(|rate| in_units(*rate, unit)).collect();
                let listed = Listed {
                    network: network.clone(),
                    capacities,
                    pairs: BTreeMap::new(),
                    // The first path has no wires. It is that of default parts.
                    first: vec![0, 0],
                    wires: Vec::new(),
                };
                Fabric { nics, locations: Arc::new(locations), shape: Shape::Listed(listed) }
            }
        }
    }
    /// The number of hosts.
    pub fn hosts(&self) -> usize {
        self.nics.send.len()
    }
    /// By host, the rate at which it sends, as a share of the fastest NIC.
    pub fn send(&self) -> &[f64] {
        &self.nics.send
    }
    /// By host, the rate at which it receives, as a share of the fastest NIC.
    pub fn receive(&self) -> &[f64] {
        &self.nics.receive
    }
    /// Whether it is a fat-tree or leaf-spine fabric in which all links work.
    pub fn is_regular(&self) -> bool {
        matches!(self.shape, Shape::Tiers(_))
    }
    /// The capacities of all wires, in units of 1 / [`UNIT`] of the fastest NIC.
    pub fn capacities(&self) -> &[i32] {
        match &self.shape {
            Shape::Tiers(tiers) => &tiers.capacities,
            Shape::Listed(listed) => &listed.capacities,
        }
    }
    /// Lists the paths of `flows`, if this fabric needs lists.
    pub(in crate::placement) fn prepare(&mut self, flows: &[Flow]) {
        if let Shape::Listed(listed) = &mut self.shape {
            flows.iter().for_each(|flow| listed.list(flow.src, flow.dst));
        }
    }
    /// How many paths a flow can choose from; 0 if all its paths are the same or it has none.
    pub(in crate::placement) fn choices(&self, flow: &Flow) -> u32 {
        match &self.shape {
            Shape::Tiers(tiers) => match tiers.locations.of(flow.src, flow.dst) {
                (from, to, _) if from == to => 0,
                (.., near) => {
                    if near {
                        tiers.aggs
                    } else {
                        tiers.paths()
                    }
                }
            },
            Shape::Listed(listed) => match listed.pairs.get(&(flow.src.0, flow.dst.0)) {
                Some(&(_, count)) => count,
                None => 0,
            },
        }
    }
    /// The parts of a flow: one, or in a regular fabric its part upwards and its part downwards.
    pub(in crate::placement) fn parts(
        &self,
        flow: &Flow,
    ) -> impl Iterator<Item = FlowPart> + use<> {
        let parts = match &self.shape {
            Shape::Tiers(tiers) => {
                let amount = flow.amount();
                let near = tiers.locations.of(flow.src, flow.dst).2;
                let up = tiers.part_up(flow.src, flow.dst, amount);
                [up, up.map(|_| tiers.part_down(flow.dst, near, amount))]
            }
            Shape::Listed(listed) => [listed.part(flow.src, flow.dst, flow.amount()), None],
        };
        parts.into_iter().flatten()
    }
    /// Appends the wires of a flow on a path.
    pub fn wires(&self, flow: &Flow, path: u16, out: &mut Vec<u32>) {
        for part in self.parts(flow) {
            match &self.shape {
                Shape::Tiers(tiers) => {
                    let path = u32::from(path) % self.choices(flow).max(1);
                    out.extend(
                        tiers
                            .wires(&part, path)
                            .filter(|&w| tiers.capacities[w as usize] < i32::MAX / 2),
                    );
                }
                Shape::Listed(listed) => out.extend(listed.wires(&part, path.into())),
            }
        }
    }
}

/// The rates at which the NIC of each host sends and receives.
fn nic_rates(network: &Network) -> (Vec<Rate>, Vec<Rate>) {
    let hosts = network.hosts() as u32;
    let mut links = Vec::new();
    let capacity = |link: Option<&u32>| {
        link.and_then(|&link| network.capacity().get(link as usize)).copied().unwrap_or(Rate(0))
    };
    let pair = |host: u32| {
        let other = HostId(if host == 0 { hosts.saturating_sub(1) } else { 0 });
        network.numbered_path(HostId(host), other, 0, &mut links);
        let send = capacity(links.first());
        network.numbered_path(other, HostId(host), 0, &mut links);
        (send, capacity(links.last()))
    };
    (0..hosts).map(pair).unzip()
}

impl Listed {
    fn list(&mut self, src: HostId, dst: HostId) {
        if self.pairs.contains_key(&(src.0, dst.0)) {
            return;
        }
        let count = if src == dst { 0 } else { self.network.path_count(src, dst) };
        let first = self.first.len() as u32 - 1;
        let mut links = Vec::new();
        for path in 0..count {
            self.network.numbered_path(src, dst, path as u16, &mut links);
            self.wires.extend_from_slice(&links);
            self.first.push(self.wires.len() as u32);
        }
        self.pairs.insert((src.0, dst.0), (first, count));
    }
    /// The largest number of paths of a listed pair.
    pub fn widest(&self) -> u32 {
        let counts = self.pairs.values().map(|&(_, count)| count);
        counts.max().unwrap_or(1).max(1)
    }
    /// The one part of a flow that has a path.
    fn part(&self, src: HostId, dst: HostId, amount: i32) -> Option<FlowPart> {
        let pair = self.pairs.get(&(src.0, dst.0)).filter(|pair| pair.1 > 0);
        pair.map(|&(edge, pod)| FlowPart { edge, pod, amount })
    }
    fn of(&self, part: &FlowPart, path: u32) -> &[u32] {
        let at = (part.edge + path % part.pod) as usize;
        &self.wires[self.first[at] as usize..self.first[at + 1] as usize]
    }
}

impl PathModel for Listed {
    fn capacities(&self) -> &[i32] {
        &self.capacities
    }
    fn parts_to_host(&self, dst: HostId, flows: &[(HostId, i32)], out: &mut Vec<FlowPart>) {
        out.extend(flows.iter().filter_map(|&(src, amount)| self.part(src, dst, amount)));
    }
    fn wires(&self, part: &FlowPart, path: u32) -> impl Iterator<Item = u32> {
        self.of(part, path).iter().copied()
    }
    /// Paths that share their first and last links have the same length.
    fn changed(&self, part: &FlowPart, from: u32, to: u32) -> impl Iterator<Item = (u32, u32)> {
        let both = self.of(part, from).iter().zip(self.of(part, to));
        both.filter(|(old, new)| old != new).map(|(old, new)| (*old, *new))
    }
}
