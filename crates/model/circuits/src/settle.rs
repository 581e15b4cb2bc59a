//! A plan becomes a week, unless a rotation serves more.

use crate::demand::Demand;
use crate::matching::Matching;
use crate::plan::Plan;
use crate::rotor::Rotor;
use crate::scheduler::Note;
use crate::terms::Terms;
use crate::ticks::Clock;
use crate::week::Week;

/// What each scheduler that looks at demand ends with.
#[derive(Clone, Debug)]
pub(crate) struct Settle {
    pub clock: Clock,
    terms: Terms,
    matching: Matching,
    rotor: Rotor,
    /// For how long each pair has had a circuit.
    lit: Vec<i32>,
}

impl Settle {
    pub fn new(racks: usize, terms: Terms) -> Settle {
        Settle {
            clock: Clock::new(&terms),
            terms,
            matching: Matching::dark(racks),
            rotor: Rotor::new(racks, terms),
            lit: Vec::new(),
        }
    }
    /// # Panics
    /// Where the demand is of other racks than this is made for.
    pub fn check(&self, demand: &Demand) {
        assert_eq!(demand.racks(), self.matching.racks(), "a demand of other racks");
    }
    pub fn racks(&self) -> usize {
        self.matching.racks()
    }
    pub fn rotate(&mut self, note: Note, out: &mut Week) -> Note {
        self.rotor.rotate(out);
        note
    }
    pub fn emit(&mut self, plan: &Plan, note: Note, out: &mut Week) -> Note {
        plan.emit(&self.clock, &self.terms, &mut self.matching, out);
        note
    }
    /// The plan, or a rotation where circuits serve more in that.
    pub fn emit_guarded(&mut self, plan: &Plan, cells: &[i32], out: &mut Week) -> Note {
        if plan.days() == 0 || self.served(plan, cells) < self.served_by_rotation(cells) {
            return self.rotate(Note::Rotation, out);
        }
        self.emit(plan, Note::Planned, out)
    }
    /// What circuits serve of cells, in ticks.
    pub fn served(&mut self, plan: &Plan, cells: &[i32]) -> i64 {
        let racks = self.matching.racks();
        self.lit.clear();
        self.lit.resize(racks * racks, 0);
        let mut served = 0;
        for day in 0..plan.days() {
            for (cell, length) in plan.lit(day) {
                let part = length.min(cells[cell] - self.lit[cell]).max(0);
                self.lit[cell] += part;
                served += i64::from(part);
            }
        }
        served
    }
    /// The same for the rotation that comes next.
    pub fn served_by_rotation(&self, cells: &[i32]) -> i64 {
        let racks = self.matching.racks();
        let (days, distances) = self.rotor.coming();
        let day = (self.clock.week / days as i32 - self.clock.night).max(0);
        let cell = |dst: usize, distance: usize| {
            // Avoids a division per cell.
            let src = dst + distance;
            cells[if src < racks { src } else { src - racks } * racks + dst]
        };
        let served =
            |distance| (0..racks).map(|dst| i64::from(cell(dst, distance).min(day))).sum::<i64>();
        distances.map(served).sum()
    }
}
