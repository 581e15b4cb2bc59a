//! A plan made better: days that change their matchings and give each other time.
//!
//! Both steps never make a plan serve less. A day is taken out, and the heaviest matching of what the others do
//! not serve takes its place, which may be the same. Time goes from a day to another as long as more pairs of
//! this one have something left than pairs of that one need it.

use crate::heaviest::{Heaviest, Search};
use crate::ticks::Clock;
use crate::wants::{NO_EDGE, Wants};

/// Days with their matched edges, and what they leave over; keeps its memory.
#[derive(Clone, Debug, Default)]
pub(crate) struct Polish {
    lengths: Vec<i32>,
    /// By day and row.
    matched: Vec<u32>,
    /// By edge, what is wanted, and for how long there is a circuit.
    wanted: Vec<i32>,
    lit: Vec<i32>,
    heaviest: Heaviest,
    search: Search,
    slopes: Vec<Slope>,
    /// What pairs of two days lack, and have too much of.
    spare: (Vec<i32>, Vec<i32>),
    /// Columns that have a row.
    taken: Vec<bool>,
}

/// What a day would do with more or less time.
#[derive(Clone, Copy, Debug, Default)]
struct Slope {
    /// Pairs that have something left.
    gain: usize,
    /// Pairs that need all they have.
    loss: usize,
}

/// How far `gains` pairs, which drop out where `short` says, remain more than `losses`, which grow where `slack` says.
fn crossing(gains: usize, short: &[i32], losses: usize, slack: &[i32], most: i32) -> i32 {
    let (mut gone, mut come) = (0, 0);
    loop {
        if gains - gone <= losses + come {
            return [
                gone.checked_sub(1).map(|at| short[at]),
                come.checked_sub(1).map(|at| slack[at]),
            ]
            .into_iter()
            .flatten()
            .max()
            .unwrap_or(0);
        }
        match (short.get(gone), slack.get(come)) {
            (Some(short), slack) if slack.is_none_or(|slack| short <= slack) => gone += 1,
            (_, Some(_)) => come += 1,
            _ => return most,
        }
    }
}

