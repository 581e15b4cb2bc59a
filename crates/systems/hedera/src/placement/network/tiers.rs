//! Fat-trees and leaf-spine fabrics, whose paths are computed from their numbers.
//!
//! Path number p goes up by aggregation switch p mod `aggs`, and from there by core p / `aggs`. Pinned routes
//! number paths in this order ([`slotline_net::route::Routes::build`]). A leaf-spine fabric is one pod.

use super::HostLocations;
use super::{FlowPart, PathModel};
use crate::placement::UNIT;
use slotline_net::id::HostId;
use slotline_net::scheme::Network;
use slotline_net::units::Rate;
use std::sync::Arc;

/// A regular fabric of two or three tiers in which all links work.
#[derive(Clone, Debug)]
pub(in crate::placement) struct Tiers {
    pub locations: Arc<HostLocations>,
    /// The number of aggregation switches per pod, or of spines.
    pub aggs: u32,
    /// The number of core switches at each aggregation switch.
    pub cores: u32,
    /// The capacities of the wires between switches: edges up, pods up, pods down, edges down. Then follow wires
    /// that never fill, for flows that stay in their pod.
    pub capacities: Vec<i32>,
    /// By path number, the offsets of its wires among those of an edge switch and of a pod.
    offsets: Arc<[(u32, u32)]>,
}

impl Tiers {
    fn empty(locations: HostLocations, aggs: u32, cores: u32) -> Tiers {
        let above = aggs * cores;
        let (edges, pods) = (locations.pod.len() as u32, locations.edges.len() as u32);
        let wires = 2 * (edges * aggs + pods * above) + above;
        let paths = if pods > 1 { above } else { aggs };
        let offset = |path: u32| (path % aggs, path % aggs * cores + path / aggs);
        Tiers {
            locations: Arc::new(locations),
            aggs,
            cores,
            capacities: vec![i32::MAX / 2; wires as usize],
            offsets: (0..paths).map(offset).collect(),
        }
    }
    /// A fat-tree of `k` pods, in which all links are as fast as those of hosts.
    pub fn fat_tree(k: u32) -> Tiers {
        let half = k / 2;
        let mut tiers = Tiers::empty(HostLocations::regular(k, half, half), half, half);
        let used = tiers.spare() as usize;
        tiers.capacities[..used].fill(UNIT);
        tiers
    }
    /// The paths of `network`, if they are those of a regular fabric. `unit` is the rate of the fastest NIC.
    pub fn new(network: &Network, locations: &HostLocations, unit: Rate) -> Option<Tiers> {
        let hosts: Vec<u32> = locations.hosts.iter().map(|hosts| hosts[0]).collect();
        let width = locations.edges.first()?.len();
        if width < 2 || locations.edges.iter().any(|edges| edges.len() != width) {
            return None;
        }
        let rep = |edge: u32| HostId(hosts[edge as usize]);
        let first = &locations.edges[0];
        let aggs = network.path_count(rep(first[0]), rep(first[1]));
        let above = match locations.edges.get(1) {
            Some(next) => network.path_count(rep(first[0]), rep(next[0])),
            None => aggs,
        };
        if aggs == 0 || above == 0 || !above.is_multiple_of(aggs) {
            return None;
        }
        let mut tiers = Tiers::empty(locations.clone(), aggs, above / aggs);
        let check = PathCheck { network, unit, links: vec![u32::MAX; tiers.spare() as usize] };
        check.fill(&mut tiers)
    }

    /// The first wire that never fills.
    fn spare(&self) -> u32 {
        self.capacities.len() as u32 - self.aggs * self.cores
    }
    fn edges(&self) -> u32 {
        self.locations.pod.len() as u32
    }
    fn pods(&self) -> u32 {
        self.locations.edges.len() as u32
    }
    /// The first wires of an edge switch, upwards and downwards.
    fn of_edge(&self, edge: u32) -> (u32, u32) {
        let pods = 2 * self.pods() * self.aggs * self.cores;
        (edge * self.aggs, self.edges() * self.aggs + pods + edge * self.aggs)
    }
    /// The first wires of a pod, upwards and downwards.
    fn of_pod(&self, pod: u32) -> (u32, u32) {
        let (first, above) = (self.edges() * self.aggs, self.aggs * self.cores);
        (first + pod * above, first + (self.pods() + pod) * above)
    }
    /// The part of a flow upwards; `None` if both hosts are at one edge switch.
    pub fn part_up(&self, src: HostId, dst: HostId, amount: i32) -> Option<FlowPart> {
        let (from, to, near) = self.locations.of(src, dst);
        (from != to).then(|| self.part_from(from, near, amount))
    }
    /// The part of a flow upwards from an edge switch; `near` says that it stays in its pod.
    fn part_from(&self, edge: u32, near: bool, amount: i32) -> FlowPart {
        let pod =
            if near { self.spare() } else { self.of_pod(self.locations.pod[edge as usize]).0 };
        FlowPart { edge: self.of_edge(edge).0, pod, amount }
    }
    /// The part of a flow downwards; `near` says that it stays in its pod.
    pub fn part_down(&self, dst: HostId, near: bool, amount: i32) -> FlowPart {
        let to = self.locations.edge_of(dst);
        let pod = if near { self.spare() } else { self.of_pod(self.locations.pod[to as usize]).1 };
        FlowPart { edge: self.of_edge(to).1, pod, amount }
    }
    /// The number of paths.
    pub fn paths(&self) -> u32 {
        self.offsets.len() as u32
    }
}

