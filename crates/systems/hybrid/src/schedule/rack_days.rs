//! The days of a planned week as one rack sees them.

use crate::NO_RACK;
use slotline_circuits::Week;
use slotline_net::time::Time;
use slotline_net::topology::Dark;

/// A day as one rack sees it. Times count from the beginning of the week.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RackDay {
    /// The circuit switch.
    pub uplink: u8,
    /// When it begins.
    pub from: Time,
    /// When it ends.
    pub until: Time,
    /// The rack to which it sends, or [`NO_RACK`].
    pub to: u16,
    /// The rack that sends to it, or [`NO_RACK`].
    pub source: u16,
}

/// By rack, its days in the weeks of all circuit switches, switch by switch. `dark` says which circuits are
/// down at night.
pub fn rack_days(weeks: &[Week], dark: Dark) -> Vec<Vec<RackDay>> {
    let mut all = vec![Vec::new(); weeks.first().map_or(0, Week::racks)];
    for (uplink, week) in (0u8..).zip(weeks) {
        all.iter_mut()
            .zip(rack_days_of_switch(week, uplink, dark))
            .for_each(|(all, days)| all.extend(days));
    }
    all
}

/// All circuits in the weeks of all circuit switches, each with both ends.
pub fn circuits_of_weeks(weeks: &[Week], dark: Dark) -> Vec<RackDay> {
    let mut all = Vec::new();
    for (uplink, week) in (0u8..).zip(weeks) {
        let mut by_source: Vec<Vec<RackDay>> = vec![Vec::new(); week.racks()];
        // By source, the number of its last slice that was not dark.
        let (mut from, mut seen, mut last) = (Time::ZERO, 0u32, vec![None; week.racks()]);
        for slice in week.slices() {
            let until = from + Time::ps(slice.length);
            seen += u32::from(!slice.circuits.is_dark());
            for (source, to) in slice.circuits.pairs() {
                let day = RackDay { uplink, from, until, to: to as u16, source: source as u16 };
                let next = last[source].replace(seen).is_some_and(|before| before + 1 == seen);
                match by_source[source].last_mut().filter(|before| next && before.to == day.to) {
                    Some(before) if dark == Dark::Changed || before.until == from => {
                        before.until = until
                    }
                    _ => by_source[source].push(day),
                }
            }
            from = until;
        }
        all.extend(by_source.into_iter().flatten());
    }
    all
}

/// By rack, its days in the week of one circuit switch.
pub fn rack_days_of_switch(week: &Week, uplink: u8, dark: Dark) -> Vec<Vec<RackDay>> {
    let number = |rack: Option<usize>| rack.map_or(NO_RACK, |rack| rack as u16);
    let mut all = vec![Vec::new(); week.racks()];
    let (mut from, mut to) = (Time::ZERO, vec![NO_RACK; week.racks()]);
    for slice in week.slices() {
        let until = from + Time::ps(slice.length);
        to.fill(NO_RACK);
        slice.circuits.pairs().for_each(|(source, end)| to[source] = end as u16);
        if !slice.circuits.is_dark() {
            for (rack, (days, &to)) in all.iter_mut().zip(&to).enumerate() {
                let source = number(slice.circuits.source(rack));
                days.push(RackDay { uplink, from, until, to, source });
            }
        }
        from = until;
    }
    all.into_iter().map(|days| merged(days, dark)).collect()
}

/// A rack's days without those in which it has no circuit. Where only changed circuits are dark at night,
/// sending and receiving have days of their own, and equal days that follow each other are one.
fn merged(mut days: Vec<RackDay>, dark: Dark) -> Vec<RackDay> {
    if dark == Dark::Changed {
        let none = |day: &RackDay| RackDay { to: NO_RACK, source: NO_RACK, ..*day };
        let sent = days.iter().map(|day| RackDay { to: day.to, ..none(day) });
        let received = days.iter().map(|day| RackDay { source: day.source, ..none(day) });
        days = [joined(sent), joined(received)].concat();
    }
    days.retain(|day| day.to != NO_RACK || day.source != NO_RACK);
    days
}