impl Polish {
    /// No days yet for what is wanted.
    pub fn begin(&mut self, wants: &Wants) {
        self.lengths.clear();
        self.matched.clear();
        self.wanted.clone_from(&wants.left);
        self.lit.clear();
        self.lit.resize(wants.left.len(), 0);
    }
    /// Adds a day of matched edges, by row.
    pub fn push(&mut self, length: i32, matched: &[u32]) {
        self.lengths.push(length);
        self.matched.extend_from_slice(matched);
        self.light(self.lengths.len() - 1, length);
    }
    /// Adds a day of circuits, of which those are kept that are among what is wanted.
    pub fn push_pairs(
        &mut self,
        length: i32,
        pairs: impl Iterator<Item = (usize, usize)>,
        wants: &Wants,
    ) {
        let begin = self.matched.len();
        self.matched.resize(begin + wants.size, NO_EDGE);
        for (row, column) in pairs {
            self.matched[begin + row] = wants.find(row, column).unwrap_or(NO_EDGE);
        }
        self.lengths.push(length);
        self.light(self.lengths.len() - 1, length);
    }
    pub fn days(&self) -> impl Iterator<Item = (i32, &[u32])> {
        let size = self.matched.len() / self.lengths.len().max(1);
        self.lengths.iter().copied().zip(self.matched.chunks(size.max(1)))
    }
    /// What is served.
    pub fn served(&self) -> i64 {
        let edges = self.wanted.iter().zip(&self.lit);
        edges.map(|(&wanted, &lit)| i64::from(wanted.min(lit))).sum()
    }
    /// Edges looked at so far.
    pub fn work(&self) -> u64 {
        self.search.work
    }
    fn edges(&self, day: usize) -> std::ops::Range<usize> {
        let size = self.matched.len() / self.lengths.len();
        day * size..(day + 1) * size
    }
    /// Circuits of a day exist for longer, or for less long.
    fn light(&mut self, day: usize, by: i32) {
        for at in self.edges(day) {
            let edge = self.matched[at];
            if edge != NO_EDGE {
                self.lit[edge as usize] += by;
            }
        }
    }
    /// Steps until nothing becomes better by a thousandth, or so much work is done. Returns whether anything did.
    pub fn run(&mut self, clock: &Clock, wants: &mut Wants, most_work: u64) -> bool {
        let end = self.search.work + most_work;
        self.search.most_work = end;
        let (before, mut served) = (self.served(), self.served());
        loop {
            self.trade(clock, end);
            self.rematch_all(wants, end);
            self.trade(clock, end);
            let now = self.served();
            if now <= served + served / 1_000 || self.search.work >= end {
                return now > before;
            }
            served = now;
        }
    }
    /// Connects racks that have no circuit on a day where both ends are free and something is left of `wanted`.
    pub fn complete(&mut self, wants: &Wants, wanted: &[i32]) {
        for day in 0..self.lengths.len() {
            let edges = self.edges(day);
            self.taken.clear();
            self.taken.resize(wants.size, false);
            for &edge in self.matched[edges.clone()].iter().filter(|&&edge| edge != NO_EDGE) {
                self.taken[wants.end(1, edge)] = true;
            }
            for (row, at) in edges.enumerate() {
                if self.matched[at] != NO_EDGE {
                    continue;
                }
                let mut most = (0, NO_EDGE, 0);
                wants.each(0, row, |edge, column, _| {
                    let left = wanted[edge as usize] - self.lit[edge as usize];
                    if left > most.0 && !self.taken[column] {
                        most = (left, edge, column);
                    }
                });
                if most.1 != NO_EDGE {
                    self.taken[most.2] = true;
                    self.matched[at] = most.1;
                    self.lit[most.1 as usize] += self.lengths[day];
                }
            }
        }
    }
    fn rematch_all(&mut self, wants: &mut Wants, end: u64) {
        for day in 0..self.lengths.len() {
            if self.search.work >= end {
                return;
            }
            self.rematch(day, day == 0, wants);
        }
    }
    /// The best matching for a day, given all others.
    fn rematch(&mut self, day: usize, anew: bool, wants: &mut Wants) {
        let length = self.lengths[day];
        self.light(day, -length);
        let edges = self.wanted.iter().zip(&self.lit);
        wants.left.clear();
        wants.left.extend(edges.map(|(&wanted, &lit)| (wanted - lit).max(0)));
        self.search.work += wants.left.len() as u64;
        match anew {
            true => self.heaviest.solve(wants, length, &mut self.search),
            false => self.heaviest.renew(wants, length, &mut self.search),
        }
        let edges = self.edges(day);
        let lit = self.matched[edges.clone()].iter().filter(|&&edge| edge != NO_EDGE);
        let before: i64 = lit.map(|&edge| i64::from(wants.left[edge as usize].min(length))).sum();
        let found = self.heaviest.matched().iter().filter(|&&edge| edge != NO_EDGE);
        let now: i64 = found.map(|&edge| i64::from(wants.left[edge as usize].min(length))).sum();
        if now > before {
            self.matched[edges].copy_from_slice(self.heaviest.matched());
        }
        self.light(day, length);
    }
    /// Days trade time while that serves more; what the week has left is given first.
    fn trade(&mut self, clock: &Clock, end: u64) {
        let spans = self.lengths.iter().map(|&length| length + clock.night);
        let mut idle = (clock.week - spans.sum::<i32>()).max(0);
        self.measure();
        for _ in 0..4 * self.lengths.len() {
            let days = 0..self.lengths.len();
            let Some(to) = days.clone().max_by_key(|&day| self.slopes[day].gain) else { return };
            let can = days.filter(|&day| day != to && self.lengths[day] > clock.min_day);
            let from = can.min_by_key(|&day| self.slopes[day].loss).filter(|_| idle == 0);
            if (idle == 0 && from.is_none()) || self.search.work >= end {
                return;
            }
            let promised = self.slopes[to].gain > from.map_or(0, |day| self.slopes[day].loss);
            // Days share pairs: what was measured may have changed.
            let by = self.useful(clock, (from, to), idle);
            match (promised, by) {
                (false, _) => return,
                (true, 0) => continue,
                (true, by) => self.pass_on(from, to, by),
            }
            idle -= if from.is_none() { by } else { 0 };
        }
    }
    /// How much time a day takes from another, or from what is idle, as long as more pairs gain than lose.
    fn useful(&mut self, clock: &Clock, (from, to): (Option<usize>, usize), idle: i32) -> i32 {
        self.measure_day(to);
        let most = from.map_or(idle, |day| self.lengths[day] - clock.min_day);
        let losses = from.map_or(0, |from| {
            self.measure_day(from);
            self.slopes[from].loss
        });
        let (mut short, mut slack) = std::mem::take(&mut self.spare);
        self.list(Some(to), -1, most, &mut short);
        self.list(from, 1, most, &mut slack);
        let by = crossing(self.slopes[to].gain, &short, losses, &slack, most);
        self.search.work += (short.len() + slack.len()) as u64;
        self.spare = (short, slack);
        by
    }
    /// What pairs of a day have too much of, or lack, sorted, as far as it is less than `most`.
    fn list(&self, day: Option<usize>, sign: i32, most: i32, out: &mut Vec<i32>) {
        let edges = day.into_iter().flat_map(|day| self.edges(day));
        let over = edges.map(|at| sign * self.over(at));
        out.clear();
        out.extend(over.filter(|&over| 0 < over && over < most));
        out.sort_unstable();
    }
    /// For how long a matched edge has a circuit beyond what is wanted; for none, nothing.
    fn over(&self, at: usize) -> i32 {
        match self.matched[at] {
            NO_EDGE => 0,
            edge => self.lit[edge as usize] - self.wanted[edge as usize],
        }
    }
    fn pass_on(&mut self, from: Option<usize>, to: usize, by: i32) {
        for (day, by) in from.map(|day| (day, -by)).into_iter().chain([(to, by)]) {
            self.lengths[day] += by;
            self.light(day, by);
        }
        for day in from.into_iter().chain([to]) {
            self.measure_day(day);
        }
    }
    fn measure(&mut self) {
        self.slopes.clear();
        self.slopes.resize(self.lengths.len(), Slope::default());
        (0..self.lengths.len()).for_each(|day| self.measure_day(day));
    }
    fn measure_day(&mut self, day: usize) {
        let mut slope = Slope::default();
        for at in self.edges(day).filter(|&at| self.matched[at] != NO_EDGE) {
            let over = self.over(at);
            slope.gain += usize::from(over < 0);
            slope.loss += usize::from(over <= 0);
        }
        self.search.work += self.edges(day).len() as u64 / 2;
        self.slopes[day] = slope;
    }
}
