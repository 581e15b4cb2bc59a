//! Fat-trees and leaf-spine fabrics: paths by arithmetic.
//!
//! Path number p goes up by aggregation switch p mod `aggs`, and from there by core p / `aggs`; so
//! pinned routes number them ([`slotline_net::route::Routes::build`]). A leaf-spine fabric is one pod.

use super::load::{Item, Load, Terrain};
use super::seats::Seats;
use super::{Flow, UNIT};
use slotline_net::id::HostId;
use slotline_net::scheme::Network;
use slotline_net::units::Rate;
use std::sync::Arc;

/// A fabric of two or three tiers in which everything is as it should be.
#[derive(Clone, Debug)]
pub(super) struct Tiers {
    pub seats: Arc<Seats>,
    /// Aggregation switches per pod, or spines.
    pub aggs: u32,
    /// Core switches at each aggregation switch.
    pub cores: u32,
    /// Capacity of each wire between switches: edges up, pods up, pods down, edges down; then wires
    /// that never fill, for flows that stay in their pod.
    pub rooms: Vec<i32>,
    /// By path number, where on an edge switch and where on a pod it goes up.
    offsets: Arc<[(u32, u32)]>,
}

impl Tiers {
    fn empty(seats: Seats, aggs: u32, cores: u32) -> Tiers {
        let above = aggs * cores;
        let (edges, pods) = (seats.pod.len() as u32, seats.edges.len() as u32);
        let wires = 2 * (edges * aggs + pods * above) + above;
        let paths = if pods > 1 { above } else { aggs };
        let offset = |path: u32| (path % aggs, path % aggs * cores + path / aggs);
        Tiers {
            seats: Arc::new(seats),
            aggs,
            cores,
            rooms: vec![i32::MAX / 2; wires as usize],
            offsets: (0..paths).map(offset).collect(),
        }
    }
    /// A fat-tree of `k` pods, all links as fast as hosts' are.
    pub fn fat_tree(k: u32) -> Tiers {
        let half = k / 2;
        let mut tiers = Tiers::empty(Seats::regular(k, half, half), half, half);
        let used = tiers.spare() as usize;
        tiers.rooms[..used].fill(UNIT);
        tiers
    }
    /// Every pair's paths in `network`, if they are those of such a fabric. `unit` is the rate of the
    /// fastest network card.
    pub fn new(network: &Network, seats: &Seats, unit: Rate) -> Option<Tiers> {
        let hosts: Vec<u32> = seats.hosts.iter().map(|hosts| hosts[0]).collect();
        let width = seats.edges.first()?.len();
        if width < 2 || seats.edges.iter().any(|edges| edges.len() != width) {
            return None;
        }
        let rep = |edge: u32| HostId(hosts[edge as usize]);
        let first = &seats.edges[0];
        let aggs = network.path_count(rep(first[0]), rep(first[1]));
        let above = match seats.edges.get(1) {
            Some(next) => network.path_count(rep(first[0]), rep(next[0])),
            None => aggs,
        };
        if aggs == 0 || above == 0 || !above.is_multiple_of(aggs) {
            return None;
        }
        let mut tiers = Tiers::empty(seats.clone(), aggs, above / aggs);
        let survey = Survey { network, unit, links: vec![u32::MAX; tiers.spare() as usize] };
        survey.fill(&mut tiers)
    }