/// Joins days that follow each other and have the same circuit.
fn joined(days: impl Iterator<Item = RackDay>) -> Vec<RackDay> {
    let mut all: Vec<RackDay> = Vec::new();
    for day in days {
        match all.last_mut().filter(|last| (last.to, last.source) == (day.to, day.source)) {
            Some(last) => last.until = day.until,
            None => all.push(day),
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use slotline_circuits::{CircuitTimingSpec, Rotor};

    #[test]
    fn racks_see_the_strobe() {
        let terms = CircuitTimingSpec::etalon(1_400_000_000).build().unwrap();
        let mut week = Week::default();
        Rotor::new(8, terms).rotate(&mut week);
        let seen = rack_days(&[week], Dark::All).remove(3);
        assert_eq!(seen.len(), 7);
        let first = RackDay { uplink: 0, from: Time::ZERO, until: Time::us(180), to: 2, source: 4 };
        assert_eq!(seen[0], first);
        assert_eq!((seen[6].from, seen[6].to), (Time::us(1200), 4));
    }

    #[test]
    fn all_circuits_are_those_that_racks_see() {
        let unit = Some(slotline_circuits::etalon_format::Unit::Us);
        for text in [
            "4 50 1/0/3/2 10 -1/-1/-1/-1 30 1/0/-1/-1 10 -1/-1/-1/-1",
            "4 50 1/0/3/2 10 1/-1/-1/-1 30 1/2/-1/-1 10 -1/-1/-1/-1",
            "3 50 1/0/3/2 10 -1/-1/-1/-1 30 3/2/1/0",
        ] {
            let weeks = slotline_circuits::etalon_format::parse(text, unit).unwrap();
            for dark in [Dark::All, Dark::Changed] {
                let all = circuits_of_weeks(&weeks, dark);
                for rack in 0..4u16 {
                    // Slices that touch are one circuit here, and two days there.
                    let lit = |days: &mut dyn Iterator<Item = (RackDay, u16)>| {
                        let mut lit: Vec<_> = days
                            .flat_map(|(day, to)| {
                                (day.from.as_ns() / 1000..day.until.as_ns() / 1000)
                                    .map(move |us| (us, to))
                            })
                            .collect();
                        lit.sort_unstable();
                        lit
                    };
                    let mine =
                        all.iter().filter(|day| day.source == rack).map(|day| (*day, day.to));
                    let seen = rack_days(&weeks, dark).swap_remove(rack.into()).into_iter();
                    let seen = seen.filter(|day| day.to != NO_RACK).map(|day| (day, day.to));
                    assert_eq!(lit(&mut mine.into_iter()), lit(&mut seen.into_iter()), "{text}");
                }
            }
        }
    }

    #[test]
    fn circuits_that_stay_can_stay_up() {
        let unit = Some(slotline_circuits::etalon_format::Unit::Us);
        let text = "4 50 1/0/3/2 10 -1/-1/-1/-1 30 1/0/-1/-1 10 -1/-1/-1/-1";
        let weeks = slotline_circuits::etalon_format::parse(text, unit).unwrap();
        let spans = |rack: usize, dark| {
            let seen = rack_days(&weeks, dark).swap_remove(rack).into_iter();
            seen.map(|day| (day.from, day.until, day.to, day.source)).collect::<Vec<_>>()
        };
        let [zero, fifty, sixty, ninety] = [0, 50, 60, 90].map(Time::us);
        assert_eq!(spans(0, Dark::All), [(zero, fifty, 1, 1), (sixty, ninety, 1, 1)]);
        let stays = [(zero, ninety, 1, NO_RACK), (zero, ninety, NO_RACK, 1)];
        assert_eq!(spans(0, Dark::Changed), stays);
        let goes = [(zero, fifty, 3, NO_RACK), (zero, fifty, NO_RACK, 3)];
        assert_eq!(spans(2, Dark::Changed), goes);
    }
}
