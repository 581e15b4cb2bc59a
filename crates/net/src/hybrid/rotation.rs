//! Schedules that do not look at demand: each rack has a circuit to each other in turn.

use super::{Day, Program};
use crate::error::SpecError;
use crate::time::Time;

/// The strobe of several switches: configuration m connects each rack j from rack j + 1 + m. Switch s of
/// k shows configurations s, s + k, s + 2k, …, and begins its days a k-th of a slot after the one before
/// it, so that never more than one switch is dark. A slot is `day` and `night`.
///
/// Source: "Overcoming End-to-End Challenges in Reconfigurable Datacenter Networks" (Etalon), 2018, section
/// 3.5, for one switch; Mellette et al., "RotorNet", SIGCOMM 2017, for several.
///
/// # Errors
/// A day is zero.
pub fn rotation(
    racks: usize,
    switches: usize,
    day: Time,
    night: Time,
) -> Result<Program, SpecError> {
    if day == Time::ZERO {
        return Err(SpecError::new("day", "`day` is 0: for example \"180us\""));
    }
    let configurations = racks - 1;
    let slots = configurations.div_ceil(switches);
    let slot = day + night;
    let days = |switch: usize| {
        let begins = Time::ps(slot.as_ps() * switch as u64 / switches as u64);
        let shown = (switch..configurations).step_by(switches);
        let one = |(at, configuration): (u64, usize)| {
            let from = begins + slot.times(at);
            let sources = (0..racks).map(|j| ((configuration + 1 + j) % racks) as u16).collect();
            Day { from, until: from + day, sources }
        };
        (0..).zip(shown).map(one).collect()
    };
    Ok(Program { length: slot.times(slots as u64), days: (0..switches).map(days).collect() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Figure 4 of the paper: eight racks, 180 µs and 20 µs, a week of 1,400 µs.
    #[test]
    fn the_strobe_of_the_paper() {
        let week = rotation(8, 1, Time::us(180), Time::us(20)).unwrap();
        assert_eq!((week.length, week.days[0].len()), (Time::us(1400), 7));
        assert_eq!(week.days[0][0].sources, [1, 2, 3, 4, 5, 6, 7, 0]);
        assert_eq!(week.days[0][6].sources, [7, 0, 1, 2, 3, 4, 5, 6]);
        assert_eq!(week.days[0][6].until, Time::us(1380));
        assert!(rotation(8, 1, Time::ZERO, Time::us(20)).is_err());
    }

    proptest! {
        /// Every pair of racks has one day a week, and all of it can be.
        #[test]
        fn everybody_meets_everybody_once(racks in 2usize..20, switches in 1usize..6, day in 1u64..500) {
            let night = Time::us(20);
            let week = rotation(racks, switches, Time::us(day), night).unwrap();
            prop_assert_eq!(week.check(racks, night), Ok(()));
            let mut met = vec![0; racks * racks];
            for day in week.days.iter().flatten() {
                for (to, source) in day.sources.iter().enumerate() {
                    met[to * racks + usize::from(*source)] += 1;
                }
            }
            for (pair, count) in met.into_iter().enumerate() {
                prop_assert_eq!(count, i32::from(pair % racks != pair / racks));
            }
            for rack in 0..racks as u16 {
                let seen = week.of_rack(rack);
                prop_assert_eq!(seen.len(), racks - 1);
                let until = week.length + week.length;
                prop_assert!(seen.iter().all(|day| day.to != rack && day.until <= until));
            }
        }
    }
}
