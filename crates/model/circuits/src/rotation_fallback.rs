//! Writes a plan as a week, or a rotation if that serves more.

use crate::circuit_timing::CircuitTiming;
use crate::demand::Demand;
use crate::matching::Matching;
use crate::oblivious::Rotor;
use crate::plan::Plan;
use crate::scheduler::Note;
use crate::ticks::TickTiming;
use crate::week::Week;

/// The last step of each demand-aware scheduler: it writes the plan or a rotation.
#[derive(Clone, Debug)]
pub(crate) struct RotationFallback {
    pub ticks: TickTiming,
    timing: CircuitTiming,
    matching: Matching,
    rotor: Rotor,
    /// The time that each pair has a circuit.
    circuit_time: Vec<i32>,
}

impl RotationFallback {
    pub fn new(racks: usize, timing: CircuitTiming) -> RotationFallback {
        RotationFallback {
            ticks: TickTiming::new(&timing),
            timing,
            matching: Matching::dark(racks),
            rotor: Rotor::new(racks, timing),
            circuit_time: Vec::new(),
        }
    }
    /// Checks the size of a demand.
    ///
    /// # Panics
    /// The demand has another number of racks.
    pub fn check_racks(&self, demand: &Demand) {
        assert_eq!(demand.racks(), self.matching.racks(), "the demand has another number of racks");
    }
    pub fn racks(&self) -> usize {
        self.matching.racks()
    }
    pub fn rotate(&mut self, note: Note, out: &mut Week) -> Note {
        self.rotor.rotate(out);
        note
    }
    pub fn emit(&mut self, plan: &Plan, note: Note, out: &mut Week) -> Note {
        plan.emit(&self.ticks, &self.timing, &mut self.matching, out);
        note
    }
    /// Writes the plan, or a rotation if its circuits serve more.
    pub fn emit_or_rotate(&mut self, plan: &Plan, cells: &[i32], out: &mut Week) -> Note {
        if plan.days() == 0 || self.served_by_plan(plan, cells) < self.served_by_rotation(cells) {
            return self.rotate(Note::Rotation, out);
        }
        self.emit(plan, Note::Planned, out)
    }
    /// The demand that the circuits of a plan serve, in ticks.
    pub fn served_by_plan(&mut self, plan: &Plan, cells: &[i32]) -> i64 {
        let racks = self.matching.racks();
        self.circuit_time.clear();
        self.circuit_time.resize(racks * racks, 0);
        let mut served_by_plan = 0;
        for day in 0..plan.days() {
            for (cell, length) in plan.circuits(day) {
                let part = length.min(cells[cell] - self.circuit_time[cell]).max(0);
                self.circuit_time[cell] += part;
                served_by_plan += i64::from(part);
            }
        }
        served_by_plan
    }
    /// The demand that the circuits of the next rotation serve, in ticks.
    pub fn served_by_rotation(&self, cells: &[i32]) -> i64 {
        let racks = self.matching.racks();
        let (days, distances) = self.rotor.next_week();
        let day = (self.ticks.week / days as i32 - self.ticks.night).max(0);
        if days as usize + 1 == racks {
            // All pairs have a day. The diagonal is zero.
            return cells.iter().map(|&cell| i64::from(cell.min(day))).sum();
        }
        let cell = |dst: usize, distance: usize| {
            // This avoids a division per cell.
            let src = dst + distance;
            cells[if src < racks { src } else { src - racks } * racks + dst]
        };
        let served =
            |distance| (0..racks).map(|dst| i64::from(cell(dst, distance).min(day))).sum::<i64>();
        distances.map(served).sum()
    }
}
