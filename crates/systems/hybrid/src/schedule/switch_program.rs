//! The days of one circuit switch, as the program that drives the switch sees them.

use slotline_circuits::{Slice, Week};
use slotline_net::time::Time;
use std::collections::VecDeque;

/// The circuits of a switch at one time, from rack to rack.
pub type CircuitList = Vec<(u16, u16)>;

/// A change of all circuits of a switch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SwitchChange {
    /// When the new circuits must be up.
    pub up_by: Time,
    /// The new circuits.
    pub circuits: CircuitList,
}

struct Day {
    from: Time,
    until: Time,
    circuits: CircuitList,
}

/// The changes of a circuit switch that are to come.
///
/// The clocks of racks differ. So the circuits of a day stay up for a quarter of a night after its end, and are up a
/// quarter of a night before its beginning. The switch has the other half of the night to change them. If it is told late, it
/// has the same time, and racks use its circuits later.
pub struct SwitchProgram {
    margin: Time,
    /// The end of the last week that is known.
    known: Time,
    days: VecDeque<Day>,
    present: CircuitList,
    /// From when on racks may use the present circuits.
    usable: Time,
    /// Until when the present circuits stay up.
    stays: Time,
}

impl SwitchProgram {
    /// A program without any days, for nights of length `night`.
    pub fn new(night: Time) -> SwitchProgram {
        SwitchProgram {
            margin: Time::ps(night.as_ps() / 4),
            known: Time::ZERO,
            days: VecDeque::new(),
            present: Vec::new(),
            usable: Time::ZERO,
            stays: Time::ZERO,
        }
    }

    /// The end of the last week that is known.
    pub fn known(&self) -> Time {
        self.known
    }

    /// The next week begins at `begins` or later. If weeks before it are not known, they are left out.
    pub fn skip_to(&mut self, begins: Time) {
        if begins > self.known {
            self.known = begins;
        }
    }

    /// Adds the next week.
    pub fn add_week(&mut self, week: &Week) {
        for Slice { length, circuits } in week.slices() {
            let until = self.known + Time::ps(length);
            if !circuits.is_dark() {
                let pairs = circuits.pairs().map(|(from, to)| (from as u16, to as u16));
                self.add_day(Day { from: self.known, until, circuits: pairs.collect() });
            }
            self.known = until;
        }
    }

    /// Adds a day. Circuits that are the same as those before are not changed.
    fn add_day(&mut self, day: Day) {
        match self.days.back_mut() {
            Some(last) if last.circuits == day.circuits => last.until = day.until,
            None if self.present == day.circuits => self.stays = day.until.after(self.margin),
            _ => self.days.push_back(day),
        }
    }

    /// The circuits that are up, or will be by the latest change.
    pub fn present(&self) -> &CircuitList {
        &self.present
    }
    /// From when and until when racks may use these circuits.
    pub fn use_of_present(&self) -> (Time, Time) {
        (self.usable, self.stays.since(self.margin))
    }
    /// From when on racks could use the circuits of a day that begins at `from`, if the switch were told at `now`.
    fn usable_from(&self, from: Time, now: Time) -> Time {
        from.max(now.after(self.margin.times(3)))
    }

    /// When the next change is due; [`Time::MAX`] if none is known.
    pub fn next(&self) -> Time {
        if self.days.is_empty() { Time::MAX } else { self.stays }
    }

