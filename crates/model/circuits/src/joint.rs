//! All days at once, where no pair needs more than the shortest day.
//!
//! Then days are equally long, a pair needs one of them, and a rack has one pair in each: what is looked for are
//! the heaviest pairs of which no rack has more than there are days. Racks bid for their best columns as in an
//! auction: as much as makes them worth no more than the best one they do without. Pairs of which nobody has more than
//! so many are then given so many days (König 1916), with alternating paths where two days are in the way.

use crate::plan::Plan;
use crate::wants::{NO_EDGE, Wants};

/// What a bid for one column takes, in the time of an edge that is looked at in a bid for many; and how many edges are
/// looked at in that time.
const ONCE: u64 = 8;
const EDGES: u64 = 3;

/// Finds days; keeps its memory.
#[derive(Clone, Debug, Default)]
pub(crate) struct Joint {
    /// By edge, whether its row has it.
    taken: Vec<bool>,
    /// By row, how many more it may have.
    free: Vec<usize>,
    /// By column, bids and their edges, so many as there are days; the lowest one first once it is full.
    bids: Vec<Vec<(i32, u32)>>,
    /// By column, what a bid has to beat: nothing, or the lowest one once it is full.
    prices: Vec<i32>,
    rows: Vec<usize>,
    offers: Vec<(i32, u32)>,
    /// By side, vertex and day, the edge.
    at: [Vec<u32>; 2],
    path: Vec<u32>,
    work: u64,
}

