//! What a rack does at which time: the executor of a schedule. Weeks go in as they become known, deeds
//! come out as they fall due.
//!
//! Each day of a pair of racks makes an interval for each thing that depends on it: the circuit itself;
//! the gate, which closes a night earlier; the larger queue and the marks, which begin as much earlier
//! as they look ahead. Whoever carries deeds out counts intervals, so that they may overlap.

use super::{NO_RACK, RackDay};
use slotline_net::time::Time;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Something to do. The order is that in which things are done that fall due together: what begins
/// before what ends, so that intervals that touch are one; circuits last, when all else is ready. What is
/// about a pair of racks has the other rack and the circuit switch.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Deed {
    /// Packets for `to` may no longer go by the packet switch.
    Bar(u16, u8),
    /// The queue for `to` gets its larger size.
    Grow(u16, u8),
    /// Packets for this rack are marked: there is, or will soon be, a circuit from there.
    Mark(u16, u8),
    /// There is a circuit from this rack.
    Hear(u16, u8),
    /// Hosts are told of a circuit to this rack.
    Tell(u16, u8),
    /// The circuit of an uplink goes down.
    Close {
        /// The circuit switch.
        uplink: u8,
        /// The rack it led to.
        to: u16,
    },
    /// An end of [`Deed::Bar`].
    Unbar(u16, u8),
    /// An end of [`Deed::Grow`].
    Shrink(u16, u8),
    /// An end of [`Deed::Mark`].
    Unmark(u16, u8),
    /// An end of [`Deed::Hear`].
    Unhear(u16, u8),
    /// An end of [`Deed::Tell`].
    Untell(u16, u8),
    /// A circuit is up.
    Open {
        /// The circuit switch.
        uplink: u8,
        /// The rack it leads to.
        to: u16,
        /// When it goes down.
        until: Time,
    },
    /// Where whole plans are known: a circuit is up.
    Up {
        /// The circuit.
        wire: Wire,
        /// When it goes down.
        until: Time,
    },
    /// A circuit that ends at `from` goes on until `until`.
    Stay {
        /// The circuit.
        wire: Wire,
        /// When its next day begins.
        from: Time,
        /// When that ends.
        until: Time,
    },
    /// It goes down, unless it was told to stay.
    Down(Wire),
    /// It is time to report what is wanted of a week.
    Report(u64),
    /// A week begins, or it is time to plan it where all are alike.
    Week(u64),
}

/// A circuit of a patch panel, from one end to another.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Wire {
    /// The panel.
    pub uplink: u8,
    /// The end that sends.
    pub source: u16,
    /// The end that hears.
    pub to: u16,
}

/// How long before a day things begin that have to do with it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Leads {
    /// The gate: a night.
    pub bar: Time,
    /// The larger queue, where there is one.
    pub grow: Option<Time>,
    /// Marks.
    pub mark: Time,
    /// Days are those of all switches, and tell of circuits only: how long before a week that repeats it is known.
    pub whole: Option<Time>,
    /// Messages to hosts, where there are any; the second how long before a day's end, which is no longer.
    pub tell: Option<(Time, Time)>,
}

/// A rack's deeds to come.
#[derive(Clone, Debug)]
pub struct Agenda {
    leads: Leads,
    deeds: BinaryHeap<Reverse<(Time, Deed)>>,
    /// Weeks that come again and again, if that is the schedule.
    repeated: Vec<Repeated>,
}

/// The same week again and again. A day enters the agenda when something first depends on it: weeks may have many.
#[derive(Clone, Debug)]
struct Repeated {
    /// In order of their beginnings.
    days: Vec<RackDay>,
    length: Time,
    /// The week that comes next.
    begins: Time,
    /// Its first day that is not in the agenda.
    next: usize,
}

