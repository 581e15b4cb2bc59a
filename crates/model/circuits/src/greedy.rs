//! Greedy planning: each day is the one that serves most per time, its night included.
//!
//! The best day of length `a` has a maximum-weight matching of all cells capped at `a`. Let `V(a)` be its
//! weight. Longer days serve more, but less per length: between `a` and `b`, `V(x)` is at most `V(b)` and at
//! most `V(a) x / a`. An interval of lengths is discarded if neither bound allows a better day than the best
//! one so far. Otherwise it is split where the two bounds meet. Residual demand only falls, so that the
//! values of earlier days remain upper bounds, and most lengths need not be evaluated again.
//!
//! Source: the problem is step 3 of Eclipse's Algorithm 2 (Bojja Venkatakrishnan et al., SIGMETRICS 2016);
//! the branch and bound is our own.

use crate::max_weight_matching::{MaxWeightMatching, Search};
use crate::residual_graph::{NO_EDGE, ResidualGraph};
use crate::ticks::TickTiming;

/// An evaluated length.
#[derive(Clone, Debug, Default)]
struct Point {
    length: i32,
    /// An upper bound of what a day of this length serves.
    bound: i64,
    /// The round in which the bound was exact.
    round: u32,
    state: MaxWeightMatching,
}

/// Finds the best day. It reuses its memory.
#[derive(Clone, Debug, Default)]
pub(crate) struct Greedy {
    /// The evaluated lengths, in ascending order.
    points: Vec<Point>,
    /// Unused points, kept for their memory.
    spare: Vec<Point>,
    round: u32,
    search: Search,
    /// The residual demand of each matched pair, sorted.
    sizes: Vec<i32>,
    best: Best,
}

/// The best day of this round.
#[derive(Clone, Debug, Default)]
struct Best {
    length: i32,
    /// The ticks of demand served per tick.
    rate: f64,
    /// The matched edges by row.
    edges: Vec<u32>,
}

/// The lengths that a day may have.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DayLengths {
    pub least: i32,
    pub most: i32,
    pub night: i32,
}

impl DayLengths {
    /// The lengths that fit into the rest of a week, or `None` if no day fits.
    pub fn within(ticks: &TickTiming, left: i32) -> Option<DayLengths> {
        let most = left - ticks.night;
        (most >= ticks.min_day).then_some(DayLengths {
            least: ticks.min_day,
            most,
            night: ticks.night,
        })
    }
}