impl Joint {
    /// Edges looked at so far.
    pub fn work(&self) -> u64 {
        self.work
    }
    /// So many days of a length for what is wanted. After so much work rows do without.
    pub fn fill(
        &mut self,
        wants: &Wants,
        days: usize,
        length: i32,
        most_work: u64,
        plan: &mut Plan,
    ) {
        self.auction(wants, days, most_work);
        for at in &mut self.at {
            at.clear();
            at.resize(wants.size * days, NO_EDGE);
        }
        for edge in 0..wants.left.len() {
            if self.taken[edge] {
                self.give_day(wants, days, edge as u32);
            }
        }
        plan.clear(wants.size);
        for day in 0..days {
            let edges = (0..wants.size).map(|row| self.at[0][row * days + day]);
            self.path.clear();
            self.path.extend(edges);
            plan.push_edges(length, &self.path, wants);
        }
    }
    fn auction(&mut self, wants: &Wants, days: usize, most_work: u64) {
        let step = wants.left.iter().copied().max().unwrap_or(0) / 512 + 1;
        self.taken.clear();
        self.taken.resize(wants.left.len(), false);
        self.free.clear();
        self.free.resize(wants.size, days);
        self.bids.resize(wants.size, Vec::new());
        self.bids.iter_mut().for_each(Vec::clear);
        self.prices.clear();
        self.prices.resize(wants.size, 0);
        self.rows.clear();
        self.rows.extend((0..wants.size).rev());
        let end = self.work + most_work;
        while let Some(row) = self.rows.pop().filter(|_| self.work < end) {
            match self.free[row] {
                1 => self.bid_once(wants, days, row, step),
                _ => self.bid(wants, days, row, step),
            }
        }
    }
    /// A row that was outbid bids for its best other column.
    fn bid_once(&mut self, wants: &Wants, days: usize, row: usize, step: i32) {
        let (taken, prices) = (&self.taken, &self.prices);
        let (mut best, mut without) = ((0, NO_EDGE), 0);
        let mut edges = 0;
        wants.each(0, row, |edge, column, left| {
            edges += 1;
            let worth = if taken[edge as usize] { 0 } else { left - prices[column] };
            if worth > 0 && worth >= best.0 {
                without = best.0;
                best = (worth, edge);
            } else if worth > without {
                without = worth;
            }
        });
        self.work += ONCE + edges / EDGES;
        if best.1 != NO_EDGE {
            self.free[row] = 0;
            let most = wants.left[best.1 as usize];
            self.place((most.min(most - without + step), best.1), wants, days);
        }
    }
    /// A row bids for as many columns as it may have more.
    fn bid(&mut self, wants: &Wants, days: usize, row: usize, step: i32) {
        let (taken, prices) = (&self.taken, &self.prices);
        self.offers.clear();
        wants.each(0, row, |edge, column, left| {
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
            let most = wants.left[edge as usize];
            self.place((most.min(most - without + step), edge), wants, days);
        }
    }
    /// Puts a bid among those of its column; who is outbid, bids again.
    fn place(&mut self, bid: (i32, u32), wants: &Wants, days: usize) {
        let bids = &mut self.bids[wants.end(1, bid.1)];
        self.taken[bid.1 as usize] = true;
        if bids.len() == days {
            let (_, outbid) = std::mem::replace(&mut bids[0], bid);
            let row = wants.end(0, outbid);
            self.taken[outbid as usize] = false;
            self.free[row] += 1;
            self.rows.push(row);
        } else {
            bids.push(bid);
        }
        if bids.len() == days {
            let lowest = (0..days).min_by_key(|&at| bids[at].0).unwrap_or(0);
            bids.swap(0, lowest);
            self.prices[wants.end(1, bid.1)] = bids[0].0;
        }
    }
    /// A day for an edge. If its ends have no day in common that is free, others swap theirs.
    fn give_day(&mut self, wants: &Wants, days: usize, edge: u32) {
        let ends = [0, 1].map(|side| wants.end(side, edge) * days);
        let at = &self.at;
        let is_free = |side: usize, day: usize| at[side][ends[side] + day] == NO_EDGE;
        let both = (0..days).find(|&day| is_free(0, day) && is_free(1, day));
        let free = |side: usize| (0..days).find(|&day| is_free(side, day)).unwrap_or(0);
        let (here, there) = (free(0), free(1));
        if both.is_none() {
            self.swap_days(wants, days, ends[1], here, there);
        }
        let day = both.unwrap_or(here);
        (0..2).for_each(|side| self.at[side][ends[side] + day] = edge);
        self.work += days as u64;
    }
    /// Makes a day free for a column, whose other day is: along the path of both days from there each takes the other.
    fn swap_days(&mut self, wants: &Wants, days: usize, column: usize, day: usize, other: usize) {
        self.path.clear();
        let (mut side, mut place, mut turn) = (1, column, day);
        loop {
            let edge = self.at[side][place + turn];
            if edge == NO_EDGE {
                break;
            }
            self.path.push(edge);
            side = 1 - side;
            place = wants.end(side, edge) * days;
            turn = day + other - turn;
        }
        for (at, &edge) in self.path.iter().enumerate() {
            let turn = if at % 2 == 0 { day } else { other };
            (0..2).for_each(|side| self.at[side][wants.end(side, edge) * days + turn] = NO_EDGE);
        }
        for (at, &edge) in self.path.iter().enumerate() {
            let turn = if at % 2 == 0 { other } else { day };
            (0..2).for_each(|side| self.at[side][wants.end(side, edge) * days + turn] = edge);
        }
        self.work += 2 * self.path.len() as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::heaviest::{Heaviest, Search};
    use crate::wants::NONE;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn days_are_matchings_and_as_heavy_as_one_after_another(
            size in 2_usize..14,
            cells in proptest::collection::vec(prop_oneof![1 => Just(0), 3 => 0..100_000], 196),
            days in 1_usize..6,
        ) {
            let cells: Vec<i32> = cells[..size * size].to_vec();
            let (mut wants, mut plan) = (Wants::default(), Plan::default());
            wants.load(size, &cells);
            Joint::default().fill(&wants, days, 100_000, u64::MAX / 2, &mut plan);
            let (mut left, mut served) = (cells.clone(), 0);
            for day in 0..days {
                let mut seen = vec![false; size];
                for (row, &column) in plan.columns(day).iter().enumerate().filter(|(_, c)| **c != NONE) {
                    prop_assert!(!std::mem::replace(&mut seen[usize::from(column)], true));
                    served += std::mem::take(&mut left[row * size + usize::from(column)]);
                }
            }
            let (mut heaviest, mut search, mut greedy) = (Heaviest::default(), Search::default(), 0);
            for _ in 0..days {
                heaviest.solve(&wants, 100_000, &mut search);
                greedy += wants.serve(heaviest.matched(), 100_000);
            }
            // An auction in steps loses no more than a step for each pair.
            let steps = (size * days) as i64 * (100_000 / 512 + 2);
            prop_assert!(i64::from(served) + steps >= greedy, "{} {}", served, greedy);
        }
    }
}