    /// The first wire that never fills.
    fn spare(&self) -> u32 {
        self.rooms.len() as u32 - self.aggs * self.cores
    }
    fn edges(&self) -> u32 {
        self.seats.pod.len() as u32
    }
    fn pods(&self) -> u32 {
        self.seats.edges.len() as u32
    }
    /// Where the wires of an edge switch begin, up and down.
    fn of_edge(&self, edge: u32) -> (u32, u32) {
        let pods = 2 * self.pods() * self.aggs * self.cores;
        (edge * self.aggs, self.edges() * self.aggs + pods + edge * self.aggs)
    }
    /// The same of a pod.
    fn of_pod(&self, pod: u32) -> (u32, u32) {
        let (first, above) = (self.edges() * self.aggs, self.aggs * self.cores);
        (first + pod * above, first + (self.pods() + pod) * above)
    }
    /// From whose hosts on which edge switches up, and down to which, a flow needs wires.
    pub fn item_up(&self, src: HostId, dst: HostId, amount: i32) -> Option<Item> {
        let (from, to, near) = self.seats.of(src, dst);
        let pod = if near { self.spare() } else { self.of_pod(self.seats.pod[from as usize]).0 };
        (from != to).then(|| Item { edge: self.of_edge(from).0, pod, amount })
    }
    /// The way down.
    pub fn item_down(&self, dst: HostId, near: bool, amount: i32) -> Item {
        let to = self.seats.edge_of(dst);
        let pod = if near { self.spare() } else { self.of_pod(self.seats.pod[to as usize]).1 };
        Item { edge: self.of_edge(to).1, pod, amount }
    }
    /// How many paths have numbers.
    pub fn paths(&self) -> u32 {
        self.offsets.len() as u32
    }
}

/// What a flow's way needs to know of its destination, in one place.
struct Target {
    edge: u32,
    pod: u32,
    /// Where on an edge switch and on a pod it goes up.
    offset: (u32, u32),
    /// What comes down to it, from other pods and from its own.
    sums: [i32; 2],
}

impl Tiers {
    fn targets(&self, numbers: &[u16]) -> Vec<Target> {
        let target = |(&edge, &number): (&u32, &u16)| Target {
            edge,
            pod: self.seats.pod[edge as usize],
            offset: self.offsets[usize::from(number)],
            sums: [0; 2],
        };
        self.seats.edge.iter().zip(numbers).map(target).collect()
    }
    /// The ways down to a host of sums from other pods and from its own.
    fn items_down(&self, dst: HostId, sums: [i32; 2]) -> impl Iterator<Item = Item> {
        let parts = [false, true].into_iter().zip(sums).filter(|(_, sum)| *sum > 0);
        parts.map(move |(near, sum)| self.item_down(dst, near, sum))
    }
}

impl Terrain for Tiers {
    fn load(&self, flows: &[Flow], numbers: &[u16]) -> Load {
        let mut over: Vec<i32> = self.rooms.iter().map(|room| -room).collect();
        let mut targets = self.targets(numbers);
        for flow in flows {
            let from = self.seats.edge_of(flow.src);
            let pod = self.seats.pod[from as usize];
            let target = &mut targets[flow.dst.at()];
            if from == target.edge {
                continue;
            }
            let (near, amount) = (pod == target.pod, flow.amount());
            let above = if near { self.spare() } else { self.of_pod(pod).0 };
            target.sums[usize::from(near)] += amount;
            over[(self.of_edge(from).0 + target.offset.0) as usize] += amount;
            over[(above + target.offset.1) as usize] += amount;
        }
        let mut load = Load::of(over);
        for ((dst, target), &number) in (0..).map(HostId).zip(&targets).zip(numbers) {
            let items = self.items_down(dst, target.sums);
            items.for_each(|item| load.put(self, &item, number.into()));
        }
        load
    }
    fn gather<'a>(&self, flows: impl Iterator<Item = &'a Flow>, out: &mut Vec<Item>) {
        let mut down = (HostId(0), [0; 2]);
        for flow in flows {
            if let Some(item) = self.item_up(flow.src, flow.dst, flow.amount()) {
                let near = self.seats.of(flow.src, flow.dst).2;
                down.0 = flow.dst;
                down.1[usize::from(near)] += item.amount;
                out.push(item);
            }
        }
        out.extend(self.items_down(down.0, down.1));
    }
    #[inline]
    fn wires(&self, item: &Item, path: u32) -> impl Iterator<Item = u32> {
        let (edge, pod) = self.offsets[path as usize];
        [item.edge + edge, item.pod + pod].into_iter()
    }
    #[inline]
    fn changed(&self, item: &Item, from: u32, to: u32) -> impl Iterator<Item = (u32, u32)> {
        let (old, new) = (self.offsets[from as usize], self.offsets[to as usize]);
        let edge = (old.0 != new.0).then_some((item.edge + old.0, item.edge + new.0));
        edge.into_iter().chain([(item.pod + old.1, item.pod + new.1)])
    }
}

