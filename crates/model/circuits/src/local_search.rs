//! Local search: improves a plan by new matchings and by moving time between days.
//!
//! No step makes a plan serve less. The first step removes the matching of a day and replaces it by a
//! maximum-weight matching of what the other days do not serve. The second step moves time from one day to
//! another as long as the pairs that are served more outnumber those that are served less.

use crate::max_weight_matching::{MaxWeightMatching, Search};
use crate::residual_graph::{NO_EDGE, ResidualGraph};
use crate::ticks::TickTiming;

/// A plan under improvement: days with their matched edges, and the time of each circuit. It reuses its
/// memory.
#[derive(Clone, Debug, Default)]
pub(crate) struct LocalSearch {
    lengths: Vec<i32>,
    /// The matched edge by day and row.
    matched: Vec<u32>,
    /// The demand of each edge, and the time that it has a circuit.
    demand: Vec<i32>,
    circuit_time: Vec<i32>,
    max_weight: MaxWeightMatching,
    search: Search,
    slopes: Vec<Slope>,
    /// The shortages of the day that gains time, and the surpluses of the day that loses it.
    margins: (Vec<i32>, Vec<i32>),
    /// Whether a column has a row.
    taken: Vec<bool>,
}

/// The effect of more or less time for a day.
#[derive(Clone, Copy, Debug, Default)]
struct Slope {
    /// The number of pairs that would be served more.
    gain: usize,
    /// The number of pairs that would be served less.
    loss: usize,
}

/// The largest change of time for which the pairs that gain outnumber those that lose. A gaining pair is
/// satisfied after its shortage, and a pair begins to lose after its slack. Both lists are sorted.
fn crossing(gains: usize, shortages: &[i32], losses: usize, slack: &[i32], most: i32) -> i32 {
    let (mut satisfied, mut losing) = (0, 0);
    loop {
        if gains - satisfied <= losses + losing {
            return [
                satisfied.checked_sub(1).map(|at| shortages[at]),
                losing.checked_sub(1).map(|at| slack[at]),
            ]
            .into_iter()
            .flatten()
            .max()
            .unwrap_or(0);
        }
        match (shortages.get(satisfied), slack.get(losing)) {
            (Some(shortages), slack) if slack.is_none_or(|slack| shortages <= slack) => {
                satisfied += 1
            }
            (_, Some(_)) => losing += 1,
            _ => return most,
        }
    }
}

