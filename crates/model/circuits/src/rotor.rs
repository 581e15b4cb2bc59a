//! Rotation: each pair of racks has its turn, whatever the demand (strobe schedules, rotor switches).

use crate::demand::Demand;
use crate::matching::Matching;
use crate::scheduler::{Note, Scheduler};
use crate::terms::Terms;
use crate::week::Week;

/// In day `i` of a rotation destination `j` hears source `(i + 1 + j) mod N` (Etalon §3.5, Figure 4). The days
/// are equally long, and the shortest ones of which a whole rotation fills the week; where a rotation is longer
/// than a week, the next week goes on where this one ends.
///
/// Of `k` parallel switches, switch `s` has the days `s, s + k, …` of the rotation, and changes its circuits a
/// `k`-th of a day and night after switch `s - 1`, so that never more than one of them is dark.
///
/// Source: RotorNet (Mellette et al., SIGCOMM 2017, §3).
#[derive(Clone, Debug)]
pub struct Rotor {
    racks: usize,
    terms: Terms,
    switch: usize,
    switches: usize,
    /// Days of a week.
    days: u64,
    /// The place in this switch's rotation of the day that a week begins with.
    next: u64,
    matching: Matching,
}

impl Rotor {
    /// One switch.
    pub fn new(racks: usize, terms: Terms) -> Rotor {
        Rotor::staggered(racks, terms, 0, 1)
    }
    /// One of several parallel switches.
    ///
    /// # Panics
    /// Unless `switch < switches < racks`.
    pub fn staggered(racks: usize, terms: Terms, switch: usize, switches: usize) -> Rotor {
        assert!(switch < switches && switches < racks, "switch {switch} of {switches}");
        // All switches have days of the same length, also those with a turn less.
        let turns = (racks - 1).div_ceil(switches) as u64;
        let days = turns.min(terms.most_days());
        let matching = Matching::dark(racks);
        Rotor { racks, terms, switch, switches, days, next: 0, matching }
    }
    /// Days until all pairs of this switch have had their turn.
    pub fn turns(&self) -> u64 {
        (self.racks - 1 - self.switch).div_ceil(self.switches) as u64
    }
    /// Plans the next week.
    pub fn rotate(&mut self, out: &mut Week) {
        out.clear(self.racks);
        let (week, days) = (u128::from(self.terms.week()), u128::from(self.days));
        let bound = |slot: u64| (week * u128::from(slot) / days) as u64;
        let shift = bound(1) / self.switches as u64 * self.switch as u64;
        if shift > 0 {
            // The rest of the day that the week before began.
            let length = bound(self.days) - bound(self.days - 1);
            self.emit(self.next + self.turns() - 1, length - shift, length, out);
        }
        for slot in 0..self.days {
            let length = bound(slot + 1) - bound(slot);
            let end = if slot + 1 == self.days { length - shift } else { length };
            self.emit(self.next + slot, 0, end, out);
        }
        self.next = (self.next + self.days) % self.turns();
    }
    /// How many days the next week has, and the distances of its circuits.
    pub(crate) fn coming(&self) -> (u64, impl Iterator<Item = usize>) {
        (self.days, (self.next..self.next + self.days).map(|turn| self.distance(turn)))
    }
    /// How far sources are from their destinations.
    fn distance(&self, turn: u64) -> usize {
        (turn % self.turns()) as usize * self.switches + self.switch + 1
    }
    /// The part from `from` to `to` of a day and its night.
    fn emit(&mut self, turn: u64, from: u64, to: u64, out: &mut Week) {
        let slot = self.slot();
        let day = slot.saturating_sub(self.terms.night());
        self.light(self.distance(turn));
        let lit = to.min(day).saturating_sub(from);
        out.push(lit, self.matching.circuits());
        out.push_night(to - from - lit);
    }
    /// The length of a day and its night; those of a week differ by a picosecond.
    fn slot(&self) -> u64 {
        self.terms.week() / self.days
    }
    /// Each destination hears the source so many racks further on.
    fn light(&mut self, distance: usize) {
        self.matching.clear(self.racks);
        for destination in 0..self.racks {
            let source = (destination + distance) % self.racks;
            self.matching.connect(source, destination).expect("a rotation is a permutation");
        }
    }
}

impl Scheduler for Rotor {
    fn week(&mut self, demand: &Demand, out: &mut Week) -> Note {
        assert_eq!(demand.racks(), self.racks, "a demand of other racks");
        self.rotate(out);
        Note::Planned
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terms::TermsSpec;
    use crate::text::{Unit, emit_in};

    fn terms(week_us: u64) -> Terms {
        TermsSpec::etalon(week_us * 1_000_000).build().expect("a good week")
    }

    fn rotate(rotor: &mut Rotor) -> Week {
        let mut week = Week::default();
        rotor.rotate(&mut week);
        week
    }

    #[test]
    fn the_strobe_of_etalon() {
        let week = rotate(&mut Rotor::new(4, terms(600)));
        let dark = "20 -1/-1/-1/-1";
        let expected = format!("6 180 1/2/3/0 {dark} 180 2/3/0/1 {dark} 180 3/0/1/2 {dark}");
        assert_eq!(emit_in(&week, Unit::Us), Some(expected));
    }

    #[test]
    fn weeks_of_any_number_of_switches_are_whole_and_reach_everyone() {
        for (racks, switches, week_us) in
            [(2, 1, 200), (4, 1, 601), (8, 1, 2_000), (8, 3, 999), (16, 1, 2_000), (9, 4, 450)]
        {
            let terms = terms(week_us);
            let mut reached = vec![0; racks * racks];
            for switch in 0..switches {
                let mut rotor = Rotor::staggered(racks, terms, switch, switches);
                for _ in 0..rotor.turns() {
                    let week = rotate(&mut rotor);
                    assert_eq!(week.check(&terms), Ok(()), "{racks} {switches} {week_us}");
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
        let terms = terms(1_000);
        let dark_at = |week: &Week, at: u64| {
            let mut end = 0;
            let slice = week.slices().find(|slice| {
                end += slice.length;
                at < end
            });
            slice.expect("within the week").circuits.is_dark()
        };
        let weeks: Vec<Week> =
            (0..4).map(|switch| rotate(&mut Rotor::staggered(17, terms, switch, 4))).collect();
        let most =
            (0..1_000).map(|us| weeks.iter().filter(|week| dark_at(week, us * 1_000_000)).count());
        assert_eq!(most.max(), Some(1));
    }
}
