//! All days of a week at once, as a b-matching, if no pair needs more than the shortest day.
//!
//! All days then have the same length, a pair needs one of them, and a rack has one pair on each. The task is
//! a maximum-weight b-matching: the heaviest pairs such that no rack has more pairs than there are days. It
//! is solved by an auction (Bertsekas, 1988). A row bids for its best columns, each up to the value of the
//! best column that it does without. The pairs are then assigned to days. This is an edge colouring of a
//! bipartite graph with as many colours as its maximum degree (König, 1916): if two days conflict, they are
//! exchanged along an alternating path.

use crate::plan::Plan;
use crate::residual_graph::{NO_EDGE, ResidualGraph};

/// The fixed cost of a bid for a single column. The unit of cost is one edge that a bid for many columns visits.
const SINGLE_BID_COST: u64 = 8;
/// The number of edges that a bid for a single column visits per unit of cost.
const EDGES_PER_UNIT: u64 = 3;

/// Plans days. It reuses its memory.
#[derive(Clone, Debug, Default)]
pub(crate) struct BMatching {
    /// Whether the row of an edge holds its column.
    taken: Vec<bool>,
    /// The number of columns that a row may still take.
    free: Vec<usize>,
    /// The bids that each column holds, at most one per day, with their edges. If a column is full, its
    /// lowest bid comes first.
    bids: Vec<Vec<(i32, u32)>>,
    /// The amount that a bid for a column has to exceed: zero, or the lowest bid if the column is full.
    prices: Vec<i32>,
    waiting: Vec<usize>,
    offers: Vec<(i32, u32)>,
    /// The edge by side, vertex and day.
    at: [Vec<u32>; 2],
    path: Vec<u32>,
    work: u64,
}