impl LocalSearch {
    /// Begins a plan without days for a demand.
    pub fn begin(&mut self, residual: &ResidualGraph) {
        self.lengths.clear();
        self.matched.clear();
        self.demand.clone_from(&residual.remaining);
        self.circuit_time.clear();
        self.circuit_time.resize(residual.remaining.len(), 0);
    }
    /// Appends a day with its matched edges by row.
    pub fn push(&mut self, length: i32, matched: &[u32]) {
        self.lengths.push(length);
        self.matched.extend_from_slice(matched);
        self.add_circuit_time(self.lengths.len() - 1, length);
    }
    /// Appends a day of circuits. It ignores circuits of pairs that have no edge.
    pub fn push_pairs(
        &mut self,
        length: i32,
        pairs: impl Iterator<Item = (usize, usize)>,
        residual: &ResidualGraph,
    ) {
        let begin = self.matched.len();
        self.matched.resize(begin + residual.size, NO_EDGE);
        for (row, column) in pairs {
            self.matched[begin + row] = residual.find(row, column).unwrap_or(NO_EDGE);
        }
        self.lengths.push(length);
        self.add_circuit_time(self.lengths.len() - 1, length);
    }
    pub fn days(&self) -> impl Iterator<Item = (i32, &[u32])> {
        let size = self.matched.len() / self.lengths.len().max(1);
        self.lengths.iter().copied().zip(self.matched.chunks(size.max(1)))
    }
    /// The demand that the plan serves, in ticks.
    pub fn served(&self) -> i64 {
        let edges = self.demand.iter().zip(&self.circuit_time);
        edges.map(|(&demand, &circuit_time)| i64::from(demand.min(circuit_time))).sum()
    }
    /// The work so far, in edges visited.
    pub fn work(&self) -> u64 {
        self.search.work
    }
    fn edges(&self, day: usize) -> std::ops::Range<usize> {
        let size = self.matched.len() / self.lengths.len();
        day * size..(day + 1) * size
    }
    /// Adds `by` ticks to the time of all circuits of a day.
    fn add_circuit_time(&mut self, day: usize, by: i32) {
        for at in self.edges(day) {
            let edge = self.matched[at];
            if edge != NO_EDGE {
                self.circuit_time[edge as usize] += by;
            }
        }
    }
    /// Repeats both steps until a round gains less than a thousandth or the work is used up. Returns whether
    /// the plan serves more than before.
    pub fn improve(
        &mut self,
        ticks: &TickTiming,
        residual: &mut ResidualGraph,
        most_work: u64,
    ) -> bool {
        let end = self.search.work + most_work;
        self.search.most_work = end;
        let (before, mut served) = (self.served(), self.served());
        loop {
            self.move_time(ticks, end);
            self.rematch_all(residual, end);
            self.move_time(ticks, end);
            let now = self.served();
            if now <= served + served / 1_000 || self.search.work >= end {
                return now > before;
            }
            served = now;
        }
    }
    /// Connects racks that are free on a day, if their unserved part of `demand` is above zero.
    pub fn connect_idle_racks(&mut self, residual: &ResidualGraph, demand: &[i32]) {
        for day in 0..self.lengths.len() {
            let edges = self.edges(day);
            self.taken.clear();
            self.taken.resize(residual.size, false);
            for &edge in self.matched[edges.clone()].iter().filter(|&&edge| edge != NO_EDGE) {
                self.taken[residual.endpoint(1, edge)] = true;
            }
            for (row, at) in edges.enumerate() {
                if self.matched[at] != NO_EDGE {
                    continue;
                }
                let mut most = (0, NO_EDGE, 0);
                residual.for_each_edge(0, row, |edge, column, _| {
                    let left = demand[edge as usize] - self.circuit_time[edge as usize];
                    if left > most.0 && !self.taken[column] {
                        most = (left, edge, column);
                    }
                });
                if most.1 != NO_EDGE {
                    self.taken[most.2] = true;
                    self.matched[at] = most.1;
                    self.circuit_time[most.1 as usize] += self.lengths[day];
                }
            }
        }
    }
    fn rematch_all(&mut self, residual: &mut ResidualGraph, end: u64) {
        for day in 0..self.lengths.len() {
            if self.search.work >= end {
                return;
            }
            self.rematch(day, day == 0, residual);
        }
    }
    /// Gives a day the best matching with respect to all other days.
    fn rematch(&mut self, day: usize, from_scratch: bool, residual: &mut ResidualGraph) {
        let length = self.lengths[day];
        self.add_circuit_time(day, -length);
        let edges = self.demand.iter().zip(&self.circuit_time);
        residual.remaining.clear();
        residual
            .remaining
            .extend(edges.map(|(&demand, &circuit_time)| (demand - circuit_time).max(0)));
        self.search.work += residual.remaining.len() as u64;
        match from_scratch {
            true => self.max_weight.solve(residual, length, &mut self.search),
            false => self.max_weight.solve_warm(residual, length, &mut self.search),
        }
        let edges = self.edges(day);
        let circuit_time = self.matched[edges.clone()].iter().filter(|&&edge| edge != NO_EDGE);
        let before: i64 = circuit_time
            .map(|&edge| i64::from(residual.remaining[edge as usize].min(length)))
            .sum();
        let found = self.max_weight.matched().iter().filter(|&&edge| edge != NO_EDGE);
        let now: i64 =
            found.map(|&edge| i64::from(residual.remaining[edge as usize].min(length))).sum();
        if now > before {
            self.matched[edges].copy_from_slice(self.max_weight.matched());
        }
        self.add_circuit_time(day, length);
    }
    /// Moves time between days as long as this serves more. It first distributes the unused time of the week.
    fn move_time(&mut self, ticks: &TickTiming, end: u64) {
        let spans = self.lengths.iter().map(|&length| length + ticks.night);
        let mut idle = (ticks.week - spans.sum::<i32>()).max(0);
        self.measure_slopes();
        for _ in 0..4 * self.lengths.len() {
            let days = 0..self.lengths.len();
            let Some(to) = days.clone().max_by_key(|&day| self.slopes[day].gain) else { return };
            let can = days.filter(|&day| day != to && self.lengths[day] > ticks.min_day);
            let from = can.min_by_key(|&day| self.slopes[day].loss).filter(|_| idle == 0);
            if (idle == 0 && from.is_none()) || self.search.work >= end {
                return;
            }
            let promised = self.slopes[to].gain > from.map_or(0, |day| self.slopes[day].loss);
            // Days can share pairs, so that a slope may have changed since it was measured.
            let by = self.useful_time(ticks, from, to, idle);
            match (promised, by) {
                (false, _) => return,
                (true, 0) => continue,
                (true, by) => self.transfer(from, to, by),
            }
            idle -= if from.is_none() { by } else { 0 };
        }
    }
    /// The time that day `to` should take from day `from`, or from the unused time.
    fn useful_time(
        &mut self,
        ticks: &TickTiming,
        from: Option<usize>,
        to: usize,
        idle: i32,
    ) -> i32 {
        self.measure_slope(to);
        let most = from.map_or(idle, |day| self.lengths[day] - ticks.min_day);
        let losses = from.map_or(0, |from| {
            self.measure_slope(from);
            self.slopes[from].loss
        });
        let (mut shortages, mut slack) = std::mem::take(&mut self.margins);
        self.list_margins(Some(to), -1, most, &mut shortages);
        self.list_margins(from, 1, most, &mut slack);
        let by = crossing(self.slopes[to].gain, &shortages, losses, &slack, most);
        self.search.work += (shortages.len() + slack.len()) as u64;
        self.margins = (shortages, slack);
        by
    }
    /// Lists the surpluses (sign 1) or the shortages (sign -1) of a day's pairs that are below `most`,
    /// sorted.
    fn list_margins(&self, day: Option<usize>, sign: i32, most: i32, out: &mut Vec<i32>) {
        let edges = day.into_iter().flat_map(|day| self.edges(day));
        let excess = edges.map(|at| sign * self.excess(at));
        out.clear();
        out.extend(excess.filter(|&excess| 0 < excess && excess < most));
        out.sort_unstable();
    }
    /// The circuit time of a matched edge beyond its demand. It is zero without an edge.
    fn excess(&self, at: usize) -> i32 {
        match self.matched[at] {
            NO_EDGE => 0,
            edge => self.circuit_time[edge as usize] - self.demand[edge as usize],
        }
    }
    fn transfer(&mut self, from: Option<usize>, to: usize, by: i32) {
        for (day, by) in from.map(|day| (day, -by)).into_iter().chain([(to, by)]) {
            self.lengths[day] += by;
            self.add_circuit_time(day, by);
        }
        for day in from.into_iter().chain([to]) {
            self.measure_slope(day);
        }
    }
    fn measure_slopes(&mut self) {
        self.slopes.clear();
        self.slopes.resize(self.lengths.len(), Slope::default());
        (0..self.lengths.len()).for_each(|day| self.measure_slope(day));
    }
    fn measure_slope(&mut self, day: usize) {
        let mut slope = Slope::default();
        for at in self.edges(day).filter(|&at| self.matched[at] != NO_EDGE) {
            let excess = self.excess(at);
            slope.gain += usize::from(excess < 0);
            slope.loss += usize::from(excess <= 0);
        }
        self.search.work += self.edges(day).len() as u64 / 2;
        self.slopes[day] = slope;
    }
}
