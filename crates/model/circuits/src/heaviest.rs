//! The heaviest matching of a sparse graph, exactly, from where an earlier one was.
//!
//! Each row and column has a price, none below zero; the two prices of an edge are at least its weight, and
//! exactly that where it is matched. If moreover nobody without a partner has a price, the matching is the
//! heaviest, and all prices together are its weight. A vertex for which the last does not hold is *loose*: the
//! cheapest way is searched to find it a partner, or to leave it or another of its side alone (the Hungarian method
//! with shortest augmenting paths, from both sides). A search never goes further than the loose vertex's price,
//! so it stays near where something has changed. Where the work is limited, searches may be missing; the prices are
//! then still a bound.
//!
//! Weights are what edges have left, cut at a cap: what circuits can carry in a day.

use crate::wants::{NO_EDGE, Wants};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// How often a vertex bids, on average, before searches take over.
const BIDS: usize = 8;
/// As many edges could be looked at while a search takes a step.
const STEP: u64 = 16;
/// Not reached.
const FAR: i32 = i32::MAX;

/// A matching with its prices. Side 0 are rows, side 1 columns.
#[derive(Clone, Debug, Default)]
pub(crate) struct Heaviest {
    prices: [Vec<i32>; 2],
    /// By side and vertex, its matched edge.
    matched: [Vec<u32>; 2],
}

/// The memory of a search.
#[derive(Clone, Debug)]
pub(crate) struct Search {
    /// Of the other side's vertices: how far, and by which edge.
    distance: Vec<i32>,
    from: Vec<u32>,
    /// Those that have a distance.
    reached: Vec<u16>,
    heap: BinaryHeap<Reverse<(i32, u16)>>,
    /// Those that are as near as the one at hand: they need no heap.
    near: Vec<u16>,
    /// Those whose distance is final.
    tree: Vec<(u16, i32)>,
    /// The nearest end.
    bound: i32,
    end: End,
    loose: Vec<u16>,
    /// Edges looked at; other work as so many edges as take the same time.
    pub work: u64,
    /// After so many there are no more searches: some vertices remain loose.
    pub most_work: u64,
}

/// Where a search ends.
#[derive(Clone, Copy, Debug, Default)]
enum End {
    /// The vertex it began with remains alone.
    #[default]
    Root,
    /// Another vertex of that side is left alone.
    Left(usize),
    /// A vertex of the other side is free.
    Free(usize),
}