    /// The change that is due at `now`. Days that would be over before their circuits are up are left out.
    pub fn due(&mut self, now: Time) -> Option<SwitchChange> {
        if self.stays > now {
            return None;
        }
        let is_over = |day: &Day| day.until <= self.usable_from(day.from, now);
        let over = self.days.iter().take_while(|day| is_over(day)).count();
        self.days.drain(..over);
        let Day { from, until, circuits } = self.days.pop_front()?;
        self.present.clone_from(&circuits);
        self.usable = self.usable_from(from, now);
        self.stays = until.after(self.margin);
        Some(SwitchChange { up_by: self.usable.since(self.margin), circuits })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use slotline_circuits::{CircuitTimingSpec, Matching, Rotor};

    const NIGHT: Time = Time::us(20);

    fn rotor(racks: usize) -> Week {
        let us = 1_000_000;
        let week = 200 * us * (racks as u64 - 1);
        let mut out = Week::default();
        Rotor::new(racks, CircuitTimingSpec::etalon(week).build().unwrap()).rotate(&mut out);
        out
    }

    #[test]
    fn circuits_change_in_the_middle_of_a_night() {
        let mut program = SwitchProgram::new(NIGHT);
        program.skip_to(Time::ms(1));
        program.add_week(&rotor(3));
        assert_eq!((program.next(), program.known()), (Time::ZERO, Time::us(1_400)));
        let first = program.due(Time::us(900)).unwrap();
        assert_eq!((first.up_by, first.circuits.len()), (Time::us(995), 3));
        assert_eq!((program.next(), program.due(Time::us(1_184))), (Time::us(1_185), None));
        let second = program.due(Time::us(1_185)).unwrap();
        assert_eq!(second.up_by, Time::us(1_195));
        assert_ne!(second.circuits, first.circuits);
        assert_eq!(program.next(), Time::MAX);
        assert_eq!(program.use_of_present(), (Time::us(1_200), Time::us(1_380)));
    }

    /// A switch that is told late has half a night, too, and a day of which nothing would be left has no circuits.
    #[test]
    fn a_switch_that_is_told_late_has_its_time() {
        for (late, begins) in [(185, 1_200), (187, 1_202), (350, 1_365)] {
            let mut program = SwitchProgram::new(NIGHT);
            program.skip_to(Time::ms(1));
            program.add_week(&rotor(3));
            program.due(Time::us(900)).unwrap();
            let change = program.due(Time::us(1_000 + late)).unwrap();
            assert_eq!(change.up_by, Time::us(begins - 5), "{late}");
            assert_eq!(program.use_of_present(), (Time::us(begins), Time::us(1_380)));
        }
        let mut program = SwitchProgram::new(NIGHT);
        program.add_week(&rotor(3));
        program.due(Time::ZERO).unwrap();
        assert_eq!(program.due(Time::us(365)), None);
    }

    #[test]
    fn equal_days_are_one_and_days_that_are_over_are_left_out() {
        let circuit = |to: usize| {
            let mut matching = Matching::dark(3);
            matching.connect(0, to).unwrap();
            matching
        };
        let slices = [(50, circuit(1)), (10, Matching::dark(3)), (40, circuit(1))];
        let mut program = SwitchProgram::new(Time::ps(8));
        program.add_week(&Week::new(100, &slices).unwrap());
        assert_eq!(program.due(Time::ZERO).unwrap().circuits, [(0, 1)]);
        assert_eq!((program.stays, program.next()), (Time::ps(102), Time::MAX));
        program.add_week(&Week::new(100, &slices).unwrap());
        assert_eq!(program.stays, Time::ps(202), "the circuits stay up");
        program.add_week(&Week::new(100, &[(100, circuit(2))]).unwrap());
        assert_eq!(program.due(Time::ps(294)), None, "its day is over before the switch is ready");
    }

    proptest! {
        /// However late it is asked, circuits never change in a day, and those of a day that is not nearly over are up.
        #[test]
        fn no_circuit_changes_in_its_day(racks in 2usize..6, steps in prop::collection::vec(1u64..90, 1..60)) {
            let week = rotor(racks);
            let mut program = SwitchProgram::new(NIGHT);
            (0..20).for_each(|_| program.add_week(&week));
            let mut now = Time::ZERO;
            for step in steps {
                now += Time::us(step);
                let before = program.present.clone();
                if program.due(now).is_some() && racks > 2 {
                    let span = Time::ps(week.span());
                    let at = Time::ps(now.as_ps() % span.as_ps());
                    let in_day = at.as_ps() % 200_000_000 < 165_000_000;
                    let slice = &week.slice(2 * (at.as_ps() / 200_000_000) as usize);
                    let pairs: CircuitList = slice.circuits.pairs().map(|(a, b)| (a as u16, b as u16)).collect();
                    prop_assert!(!in_day || before != pairs, "the circuits of this day were up already");
                    prop_assert!(!in_day || program.present == pairs);
                }
            }
        }
    }
}