impl Repeated {
    fn new((mut days, length): (Vec<RackDay>, Time)) -> Option<Repeated> {
        days.sort_by_key(|day| day.from);
        let some = !days.is_empty() && length > Time::ZERO;
        some.then_some(Repeated { days, length, begins: Time::ZERO, next: 0 })
    }
    /// When the first thing begins that is not in the agenda.
    fn at(&self, whole: bool) -> Time {
        if whole { self.begins } else { self.begins + self.days[self.next].from }
    }
    /// Takes that: a day, or the whole week.
    fn take(&mut self, whole: bool) -> (std::ops::Range<usize>, Time) {
        let (first, begins) = (self.next, self.begins);
        self.next = if whole { self.days.len() } else { first + 1 };
        let taken = first..self.next;
        if self.next == self.days.len() {
            (self.next, self.begins) = (0, begins + self.length);
        }
        (taken, begins)
    }
}

impl Agenda {
    /// One without any days.
    pub fn new(leads: Leads) -> Agenda {
        Agenda { leads, deeds: BinaryHeap::new(), repeated: Vec::new() }
    }

    /// The same weeks, each with its length, again and again from the time 0 on.
    pub fn repeating(leads: Leads, weeks: Vec<(Vec<RackDay>, Time)>) -> Agenda {
        let mut agenda = Agenda::new(leads);
        agenda.repeated = weeks.into_iter().filter_map(Repeated::new).collect();
        agenda.plan_ahead(Time::ZERO);
        agenda
    }

    /// A week that begins at `begins` becomes known at `now`.
    pub fn add_week(&mut self, week: &[RackDay], begins: Time, now: Time) {
        for day in week {
            self.add(day, begins, now);
        }
    }

    fn add(&mut self, day: &RackDay, begins: Time, now: Time) {
        let (from, until) = (begins + day.from, begins + day.until);
        let (uplink, to) = (day.uplink, day.to);
        let Leads { bar, grow, mark, tell, whole } = self.leads;
        let mut push = |at: Time, deed| self.deeds.push(Reverse((at.max(now), deed)));
        if whole.is_some() {
            let wire = Wire { uplink, source: day.source, to };
            push(now, Deed::Stay { wire, from, until });
            push(from, Deed::Up { wire, until });
            return push(until, Deed::Down(wire));
        }
        let before = |lead: Time| from.since(lead);
        if to != NO_RACK {
            push(before(bar), Deed::Bar(to, uplink));
            push(from, Deed::Open { uplink, to, until });
            push(until, Deed::Close { uplink, to });
            push(until, Deed::Unbar(to, uplink));
            if let Some(lead) = grow {
                push(before(lead), Deed::Grow(to, uplink));
                push(until, Deed::Shrink(to, uplink));
            }
            if let Some((begin, end)) = tell {
                push(before(begin), Deed::Tell(to, uplink));
                push(until.since(end), Deed::Untell(to, uplink));
            }
        }
        if day.source != NO_RACK {
            push(before(mark), Deed::Mark(day.source, uplink));
            push(until, Deed::Unmark(day.source, uplink));
            push(from, Deed::Hear(day.source, uplink));
            push(until, Deed::Unhear(day.source, uplink));
        }
    }

    /// Something else is to be done at `at`.
    pub fn add_deed(&mut self, at: Time, deed: Deed) {
        self.deeds.push(Reverse((at, deed)));
    }

    /// When something falls due next.
    pub fn next(&self) -> Option<Time> {
        self.deeds.peek().map(|Reverse((at, _))| *at)
    }

    /// What has fallen due by `now`, one by one.
    pub fn due(&mut self, now: Time) -> Option<Deed> {
        if self.next()? > now {
            return None;
        }
        let Reverse((_, deed)) = self.deeds.pop()?;
        if matches!(deed, Deed::Week(_)) {
            self.plan_ahead(now);
        }
        Some(deed)
    }

