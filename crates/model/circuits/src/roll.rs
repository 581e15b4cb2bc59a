//! Days of many racks that have much for many: heaviest matchings of the largest demands that are left.
//!
//! Heaviest matchings of all pairs are dear, and hardly better than those of the largest few of each rack; so these
//! are looked for again after some days. The matching of a day is the heaviest for the length of the day before;
//! its own length is the one at which it serves most per time. So there is one matching per day.

use crate::greedy::{Lengths, best_length};
use crate::heaviest::{Heaviest, Search};
use crate::plan::Plan;
use crate::select::Selection;
use crate::ticks::Clock;
use crate::wants::{NO_EDGE, Wants};

/// For so many days the same demands are looked at.
const DAYS: u64 = 12;

/// Finds days; keeps its memory.
#[derive(Clone, Debug, Default)]
pub(crate) struct Roll {
    wants: Wants,
    selection: Selection,
    heaviest: Heaviest,
    search: Search,
    sizes: Vec<i32>,
}

impl Roll {
    /// So many demands of each rack are looked at.
    pub const LOOK: usize = 24;

    /// Edges looked at so far.
    pub fn work(&self) -> u64 {
        self.search.work
    }
    /// Days for what is in the cells, of which that is left that they do not serve. After about `most_work`, as evenly
    /// spread over days as can be, matchings are only near the heaviest.
    pub fn fill(
        &mut self,
        clock: &Clock,
        cells: &mut [i32],
        most_work: u64,
        plan: &mut Plan,
        size: usize,
    ) {
        plan.clear(size);
        let (mut left, mut cap) = (clock.week, clock.week / 9 * 8);
        let (begin, days) = (self.search.work, clock.most_days() as u64);
        for day in 0_u64.. {
            let Some(lengths) = Lengths::within(clock, left) else { return };
            // What a day leaves over may be used by all others.
            self.search.most_work = begin + most_work / 2 + most_work / 2 / days * (day + 1);
            if day.is_multiple_of(DAYS) {
                cap = self.begin(clock, cells, cap / 8 * 9, day == 0, size);
            } else {
                self.heaviest.resume(&self.wants, cap, &mut self.search);
            }
            let Some(length) = self.length(lengths) else { return };
            // Between two selections no weight may become higher.
            cap = cap.min(length);
            self.wants.serve(self.heaviest.matched(), length);
            plan.push_edges(length, self.heaviest.matched(), &self.wants);
            let columns = plan.columns(plan.days() - 1).iter().map(|&column| usize::from(column));
            for (row, column) in columns.enumerate().filter(|&(_, column)| column < size) {
                let cell = &mut cells[row * size + column];
                *cell -= length.min(*cell);
            }
            left -= length + clock.night;
        }
    }
    /// Selects the largest cells, and matches them; returns up to which length.
    fn begin(&mut self, clock: &Clock, cells: &[i32], most: i32, anew: bool, size: usize) -> i32 {
        self.selection.select(size, cells, Roll::LOOK, &mut self.wants);
        let largest = self.wants.left.iter().copied().max().unwrap_or(0);
        let cap = most.min(largest).max(clock.min_day);
        self.search.work += cells.len() as u64;
        match anew {
            true => self.heaviest.solve(&self.wants, cap, &mut self.search),
            false => self.heaviest.rebase(&self.wants, cap, &mut self.search),
        }
        cap
    }
    /// The best length for the matching at hand; none where it serves nothing.
    fn length(&mut self, lengths: Lengths) -> Option<i32> {
        let matched = self.heaviest.matched().iter().filter(|&&edge| edge != NO_EDGE);
        self.sizes.clear();
        self.sizes.extend(matched.map(|&edge| self.wants.left[edge as usize]));
        let (length, rate) = best_length(&mut self.sizes, lengths);
        (rate > 0.0).then_some(length)
    }
}
