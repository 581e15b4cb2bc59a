//! One day after another, each the one that serves most per time, its night included.
//!
//! The best day of length `a` has the heaviest matching of all cells cut at `a`; let `V(a)` be its weight. Longer
//! days serve more, and less per length: between `a` and `b`, `V(x)` is at most `V(b)`, and at most
//! `V(a) x / a`. So a stretch of lengths is left alone once neither bound allows a better day than the one found,
//! and else is cut where the two bounds meet. What is known from the day before remains a bound, as demand only
//! falls: most lengths need not be looked at again.

use crate::heaviest::{Heaviest, Search};
use crate::ticks::Clock;
use crate::wants::{NO_EDGE, Wants};

/// A length that was looked at.
#[derive(Clone, Debug, Default)]
struct Point {
    length: i32,
    /// No day of this length serves more.
    bound: i64,
    /// The turn in which the bound was exact.
    turn: u32,
    state: Heaviest,
}

/// Finds days; keeps its memory.
#[derive(Clone, Debug, Default)]
pub(crate) struct Greedy {
    /// By length.
    points: Vec<Point>,
    /// Memory of points that are gone.
    spare: Vec<Point>,
    turn: u32,
    search: Search,
    /// What each pair of a matching has, sorted.
    sizes: Vec<i32>,
    best: Best,
}

/// The best day found.
#[derive(Clone, Debug, Default)]
struct Best {
    length: i32,
    /// What it serves per tick.
    rate: f64,
    /// By row.
    edges: Vec<u32>,
}

/// What a day may be.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lengths {
    pub least: i32,
    pub most: i32,
    pub night: i32,
}

impl Lengths {
    /// What fits into the rest of a week; nothing where no day does.
    pub fn within(clock: &Clock, left: i32) -> Option<Lengths> {
        let most = left - clock.night;
        (most >= clock.min_day).then_some(Lengths {
            least: clock.min_day,
            most,
            night: clock.night,
        })
    }
}

