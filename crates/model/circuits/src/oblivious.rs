//! Demand-oblivious schedulers: a rotation of all pairs of racks, and a fixed week.

use crate::circuit_timing::CircuitTiming;
use crate::demand::Demand;
use crate::matching::Matching;
use crate::scheduler::{Note, Scheduler};
use crate::week::Week;

/// Connects all pairs of racks in rotation.
///
/// On day `i` of a rotation destination `j` has source `(i + 1 + j) mod N` (Etalon §3.5, Figure 4). All days
/// have the same length. It is the shortest for which a whole rotation fills the week. If a rotation is
/// longer than a week, the next week continues it.
///
/// Switch `s` of `k` parallel switches has the days `s, s + k, …` of the rotation. It changes its circuits a
/// `k`-th of a day and night later than switch `s - 1`, so that at most one switch is dark at a time.
///
/// Source: RotorNet (Mellette et al., SIGCOMM 2017, §3).
#[derive(Clone, Debug)]
pub struct Rotor {
    racks: usize,
    timing: CircuitTiming,
    switch: usize,
    switches: usize,
    /// The number of days in a week.
    days: u64,
    /// The position in this switch's rotation of the first day of the next week.
    next: u64,
    matching: Matching,
}

impl Rotor {
    /// A rotation of a single switch.
    pub fn new(racks: usize, timing: CircuitTiming) -> Rotor {
        Rotor::staggered(racks, timing, 0, 1)
    }
    /// The rotation of one of several parallel switches.
    ///
    /// # Panics
    /// Unless `switch < switches < racks`.
    pub fn staggered(racks: usize, timing: CircuitTiming, switch: usize, switches: usize) -> Rotor {
        assert!(switch < switches && switches < racks, "switch {switch} of {switches}");
        // The days of all switches have the same length, even if some switches have one turn fewer.
        let turns = (racks - 1).div_ceil(switches) as u64;
        let days = turns.min(timing.most_days());
        let matching = Matching::dark(racks);
        Rotor { racks, timing, switch, switches, days, next: 0, matching }
    }
    /// The number of days in which all pairs of this switch have a turn.
    pub fn turns(&self) -> u64 {
        (self.racks - 1 - self.switch).div_ceil(self.switches) as u64
    }
    /// Writes the next week.
    pub fn rotate(&mut self, out: &mut Week) {
        out.clear(self.racks);
        let (week, days) = (u128::from(self.timing.week()), u128::from(self.days));
        let bound = |slot: u64| (week * u128::from(slot) / days) as u64;
        let shift = bound(1) / self.switches as u64 * self.switch as u64;
        if shift > 0 {
            // The end of the day that began in the week before.
            let length = bound(self.days) - bound(self.days - 1);
            self.push_slot(self.next + self.turns() - 1, length - shift, length, out);
        }
        for slot in 0..self.days {
            let length = bound(slot + 1) - bound(slot);
            let end = if slot + 1 == self.days { length - shift } else { length };
            self.push_slot(self.next + slot, 0, end, out);
        }
        self.next = (self.next + self.days) % self.turns();
    }
    /// The number of days in the next week, and the distance from destination to source on each.
    pub(crate) fn next_week(&self) -> (u64, impl Iterator<Item = usize>) {
        (self.days, (self.next..self.next + self.days).map(|turn| self.distance(turn)))
    }
    /// The distance from destination to source in a turn.
    fn distance(&self, turn: u64) -> usize {
        (turn % self.turns()) as usize * self.switches + self.switch + 1
    }
    /// Appends the part from `from` to `to` of a day and its night, in picoseconds.
    fn push_slot(&mut self, turn: u64, from: u64, to: u64, out: &mut Week) {
        let slot = self.slot();
        let day = slot.saturating_sub(self.timing.night());
        self.set_distance(self.distance(turn));
        let lit = to.min(day).saturating_sub(from);
        out.push(lit, self.matching.circuits());
        out.push_night(to - from - lit);
    }
    /// The length of a day and its night. The days of a week differ by at most a picosecond.
    fn slot(&self) -> u64 {
        self.timing.week() / self.days
    }
    /// Connects each destination to the source at a distance.
    fn set_distance(&mut self, distance: usize) {
        self.matching.rotate(self.racks, distance);
    }
}

impl Scheduler for Rotor {
    fn week(&mut self, demand: &Demand, out: &mut Week) -> Note {
        assert_eq!(demand.racks(), self.racks, "the demand has another number of racks");
        self.rotate(out);
        Note::Planned
    }
}

/// Repeats a fixed week. It ignores the demand.
#[derive(Clone, Debug)]
pub struct Fixed(Week);

impl Fixed {
    /// A scheduler that always plans `week`.
    pub fn new(week: Week) -> Fixed {
        Fixed(week)
    }
}

impl Scheduler for Fixed {
    fn week(&mut self, demand: &Demand, out: &mut Week) -> Note {
        assert_eq!(demand.racks(), self.0.racks(), "the demand has another number of racks");
        out.copy_from(&self.0);
        Note::Planned
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::circuit_timing::CircuitTimingSpec;
    use crate::etalon_format::{Unit, emit_in};

    fn timing(week_us: u64) -> CircuitTiming {
        CircuitTimingSpec::etalon(week_us * 1_000_000).build().expect("a good week")
    }

    fn rotate(rotor: &mut Rotor) -> Week {
        let mut week = Week::default();
        rotor.rotate(&mut week);
        week
    }

    #[test]
    fn the_strobe_of_etalon() {
        let week = rotate(&mut Rotor::new(4, timing(600)));
        let dark = "20 -1/-1/-1/-1";
        let expected = format!("6 180 1/2/3/0 {dark} 180 2/3/0/1 {dark} 180 3/0/1/2 {dark}");
        assert_eq!(emit_in(&week, Unit::Us), Some(expected));
    }

    #[test]
    fn weeks_of_any_number_of_switches_are_whole_and_reach_everyone() {
        for (racks, switches, week_us) in
            [(2, 1, 200), (4, 1, 601), (8, 1, 2_000), (8, 3, 999), (16, 1, 2_000), (9, 4, 450)]
        {
            let timing = timing(week_us);
            let mut reached = vec![0; racks * racks];
            for switch in 0..switches {
                let mut rotor = Rotor::staggered(racks, timing, switch, switches);
                for _ in 0..rotor.turns() {
                    let week = rotate(&mut rotor);
                    assert_eq!(week.check(&timing), Ok(()), "{racks} {switches} {week_us}");
                    let pairs = week.days().flat_map(|day| day.circuits.pairs());
                    pairs.for_each(|(src, dst)| reached[src * racks + dst] += 1);
                }
            }
            let all = (0..racks * racks).all(|at| (reached[at] > 0) == (at / racks != at % racks));
            assert!(all, "{racks} {switches} {week_us}");
        }
    }

    #[test]
    fn staggered_switches_are_never_dark_together() {
        let timing = timing(1_000);
        let dark_at = |week: &Week, at: u64| {
            let mut end = 0;
            let slice = week.slices().find(|slice| {
                end += slice.length;
                at < end
            });
            slice.expect("within the week").circuits.is_dark()
        };
        let weeks: Vec<Week> =
            (0..4).map(|switch| rotate(&mut Rotor::staggered(17, timing, switch, 4))).collect();
        let most =
            (0..1_000).map(|us| weeks.iter().filter(|week| dark_at(week, us * 1_000_000)).count());
        assert_eq!(most.max(), Some(1));
    }
}
