//! Eclipse: greedily the day that serves most per time.

use crate::demand::Demand;
use crate::greedy::{Greedy, Lengths, serve};
use crate::matching::Matching;
use crate::plan::Plan;
use crate::rotor::Rotor;
use crate::scheduler::{Note, Scheduler};
use crate::terms::Terms;
use crate::ticks::Clock;
use crate::week::Week;

/// How much worse than the best day a picked one may be.
const SLACK: f64 = 0.01;

/// Maximises what circuits serve within a week. Again and again the day is taken that serves most of what is left
/// per time, its night included; its matching is the heaviest of all demand cut at its length. The last day
/// has the rest of the week.
///
/// Each day picked serves at least 1 / 1.01 of the best per time. Hence all days but the last, which take the part
/// `t` of the week, serve at least `1 - exp(-t / 1.01)` of what any schedule does.
///
/// Source: Bojja Venkatakrishnan et al., SIGMETRICS 2016, Algorithm 2 and Theorem 1.
#[derive(Clone, Debug)]
pub struct Eclipse {
    terms: Terms,
    clock: Clock,
    cells: Vec<i32>,
    greedy: Greedy,
    plan: Plan,
    matching: Matching,
    rotor: Rotor,
}

impl Eclipse {
    /// For so many racks.
    pub fn new(racks: usize, terms: Terms) -> Eclipse {
        Eclipse {
            terms,
            clock: Clock::new(&terms),
            cells: Vec::new(),
            greedy: Greedy::default(),
            plan: Plan::default(),
            matching: Matching::dark(racks),
            rotor: Rotor::new(racks, terms),
        }
    }
}

/// Days for what is in the cells, which are what is left afterwards.
pub(crate) fn fill(
    greedy: &mut Greedy,
    clock: &Clock,
    (size, cells): (usize, &mut [i32]),
    effort: (f64, usize),
    plan: &mut Plan,
) {
    plan.clear(size);
    greedy.begin();
    let mut left = clock.week;
    while let Some(lengths) = Lengths::within(clock, left) {
        let Some((length, columns)) = greedy.pick(size, cells, lengths, effort) else { break };
        serve(size, cells, length, columns);
        plan.push(length, columns);
        left -= length + clock.night;
    }
}

impl Scheduler for Eclipse {
    fn week(&mut self, demand: &Demand, out: &mut Week) -> Note {
        assert_eq!(demand.racks(), self.matching.racks(), "a demand of other racks");
        self.clock.load(demand, &mut self.cells);
        let matrix = (demand.racks(), &mut self.cells[..]);
        fill(&mut self.greedy, &self.clock, matrix, (SLACK, usize::MAX), &mut self.plan);
        if self.plan.days() == 0 {
            self.rotor.rotate(out);
            return Note::NoDemand;
        }
        self.plan.stretch(&self.clock);
        self.plan.emit(&self.clock, &self.terms, &mut self.matching, out);
        Note::Planned
    }
}