impl Greedy {
    /// Forgets what it knows of an earlier demand.
    pub fn begin(&mut self) {
        self.spare.append(&mut self.points);
        self.turn = 0;
        self.search.work = 0;
        self.search.most_work = u64::MAX;
    }
    /// Edges looked at since it began.
    pub fn work(&self) -> u64 {
        self.search.work
    }
    /// Does no more than so much work from its beginning on, but for what is needed to find any day.
    pub fn limit(&mut self, most_work: u64) {
        self.search.most_work = most_work;
    }
    /// The length and the matching of a day that serves, per time, no less than `1 / (1 + slack)` of the best one,
    /// if work is not limited. What is wanted may only have
    /// fallen since the call before. Nothing where there is nothing to serve.
    pub fn pick(&mut self, wants: &Wants, lengths: Lengths, slack: f64) -> Option<(i32, &[u32])> {
        self.turn += 1;
        self.best.rate = 0.0;
        // A day that is longer than all that is left serves no more.
        let largest = wants.left.iter().copied().max().unwrap_or(0);
        let lengths = Lengths { most: lengths.most.min(largest).max(lengths.least), ..lengths };
        self.trim(lengths);
        if self.points.is_empty() {
            self.insert(wants, lengths.most, lengths);
            self.insert(wants, lengths.least, lengths);
        }
        while self.best.rate == 0.0 || self.search.work < self.search.most_work {
            let Some((at, length)) = self.promising(lengths, slack) else { break };
            self.look(wants, at, length, lengths);
        }
        (self.best.rate > 0.0).then_some((self.best.length, &self.best.edges[..]))
    }
    /// Forgets lengths that are not allowed any more, but for the first of them: others start from it.
    fn trim(&mut self, lengths: Lengths) {
        let above = self.points.partition_point(|point| point.length <= lengths.most);
        self.spare.extend(self.points.drain((above + 1).min(self.points.len())..));
    }
    /// The first point of the stretch that may have the best day, and where that would be.
    fn promising(&self, lengths: Lengths, slack: f64) -> Option<(usize, i32)> {
        let enough = self.best.rate * (1.0 + slack);
        let bound = |at: usize| {
            let low = &self.points[at];
            let (from, rise) = (f64::from(low.length), low.bound as f64 / f64::from(low.length));
            // Where both bounds meet; behind the last point none rises any more.
            let meet = match self.points.get(at + 1) {
                Some(high) if low.bound > 0 => {
                    (high.bound as f64 / rise).min(f64::from(lengths.most))
                }
                _ => from,
            };
            (rise * meet.max(from) / (meet.max(from) + f64::from(lengths.night)), (at, meet as i32))
        };
        // Between lengths that follow one another there is none.
        let open = |at: &usize| {
            let (low, high) = (&self.points[*at], self.points.get(at + 1));
            let between = high.is_none_or(|high| high.length - low.length > 1);
            low.length <= lengths.most && (between || low.turn < self.turn)
        };
        let bounds =
            (0..self.points.len()).filter(open).map(bound).filter(|found| found.0 > enough);
        bounds.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, found)| found)
    }
    /// Makes the bound of a stretch tighter: an end that is known from an earlier turn, or where its best day would be.
    fn look(&mut self, wants: &Wants, at: usize, length: i32, lengths: Lengths) {
        let low = self.points[at].length;
        let stale = |at: usize| {
            let point = self.points.get(at);
            point.is_some_and(|point| point.turn < self.turn && point.length <= lengths.most)
        };
        let high = self.points.get(at + 1).map_or(low, |point| point.length);
        match (stale(at), stale(at + 1)) {
            (true, true) if length - low > high - length => self.refresh(wants, at + 1, lengths),
            (true, _) => self.refresh(wants, at, lengths),
            (_, true) => self.refresh(wants, at + 1, lengths),
            _ => self.insert(wants, length.clamp(low + 1, lengths.most.max(low + 1)), lengths),
        }
    }
    /// Looks at a length, which may be known from an earlier turn.
    fn insert(&mut self, wants: &Wants, length: i32, lengths: Lengths) {
        let at = self.points.partition_point(|point| point.length < length);
        if self.points.get(at).is_some_and(|point| point.length == length) {
            return self.refresh(wants, at, lengths);
        }
        let mut point = self.spare.pop().unwrap_or_default();
        let near = self.points.get(at).or(self.points.last());
        match near {
            Some(near) => {
                point.state.copy_from(&near.state);
                point.state.renew(wants, length, &mut self.search);
            }
            None => point.state.solve(wants, length, &mut self.search),
        }
        point.length = length;
        self.points.insert(at, point);
        self.judge(at, wants, lengths);
    }
    fn refresh(&mut self, wants: &Wants, at: usize, lengths: Lengths) {
        let point = &mut self.points[at];
        if point.turn < self.turn {
            point.state.resume(wants, point.length, &mut self.search);
            self.judge(at, wants, lengths);
        }
    }
    /// Notes what a point is worth, and the best length for its matching if that is the best day so far.
    fn judge(&mut self, at: usize, wants: &Wants, lengths: Lengths) {
        let point = &mut self.points[at];
        point.bound = point.state.value();
        point.turn = self.turn;
        let edges = point.state.matched();
        self.sizes.clear();
        let matched = edges.iter().filter(|&&edge| edge != NO_EDGE);
        self.sizes.extend(matched.map(|&edge| wants.left[edge as usize]));
        let (length, rate) = best_length(&mut self.sizes, lengths);
        if rate > self.best.rate {
            self.best.length = length;
            self.best.rate = rate;
            self.best.edges.clear();
            self.best.edges.extend_from_slice(edges);
        }
    }
}

/// The length at which a matching with these cells serves most per time, and how much that is. What is served
/// is bent only where a cell ends, so the best length is one of these or a limit.
pub(crate) fn best_length(sizes: &mut [i32], lengths: Lengths) -> (i32, f64) {
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
