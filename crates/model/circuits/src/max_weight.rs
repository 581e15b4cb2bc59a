//! Maximum-weight matchings that are held for a fixed time (Helios, c-Through).

use crate::circuit_timing::{CircuitTiming, CircuitTimingError, CircuitTimingSpec};
use crate::demand::Demand;
use crate::max_weight_matching::{MaxWeightMatching, Search};
use crate::plan::Plan;
use crate::residual_graph::ResidualGraph;
use crate::rotation_fallback::RotationFallback;
use crate::scheduler::{Note, Scheduler};
use crate::week::Week;

/// Plans days of equal length. Each has a maximum-weight matching of the residual demand, capped at what a
/// day can serve.
///
/// By default a week is one day, as in Helios (Farrington et al., SIGCOMM 2010, §4) and c-Through (Wang et
/// al., SIGCOMM 2010, §3). They compute one matching per control cycle.
#[derive(Clone, Debug)]
pub struct MaxWeight {
    fallback: RotationFallback,
    cells: Vec<i32>,
    residual: ResidualGraph,
    max_weight: MaxWeightMatching,
    search: Search,
    plan: Plan,
}

impl MaxWeight {
    /// A scheduler for a number of racks. A day lasts `hold` picoseconds, or longer if the week has no room
    /// for another day. Without `hold` it lasts the whole week.
    ///
    /// # Errors
    /// The week has no room for a day of `hold` and a night.
    pub fn new(
        racks: usize,
        timing: CircuitTiming,
        hold: Option<u64>,
    ) -> Result<MaxWeight, CircuitTimingError> {
        let min_day = hold.unwrap_or(timing.week() - timing.night());
        let timing = CircuitTimingSpec { min_day, ..timing.spec() }.build()?;
        Ok(MaxWeight {
            fallback: RotationFallback::new(racks, timing),
            cells: Vec::new(),
            residual: ResidualGraph::default(),
            max_weight: MaxWeightMatching::default(),
            search: Search::default(),
            plan: Plan::default(),
        })
    }
    /// Plans the days of a week for the residual demand.
    fn fill_week(&mut self) {
        let ticks = self.fallback.ticks;
        let days = ticks.most_days();
        let hold = ticks.week / days as i32 - ticks.night;
        self.plan.clear(self.residual.size);
        for day in 0..days {
            match day {
                0 => self.max_weight.solve(&self.residual, hold, &mut self.search),
                _ => self.max_weight.solve_decreased(&self.residual, hold, &mut self.search),
            }
            if self.max_weight.value() == 0 {
                return;
            }
            self.residual.serve(self.max_weight.matched(), hold);
            self.plan.push_edges(hold, self.max_weight.matched(), &self.residual);
        }
    }
}

impl Scheduler for MaxWeight {
    fn week(&mut self, demand: &Demand, out: &mut Week) -> Note {
        self.fallback.check_racks(demand);
        self.fallback.ticks.load(demand, &mut self.cells);
        self.residual.load(demand.racks(), &self.cells);
        self.fill_week();
        if self.plan.days() == 0 {
            return self.fallback.rotate(Note::NoDemand, out);
        }
        self.plan.stretch(&self.fallback.ticks);
        self.fallback.emit(&self.plan, Note::Planned, out)
    }
}
