//! The use of circuits and of time that a decomposition leaves: circuits that only serve stuffing go to pairs
//! with demand, and the rest of the week to further days or to longer ones, whichever serves more.

use crate::perfect_matching::{Graph, Matcher};
use crate::plan::Plan;
use crate::residual_graph::NONE;
use crate::ticks::TickTiming;

/// Completes plans that do not fill the week. It reuses its memory.
#[derive(Clone, Debug, Default)]
pub(crate) struct RemainingTime {
    size: usize,
    /// The demand of each pair less its circuit time. It is negative where a circuit has time to spare.
    left: Vec<i32>,
    /// The pairs with at least so many ticks left, for three numbers of ticks, the largest first.
    levels: [(i32, Graph); 3],
    /// The matching of the day that may be added.
    matcher: Matcher,
    /// An upper bound of what each day gains if it becomes a step longer.
    gains: Vec<i64>,
    /// The sources of a day whose circuits serve nothing.
    idle: Vec<usize>,
}

impl RemainingTime {
    /// Completes a plan for the demand in `cells`. A further day lasts `least`.
    pub fn fill(
        &mut self,
        size: usize,
        cells: &[i32],
        least: i32,
        plan: &mut Plan,
        ticks: &TickTiming,
    ) {
        self.measure(size, cells, plan);
        (0..plan.days()).for_each(|day| self.reconnect_idle(plan, day));
        for ((ticks, graph), at_least) in self.levels.iter_mut().zip([least, least / 2, 1]) {
            *ticks = at_least.max(1);
            graph.at_least(size, &self.left, *ticks);
        }
        self.gains.clear();
        self.gains.resize(plan.days(), i64::MAX);
        self.matcher.begin(size);
        self.add_time(least, plan, ticks);
        plan.stretch(ticks);
    }
    fn measure(&mut self, size: usize, cells: &[i32], plan: &Plan) {
        self.size = size;
        self.left.clear();
        self.left.extend_from_slice(cells);
        for day in 0..plan.days() {
            plan.circuits(day).for_each(|(cell, length)| self.left[cell] -= length);
        }
    }
    /// Exchanges the destinations of sources whose circuits serve nothing on a day, so that each of them in
    /// turn serves as much as possible.
    fn reconnect_idle(&mut self, plan: &mut Plan, day: usize) {
        let length = plan.length(day);
        self.find_idle(plan, day, length);
        let columns = plan.columns_mut(day);
        let mut done = 0;
        for at in 0..self.idle.len() {
            let row = self.idle[at];
            let value = |other: &usize| self.left[row * self.size + usize::from(columns[*other])];
            let unserved = self.idle[done..].iter();
            if let Some(&other) = unserved.max_by_key(|other| value(other).min(length)) {
                if value(&other) > 0 {
                    columns.swap(row, other);
                    self.idle.swap(at, done);
                    done += 1;
                }
            }
        }
        for &row in self.idle.iter().filter(|&&row| usize::from(columns[row]) != row) {
            self.left[row * self.size + usize::from(columns[row])] -= length;
        }
    }
    /// Finds the sources of a day whose circuits serve nothing, and takes these circuits away.
    fn find_idle(&mut self, plan: &Plan, day: usize, length: i32) {
        self.idle.clear();
        for (row, &column) in plan.columns(day).iter().enumerate() {
            let cell = &mut self.left[row * self.size + usize::from(column)];
            if usize::from(column) == row {
                self.idle.push(row);
            } else if *cell <= -length {
                *cell += length;
                self.idle.push(row);
            }
        }
    }
    /// Adds days, or time to days, as long as something gains.
    fn add_time(&mut self, least: i32, plan: &mut Plan, ticks: &TickTiming) {
        let mut free = (i64::from(ticks.week) - plan.span(ticks)).max(0) as i32;
        let (with_night, step) = (least + ticks.night, (least / 8).max(1));
        let mut matched = false;
        while free > 0 {
            let step = step.min(free);
            let (day, gain) = self.best_day(plan, step);
            if free >= with_night {
                if !std::mem::replace(&mut matched, true) {
                    self.match_rest();
                }
                // What the new day serves per time, night included, is compared with the gain per time.
                let value = self.value_of_match(least);
                if value > 0 && value * i64::from(step) >= gain * i64::from(with_night) {
                    self.push_match(plan, least);
                    free -= with_night;
                    matched = false;
                    continue;
                }
            }
            if gain == 0 {
                return;
            }
            plan.lengthen(day, step);
            self.take(plan, day, step);
            free -= step;
        }
    }
    /// The day that gains most if it becomes `step` longer, and what it gains. Gains only fall, so that a
    /// gain from before is an upper bound.
    fn best_day(&mut self, plan: &Plan, step: i32) -> (usize, i64) {
        loop {
            let Some(day) = (0..self.gains.len()).max_by_key(|&day| self.gains[day]) else {
                return (0, 0);
            };
            let bound = self.gains[day];
            let gain =
                plan.circuits(day).map(|(cell, _)| i64::from(self.left[cell].clamp(0, step)));
            self.gains[day] = gain.sum();
            if self.gains[day] == bound {
                return (day, bound);
            }
        }
    }
    /// Matches as many pairs as possible that can use a whole further day, then as many more as possible that
    /// can use half of it, then any with demand left.
    fn match_rest(&mut self) {
        self.matcher.remove_outside(&self.levels[0].1);
        self.levels.iter().for_each(|(_, graph)| self.matcher.largest(graph));
    }
    /// The demand that a day of the current matching serves.
    fn value_of_match(&self, length: i32) -> i64 {
        let pairs = self.matcher.columns().iter().zip(self.left.chunks_exact(self.size));
        let matched = pairs.filter(|(column, _)| **column != NONE);
        let served = matched.map(|(&column, left)| left[usize::from(column)].clamp(0, length));
        served.map(i64::from).sum()
    }
    fn push_match(&mut self, plan: &mut Plan, length: i32) {
        plan.push(length, self.matcher.columns());
        self.gains.push(i64::MAX);
        self.take(plan, plan.days() - 1, length);
    }
    /// Takes time of a day's circuits from the demand that is left.
    fn take(&mut self, plan: &Plan, day: usize, time: i32) {
        for (cell, _) in plan.circuits(day) {
            let before = self.left[cell];
            self.left[cell] -= time;
            for (ticks, graph) in &mut self.levels {
                if (*ticks > before - time) && (*ticks <= before) {
                    graph.remove(cell / self.size, cell % self.size);
                }
            }
        }
    }
}
