//! What one rack sees of a planned week.

use super::NO_RACK;
use crate::time::Time;
use slotline_circuits::Week;

/// A day as one rack sees it; times count from the week's beginning.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RackDay {
    /// The circuit switch.
    pub uplink: u8,
    /// When it begins.
    pub from: Time,
    /// When it ends.
    pub until: Time,
    /// The rack that it sends to; [`NO_RACK`]: none.
    pub to: u16,
    /// The rack that sends to it; [`NO_RACK`]: none.
    pub source: u16,
}

/// What `rack` sees of the weeks of all circuit switches, switch by switch.
pub fn of_rack(weeks: &[Week], rack: u16) -> Vec<RackDay> {
    let mut seen = Vec::new();
    for (uplink, week) in (0u8..).zip(weeks) {
        let mut from = Time::ZERO;
        for slice in week.slices() {
            let until = from + Time::ps(slice.length);
            let circuits = slice.circuits;
            let to = (0..circuits.racks()).find(|&to| circuits.source(to) == Some(rack.into()));
            let number = |rack: Option<usize>| rack.map_or(NO_RACK, |rack| rack as u16);
            let (to, source) = (number(to), number(circuits.source(rack.into())));
            if to != NO_RACK || source != NO_RACK {
                seen.push(RackDay { uplink, from, until, to, source });
            }
            from = until;
        }
    }
    seen
}

#[cfg(test)]
mod tests {
    use super::*;
    use slotline_circuits::{Rotor, TermsSpec};

    #[test]
    fn racks_see_the_strobe() {
        let terms = TermsSpec::etalon(1_400_000_000).build().unwrap();
        let mut week = Week::default();
        Rotor::new(8, terms).rotate(&mut week);
        let seen = of_rack(&[week], 3);
        assert_eq!(seen.len(), 7);
        let first = RackDay { uplink: 0, from: Time::ZERO, until: Time::us(180), to: 2, source: 4 };
        assert_eq!(seen[0], first);
        assert_eq!((seen[6].from, seen[6].to), (Time::us(1200), 4));
    }
}
