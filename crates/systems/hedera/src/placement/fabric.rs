//! A network as placement sees it: flows in, wires and path numbers out.

use super::load::{Item, Load, Terrain};
use super::seats::Seats;
use super::tiers::Tiers;
use super::{Flow, UNIT};
use slotline_net::id::HostId;
use slotline_net::scheme::Network;
use slotline_net::units::Rate;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The paths of a network between hosts, and the capacities of its links.
///
/// Fat-trees and leaf-spine fabrics in which all links work are recognised and need no memory for
/// paths. In any other network the paths of each pair of hosts that has a flow are listed.
#[derive(Clone, Debug)]
pub struct Fabric {
    /// What hosts can send and receive, as shares of the fastest.
    cards: Cards,
    pub(super) seats: Arc<Seats>,
    pub(super) shape: Shape,
}

/// By host, what it can send and receive.
#[derive(Clone, Debug, Default)]
struct Cards {
    send: Vec<f64>,
    receive: Vec<f64>,
}

#[derive(Clone, Debug)]
pub(super) enum Shape {
    Tiers(Tiers),
    Listed(Listed),
}

/// Paths that are listed, pair by pair.
#[derive(Clone, Debug)]
pub(super) struct Listed {
    network: Network,
    pub rooms: Vec<i32>,
    /// By pair of hosts: its first path, and how many numbers there are.
    pairs: BTreeMap<(u32, u32), (u32, u32)>,
    /// By path, its first wire; and the total.
    first: Vec<u32>,
    wires: Vec<u32>,
}

/// A rate in whole numbers of 1 / [`UNIT`] of another, rounded up: demands, rounded down, never miss
/// room that is there.
pub(super) fn room(rate: Rate, unit: Rate) -> i32 {
    let share = u128::from(rate.0) * u128::from(UNIT as u32);
    let room = share.div_ceil(u128::from(unit.0.max(1)));
    room.min(i32::MAX as u128 / 4) as i32
}