impl Greedy {
    /// Discards what it has computed for an earlier demand.
    pub fn reset(&mut self) {
        self.spare.append(&mut self.points);
        self.round = 0;
        self.search.work = 0;
        self.search.most_work = u64::MAX;
    }
    /// The work since the last reset, in edges visited.
    pub fn work(&self) -> u64 {
        self.search.work
    }
    /// Limits the work since the last reset. It still does the work needed to find any day.
    pub fn limit(&mut self, most_work: u64) {
        self.search.most_work = most_work;
    }
    /// Returns the length and the matched edges of a day whose rate is at least `1 / (1 + slack)` of the best
    /// rate, unless the work is limited. Demand must not have risen since the last call. It returns `None` if
    /// there is nothing to serve.
    pub fn pick(
        &mut self,
        residual: &ResidualGraph,
        lengths: DayLengths,
        slack: f64,
    ) -> Option<(i32, &[u32])> {
        self.round += 1;
        self.best.rate = 0.0;
        // A day longer than the largest residual demand serves no more.
        let largest = residual.remaining.iter().copied().max().unwrap_or(0);
        let lengths = DayLengths { most: lengths.most.min(largest).max(lengths.least), ..lengths };
        self.trim(lengths);
        if self.points.is_empty() {
            self.insert(residual, lengths.most, lengths);
            self.insert(residual, lengths.least, lengths);
        }
        while self.best.rate == 0.0 || self.search.work < self.search.most_work {
            let Some((at, length)) = self.most_promising(lengths, slack) else { break };
            self.refine(residual, at, length, lengths);
        }
        (self.best.rate > 0.0).then_some((self.best.length, &self.best.edges[..]))
    }
    /// Discards lengths that are no longer allowed. The first of them stays, as a start for others.
    fn trim(&mut self, lengths: DayLengths) {
        let above = self.points.partition_point(|point| point.length <= lengths.most);
        self.spare.extend(self.points.drain((above + 1).min(self.points.len())..));
    }
    /// The first point of the interval with the highest bound, and the length at which it has that bound. It
    /// returns `None` if no interval allows a better day.
    fn most_promising(&self, lengths: DayLengths, slack: f64) -> Option<(usize, i32)> {
        let enough = self.best.rate * (1.0 + slack);
        let bound = |at: usize| {
            let low = &self.points[at];
            let (from, slope) = (f64::from(low.length), low.bound as f64 / f64::from(low.length));
            // The length at which both bounds meet. A day longer than the last point serves no more.
            let meet = match self.points.get(at + 1) {
                Some(high) if low.bound > 0 => {
                    (high.bound as f64 / slope).min(f64::from(lengths.most))
                }
                _ => from,
            };
            (
                slope * meet.max(from) / (meet.max(from) + f64::from(lengths.night)),
                (at, meet as i32),
            )
        };
        // There is no length between two consecutive ones.
        let open = |at: &usize| {
            let (low, high) = (&self.points[*at], self.points.get(at + 1));
            let between = high.is_none_or(|high| high.length - low.length > 1);
            low.length <= lengths.most && (between || low.round < self.round)
        };
        let bounds =
            (0..self.points.len()).filter(open).map(bound).filter(|found| found.0 > enough);
        bounds.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, found)| found)
    }
    /// Tightens the bound of an interval. It evaluates an end that is known from an earlier round, or else a
    /// length in between.
    fn refine(&mut self, residual: &ResidualGraph, at: usize, length: i32, lengths: DayLengths) {
        let low = self.points[at].length;
        let stale = |at: usize| {
            let point = self.points.get(at);
            point.is_some_and(|point| point.round < self.round && point.length <= lengths.most)
        };
        let high = self.points.get(at + 1).map_or(low, |point| point.length);
        match (stale(at), stale(at + 1)) {
            (true, true) if length - low > high - length => self.refresh(residual, at + 1, lengths),
            (true, _) => self.refresh(residual, at, lengths),
            (_, true) => self.refresh(residual, at + 1, lengths),
            _ => self.insert(residual, length.clamp(low + 1, lengths.most.max(low + 1)), lengths),
        }
    }
    /// Evaluates a length, which may be known from an earlier round.
    fn insert(&mut self, residual: &ResidualGraph, length: i32, lengths: DayLengths) {
        let at = self.points.partition_point(|point| point.length < length);
        if self.points.get(at).is_some_and(|point| point.length == length) {
            return self.refresh(residual, at, lengths);
        }
        let mut point = self.spare.pop().unwrap_or_default();
        let near = self.points.get(at).or(self.points.last());
        match near {
            Some(near) => {
                point.state.copy_from(&near.state);
                point.state.solve_warm(residual, length, &mut self.search);
            }
            None => point.state.solve(residual, length, &mut self.search),
        }
        point.length = length;
        self.points.insert(at, point);
        self.evaluate(at, residual, lengths);
    }
    fn refresh(&mut self, residual: &ResidualGraph, at: usize, lengths: DayLengths) {
        let point = &mut self.points[at];
        if point.round < self.round {
            point.state.solve_decreased(residual, point.length, &mut self.search);
            self.evaluate(at, residual, lengths);
        }
    }
    /// Stores the exact value of a point, and its day if that is the best one so far.
    fn evaluate(&mut self, at: usize, residual: &ResidualGraph, lengths: DayLengths) {
        let point = &mut self.points[at];
        point.bound = point.state.value();
        point.round = self.round;
        let edges = point.state.matched();
        self.sizes.clear();
        let matched = edges.iter().filter(|&&edge| edge != NO_EDGE);
        self.sizes.extend(matched.map(|&edge| residual.remaining[edge as usize]));
        let (length, rate) = best_length(&mut self.sizes, lengths);
        if rate > self.best.rate {
            self.best.length = length;
            self.best.rate = rate;
            self.best.edges.clear();
            self.best.edges.extend_from_slice(edges);
        }
    }
}

/// The length at which a matching with these demands serves most per time, and its rate. The demand served is
/// piecewise linear with a bend at each demand, so that the best length is a bend or a limit.
pub(crate) fn best_length(sizes: &mut [i32], lengths: DayLengths) -> (i32, f64) {
    sizes.sort_unstable();
    let least = sizes.iter().map(|&cell| i64::from(cell.min(lengths.least))).sum();
    let mut best = better((lengths.least, 0.0), lengths.least, least, lengths.night);
    let mut done = 0_i64;
    for (at, &cell) in sizes.iter().enumerate() {
        let longer = (sizes.len() - at) as i64;
        if cell > lengths.least {
            let length = cell.min(lengths.most);
            best = better(best, length, done + longer * i64::from(length), lengths.night);
        }
        if cell >= lengths.most {
            break;
        }
        done += i64::from(cell);
    }
    best
}

fn better(best: (i32, f64), length: i32, served: i64, night: i32) -> (i32, f64) {
    let rate = served as f64 / (f64::from(length) + f64::from(night));
    if rate > best.1 { (length, rate) } else { best }
}
