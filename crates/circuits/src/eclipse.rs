//! Eclipse: greedily the day that serves most per time.

use crate::demand::Demand;
use crate::greedy::{Greedy, Lengths};
use crate::matching::Matching;
use crate::plan::Plan;
use crate::rotor::Rotor;
use crate::scheduler::{Note, Scheduler};
use crate::terms::Terms;
use crate::ticks::Clock;
use crate::wants::Wants;
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
    wants: Wants,
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
            wants: Wants::default(),
            greedy: Greedy::default(),
            plan: Plan::default(),
            matching: Matching::dark(racks),
            rotor: Rotor::new(racks, terms),
        }
    }
}

/// Days for what is wanted; afterwards that is what is left.
pub(crate) fn fill(
    greedy: &mut Greedy,
    clock: &Clock,
    wants: &mut Wants,
    effort: (f64, usize),
    plan: &mut Plan,
) {
    plan.clear(wants.size);
    greedy.begin();
    let mut left = clock.week;
    while let Some(lengths) = Lengths::within(clock, left) {
        let Some((length, edges)) = greedy.pick(wants, lengths, effort) else { break };
        wants.serve(edges, length);
        plan.push_edges(length, edges, wants);
        left -= length + clock.night;
    }
}

impl Scheduler for Eclipse {
    fn week(&mut self, demand: &Demand, out: &mut Week) -> Note {
        assert_eq!(demand.racks(), self.matching.racks(), "a demand of other racks");
        self.clock.load(demand, &mut self.cells);
        self.wants.load(demand.racks(), &self.cells);
        let effort = (SLACK, usize::MAX);
        fill(&mut self.greedy, &self.clock, &mut self.wants, effort, &mut self.plan);
        if self.plan.days() == 0 {
            self.rotor.rotate(out);
            return Note::NoDemand;
        }
        self.plan.stretch(&self.clock);
        self.plan.emit(&self.clock, &self.terms, &mut self.matching, out);
        Note::Planned
    }
}