impl Fabric {
    /// A fat-tree of `k` pods, all of whose links are alike.
    pub fn fat_tree(k: u32) -> Fabric {
        let tiers = Tiers::fat_tree(k);
        let hosts = tiers.seats.edge.len();
        let cards = Cards { send: vec![1.0; hosts], receive: vec![1.0; hosts] };
        Fabric { cards, seats: Arc::clone(&tiers.seats), shape: Shape::Tiers(tiers) }
    }
    /// What there is in `network`.
    pub fn new(network: &Network) -> Fabric {
        let seats = Seats::new(network);
        let (send, receive) = card_rates(network);
        let unit = send.iter().chain(&receive).copied().max().unwrap_or(Rate(1));
        let share = |rates: Vec<Rate>| -> Vec<f64> {
            rates.iter().map(|rate| rate.0 as f64 / unit.0.max(1) as f64).collect()
        };
        let cards = Cards { send: share(send), receive: share(receive) };
        match Tiers::new(network, &seats, unit) {
            Some(tiers) => {
                Fabric { cards, seats: Arc::clone(&tiers.seats), shape: Shape::Tiers(tiers) }
            }
            None => {
                let rooms = network.capacity().iter().map(|rate| room(*rate, unit)).collect();
                let listed = Listed {
                    network: network.clone(),
                    rooms,
                    pairs: BTreeMap::new(),
                    // The first path has no wires: for items that stand for nothing.
                    first: vec![0, 0],
                    wires: Vec::new(),
                };
                Fabric { cards, seats: Arc::new(seats), shape: Shape::Listed(listed) }
            }
        }
    }
    /// Number of hosts.
    pub fn hosts(&self) -> usize {
        self.cards.send.len()
    }
    /// What each host can send, as a share of the fastest.
    pub fn send(&self) -> &[f64] {
        &self.cards.send
    }
    /// What each host can receive.
    pub fn receive(&self) -> &[f64] {
        &self.cards.receive
    }
    /// Whether it is a fat-tree or leaf-spine fabric in which all links work.
    pub fn is_regular(&self) -> bool {
        matches!(self.shape, Shape::Tiers(_))
    }
    /// Capacities of all wires, in 1 / [`UNIT`] of the fastest card.
    pub fn rooms(&self) -> &[i32] {
        match &self.shape {
            Shape::Tiers(tiers) => &tiers.rooms,
            Shape::Listed(listed) => &listed.rooms,
        }
    }
    /// Lists the paths of `flows`, where they have to be.
    pub(super) fn prepare(&mut self, flows: &[Flow]) {
        if let Shape::Listed(listed) = &mut self.shape {
            flows.iter().for_each(|flow| listed.list(flow.src, flow.dst));
        }
    }
    /// How many numbers of paths a flow can have; none where all its paths are the same, or it has
    /// none.
    pub(super) fn choices(&self, flow: &Flow) -> u32 {
        match &self.shape {
            Shape::Tiers(tiers) => match tiers.seats.of(flow.src, flow.dst) {
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
    /// A flow's parts: one, or where paths are by arithmetic its way up and its way down.
    pub(super) fn items(&self, flow: &Flow) -> impl Iterator<Item = Item> + use<> {
        let items = match &self.shape {
            Shape::Tiers(tiers) => {
                let amount = flow.amount();
                let near = tiers.seats.of(flow.src, flow.dst).2;
                let up = tiers.item_up(flow.src, flow.dst, amount);
                [up, up.map(|_| tiers.item_down(flow.dst, near, amount))]
            }
            Shape::Listed(listed) => [listed.item(flow), None],
        };
        items.into_iter().flatten()
    }
    /// Appends the wires of a flow on a path.
    pub fn wires(&self, flow: &Flow, path: u16, out: &mut Vec<u32>) {
        for item in self.items(flow) {
            match &self.shape {
                Shape::Tiers(tiers) => {
                    let path = u32::from(path) % self.choices(flow).max(1);
                    out.extend(
                        tiers
                            .wires(&item, path)
                            .filter(|&w| tiers.rooms[w as usize] < i32::MAX / 2),
                    );
                }
                Shape::Listed(listed) => out.extend(listed.wires(&item, path.into())),
            }
        }
    }
}

/// What each host's card sends and receives at.
fn card_rates(network: &Network) -> (Vec<Rate>, Vec<Rate>) {
    let hosts = network.hosts() as u32;
    let mut way = Vec::new();
    let capacity = |link: Option<&u32>| {
        link.and_then(|&link| network.capacity().get(link as usize)).copied().unwrap_or(Rate(0))
    };
    let pair = |host: u32| {
        let other = HostId(if host == 0 { hosts.saturating_sub(1) } else { 0 });
        network.numbered_path(HostId(host), other, 0, &mut way);
        let send = capacity(way.first());
        network.numbered_path(other, HostId(host), 0, &mut way);
        (send, capacity(way.last()))
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
        let mut way = Vec::new();
        for path in 0..count {
            self.network.numbered_path(src, dst, path as u16, &mut way);
            self.wires.extend_from_slice(&way);
            self.first.push(self.wires.len() as u32);
        }
        self.pairs.insert((src.0, dst.0), (first, count));
    }
    /// The most numbers that a pair listed so far has.
    pub fn widest(&self) -> u32 {
        let counts = self.pairs.values().map(|&(_, count)| count);
        counts.max().unwrap_or(1).max(1)
    }
    /// A flow that has a path is one part.
    fn item(&self, flow: &Flow) -> Option<Item> {
        let pair = self.pairs.get(&(flow.src.0, flow.dst.0)).filter(|pair| pair.1 > 0);
        pair.map(|&(edge, pod)| Item { edge, pod, amount: flow.amount() })
    }
    fn of(&self, item: &Item, path: u32) -> &[u32] {
        let at = (item.edge + path % item.pod) as usize;
        &self.wires[self.first[at] as usize..self.first[at + 1] as usize]
    }
}

impl Terrain for Listed {
    fn load(&self, flows: &[Flow], numbers: &[u16]) -> Load {
        let mut load = Load::new(&self.rooms);
        for flow in flows {
            let number = u32::from(numbers[flow.dst.at()]);
            self.item(flow).iter().for_each(|item| load.put(self, item, number));
        }
        load
    }
    fn gather<'a>(&self, flows: impl Iterator<Item = &'a Flow>, out: &mut Vec<Item>) {
        out.extend(flows.filter_map(|flow| self.item(flow)));
    }
    fn wires(&self, item: &Item, path: u32) -> impl Iterator<Item = u32> {
        self.of(item, path).iter().copied()
    }
    /// Paths that share their first and last links are as long as each other.
    fn changed(&self, item: &Item, from: u32, to: u32) -> impl Iterator<Item = (u32, u32)> {
        let both = self.of(item, from).iter().zip(self.of(item, to));
        both.filter(|(old, new)| old != new).map(|(old, new)| (*old, *new))
    }
}
