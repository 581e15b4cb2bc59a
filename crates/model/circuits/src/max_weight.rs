//! The heaviest matching, held for a time (Helios, c-Through).

use crate::demand::Demand;
use crate::heaviest::{Heaviest, Search};
use crate::plan::Plan;
use crate::scheduler::{Note, Scheduler};
use crate::settle::Settle;
use crate::terms::{Terms, TermsError, TermsSpec};
use crate::wants::Wants;
use crate::week::Week;

/// Days of the same length, each with the heaviest matching of what is left, cut at what a day can serve. By
/// default a week is one day, as in Helios (Farrington et al., SIGCOMM 2010, §4) and c-Through (Wang et al.,
/// SIGCOMM 2010, §3), which compute a matching once per control cycle.
#[derive(Clone, Debug)]
pub struct MaxWeight {
    settle: Settle,
    cells: Vec<i32>,
    wants: Wants,
    heaviest: Heaviest,
    search: Search,
    plan: Plan,
}

impl MaxWeight {
    /// For so many racks. Circuits are held for `hold` picoseconds, and then for longer if another day does not
    /// fit into the week; without it, for the whole week.
    pub fn new(racks: usize, terms: Terms, hold: Option<u64>) -> Result<MaxWeight, TermsError> {
        let min_day = hold.unwrap_or(terms.week() - terms.night());
        let terms = TermsSpec { min_day, ..terms.spec() }.build()?;
        Ok(MaxWeight {
            settle: Settle::new(racks, terms),
            cells: Vec::new(),
            wants: Wants::default(),
            heaviest: Heaviest::default(),
            search: Search::default(),
            plan: Plan::default(),
        })
    }
    /// Days for what is wanted.
    fn fill(&mut self) {
        let clock = self.settle.clock;
        let days = clock.most_days();
        let hold = clock.week / days as i32 - clock.night;
        self.plan.clear(self.wants.size);
        for day in 0..days {
            match day {
                0 => self.heaviest.solve(&self.wants, hold, &mut self.search),
                _ => self.heaviest.resume(&self.wants, hold, &mut self.search),
            }
            if self.heaviest.value() == 0 {
                return;
            }
            self.wants.serve(self.heaviest.matched(), hold);
            self.plan.push_edges(hold, self.heaviest.matched(), &self.wants);
        }
    }
}

impl Scheduler for MaxWeight {
    fn week(&mut self, demand: &Demand, out: &mut Week) -> Note {
        self.settle.check(demand);
        self.settle.clock.load(demand, &mut self.cells);
        self.wants.load(demand.racks(), &self.cells);
        self.fill();
        if self.plan.days() == 0 {
            return self.settle.rotate(Note::NoDemand, out);
        }
        self.plan.stretch(&self.settle.clock);
        self.settle.emit(&self.plan, Note::Planned, out)
    }
}
