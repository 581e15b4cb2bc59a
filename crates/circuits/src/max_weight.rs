//! The heaviest matching, held for a time (Helios, c-Through).

use crate::demand::Demand;
use crate::heaviest::{Heaviest, Search};
use crate::matching::Matching;
use crate::plan::Plan;
use crate::rotor::Rotor;
use crate::scheduler::{Note, Scheduler};
use crate::terms::{Terms, TermsError, TermsSpec};
use crate::ticks::Clock;
use crate::wants::Wants;
use crate::week::Week;

/// Days of the same length, each with the heaviest matching of what is left, cut at what a day can serve. By
/// default a week is one day, as in Helios (Farrington et al., SIGCOMM 2010, §4) and c-Through (Wang et al.,
/// SIGCOMM 2010, §3), which compute a matching once per control cycle.
#[derive(Clone, Debug)]
pub struct MaxWeight {
    terms: Terms,
    clock: Clock,
    cells: Vec<i32>,
    wants: Wants,
    heaviest: Heaviest,
    search: Search,
    plan: Plan,
    matching: Matching,
    rotor: Rotor,
}

impl MaxWeight {
    /// For so many racks. Circuits are held for `hold` picoseconds, and then for longer if another day does not
    /// fit into the week; without it, for the whole week.
    pub fn new(racks: usize, terms: Terms, hold: Option<u64>) -> Result<MaxWeight, TermsError> {
        let min_day = hold.unwrap_or(terms.week() - terms.night());
        let terms = TermsSpec { min_day, ..terms.spec() }.build()?;
        Ok(MaxWeight {
            terms,
            clock: Clock::new(&terms),
            cells: Vec::new(),
            wants: Wants::default(),
            heaviest: Heaviest::default(),
            search: Search::default(),
            plan: Plan::default(),
            matching: Matching::dark(racks),
            rotor: Rotor::new(racks, terms),
        })
    }
    /// Days for what is wanted.
    fn fill(&mut self) {
        let days = self.clock.most_days();
        let hold = self.clock.week / days as i32 - self.clock.night;
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
        assert_eq!(demand.racks(), self.matching.racks(), "a demand of other racks");
        self.clock.load(demand, &mut self.cells);
        self.wants.load(demand.racks(), &self.cells);
        self.fill();
        if self.plan.days() == 0 {
            self.rotor.rotate(out);
            return Note::NoDemand;
        }
        self.plan.stretch(&self.clock);
        self.plan.emit(&self.clock, &self.terms, &mut self.matching, out);
        Note::Planned
    }
}