    /// Keeps all days in the agenda that something now depends on.
    fn plan_ahead(&mut self, now: Time) {
        let Leads { bar, grow, mark, tell, whole } = self.leads;
        let leads = [Some(bar), grow, Some(mark), tell.map(|(begin, _)| begin), whole];
        let lead = leads.into_iter().flatten().fold(Time::ZERO, Time::max);
        let mut repeated = std::mem::take(&mut self.repeated);
        for week in &mut repeated {
            while week.at(whole.is_some()) <= now.after(lead) {
                let (days, begins) = week.take(whole.is_some());
                self.add_week(&week.days[days], begins, now);
            }
        }
        if let Some(next) = repeated.iter().map(|week| week.at(whole.is_some())).min() {
            self.add_deed(next.since(lead).max(now), Deed::Week(0));
        }
        self.repeated = repeated;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::of_racks;
    use proptest::prelude::*;
    use slotline_circuits::{CircuitTimingSpec, Rotor, Week};

    proptest! {
        /// Against the definition: at any time a thing is on for as many days as have it on.
        #[test]
        fn what_is_on_is_what_the_days_say(
            racks in 2usize..7, day in 5u64..50, night in 1u64..20, grow in 0u64..900, mark in 0u64..900,
            tell in 0u64..900, early in 0u64..60
        ) {
            let [day, night, grow, mark, tell] = [day, night, grow, mark, tell].map(Time::us);
            let early = Time::us(early).min(tell);
            let length = (day + night).times(racks as u64 - 1);
            let spec = CircuitTimingSpec {
                week: length.as_ps(), night: night.as_ps(), min_day: day.as_ps(), ..CircuitTimingSpec::etalon(0)
            };
            let mut week = Week::default();
            Rotor::new(racks, spec.build().unwrap()).rotate(&mut week);
            let rack = of_racks(&[week], slotline_net::topology::Dark::All).remove(0);
            let leads = Leads { bar: night, grow: Some(grow), mark, tell: Some((tell, early)), whole: None };
            let mut agenda = Agenda::repeating(leads, vec![(rack.clone(), length)]);
            let mut on = [[0i64; 8]; 5];
            let weeks = 3;
            for at in (1..length.times(weeks).as_ps() / 1_000_000).map(Time::us) {
                while let Some(deed) = agenda.due(at) {
                    match deed {
                        Deed::Bar(to, _) => on[0][to as usize] += 1,
                        Deed::Unbar(to, _) => on[0][to as usize] -= 1,
                        Deed::Grow(to, _) => on[1][to as usize] += 1,
                        Deed::Shrink(to, _) => on[1][to as usize] -= 1,
                        Deed::Mark(to, _) => on[2][to as usize] += 1,
                        Deed::Unmark(to, _) => on[2][to as usize] -= 1,
                        Deed::Open { to, .. } => on[3][to as usize] += 1,
                        Deed::Close { to, .. } => on[3][to as usize] -= 1,
                        Deed::Tell(to, _) => on[4][to as usize] += 1,
                        Deed::Untell(to, _) => on[4][to as usize] -= 1,
                        _ => {}
                    }
                }
                let count = |to: usize, (lead, end): (Time, Time), source: bool| {
                    let mut count = 0;
                    for n in 0..weeks + 200 {
                        for d in &rack {
                            let (from, until) = (d.from + length.times(n), d.until + length.times(n));
                            let rack = if source { d.source } else { d.to };
                            let within = from.as_ps() <= at.as_ps() + lead.as_ps()
                                && at.as_ps() + end.as_ps() < until.as_ps();
                            count += i64::from(usize::from(rack) == to && within);
                        }
                    }
                    count
                };
                let none = Time::ZERO;
                let leads = [
                    ((night, none), false),
                    ((grow, none), false),
                    ((mark, none), true),
                    ((none, none), false),
                    ((tell, early), false),
                ];
                let names = ["gate", "size", "marks", "circuit", "messages"];
                for ((on, (lead, source)), name) in on.iter().zip(leads).zip(names) {
                    for (to, on) in on.iter().enumerate().skip(1) {
                        prop_assert_eq!(*on, count(to, lead, source), "{} of {} at {}", name, to, at);
                    }
                }
            }
        }
    }
}
