//! The use of circuits and of time that a decomposition does not use: circuits that only serve stuffing go to
//! pairs with demand. The rest of the week becomes further days or longer days, whichever serves more.

use crate::perfect_matching::{Graph, Matcher};
use crate::plan::Plan;
use crate::ticks::TickTiming;
use std::collections::BinaryHeap;

/// The demand left of a rack for itself. It stays negative, however much circuit time is subtracted from or
/// given back to the pair.
const NEVER: i32 = i32::MIN / 2;

/// Completes plans that do not fill the week. It reuses its memory.
#[derive(Clone, Debug, Default)]
pub(crate) struct RemainingTime {
    size: usize,
    /// The length of a further day without and with its night, and the time that is added to a day at once.
    least: i32,
    with_night: i32,
    step: i32,
    /// The time of the week that is left.
    free: i32,
    /// The demand of each pair less its circuit time. It is negative where a circuit has time to spare.
    left: Vec<i32>,
    /// For each of three numbers of ticks, the pairs with at least that many ticks left. The largest number
    /// comes first.
    levels: [(i32, Graph); 3],
    /// The matching of the day that may be added.
    matcher: Matcher,
    /// An upper bound of what each day gains if it becomes a step longer, with the day.
    gains: BinaryHeap<(i64, usize)>,
    /// The circuits of a day that serve nothing.
    idle: Vec<(u16, u16)>,
    /// The largest demand left in each row, and in each column.
    rows: Vec<i32>,
    columns: Vec<i32>,
}

