//! A schedule of circuits for a week: days of each circuit switch, and what one rack sees of them.

use super::NO_RACK;
use crate::error::SpecError;
use crate::time::Time;

/// A configuration of one circuit switch, and when it is up. Times count from the week's beginning.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Day {
    /// When circuits come up.
    pub from: Time,
    /// When they go down: a night begins.
    pub until: Time,
    /// By destination rack, its source; [`NO_RACK`]: none.
    pub sources: Vec<u16>,
}

/// A week of all circuit switches.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Program {
    /// How long the week is. A staggered switch's last day may reach into the next week.
    pub length: Time,
    /// By circuit switch, its days in order.
    pub days: Vec<Vec<Day>>,
}

/// A day as one rack sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RackDay {
    /// The circuit switch.
    pub uplink: u8,
    /// When it begins; from the week's beginning.
    pub from: Time,
    /// When it ends.
    pub until: Time,
    /// The rack that it sends to; [`NO_RACK`]: none.
    pub to: u16,
    /// The rack that sends to it; [`NO_RACK`]: none.
    pub source: u16,
}

impl Program {
    /// What `rack` sees of it, in no order.
    pub fn of_rack(&self, rack: u16) -> Vec<RackDay> {
        let mut seen = Vec::new();
        for (uplink, days) in (0u8..).zip(&self.days) {
            for day in days {
                let to = day.sources.iter().position(|source| *source == rack);
                let to = to.map_or(NO_RACK, |to| to as u16);
                let source = day.sources.get(usize::from(rack)).copied().unwrap_or(NO_RACK);
                if to != NO_RACK || source != NO_RACK {
                    let Day { from, until, .. } = *day;
                    seen.push(RackDay { uplink, from, until, to, source });
                }
            }
        }
        seen
    }

    /// Whether the circuits can be: each configuration a partial permutation of the racks, without a
    /// circuit from a rack to itself; days of a switch one after the other with a night of at least
    /// `night` between them, also from a week's last to the next week's first.
    ///
    /// # Errors
    /// Which day of which switch cannot be, and why.
    pub fn check(&self, racks: usize, night: Time) -> Result<(), SpecError> {
        let wrong = |at: usize, day: usize, why: String| {
            Err(SpecError::new("schedule", format!("day {day} of circuit switch {at} {why}")))
        };
        for (at, days) in self.days.iter().enumerate() {
            for (number, day) in days.iter().enumerate() {
                if let Some(why) = impossible(day, racks) {
                    return wrong(at, number, why);
                }
                let (next, wraps) = match days.get(number + 1) {
                    Some(next) => (next, Time::ZERO),
                    None => (&days[0], self.length),
                };
                let pause = (next.from + wraps).since(day.until);
                let same = next.sources == day.sources;
                if next.from + wraps < day.until || (pause < night && !same) {
                    return wrong(
                        at,
                        number,
                        format!("ends {pause} before the next: a night of {night} has to lie between"),
                    );
                }
            }
        }
        Ok(())
    }
}

/// Why a day cannot be.
fn impossible(day: &Day, racks: usize) -> Option<String> {
    if day.from >= day.until {
        return Some(format!("ends at {}, but begins at {}", day.until, day.from));
    }
    if day.sources.len() != racks {
        return Some(format!("names {} racks; there are {racks}", day.sources.len()));
    }
    let mut sends = vec![false; racks];
    for (to, &source) in day.sources.iter().enumerate() {
        if source == NO_RACK {
            continue;
        }
        let Some(sends) = sends.get_mut(usize::from(source)) else {
            return Some(format!("names rack {source}; there are {racks}, numbered from 0"));
        };
        if usize::from(source) == to {
            return Some(format!("connects rack {to} to itself"));
        }
        if std::mem::replace(sends, true) {
            return Some(format!("is no permutation: rack {source} would send to two racks at once"));
        }
    }
    None
}