impl Heaviest {
    /// The heaviest matching from nothing.
    pub fn solve(&mut self, wants: &Wants, cap: i32, search: &mut Search) {
        for side in 0..2 {
            self.prices[side].clear();
            self.prices[side].resize(wants.size, 0);
            self.matched[side].clear();
            self.matched[side].resize(wants.size, NO_EDGE);
        }
        self.renew(wants, cap, search);
    }
    /// The heaviest matching, from the prices of other weights.
    pub fn renew(&mut self, wants: &Wants, cap: i32, search: &mut Search) {
        for row in 0..wants.size {
            let (best, _) = self.offers((wants, cap), (0, row), search);
            self.prices[0][row] = best.0;
        }
        self.resume(wants, cap, search);
    }
    /// The heaviest matching of another graph, from the prices of columns.
    pub fn rebase(&mut self, wants: &Wants, cap: i32, search: &mut Search) {
        self.matched.iter_mut().for_each(|matched| matched.fill(NO_EDGE));
        self.renew(wants, cap, search);
    }
    /// The heaviest matching, where no weight is higher than before.
    pub fn resume(&mut self, wants: &Wants, cap: i32, search: &mut Search) {
        search.work += 8 * wants.size as u64;
        (0..wants.size).for_each(|row| self.part_if_slack(wants, cap, row));
        for side in 0..2 {
            self.find_loose(side, search);
            self.bid_all((wants, cap), side, search);
        }
        for side in 0..2 {
            self.find_loose(side, search);
            while let Some(vertex) = search.loose.pop().filter(|_| search.work < search.most_work) {
                if self.is_loose(side, vertex.into()) {
                    self.search((wants, cap), side, vertex.into(), search);
                }
            }
        }
    }
    /// Loose vertices bid for the best one across, and outbid others, as in an auction. This finds most of a matching
    /// at little cost; searches find the rest.
    fn bid_all(&mut self, weights: (&Wants, i32), side: usize, search: &mut Search) {
        let (wants, _) = weights;
        for bid in 0..BIDS * wants.size {
            if bid >= wants.size && search.work >= search.most_work {
                return;
            }
            let Some(vertex) = search.loose.pop().map(usize::from) else { return };
            let (best, second) = self.offers(weights, (side, vertex), search);
            self.prices[side][vertex] = best.0;
            if best.0 == 0 {
                continue;
            }
            let across = wants.end(1 - side, best.1);
            let before = self.matched[1 - side][across];
            if before != NO_EDGE {
                if best.0 == second {
                    // Neither can outbid the other: a search decides.
                    continue;
                }
                let outbid = wants.end(side, before);
                self.matched[side][outbid] = NO_EDGE;
                search.loose.push(outbid as u16);
            }
            self.prices[side][vertex] = second;
            self.prices[1 - side][across] += best.0 - second;
            self.marry(wants, best.1);
        }
    }
    /// What the best vertex across is worth above its price, and its edge, to a free one if there is any; and what the
    /// second best or none is worth.
    fn offers(
        &self,
        (wants, cap): (&Wants, i32),
        (side, vertex): (usize, usize),
        search: &mut Search,
    ) -> ((i32, u32), i32) {
        let (prices, matched) = (&self.prices[1 - side], &self.matched[1 - side]);
        let (mut best, mut second) = ((0, NO_EDGE), 0);
        wants.each(side, vertex, |edge, across, left| {
            search.work += 1;
            let worth = left.min(cap) - prices[across];
            if worth > best.0 {
                second = best.0;
                best = (worth, edge);
            } else if worth > second {
                second = worth;
            }
            if worth == best.0 && worth > 0 && best.1 != edge && matched[across] == NO_EDGE {
                best.1 = edge;
            }
        });
        (best, second)
    }
    /// By row, the edge that is matched.
    pub fn matched(&self) -> &[u32] {
        &self.matched[0]
    }
    /// The weight of the matching, and never less than that of the heaviest where vertices remain loose.
    pub fn value(&self) -> i64 {
        self.prices.iter().flatten().map(|&price| i64::from(price)).sum()
    }
    /// Copies another matching into this one's memory.
    pub fn copy_from(&mut self, other: &Heaviest) {
        for side in 0..2 {
            self.prices[side].clone_from(&other.prices[side]);
            self.matched[side].clone_from(&other.matched[side]);
        }
    }
    fn marry(&mut self, wants: &Wants, edge: u32) {
        self.matched[0][wants.end(0, edge)] = edge;
        self.matched[1][wants.end(1, edge)] = edge;
    }
    /// Parts a row from its column if the edge is worth less than their prices.
    fn part_if_slack(&mut self, wants: &Wants, cap: i32, row: usize) {
        let edge = self.matched[0][row];
        if edge == NO_EDGE {
            return;
        }
        let column = wants.end(1, edge);
        if self.prices[0][row] + self.prices[1][column] > wants.left[edge as usize].min(cap) {
            self.matched[0][row] = NO_EDGE;
            self.matched[1][column] = NO_EDGE;
        }
    }
    fn find_loose(&self, side: usize, search: &mut Search) {
        let all = (0..self.prices[side].len()).rev();
        search.loose.clear();
        search.loose.extend(all.filter(|&at| self.is_loose(side, at)).map(|at| at as u16));
    }
    fn is_loose(&self, side: usize, vertex: usize) -> bool {
        self.matched[side][vertex] == NO_EDGE && self.prices[side][vertex] > 0
    }
    /// Finds the cheapest end, moves prices so that the way there is tight, and matches along it.
    fn search(
        &mut self,
        (wants, cap): (&Wants, i32),
        side: usize,
        root: usize,
        search: &mut Search,
    ) {
        search.work += STEP;
        search.begin(wants.size, self.prices[side][root]);
        self.look((wants, cap), (side, root, 0), search);
        while let Some((distance, vertex)) = search.next() {
            let across = usize::from(vertex);
            if distance >= search.bound {
                break;
            }
            if distance > search.distance[across] {
                continue;
            }
            search.work += STEP;
            search.tree.push((vertex, distance));
            let near = wants.end(side, self.matched[1 - side][across]);
            let alone = distance + self.prices[side][near];
            if alone < search.bound {
                (search.bound, search.end) = (alone, End::Left(near));
            }
            self.look((wants, cap), (side, near, distance), search);
        }
        self.reprice(wants, side, root, search);
        self.rematch(wants, side, root, search);
    }
    /// Looks from a vertex at a distance along all its edges.
    fn look(
        &self,
        (wants, cap): (&Wants, i32),
        (side, vertex, distance): (usize, usize, i32),
        search: &mut Search,
    ) {
        let base = distance + self.prices[side][vertex];
        let (prices, matched) = (&self.prices[1 - side], &self.matched[1 - side]);
        wants.each(side, vertex, |edge, across, left| {
            search.work += 1;
            let reached = base + prices[across] - left.min(cap);
            if reached < search.bound && reached < search.distance[across] {
                search.reach(across, reached, edge);
                if matched[across] == NO_EDGE {
                    (search.bound, search.end) = (reached, End::Free(across));
                } else if reached == distance {
                    search.near.push(across as u16);
                } else {
                    search.heap.push(Reverse((reached, across as u16)));
                }
            }
        });
    }
    fn reprice(&mut self, wants: &Wants, side: usize, root: usize, search: &Search) {
        self.prices[side][root] -= search.bound;
        for &(vertex, distance) in &search.tree {
            let by = search.bound - distance;
            let near = wants.end(side, self.matched[1 - side][usize::from(vertex)]);
            self.prices[1 - side][usize::from(vertex)] += by;
            self.prices[side][near] -= by;
        }
    }
    fn rematch(&mut self, wants: &Wants, side: usize, root: usize, search: &Search) {
        let mut across = match search.end {
            End::Root => return,
            End::Free(across) => across,
            End::Left(near) => {
                let edge = std::mem::replace(&mut self.matched[side][near], NO_EDGE);
                wants.end(1 - side, edge)
            }
        };
        loop {
            let edge = search.from[across];
            let near = wants.end(side, edge);
            let before = self.matched[side][near];
            self.marry(wants, edge);
            if near == root {
                return;
            }
            across = wants.end(1 - side, before);
        }
    }
}

