//! Rolling greedy planning, for many racks with many demands: one matching per day of the largest residual
//! demands.
//!
//! Maximum-weight matchings of all pairs are costly and hardly better than those of the largest demands of
//! each rack. The largest demands are selected again after some days. The matching of a day has maximum
//! weight for the length of the day before. The day then gets the length at which this matching serves most
//! per time. In this way each day costs one matching.

use crate::greedy::{DayLengths, best_length};
use crate::max_weight_matching::{MaxWeightMatching, Search};
use crate::pair_selection::PairSelection;
use crate::plan::Plan;
use crate::residual_graph::{NO_EDGE, ResidualGraph};
use crate::ticks::TickTiming;

/// The number of days between two selections.
const DAYS_PER_SELECTION: u64 = 12;

/// Plans days. It reuses its memory.
#[derive(Clone, Debug, Default)]
pub(crate) struct RollingGreedy {
    residual: ResidualGraph,
    selection: PairSelection,
    max_weight: MaxWeightMatching,
    search: Search,
    sizes: Vec<i32>,
}

impl RollingGreedy {
    /// The number of selected demands of each rack.
    pub const PAIRS_PER_RACK: usize = 24;

    /// The work so far, in edges visited.
    pub fn work(&self) -> u64 {
        self.search.work
    }
    /// Plans the days of a week and subtracts what they serve from the cells. It spreads `most_work` over all
    /// days. A day that exceeds its share gets a matching of less than maximum weight.
    pub fn fill_week(
        &mut self,
        ticks: &TickTiming,
        cells: &mut [i32],
        most_work: u64,
        plan: &mut Plan,
        size: usize,
    ) {
        plan.clear(size);
        let (mut left, mut cap) = (ticks.week, ticks.week / 9 * 8);
        let (begin, days) = (self.search.work, ticks.most_days() as u64);
        for day in 0_u64.. {
            let Some(lengths) = DayLengths::within(ticks, left) else { return };
            // Later days may use the work that a day does not use.
            self.search.most_work = begin + most_work / 2 + most_work / 2 / days * (day + 1);
            if day.is_multiple_of(DAYS_PER_SELECTION) {
                cap = self.begin(ticks, cells, cap / 8 * 9, day == 0, size);
            } else {
                self.max_weight.solve_decreased(&self.residual, cap, &mut self.search);
            }
            let Some(length) = self.length(lengths) else { return };
            // No weight may rise between two selections.
            cap = cap.min(length);
            self.residual.serve(self.max_weight.matched(), length);
            plan.push_edges(length, self.max_weight.matched(), &self.residual);
            let columns = plan.columns(plan.days() - 1).iter().map(|&column| usize::from(column));
            for (row, column) in columns.enumerate().filter(|&(_, column)| column < size) {
                let cell = &mut cells[row * size + column];
                *cell -= length.min(*cell);
            }
            left -= length + ticks.night;
        }
    }
    /// Selects the largest cells and matches them. Returns the cap of their weights.
    fn begin(
        &mut self,
        ticks: &TickTiming,
        cells: &[i32],
        most: i32,
        from_scratch: bool,
        size: usize,
    ) -> i32 {
        self.selection.select(size, cells, RollingGreedy::PAIRS_PER_RACK, &mut self.residual);
        let largest = self.residual.remaining.iter().copied().max().unwrap_or(0);
        let cap = most.min(largest).max(ticks.min_day);
        self.search.work += cells.len() as u64;
        match from_scratch {
            true => self.max_weight.solve(&self.residual, cap, &mut self.search),
            false => self.max_weight.solve_other_graph(&self.residual, cap, &mut self.search),
        }
        cap
    }
    /// The best length for the current matching, or `None` if it serves nothing.
    fn length(&mut self, lengths: DayLengths) -> Option<i32> {
        let matched = self.max_weight.matched().iter().filter(|&&edge| edge != NO_EDGE);
        self.sizes.clear();
        self.sizes.extend(matched.map(|&edge| self.residual.remaining[edge as usize]));
        let (length, rate) = best_length(&mut self.sizes, lengths);
        (rate > 0.0).then_some(length)
    }
}
