//! Eclipse: greedily the day that serves most per time.

use crate::demand::Demand;
use crate::greedy::{Greedy, Lengths};
use crate::plan::Plan;
use crate::scheduler::{Note, Scheduler};
use crate::settle::Settle;
use crate::terms::Terms;
use crate::ticks::Clock;
use crate::wants::Wants;
use crate::week::Week;

/// How much worse than the best day a picked one may be.
const SLACK: f64 = 0.03;

/// Maximises what circuits serve within a week. Again and again the day is taken that serves most of what is left
/// per time, its night included; its matching is the heaviest of all demand cut at its length. The last day
/// has the rest of the week.
///
/// Each day picked serves at least 1 / 1.03 of the best per time. Hence all days but the last, which take the part
/// `t` of the week, serve at least `1 - exp(-t / 1.03)` of what any schedule does.
///
/// Source: Bojja Venkatakrishnan et al., SIGMETRICS 2016, Algorithm 2 and Theorem 1.
#[derive(Clone, Debug)]
pub struct Eclipse {
    settle: Settle,
    cells: Vec<i32>,
    wants: Wants,
    greedy: Greedy,
    plan: Plan,
}

impl Eclipse {
    /// For so many racks.
    pub fn new(racks: usize, terms: Terms) -> Eclipse {
        Eclipse {
            settle: Settle::new(racks, terms),
            cells: Vec::new(),
            wants: Wants::default(),
            greedy: Greedy::default(),
            plan: Plan::default(),
        }
    }
}

/// Days for what is wanted; afterwards that is what is left.
pub(crate) fn fill(greedy: &mut Greedy, clock: &Clock, wants: &mut Wants, plan: &mut Plan) {
    plan.clear(wants.size);
    greedy.begin();
    let mut left = clock.week;
    while let Some(lengths) = Lengths::within(clock, left) {
        let Some((length, edges)) = greedy.pick(wants, lengths, SLACK) else { break };
        wants.serve(edges, length);
        plan.push_edges(length, edges, wants);
        left -= length + clock.night;
    }
}

impl Scheduler for Eclipse {
    fn week(&mut self, demand: &Demand, out: &mut Week) -> Note {
        self.settle.check(demand);
        let clock = self.settle.clock;
        clock.load(demand, &mut self.cells);
        self.wants.load(demand.racks(), &self.cells);
        fill(&mut self.greedy, &clock, &mut self.wants, &mut self.plan);
        if self.plan.days() == 0 {
            return self.settle.rotate(Note::NoDemand, out);
        }
        self.plan.stretch(&clock);
        self.settle.emit(&self.plan, Note::Planned, out)
    }
}