impl BMatching {
    /// The work so far, in edges visited.
    pub fn work(&self) -> u64 {
        self.work
    }
    /// Plans `days` days of equal length. When the work is used up, the remaining rows stop bidding.
    pub fn fill_week(
        &mut self,
        residual: &ResidualGraph,
        days: usize,
        length: i32,
        most_work: u64,
        plan: &mut Plan,
    ) {
        self.auction(residual, days, most_work);
        for at in &mut self.at {
            at.clear();
            at.resize(residual.size * days, NO_EDGE);
        }
        for edge in 0..residual.remaining.len() {
            if self.taken[edge] {
                self.assign_day(residual, days, edge as u32);
            }
        }
        plan.clear(residual.size);
        for day in 0..days {
            let edges = (0..residual.size).map(|row| self.at[0][row * days + day]);
            self.path.clear();
            self.path.extend(edges);
            plan.push_edges(length, &self.path, residual);
        }
    }
    fn auction(&mut self, residual: &ResidualGraph, days: usize, most_work: u64) {
        let step = residual.remaining.iter().copied().max().unwrap_or(0) / 512 + 1;
        self.taken.clear();
        self.taken.resize(residual.remaining.len(), false);
        self.free.clear();
        self.free.resize(residual.size, days);
        self.bids.resize(residual.size, Vec::new());
        self.bids.iter_mut().for_each(Vec::clear);
        self.prices.clear();
        self.prices.resize(residual.size, 0);
        self.waiting.clear();
        self.waiting.extend((0..residual.size).rev());
        let end = self.work + most_work;
        while let Some(row) = self.waiting.pop().filter(|_| self.work < end) {
            match self.free[row] {
                1 => self.bid_for_one(residual, days, row, step),
                _ => self.bid(residual, days, row, step),
            }
        }
    }
    /// A row that was outbid once bids for its best other column.
    fn bid_for_one(&mut self, residual: &ResidualGraph, days: usize, row: usize, step: i32) {
        let (taken, prices) = (&self.taken, &self.prices);
        let (mut best, mut without) = ((0, NO_EDGE), 0);
        let mut edges = 0;
        residual.for_each_edge(0, row, |edge, column, left| {
            edges += 1;
            let worth = if taken[edge as usize] { 0 } else { left - prices[column] };
            if worth > 0 && worth >= best.0 {
                without = best.0;
                best = (worth, edge);
            } else if worth > without {
                without = worth;
            }
        });
        self.work += SINGLE_BID_COST + edges / EDGES_PER_UNIT;
        if best.1 != NO_EDGE {
            self.free[row] = 0;
            let most = residual.remaining[best.1 as usize];
            self.place_bid((most.min(most - without + step), best.1), residual, days);
        }
    }
    /// A row bids for as many columns as it may still take.
    fn bid(&mut self, residual: &ResidualGraph, days: usize, row: usize, step: i32) {
        let (taken, prices) = (&self.taken, &self.prices);
        self.offers.clear();
        residual.for_each_edge(0, row, |edge, column, left| {
            let worth = left - prices[column];
            if worth > 0 && !taken[edge as usize] {
                self.offers.push((worth, edge));
            }
        });
        self.work += 24 + self.offers.len() as u64;
        let count = self.free[row].min(self.offers.len());
        let without = if count < self.offers.len() && count > 0 {
            self.offers.select_nth_unstable_by(count, |a, b| b.cmp(a)).1.0
        } else {
            0
        };
        self.free[row] -= count;
        for at in 0..count {
            let edge = self.offers[at].1;
            let most = residual.remaining[edge as usize];
            self.place_bid((most.min(most - without + step), edge), residual, days);
        }
    }
    /// Adds a bid to its column. If the column is full, the lowest bid is outbid, and its row bids again.
    fn place_bid(&mut self, bid: (i32, u32), residual: &ResidualGraph, days: usize) {
        let bids = &mut self.bids[residual.endpoint(1, bid.1)];
        self.taken[bid.1 as usize] = true;
        if bids.len() == days {
            let (_, outbid) = std::mem::replace(&mut bids[0], bid);
            let row = residual.endpoint(0, outbid);
            self.taken[outbid as usize] = false;
            self.free[row] += 1;
            self.waiting.push(row);
        } else {
            bids.push(bid);
        }
        if bids.len() == days {
            let lowest = (0..days).min_by_key(|&at| bids[at].0).unwrap_or(0);
            bids.swap(0, lowest);
            self.prices[residual.endpoint(1, bid.1)] = bids[0].0;
        }
    }
    /// Assigns a day to an edge. If its ends have no common free day, other edges exchange days.
    fn assign_day(&mut self, residual: &ResidualGraph, days: usize, edge: u32) {
        let ends = [0, 1].map(|side| residual.endpoint(side, edge) * days);
        let at = &self.at;
        let is_free = |side: usize, day: usize| at[side][ends[side] + day] == NO_EDGE;
        let both = (0..days).find(|&day| is_free(0, day) && is_free(1, day));
        let free = |side: usize| (0..days).find(|&day| is_free(side, day)).unwrap_or(0);
        let (here, there) = (free(0), free(1));
        if both.is_none() {
            self.swap_days(residual, days, ends[1], here, there);
        }
        let day = both.unwrap_or(here);
        (0..2).for_each(|side| self.at[side][ends[side] + day] = edge);
        self.work += days as u64;
    }
    /// Frees `day` for a column that is free on `other`. The edges on the alternating path from there
    /// exchange the two days.
    fn swap_days(
        &mut self,
        residual: &ResidualGraph,
        days: usize,
        column: usize,
        day: usize,
        other: usize,
    ) {
        self.path.clear();
        let (mut side, mut place_bid, mut turn) = (1, column, day);
        loop {
            let edge = self.at[side][place_bid + turn];
            if edge == NO_EDGE {
                break;
            }
            self.path.push(edge);
            side = 1 - side;
            place_bid = residual.endpoint(side, edge) * days;
            turn = day + other - turn;
        }
        for (at, &edge) in self.path.iter().enumerate() {
            let turn = if at % 2 == 0 { day } else { other };
            (0..2).for_each(|side| {
                self.at[side][residual.endpoint(side, edge) * days + turn] = NO_EDGE
            });
        }
        for (at, &edge) in self.path.iter().enumerate() {
            let turn = if at % 2 == 0 { other } else { day };
            (0..2)
                .for_each(|side| self.at[side][residual.endpoint(side, edge) * days + turn] = edge);
        }
        self.work += 2 * self.path.len() as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::max_weight_matching::{MaxWeightMatching, Search};
    use crate::residual_graph::NONE;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn days_are_matchings_and_as_heavy_as_one_after_another(
            size in 2_usize..14,
            cells in proptest::collection::vec(prop_oneof![1 => Just(0), 3 => 0..100_000], 196),
            days in 1_usize..6,
        ) {
            let cells: Vec<i32> = cells[..size * size].to_vec();
            let (mut residual, mut plan) = (ResidualGraph::default(), Plan::default());
            residual.load(size, &cells);
            BMatching::default().fill_week(&residual, days, 100_000, u64::MAX / 2, &mut plan);
            let (mut left, mut served) = (cells.clone(), 0);
            for day in 0..days {
                let mut seen = vec![false; size];
                for (row, &column) in plan.columns(day).iter().enumerate().filter(|(_, c)| **c != NONE) {
                    prop_assert!(!std::mem::replace(&mut seen[usize::from(column)], true));
                    served += std::mem::take(&mut left[row * size + usize::from(column)]);
                }
            }
            let (mut max_weight, mut search, mut greedy) = (MaxWeightMatching::default(), Search::default(), 0);
            for _ in 0..days {
                max_weight.solve(&residual, 100_000, &mut search);
                greedy += residual.serve(max_weight.matched(), 100_000);
            }
            // An auction with steps loses at most one step per pair.
            let steps = (size * days) as i64 * (100_000 / 512 + 2);
            prop_assert!(i64::from(served) + steps >= greedy, "{} {}", served, greedy);
        }
    }
}
