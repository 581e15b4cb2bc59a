//! Days of many racks, found fast: for each level, a matching of as many pairs as there are above it.
//!
//! The heaviest matchings are dear where many racks have much for many others, and there it matters little which
//! pairs are matched, if only most of them have enough. So levels fall by an eighth from the largest cell on; at
//! each one matchings of the cells above it are days, as long as the next lower level's do not serve more per time.

use crate::greedy::{Lengths, best_length};
use crate::matcher::{Graph, Matcher};
use crate::plan::Plan;
use crate::ticks::Clock;
use crate::wants::NONE;

/// A level with its cells and their matching.
#[derive(Clone, Debug, Default)]
struct Level {
    height: i32,
    graph: Graph,
    matcher: Matcher,
    /// The best day of the matching: its length, and what it serves per tick.
    day: (i32, f64),
}

/// Finds days; keeps its memory.
#[derive(Clone, Debug, Default)]
pub(crate) struct Levels {
    here: Level,
    below: Level,
    sizes: Vec<i32>,
}

impl Level {
    fn set(&mut self, size: usize, cells: &[i32], height: i32) {
        self.height = height.max(1);
        self.graph.at_least(size, cells, self.height);
        self.matcher.part_all_outside(&self.graph);
    }
    /// Takes what a day served from the level, pairs that fall below it are parted.
    fn update(&mut self, size: usize, cells: &[i32], columns: &[u16]) {
        for (row, &column) in columns.iter().enumerate().filter(|&(_, &column)| column != NONE) {
            let column = usize::from(column);
            if cells[row * size + column] < self.height {
                self.graph.remove(row, column);
                if self.matcher.columns()[row] == column as u16 {
                    self.matcher.part(row);
                }
            }
        }
    }
}

impl Levels {
    /// Days for what is in the cells, of which that is left that they do not serve.
    pub fn fill(&mut self, clock: &Clock, size: usize, cells: &mut [i32], plan: &mut Plan) {
        plan.clear(size);
        let highest = cells.iter().copied().max().unwrap_or(0);
        self.here.matcher.begin(size);
        self.here.set(size, cells, highest / 8 * 7);
        self.descend(size, cells);
        let mut left = clock.week;
        while let Some(lengths) = Lengths::within(clock, left) {
            self.match_level(size, cells, lengths);
            while self.below.day.1 > self.here.day.1 {
                std::mem::swap(&mut self.here, &mut self.below);
                self.descend(size, cells);
                self.judge_below(size, cells, lengths);
            }
            let (length, rate) = self.here.day;
            if rate == 0.0 && self.here.height == 1 {
                return;
            }
            if rate > 0.0 {
                plan.push(length, self.here.matcher.columns());
                left -= length + clock.night;
                self.take(size, cells, length, plan);
            } else {
                std::mem::swap(&mut self.here, &mut self.below);
                self.descend(size, cells);
            }
        }
    }
    /// The next level below starts from the matching here.
    fn descend(&mut self, size: usize, cells: &[i32]) {
        self.below.matcher.copy_from(&self.here.matcher);
        self.below.set(size, cells, self.here.height / 8 * 7);
    }
    fn match_level(&mut self, size: usize, cells: &[i32], lengths: Lengths) {
        judge(&mut self.here, size, cells, lengths, &mut self.sizes);
        self.judge_below(size, cells, lengths);
    }
    fn judge_below(&mut self, size: usize, cells: &[i32], lengths: Lengths) {
        judge(&mut self.below, size, cells, lengths, &mut self.sizes);
    }
    fn take(&mut self, size: usize, cells: &mut [i32], length: i32, plan: &Plan) {
        let columns = plan.columns(plan.days() - 1);
        for (row, &column) in columns.iter().enumerate().filter(|&(_, &column)| column != NONE) {
            let cell = &mut cells[row * size + usize::from(column)];
            *cell -= length.min(*cell);
        }
        self.here.update(size, cells, columns);
        self.below.update(size, cells, columns);
    }
}

/// Matches a level's cells, and notes what that is worth.
fn judge(level: &mut Level, size: usize, cells: &[i32], lengths: Lengths, sizes: &mut Vec<i32>) {
    level.matcher.most(&level.graph);
    sizes.clear();
    let matched = level.matcher.columns().iter().enumerate().filter(|&(_, &column)| column != NONE);
    sizes.extend(matched.map(|(row, &column)| cells[row * size + usize::from(column)]));
    level.day = best_length(sizes, lengths);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terms::TermsSpec;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn days_are_matchings_that_fit_and_what_they_serve_is_taken(
            size in 2_usize..12,
            cells in proptest::collection::vec(prop_oneof![Just(0), 0..10_000_000, 0..40_000_000], 144),
        ) {
            let clock = Clock::new(&TermsSpec::etalon(2_000_000_000).build().expect("good terms"));
            let mut left = cells[..size * size].to_vec();
            let mut plan = Plan::default();
            Levels::default().fill(&clock, size, &mut left, &mut plan);
            prop_assert!(plan.span(&clock) <= i64::from(clock.week));
            let mut rest = cells[..size * size].to_vec();
            for day in 0..plan.days() {
                prop_assert!(plan.length(day) >= clock.min_day);
                let mut seen = vec![false; size];
                for (row, &column) in plan.columns(day).iter().enumerate().filter(|(_, c)| **c != NONE) {
                    let column = usize::from(column);
                    prop_assert!(!std::mem::replace(&mut seen[column], true));
                    let cell = &mut rest[row * size + column];
                    *cell -= plan.length(day).min(*cell);
                }
            }
            prop_assert_eq!(&left, &rest);
            // It ends only when nothing is left, or no day fits.
            let full = plan.span(&clock) + i64::from(clock.min_day + clock.night) > i64::from(clock.week);
            prop_assert!(full || left.iter().all(|&cell| cell == 0));
        }
    }
}