impl Default for Search {
    fn default() -> Search {
        Search {
            distance: Vec::new(),
            from: Vec::new(),
            reached: Vec::new(),
            heap: BinaryHeap::new(),
            near: Vec::new(),
            tree: Vec::new(),
            bound: 0,
            end: End::Root,
            loose: Vec::new(),
            work: 0,
            most_work: u64::MAX,
        }
    }
}

impl Search {
    fn begin(&mut self, size: usize, bound: i32) {
        if self.distance.len() != size {
            self.distance.clear();
            self.distance.resize(size, FAR);
            self.from.resize(size, NO_EDGE);
        } else {
            self.reached.iter().for_each(|&vertex| self.distance[usize::from(vertex)] = FAR);
        }
        self.reached.clear();
        self.heap.clear();
        self.near.clear();
        self.tree.clear();
        self.bound = bound;
        self.end = End::Root;
    }
    /// The nearest vertex whose distance may be final: first those as near as the one before.
    fn next(&mut self) -> Option<(i32, u16)> {
        match self.near.pop() {
            Some(vertex) => Some((self.distance[usize::from(vertex)], vertex)),
            None => self.heap.pop().map(|Reverse(found)| found),
        }
    }
    fn reach(&mut self, vertex: usize, distance: i32, edge: u32) {
        if self.distance[vertex] == FAR {
            self.reached.push(vertex as u16);
        }
        self.distance[vertex] = distance;
        self.from[vertex] = edge;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn cut(wants: &Wants, edge: u32, cap: i32) -> i64 {
        wants.left[edge as usize].min(cap).into()
    }

    /// The heaviest of all matchings.
    fn brute(wants: &Wants, cap: i32, row: usize, taken: u32) -> i64 {
        if row == wants.size {
            return 0;
        }
        let mut best = brute(wants, cap, row + 1, taken);
        wants.each(0, row, |edge, column, _| {
            if taken >> column & 1 == 0 {
                let rest = brute(wants, cap, row + 1, taken | 1 << column);
                best = best.max(cut(wants, edge, cap) + rest);
            }
        });
        best
    }

    /// The proof that it is the heaviest, which its prices are.
    fn is_proved(found: &Heaviest, wants: &Wants, cap: i32) -> bool {
        let price = |side: usize, at: usize| i64::from(found.prices[side][at]);
        let edges = 0..wants.left.len() as u32;
        let mut covered = edges.map(|edge| {
            price(0, wants.end(0, edge)) + price(1, wants.end(1, edge)) >= cut(wants, edge, cap)
        });
        let matched = found.matched().iter().enumerate();
        let edges: Vec<u32> =
            matched.clone().map(|(_, &edge)| edge).filter(|&e| e != NO_EDGE).collect();
        let mutual = matched.filter(|(_, edge)| **edge != NO_EDGE).all(|(row, &edge)| {
            wants.end(0, edge) == row && found.matched[1][wants.end(1, edge)] == edge
        });
        let weight: i64 = edges.iter().map(|&edge| cut(wants, edge, cap)).sum();
        let positive = found.prices.iter().flatten().all(|&price| price >= 0);
        covered.all(|covered| covered) && mutual && positive && weight == found.value()
    }

    fn wants(most: usize) -> impl Strategy<Value = Wants> {
        (1..most).prop_flat_map(|size| {
            let cell = prop_oneof![2 => Just(0), 1 => 0..30, 1 => 0..1 << 26];
            proptest::collection::vec(cell, size * size).prop_map(move |cells| {
                let mut wants = Wants::default();
                wants.load(size, &cells);
                wants
            })
        })
    }

    proptest! {
        #[test]
        fn it_is_the_heaviest(wants in wants(7), caps in proptest::collection::vec(1..1 << 26, 4)) {
            let (mut found, mut search) = (Heaviest::default(), Search::default());
            for (turn, cap) in caps.into_iter().enumerate() {
                match turn {
                    0 => found.solve(&wants, cap, &mut search),
                    _ => found.renew(&wants, cap, &mut search),
                }
                prop_assert!(is_proved(&found, &wants, cap));
                prop_assert_eq!(found.value(), brute(&wants, cap, 0, 0));
            }
        }

        #[test]
        fn it_goes_on_where_weights_fall(mut wants in wants(40), falls in proptest::collection::vec((any::<prop::sample::Index>(), 0..1 << 26), 60)) {
            let (mut found, mut search) = (Heaviest::default(), Search::default());
            let cap = 1 << 25;
            found.solve(&wants, cap, &mut search);
            for falls in falls.chunks(20) {
                for (at, by) in falls {
                    if !wants.left.is_empty() {
                        let at = at.index(wants.left.len());
                        wants.left[at] = (wants.left[at] - by).max(0);
                    }
                }
                found.resume(&wants, cap, &mut search);
                prop_assert!(is_proved(&found, &wants, cap));
            }
        }

        #[test]
        fn a_smaller_graph_comes_after_a_larger_one(sizes in proptest::collection::vec(wants(9), 3)) {
            let (mut found, mut search) = (Heaviest::default(), Search::default());
            for wants in sizes {
                found.solve(&wants, 1 << 20, &mut search);
                prop_assert!(is_proved(&found, &wants, 1 << 20));
            }
        }
    }
}
