//! Eclipse: greedily plans the day with the highest rate of service.

use crate::circuit_timing::CircuitTiming;
use crate::demand::Demand;
use crate::greedy::{DayLengths, Greedy};
use crate::plan::Plan;
use crate::residual_graph::ResidualGraph;
use crate::rotation_fallback::RotationFallback;
use crate::scheduler::{Note, Scheduler};
use crate::ticks::TickTiming;
use crate::week::Week;

/// The factor by which the best day may be better than the chosen day, minus one.
const SLACK: f64 = 0.03;

/// Maximises what circuits serve in a week.
///
/// It repeatedly takes the day that serves most of the residual demand per time, its night included. The
/// matching of a day is a maximum-weight matching of all residual demands, capped at the length of the day.
/// The last day takes the rest of the week.
///
/// Each day serves at least 1 / 1.03 of the best rate. If all days but the last take the fraction `t` of the
/// week, they serve at least `1 - exp(-t / 1.03)` of what any schedule serves.
///
/// Source: Bojja Venkatakrishnan et al., SIGMETRICS 2016, Algorithm 2 and Theorem 1.
#[derive(Clone, Debug)]
pub struct Eclipse {
    fallback: RotationFallback,
    cells: Vec<i32>,
    residual: ResidualGraph,
    greedy: Greedy,
    plan: Plan,
}

impl Eclipse {
    /// A scheduler for a number of racks.
    pub fn new(racks: usize, timing: CircuitTiming) -> Eclipse {
        Eclipse {
            fallback: RotationFallback::new(racks, timing),
            cells: Vec::new(),
            residual: ResidualGraph::default(),
            greedy: Greedy::default(),
            plan: Plan::default(),
        }
    }
}

/// Plans the days of a week for the residual demand, and subtracts what they serve.
pub(crate) fn fill_week(
    greedy: &mut Greedy,
    ticks: &TickTiming,
    residual: &mut ResidualGraph,
    plan: &mut Plan,
) {
    plan.clear(residual.size);
    greedy.reset();
    let mut left = ticks.week;
    while let Some(lengths) = DayLengths::within(ticks, left) {
        let Some((length, edges)) = greedy.pick(residual, lengths, SLACK) else { break };
        residual.serve(edges, length);
        plan.push_edges(length, edges, residual);
        left -= length + ticks.night;
    }
}

impl Scheduler for Eclipse {
    fn week(&mut self, demand: &Demand, out: &mut Week) -> Note {
        self.fallback.check_racks(demand);
        let ticks = self.fallback.ticks;
        ticks.load(demand, &mut self.cells);
        self.residual.load(demand.racks(), &self.cells);
        fill_week(&mut self.greedy, &ticks, &mut self.residual, &mut self.plan);
        if self.plan.days() == 0 {
            return self.fallback.rotate(Note::NoDemand, out);
        }
        self.plan.stretch(&ticks);
        self.fallback.emit(&self.plan, Note::Planned, out)
    }
}