impl RemainingTime {
    /// Begins with a plan for the demand in `cells`: circuits that serve nothing are exchanged. A further day
    /// lasts `least`.
    pub fn begin(
        &mut self,
        size: usize,
        cells: &[i32],
        least: i32,
        plan: &mut Plan,
        ticks: &TickTiming,
    ) {
        self.free = (i64::from(ticks.week) - plan.span(ticks)).max(0) as i32;
        (self.least, self.with_night, self.step) = (least, least + ticks.night, (least / 4).max(1));
        self.measure(size, cells, plan);
        for ((ticks, graph), at_least) in self.levels.iter_mut().zip([least, least / 2, 1]) {
            *ticks = at_least.max(1);
            graph.at_least(size, &self.left, *ticks);
        }
        (0..plan.days()).for_each(|day| self.reconnect_idle(plan, day));
        self.gains.clear();
        self.gains.extend((0..plan.days()).map(|day| (i64::MAX, day)));
    }
    /// The demand in `cells` that the circuits of the plan serve.
    pub fn served(&self, cells: &[i32]) -> i64 {
        let pairs = cells.iter().zip(&self.left);
        pairs.map(|(&cell, &left)| i64::from(cell - left.max(0))).sum()
    }
    /// An upper bound of the demand in `cells` that the plan serves in the end.
    ///
    /// Neither the demand left nor the gain of a day ever rises. A further day serves at most the largest
    /// demands left in all rows, or in all columns, each capped at the length of the day. A later step of that
    /// day serves at most what the day leaves of these demands. The last step may be shorter and serve as much.
    pub fn most(&mut self, cells: &[i32], plan: &Plan) -> i64 {
        let step = self.step.min(self.free);
        if step == 0 {
            return self.served(cells);
        }
        self.find_largest();
        let day = self.best_day(plan, step, 0).map_or(0, |(_, gain)| gain);
        let longer = day.max(self.at_most(|left| (left - self.least).min(step)));
        let further = self.at_most(|left| left.min(self.least));
        let in_rest = |gain: i64, time: i32| {
            (i128::from(gain) * i128::from(self.free) / i128::from(time)) as i64 + 1
        };
        let rest = in_rest(further, self.with_night).max(in_rest(longer, step));
        self.served(cells) + rest + longer
    }
    /// Finds the largest demand left in each row and column.
    fn find_largest(&mut self) {
        self.rows.clear();
        self.columns.clear();
        self.columns.resize(self.size, 0);
        for row in self.left.chunks_exact(self.size) {
            self.rows.push(row.iter().copied().fold(0, i32::max));
            self.columns
                .iter_mut()
                .zip(row)
                .for_each(|(column, &left)| *column = left.max(*column));
        }
    }
    /// The sum of a part of the largest demand left in each row, or in each column, whichever is less.
    fn at_most(&self, part: impl Fn(i32) -> i32) -> i64 {
        let sum =
            |lines: &[i32]| lines.iter().map(|&left| i64::from(part(left).max(0))).sum::<i64>();
        sum(&self.rows).min(sum(&self.columns))
    }
    /// Completes the plan.
    pub fn fill(&mut self, plan: &mut Plan, ticks: &TickTiming) {
        self.add_time(plan);
        // If there is time left, no circuit has demand for it.
        plan.stretch(ticks);
    }
    fn measure(&mut self, size: usize, cells: &[i32], plan: &Plan) {
        self.size = size;
        self.left.clear();
        self.left.extend_from_slice(cells);
        self.left.iter_mut().step_by(size + 1).for_each(|left| *left = NEVER);
        for day in 0..plan.days() {
            let circuits = self.left.chunks_exact_mut(size).zip(plan.columns(day));
            circuits.for_each(|(left, &column)| left[usize::from(column)] -= plan.length(day));
        }
    }
    /// Connects sources and destinations whose circuits serve nothing on a day with each other so that they
    /// serve demand that is left.
    fn reconnect_idle(&mut self, plan: &mut Plan, day: usize) {
        let length = plan.length(day);
        let columns = plan.columns_mut(day);
        self.idle.clear();
        for ((row, &column), left) in
            (0_u16..).zip(&*columns).zip(self.left.chunks_exact(self.size))
        {
            if left[usize::from(column)] <= -length {
                self.idle.push((row, column));
            }
        }
        if self.idle.len() < 2 {
            return;
        }
        self.matcher.begin_among(self.size, &self.idle);
        if !self.match_rest() {
            return;
        }
        self.matcher.match_any(&self.idle);
        for at in 0..self.idle.len() {
            let (row, before) = self.idle[at];
            let column = self.matcher.columns()[usize::from(row)];
            if column != before {
                columns[usize::from(row)] = column;
                self.left[usize::from(row) * self.size + usize::from(before)] += length;
                self.take(row.into(), column.into(), length);
            }
        }
    }
    /// Adds days, or time to days, as long as this serves more.
    fn add_time(&mut self, plan: &mut Plan) {
        let mut matched = None;
        while self.free > 0 {
            let step = self.step.min(self.free);
            let new_day = self.free >= self.with_night;
            let value = if new_day { self.value_of_new_day(&mut matched) } else { 0 };
            // What the new day serves per time, night included, is compared with the gain per time.
            let worth = value * i64::from(step) / i64::from(self.with_night);
            if let Some((day, _)) = self.best_day(plan, step, worth) {
                plan.lengthen(day, step);
                self.take_all(plan.columns(day), step);
                self.free -= step;
            } else if value > 0 {
                self.push_match(plan);
                self.free -= self.with_night;
                matched = None;
            } else {
                return;
            }
        }
    }
    /// The day that gains most if it becomes `step` longer, and what it gains, if that is more than `worth`.
    /// Gains only fall, so that an earlier gain is an upper bound.
    fn best_day(&mut self, plan: &Plan, step: i32, worth: i64) -> Option<(usize, i64)> {
        loop {
            let mut best = self.gains.peek_mut()?;
            let (bound, day) = *best;
            if bound <= worth {
                return None;
            }
            let gain = served(self.size, &self.left, plan.columns(day), step);
            if gain == bound {
                return Some((day, gain));
            }
            best.0 = gain;
        }
    }
    /// The demand that the best known matching serves in a new day. `matched` is that demand when the matching
    /// was made. It falls as time is added to other days. If it has fallen by more than a quarter, a new
    /// matching is made.
    fn value_of_new_day(&mut self, matched: &mut Option<i64>) -> i64 {
        let value = matched.map(|before| (before, self.value_of_match()));
        if let Some((_, value)) = value.filter(|(before, value)| value * 4 >= before * 3) {
            return value;
        }
        self.matcher.begin(self.size);
        self.match_rest();
        *matched.insert(self.value_of_match())
    }
    /// Matches as many pairs as possible that can use a whole further day, then as many more as possible that
    /// can use half of it, then any with demand left. Returns whether there is a pair.
    fn match_rest(&mut self) -> bool {
        self.levels.iter().fold(false, |any, (_, graph)| self.matcher.largest(graph) | any)
    }
    /// The demand that a day of the current matching serves.
    fn value_of_match(&self) -> i64 {
        served(self.size, &self.left, self.matcher.columns(), self.least)
    }
    /// Adds a day. Racks without demand get any circuit, as by stuffing, because a report of demand shows only
    /// one moment.
    fn push_match(&mut self, plan: &mut Plan) {
        self.matcher.match_any(&[]);
        plan.push(self.least, self.matcher.columns());
        let day = plan.days() - 1;
        self.gains.push((i64::MAX, day));
        self.take_all(plan.columns(day), self.least);
    }
    /// Subtracts circuit time of a day from the demand that is left.
    fn take_all(&mut self, columns: &[u16], time: i32) {
        for (row, &column) in columns.iter().enumerate() {
            self.take(row, column.into(), time);
        }
    }
    fn take(&mut self, row: usize, column: usize, time: i32) {
        let left = &mut self.left[row * self.size + column];
        let before = *left;
        let after = before - if row == column { 0 } else { time };
        *left = after;
        if before <= 0 || after >= self.least {
            return;
        }
        for (ticks, graph) in &mut self.levels {
            if after < *ticks && *ticks <= before {
                graph.remove(row, column);
            }
        }
    }
}

/// The demand that circuits to the given columns serve in a time.
fn served(size: usize, left: &[i32], columns: &[u16], time: i32) -> i64 {
    let circuits = left.chunks_exact(size).zip(columns);
    let left = circuits.filter_map(|(left, &column)| left.get(usize::from(column)));
    left.map(|&left| i64::from(left.min(time).max(0))).sum()
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

    /// Fills a plan. Returns what it serves, and the bound from before.
    fn fill(cells: &[i32], plan: &mut Plan, ticks: &TickTiming) -> [i64; 2] {
        let mut remaining = RemainingTime::default();
        remaining.begin(plan.columns(0).len(), cells, 10, plan, ticks);
        let most = remaining.most(cells, plan);
        remaining.fill(plan, ticks);
        [remaining.served(cells), most]
    }

    fn filled(cells: &[i32], days: &[(i32, &[u16])], ticks: &TickTiming) -> Plan {
        let mut plan = Plan::default();
        plan.clear(days[0].1.len());
        days.iter().for_each(|&(length, columns)| plan.push(length, columns));
        fill(cells, &mut plan, ticks);
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
            let before = i64::from(served(&plan, &cells));
            let [now, most] = fill(&cells, &mut plan, &ticks);
            let after = i64::from(served(&plan, &cells));
            prop_assert!(before <= after && after == now && now <= most);
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