impl PathModel for Tiers {
    fn capacities(&self) -> &[i32] {
        &self.capacities
    }
    #[inline]
    fn parts_to_host(&self, dst: HostId, flows: &[(HostId, i32)], out: &mut Vec<FlowPart>) {
        let mut sums = [0; 2];
        for &(src, amount) in flows {
            let (from, to, near) = self.locations.of(src, dst);
            if from != to {
                sums[usize::from(near)] += amount;
                out.push(self.part_from(from, near, amount));
            }
        }
        let down = [false, true].into_iter().zip(sums).filter(|(_, sum)| *sum > 0);
        out.extend(down.map(|(near, sum)| self.part_down(dst, near, sum)));
    }
    #[inline]
    fn wires(&self, part: &FlowPart, path: u32) -> impl Iterator<Item = u32> {
        let (edge, pod) = self.offsets[path as usize];
        [part.edge + edge, part.pod + pod].into_iter()
    }
    #[inline]
    fn changed(&self, part: &FlowPart, from: u32, to: u32) -> impl Iterator<Item = (u32, u32)> {
        let (old, new) = (self.offsets[from as usize], self.offsets[to as usize]);
        let edge = (old.0 != new.0).then_some((part.edge + old.0, part.edge + new.0));
        edge.into_iter().chain([(part.pod + old.1, part.pod + new.1)])
    }
}

/// Checks whether the paths of a network are those of a regular fabric.
struct PathCheck<'a> {
    network: &'a Network,
    unit: Rate,
    /// By wire, its directed link, or `u32::MAX` if it is not known yet.
    links: Vec<u32>,
}

impl PathCheck<'_> {
    fn fill(mut self, tiers: &mut Tiers) -> Option<Tiers> {
        let (edges, pods) = (tiers.edges(), tiers.pods());
        let locations = Arc::clone(&tiers.locations);
        for edge in 0..edges {
            let all = &locations.edges[locations.pod[edge as usize] as usize];
            let at = all.iter().position(|&other| other == edge)?;
            let other = all[(at + 1) % all.len()];
            (0..tiers.aggs).try_for_each(|path| self.check_path(tiers, edge, other, path))?;
        }
        for pod in 0..pods {
            let (from, to) = (pod as usize, ((pod + 1) % pods) as usize);
            let (from, to) = (locations.edges[from][0], locations.edges[to][0]);
            (0..tiers.paths()).try_for_each(|path| self.check_path(tiers, from, to, path))?;
        }
        // Each edge switch is checked once more with distant ones, each time by another path.
        for edge in 0..edges {
            for turn in 1..=8 {
                let other = (edge + turn * (edges / 9).max(1) + turn / 2) % edges;
                let near = locations.pod[edge as usize] == locations.pod[other as usize];
                let paths = if near { tiers.aggs } else { tiers.paths() };
                self.check_path(tiers, edge, other, (edge + turn * 7) % paths)?;
            }
        }
        let mut seen = self.links.clone();
        seen.sort_unstable();
        let distinct = seen.windows(2).all(|pair| pair[0] < pair[1]);
        (distinct || pods == 1 && self.without_pods(tiers)).then(|| self.capacities(tiers))
    }
    /// Whether all wires of edge switches are different links, in a fabric without other wires.
    fn without_pods(&self, tiers: &Tiers) -> bool {
        let mut seen: Vec<u32> = (0..tiers.edges())
            .flat_map(|edge| [tiers.of_edge(edge).0, tiers.of_edge(edge).1])
            .flat_map(|first| &self.links[first as usize..(first + tiers.aggs) as usize])
            .copied()
            .collect();
        seen.sort_unstable();
        seen.windows(2).all(|pair| pair[0] < pair[1])
    }
    /// Compares one path with the known links of its wires, and notes the links of new wires.
    fn check_path(&mut self, tiers: &Tiers, from: u32, to: u32, path: u32) -> Option<()> {
        if from == to {
            return Some(());
        }
        let host = |edge: u32| HostId(tiers.locations.hosts[edge as usize][0]);
        let (src, dst) = (host(from), host(to));
        let near = tiers.locations.of(src, dst).2;
        let paths = if near { tiers.aggs } else { tiers.paths() };
        let mut links = Vec::new();
        self.network.numbered_path(src, dst, path as u16, &mut links);
        let up = tiers.part_up(src, dst, 0)?;
        let down = tiers.part_down(dst, near, 0);
        let mut wires: Vec<u32> = tiers.wires(&up, path).collect();
        let mut back: Vec<u32> = tiers.wires(&down, path).collect();
        if near {
            wires.truncate(1);
            back.truncate(1);
        }
        wires.extend(back.into_iter().rev());
        if self.network.path_count(src, dst) != paths || links.len() != wires.len() + 2 {
            return None;
        }
        for (&wire, &link) in wires.iter().zip(&links[1..]) {
            let known = &mut self.links[wire as usize];
            if *known != u32::MAX && *known != link {
                return None;
            }
            *known = link;
        }
        Some(())
    }
    fn capacities(&self, tiers: &Tiers) -> Tiers {
        let mut tiers = tiers.clone();
        let rates = self.network.capacity();
        for (capacity, &link) in tiers.capacities.iter_mut().zip(&self.links) {
            if let Some(rate) = rates.get(link as usize) {
                *capacity = super::fabric::in_units(*rate, self.unit);
            }
        }
        tiers
    }
}
