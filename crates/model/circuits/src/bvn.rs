//! Birkhoff and von Neumann: a matrix with equal sums as a sum of permutations.

use crate::demand::Demand;
use crate::matcher::{Graph, Matcher};
use crate::plan::Plan;
use crate::scheduler::{Note, Scheduler};
use crate::settle::Settle;
use crate::stuff::Stuffing;
use crate::terms::Terms;
use crate::week::Week;

/// Demand is stuffed until all rows and columns are equal, and taken apart into permutations exactly: each is a
/// perfect matching of what is not zero yet, and as long as its smallest cell. The longest ones that fit the week are
/// its days. Where none is as long as the shortest day, or a rotation serves more, it is a rotation, and the
/// note says so.
///
/// Source: Birkhoff 1946; as a schedule, Mordia (Porter et al., SIGCOMM 2013, §4).
#[derive(Clone, Debug)]
pub struct Bvn {
    settle: Settle,
    /// As loaded, and what is not yet taken apart.
    cells: Vec<i32>,
    rest: Vec<i32>,
    stuffing: Stuffing,
    graph: Graph,
    matcher: Matcher,
    plan: Plan,
}

impl Bvn {
    /// For so many racks.
    pub fn new(racks: usize, terms: Terms) -> Bvn {
        Bvn {
            settle: Settle::new(racks, terms),
            cells: Vec::new(),
            rest: Vec::new(),
            stuffing: Stuffing::default(),
            graph: Graph::default(),
            matcher: Matcher::default(),
            plan: Plan::default(),
        }
    }
    /// Takes `rest` apart; of the permutations that are at least so long the longest are kept, so many.
    fn take_apart(&mut self, size: usize, least: i32, most: usize) {
        self.plan.clear(size);
        self.graph.at_least(size, &self.rest, 1);
        self.matcher.begin(size);
        while self.matcher.perfect(&self.graph) {
            let columns = self.matcher.columns();
            let place = |row: usize| row * size + usize::from(columns[row]);
            let length = (0..size).map(|row| self.rest[place(row)]).min().unwrap_or(0);
            if length >= least {
                self.plan.push_among(length, columns, most);
            }
            for row in 0..size {
                let column = usize::from(self.matcher.columns()[row]);
                let cell = &mut self.rest[row * size + column];
                *cell -= length;
                if *cell == 0 {
                    self.graph.remove(row, column);
                    self.matcher.part(row);
                }
            }
        }
    }
}

impl Scheduler for Bvn {
    fn week(&mut self, demand: &Demand, out: &mut Week) -> Note {
        self.settle.check(demand);
        let (size, clock) = (demand.racks(), self.settle.clock);
        clock.load(demand, &mut self.cells);
        self.rest.clone_from(&self.cells);
        if self.stuffing.stuff(size, &mut self.rest) == 0 {
            return self.settle.rotate(Note::NoDemand, out);
        }
        self.take_apart(size, clock.min_day, clock.most_days());
        self.plan.fit(&clock);
        self.settle.emit_guarded(&self.plan, &self.cells, out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terms::TermsSpec;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_permutations_add_up_to_the_matrix(
            size in 2_usize..9,
            cells in proptest::collection::vec(prop_oneof![Just(0), 0..1000], 64),
        ) {
            let terms = TermsSpec::etalon(2_000_000_000).build().expect("good terms");
            let mut bvn = Bvn::new(size, terms);
            bvn.rest = cells[..size * size].to_vec();
            let total = bvn.stuffing.stuff(size, &mut bvn.rest);
            let stuffed = bvn.rest.clone();
            bvn.take_apart(size, 1, usize::MAX);
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
