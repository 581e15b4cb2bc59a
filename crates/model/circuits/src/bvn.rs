//! Birkhoff-von Neumann decomposition: a matrix with equal row and column sums as a sum of permutations.

use crate::circuit_timing::CircuitTiming;
use crate::demand::Demand;
use crate::perfect_matching::{Graph, Matcher};
use crate::plan::Plan;
use crate::rotation_fallback::RotationFallback;
use crate::scheduler::{Note, Scheduler};
use crate::stuffing::Stuffing;
use crate::week::Week;

/// Plans by Birkhoff-von Neumann decomposition.
///
/// The demand is stuffed until all rows and columns have the same sum. It is then decomposed exactly: each
/// permutation is a perfect matching of the cells above zero, and its length is its smallest cell. The
/// longest permutations that fit into the week become its days. If none is as long as the shortest day, or if
/// a rotation serves more, the week is a rotation, and the note says so.
///
/// Source: Birkhoff, 1946; as a schedule of circuits, Mordia (Porter et al., SIGCOMM 2013, §4).
#[derive(Clone, Debug)]
pub struct Bvn {
    fallback: RotationFallback,
    /// The demand as loaded, and the part that is not decomposed yet.
    cells: Vec<i32>,
    rest: Vec<i32>,
    stuffing: Stuffing,
    graph: Graph,
    matcher: Matcher,
    plan: Plan,
}

impl Bvn {
    /// A scheduler for a number of racks.
    pub fn new(racks: usize, timing: CircuitTiming) -> Bvn {
        Bvn {
            fallback: RotationFallback::new(racks, timing),
            cells: Vec::new(),
            rest: Vec::new(),
            stuffing: Stuffing::default(),
            graph: Graph::default(),
            matcher: Matcher::default(),
            plan: Plan::default(),
        }
    }
    /// Decomposes `rest`. Of the permutations with a length of at least `least` it plans the longest, at most
    /// `most`.
    fn decompose(&mut self, size: usize, least: i32, most: usize) {
        self.plan.clear(size);
        self.graph.at_least(size, &self.rest, 1);
        self.matcher.begin(size);
        while self.matcher.perfect(&self.graph) {
            let columns = self.matcher.columns();
            let place = |row: usize| row * size + usize::from(columns[row]);
            let length = (0..size).map(|row| self.rest[place(row)]).min().unwrap_or(0);
            if length >= least {
                self.plan.push_longest(length, columns, most);
            }
            for row in 0..size {
                let column = usize::from(self.matcher.columns()[row]);
                let cell = &mut self.rest[row * size + column];
                *cell -= length;
                if *cell == 0 {
                    self.graph.remove(row, column);
                    self.matcher.remove_row(row);
                }
            }
        }
    }
}

impl Scheduler for Bvn {
    fn week(&mut self, demand: &Demand, out: &mut Week) -> Note {
        self.fallback.check_racks(demand);
        let (size, ticks) = (demand.racks(), self.fallback.ticks);
        ticks.load(demand, &mut self.cells);
        self.rest.clone_from(&self.cells);
        let largest = self.stuffing.measure(size, &self.rest);
        self.stuffing.stuff(size, &mut self.rest);
        if largest == 0 {
            return self.fallback.rotate(Note::NoDemand, out);
        }
        self.decompose(size, ticks.min_day, ticks.most_days());
        self.plan.fit_to_week(&ticks);
        self.fallback.emit_or_rotate(&self.plan, &self.cells, out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::circuit_timing::CircuitTimingSpec;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_permutations_add_up_to_the_matrix(
            size in 2_usize..9,
            cells in proptest::collection::vec(prop_oneof![Just(0), 0..1000], 64),
        ) {
            let timing = CircuitTimingSpec::etalon(2_000_000_000).build().expect("valid timing");
            let mut bvn = Bvn::new(size, timing);
            bvn.rest = cells[..size * size].to_vec();
            let total = bvn.stuffing.measure(size, &bvn.rest);
            bvn.stuffing.stuff(size, &mut bvn.rest);
            let stuffed = bvn.rest.clone();
            bvn.decompose(size, 1, usize::MAX);
            let mut sum = vec![0; size * size];
            for day in 0..bvn.plan.days() {
                let columns = bvn.plan.columns(day);
                let mut seen = columns.to_vec();
                seen.sort_unstable();
                seen.dedup();
                prop_assert_eq!(seen.len(), size);
                for (row, &column) in columns.iter().enumerate() {
                    sum[row * size + usize::from(column)] += bvn.plan.length(day);
                }
            }
            prop_assert_eq!(sum, stuffed);
            prop_assert!(bvn.plan.days() <= size * size - 2 * size + 2);
            prop_assert_eq!(bvn.rest.iter().map(|&cell| i64::from(cell)).sum::<i64>(), 0);
            let lengths = (0..bvn.plan.days()).map(|day| i64::from(bvn.plan.length(day)));
            prop_assert_eq!(lengths.sum::<i64>(), total);
        }
    }
}