/// Looks at paths of a network to see whether they are those of a regular fabric.
struct Survey<'a> {
    network: &'a Network,
    unit: Rate,
    /// By wire, the directed link it is.
    links: Vec<u32>,
}

impl Survey<'_> {
    fn fill(mut self, tiers: &mut Tiers) -> Option<Tiers> {
        let (edges, pods) = (tiers.edges(), tiers.pods());
        let seats = Arc::clone(&tiers.seats);
        for edge in 0..edges {
            let all = &seats.edges[seats.pod[edge as usize] as usize];
            let at = all.iter().position(|&other| other == edge)?;
            let other = all[(at + 1) % all.len()];
            (0..tiers.aggs).try_for_each(|path| self.note(tiers, edge, other, path))?;
        }
        for pod in 0..pods {
            let (from, to) = (pod as usize, ((pod + 1) % pods) as usize);
            let (from, to) = (seats.edges[from][0], seats.edges[to][0]);
            (0..tiers.paths()).try_for_each(|path| self.note(tiers, from, to, path))?;
        }
        // Every edge switch once more, with others far away, each time by another path.
        for edge in 0..edges {
            for turn in 1..=8 {
                let other = (edge + turn * (edges / 9).max(1) + turn / 2) % edges;
                let near = seats.pod[edge as usize] == seats.pod[other as usize];
                let paths = if near { tiers.aggs } else { tiers.paths() };
                self.note(tiers, edge, other, (edge + turn * 7) % paths)?;
            }
        }
        let mut seen = self.links.clone();
        seen.sort_unstable();
        let distinct = seen.windows(2).all(|pair| pair[0] < pair[1]);
        (distinct || pods == 1 && self.without_pods(tiers)).then(|| self.rooms(tiers))
    }
    /// Whether all wires of edge switches are different links; there are no others.
    fn without_pods(&self, tiers: &Tiers) -> bool {
        let mut seen: Vec<u32> = (0..tiers.edges())
            .flat_map(|edge| [tiers.of_edge(edge).0, tiers.of_edge(edge).1])
            .flat_map(|first| &self.links[first as usize..(first + tiers.aggs) as usize])
            .copied()
            .collect();
        seen.sort_unstable();
        seen.windows(2).all(|pair| pair[0] < pair[1])
    }
    /// Compares one way with what is known of its wires.
    fn note(&mut self, tiers: &Tiers, from: u32, to: u32, path: u32) -> Option<()> {
        if from == to {
            return Some(());
        }
        let host = |edge: u32| HostId(tiers.seats.hosts[edge as usize][0]);
        let (src, dst) = (host(from), host(to));
        let near = tiers.seats.of(src, dst).2;
        let paths = if near { tiers.aggs } else { tiers.paths() };
        let mut way = Vec::new();
        self.network.numbered_path(src, dst, path as u16, &mut way);
        let up = tiers.item_up(src, dst, 0)?;
        let down = tiers.item_down(dst, near, 0);
        let mut wires: Vec<u32> = tiers.wires(&up, path).collect();
        let mut back: Vec<u32> = tiers.wires(&down, path).collect();
        if near {
            wires.truncate(1);
            back.truncate(1);
        }
        wires.extend(back.into_iter().rev());
        if self.network.path_count(src, dst) != paths || way.len() != wires.len() + 2 {
            return None;
        }
        for (&wire, &link) in wires.iter().zip(&way[1..]) {
            let known = &mut self.links[wire as usize];
            if *known != u32::MAX && *known != link {
                return None;
            }
            *known = link;
        }
        Some(())
    }
    fn rooms(&self, tiers: &Tiers) -> Tiers {
        let mut tiers = tiers.clone();
        let capacity = self.network.capacity();
        for (room, &link) in tiers.rooms.iter_mut().zip(&self.links) {
            if let Some(rate) = capacity.get(link as usize) {
                *room = super::fabric::room(*rate, self.unit);
            }
        }
        tiers
    }
}
