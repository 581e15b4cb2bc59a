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
    /// Columns that have a row.
    taken: Vec<bool>,
}

/// What a day would do with more or less time.
#[derive(Clone, Copy, Debug, Default)]
struct Slope {
    /// Pairs that have something left, and for how long all of them have.
    gain: usize,
    gain_for: i32,
    /// Pairs that need all they have, and for how long no other does.
    loss: usize,
    loss_for: i32,
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
    /// Adds a day of circuits, of which those are kept that are worth a look. `columns` is by row.
    pub fn push_columns(&mut self, length: i32, columns: &[u16], wants: &Wants) {
        for (row, &wanted) in columns.iter().enumerate() {
            let mut found = NO_EDGE;
            wants.each(0, row, |edge, column, _| {
                if column == usize::from(wanted) {
                    found = edge;
                }
            });
            self.matched.push(found);
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
        for _ in 0..8 * self.lengths.len() {
            self.measure();
            let days = 0..self.lengths.len();
            let Some(to) = days.clone().max_by_key(|&day| self.slopes[day].gain) else { return };
            let gain = self.slopes[to];
            if idle > 0 && gain.gain > 0 {
                let by = idle.min(gain.gain_for);
                idle -= by;
                self.resize(to, by);
                continue;
            }
            let can = days.filter(|&day| day != to && self.lengths[day] > clock.min_day);
            let Some(from) = can.min_by_key(|&day| self.slopes[day].loss) else { return };
            let loss = self.slopes[from];
            if gain.gain <= loss.loss || self.search.work >= end {
                return;
            }
            let by = gain.gain_for.min(loss.loss_for).min(self.lengths[from] - clock.min_day);
            self.resize(from, -by);
            self.resize(to, by);
        }
    }
    fn resize(&mut self, day: usize, by: i32) {
        self.lengths[day] += by;
        self.light(day, by);
    }
    fn measure(&mut self) {
        self.search.work += self.matched.len() as u64;
        self.slopes.clear();
        for day in 0..self.lengths.len() {
            let mut slope = Slope { gain_for: i32::MAX, loss_for: i32::MAX, ..Slope::default() };
            for &edge in self.matched[self.edges(day)].iter().filter(|&&edge| edge != NO_EDGE) {
                let more = self.wanted[edge as usize] - self.lit[edge as usize];
                if more > 0 {
                    slope.gain += 1;
                    slope.gain_for = slope.gain_for.min(more);
                }
                if more >= 0 {
                    slope.loss += 1;
                } else {
                    slope.loss_for = slope.loss_for.min(-more);
                }
            }
            self.slopes.push(slope);
        }
    }
}
