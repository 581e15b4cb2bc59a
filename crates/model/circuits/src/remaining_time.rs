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
    /// The circuits of a day that serve nothing.
    idle: Vec<(u16, u16)>,
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
        for ((ticks, graph), at_least) in self.levels.iter_mut().zip([least, least / 2, 1]) {
            *ticks = at_least.max(1);
            graph.at_least(size, &self.left, *ticks);
        }
        (0..plan.days()).for_each(|day| self.reconnect_idle(plan, day));
        self.gains.clear();
        self.gains.resize(plan.days(), i64::MAX);
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
    /// Connects sources and destinations whose circuits serve nothing on a day with each other so that they
    /// serve demand that is left.
    fn reconnect_idle(&mut self, plan: &mut Plan, day: usize) {
        let (size, length) = (self.size, plan.length(day));
        let columns = plan.columns_mut(day);
        self.idle.clear();
        for (row, &column) in (0_u16..).zip(&*columns) {
            let left = self.left[usize::from(row) * size + usize::from(column)];
            if row == column || left <= -length {
                self.idle.push((row, column));
            }
        }
        self.matcher.begin_among(size, &self.idle);
        if self.idle.len() < 2 || !self.match_rest() {
            return;
        }
        self.matcher.match_any(&self.idle);
        for at in 0..self.idle.len() {
            let (row, before) = self.idle[at];
            let column = self.matcher.columns()[usize::from(row)];
            columns[usize::from(row)] = column;
            self.left[usize::from(row) * size + usize::from(before)] += length;
            self.take(usize::from(row) * size + usize::from(column), length);
        }
    }
    /// Adds days, or time to days, as long as something gains.
    fn add_time(&mut self, least: i32, plan: &mut Plan, ticks: &TickTiming) {
        let mut free = (i64::from(ticks.week) - plan.span(ticks)).max(0) as i32;
        let (with_night, step) = (least + ticks.night, (least / 4).max(1));
        let mut matched = None;
        while free > 0 {
            let step = step.min(free);
            let (day, gain) = self.best_day(plan, step);
            if free >= with_night {
                let value = self.value_of_new_day(least, &mut matched);
                // What the new day serves per time, night included, is compared with the gain per time.
                if value > 0 && value * i64::from(step) >= gain * i64::from(with_night) {
                    self.push_match(plan, least);
                    free -= with_night;
                    matched = None;
                    continue;
                }
            }
            if gain == 0 {
                return;
            }
            plan.lengthen(day, step);
            self.take_all(plan, day, step);
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
    /// The demand that the best known matching serves in a new day. `matched` is that demand when the matching
    /// was made. Time that is added to other days takes demand from it; if a quarter is gone, there is a new
    /// matching.
    fn value_of_new_day(&mut self, length: i32, matched: &mut Option<i64>) -> i64 {
        let value = matched.map(|before| (before, self.value_of_match(length)));
        if let Some((_, value)) = value.filter(|(before, value)| value * 4 >= before * 3) {
            return value;
        }
        self.matcher.begin(self.size);
        self.match_rest();
        *matched.insert(self.value_of_match(length))
    }
    /// Matches as many pairs as possible that can use a whole further day, then as many more as possible that
    /// can use half of it, then any with demand left. Returns whether there is a pair.
    fn match_rest(&mut self) -> bool {
        self.levels.iter().fold(false, |any, (_, graph)| self.matcher.largest(graph) | any)
    }
    /// The demand that a day of the current matching serves.
    fn value_of_match(&self, length: i32) -> i64 {
        let pairs = self.matcher.columns().iter().zip(self.left.chunks_exact(self.size));
        let matched = pairs.filter(|(column, _)| **column != NONE);
        let served = matched.map(|(&column, left)| left[usize::from(column)].clamp(0, length));
        served.map(i64::from).sum()
    }
    /// Adds a day. Racks without demand get any circuit, as by stuffing: demand is a report of one moment.
    fn push_match(&mut self, plan: &mut Plan, length: i32) {
        self.matcher.match_any(&[]);
        plan.push(length, self.matcher.columns());
        self.gains.push(i64::MAX);
        self.take_all(plan, plan.days() - 1, length);
    }
    /// Takes circuit time of a day from the demand that is left.
    fn take_all(&mut self, plan: &Plan, day: usize, time: i32) {
        plan.circuits(day).for_each(|(cell, _)| self.take(cell, time));
    }
    fn take(&mut self, cell: usize, time: i32) {
        let before = self.left[cell];
        self.left[cell] -= time;
        for (ticks, graph) in &mut self.levels {
            if (before - time + 1..=before).contains(ticks) {
                graph.remove(cell / self.size, cell % self.size);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::circuit_timing::CircuitTimingSpec;
    use proptest::prelude::*;

    /// A week of 100 ticks, nights of 5, and days of at least 10.
    fn ticks() -> TickTiming {
        let spec = CircuitTimingSpec { week: 100, night: 5, min_day: 10, circuit: 1, packet: 0 };
        TickTiming::new(&spec.build().expect("valid timing"))
    }

    fn served(plan: &Plan, cells: &[i32]) -> i32 {
        let mut left = cells.to_vec();
        for day in 0..plan.days() {
            plan.circuits(day).for_each(|(cell, length)| left[cell] -= length);
        }
        cells.iter().zip(&left).map(|(cell, left)| cell - left.max(&0)).sum()
    }

    fn filled(cells: &[i32], days: &[(i32, &[u16])], ticks: &TickTiming) -> Plan {
        let mut plan = Plan::default();
        plan.clear(days[0].1.len());
        days.iter().for_each(|&(length, columns)| plan.push(length, columns));
        RemainingTime::default().fill(days[0].1.len(), cells, 10, &mut plan, ticks);
        plan
    }

    #[test]
    fn circuits_of_stuffing_are_given_to_pairs_with_demand() {
        let cells = [0, 95, 0, 0, 0, 0, 0, 95, 0];
        // Rack 2 has demand for 1, which has a circuit from rack 0 all the time.
        let plan = filled(&cells, &[(95, &[1, 2, 0])], &ticks());
        assert_eq!(plan.columns(0), [1, 2, 0]);
        let cells = [0, 95, 0, 0, 0, 0, 40, 0, 0, 0, 0, 95, 0, 0, 0, 0];
        // Racks 1 and 2 have demand for 2 and 3, but the circuits serve nothing, apart from that of rack 0.
        let plan = filled(&cells, &[(95, &[1, 3, 0, 2])], &ticks());
        assert_eq!((plan.days(), plan.columns(0)), (1, &[1, 2, 3, 0][..]));
    }

    #[test]
    fn time_goes_to_whatever_serves_more() {
        // Two pairs can use a longer day, and one a day of its own.
        let cells = [0, 60, 30, 60, 0, 0, 0, 0, 0];
        let plan = filled(&cells, &[(20, &[1, 0, 2])], &ticks());
        assert_eq!((plan.days(), served(&plan, &cells)), (2, 150));
        assert_eq!(plan.span(&ticks()), 100);
    }

    proptest! {
        #[test]
        fn a_filled_plan_is_whole_and_serves_no_less(
            size in 2_usize..7,
            cells in proptest::collection::vec(prop_oneof![Just(0), 0..100], 36),
            days in proptest::collection::vec((10_i32..40, 0_usize..6), 1..3),
        ) {
            let ticks = ticks();
            let mut cells = cells[..size * size].to_vec();
            (0..size).for_each(|row| cells[row * size + row] = 0);
            let mut plan = Plan::default();
            plan.clear(size);
            for (length, step) in days {
                let columns: Vec<u16> = (0..size).map(|row| ((row + step) % size) as u16).collect();
                plan.push(length, &columns);
            }
            let before = served(&plan, &cells);
            RemainingTime::default().fill(size, &cells, 10, &mut plan, &ticks);
            prop_assert!(served(&plan, &cells) >= before);
            prop_assert_eq!(plan.span(&ticks), 100);
            for day in 0..plan.days() {
                prop_assert!(plan.length(day) >= 10);
                let mut seen = vec![false; size];
                for &column in plan.columns(day) {
                    prop_assert!(!std::mem::replace(&mut seen[usize::from(column)], true));
                }
            }
        }
    }
}
