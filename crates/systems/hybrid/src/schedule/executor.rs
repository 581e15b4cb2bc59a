//! A queue of actions: its input is weeks as they become known, and its output is actions when they are due.
//!
//! Each day of a pair of racks makes one interval for each thing that depends on it: the circuit itself,
//! and the [`Condition`]s that hold around it. A condition begins before the day by its lead time. The
//! switch counts intervals, so that they may overlap.

use super::{Condition, LeadTimes, PanelCircuit, RackDay, ScheduleAction};
use crate::NO_RACK;
use slotline_net::time::Time;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

/// The actions of one switch that are still to come.
#[derive(Clone, Debug)]
pub struct ScheduleExecutor {
    lead_times: LeadTimes,
    actions: BinaryHeap<Reverse<(Time, ScheduleAction)>>,
    /// Weeks that repeat, if the schedule is static.
    repeated: Vec<RepeatedWeek>,
}

/// A week that repeats. It may have many days, so a day enters the queue of actions only when its first
/// action is near.
#[derive(Clone, Debug)]
struct RepeatedWeek {
    /// In order of their beginnings.
    days: Vec<RackDay>,
    length: Time,
    /// When the next week begins.
    begins: Time,
    /// The first day of that week that is not in the queue.
    next: usize,
}

impl RepeatedWeek {
    /// `None` if the week has no days or no length.
    fn new(mut days: Vec<RackDay>, length: Time) -> Option<RepeatedWeek> {
        days.sort_by_key(|day| day.from);
        let some = !days.is_empty() && length > Time::ZERO;
        some.then_some(RepeatedWeek { days, length, begins: Time::ZERO, next: 0 })
    }
    /// When the next day begins, or the next week if `whole_weeks` are taken.
    fn begins(&self, whole_weeks: bool) -> Time {
        if whole_weeks { self.begins } else { self.begins + self.days[self.next].from }
    }
    /// Takes the next day, or the next week if `whole_weeks` are taken. Returns the indices of the days and
    /// the beginning of their week.
    fn take(&mut self, whole_weeks: bool) -> (Range<usize>, Time) {
        let (first, begins) = (self.next, self.begins);
        self.next = if whole_weeks { self.days.len() } else { first + 1 };
        let taken = first..self.next;
        if self.next == self.days.len() {
            (self.next, self.begins) = (0, begins + self.length);
        }
        (taken, begins)
    }
}

impl ScheduleExecutor {
    /// An executor without any days.
    pub fn new(lead_times: LeadTimes) -> ScheduleExecutor {
        ScheduleExecutor { lead_times, actions: BinaryHeap::new(), repeated: Vec::new() }
    }

    /// An executor of weeks, each with its length, that repeat from time 0 on.
    pub fn repeating(lead_times: LeadTimes, weeks: Vec<(Vec<RackDay>, Time)>) -> ScheduleExecutor {
        let mut executor = ScheduleExecutor::new(lead_times);
        let weeks = weeks.into_iter();
        executor.repeated =
            weeks.filter_map(|(days, length)| RepeatedWeek::new(days, length)).collect();
        executor.queue_near_days(Time::ZERO);
        executor
    }

    /// Leaves out what came before `now`, for a switch that begins while the schedule goes on.
    pub fn skip_to(&mut self, now: Time) {
        self.actions.clear();
        for week in &mut self.repeated {
            let weeks = now.as_ps() / week.length.as_ps();
            (week.begins, week.next) = (week.length.times(weeks), 0);
        }
        self.queue_near_days(now);
    }

    /// A week that begins at `begins` becomes known at `now`. Its days that are over are left out.
    pub fn add_week(&mut self, week: &[RackDay], begins: Time, now: Time) {
        for day in week.iter().filter(|day| begins + day.until > now) {
            match self.lead_times.all_circuits {
                Some(_) => self.add_panel_day(day, begins, now),
                None => self.add_rack_day(day, begins, now),
            }
        }
    }

    fn add_panel_day(&mut self, day: &RackDay, begins: Time, now: Time) {
        let (from, until) = (begins + day.from, begins + day.until);
        let circuit = PanelCircuit { uplink: day.uplink, source: day.source, to: day.to };
        self.add_action(now, ScheduleAction::Extend { circuit, from, until });
        self.add_action(from.max(now), ScheduleAction::Connect { circuit, until });
        self.add_action(until.max(now), ScheduleAction::Disconnect(circuit));
    }

    fn add_rack_day(&mut self, day: &RackDay, begins: Time, now: Time) {
        let (from, until) = (begins + day.from, begins + day.until);
        let (uplink, to) = (day.uplink, day.to);
        let LeadTimes { block, enlarge, mark, notify, .. } = self.lead_times;
        let before = |lead: Time| from.since(lead);
        let mut hold = |condition, rack, begin: Time, end: Time| {
            self.add_action(begin.max(now), ScheduleAction::Begin { condition, rack, uplink });
            self.add_action(end.max(now), ScheduleAction::End { condition, rack, uplink });
        };
        if to != NO_RACK {
            hold(Condition::PacketSwitchBlocked, to, before(block), until);
            if let Some(lead) = enlarge {
                hold(Condition::LargerQueue, to, before(lead), until);
            }
            if let Some((begin, end)) = notify {
                hold(Condition::Announced, to, before(begin), until.since(end));
            }
        }
        if day.source != NO_RACK {
            hold(Condition::Marking, day.source, before(mark), until);
            hold(Condition::Receiving, day.source, from, until);
        }
        if to != NO_RACK {
            self.add_action(from.max(now), ScheduleAction::Open { uplink, to, until });
            self.add_action(until.max(now), ScheduleAction::Close { uplink, to });
        }
    }

    /// Adds an action that is due at `at`.
    pub fn add_action(&mut self, at: Time, action: ScheduleAction) {
        self.actions.push(Reverse((at, action)));
    }

    /// When the next action is due.
    pub fn next(&self) -> Option<Time> {
        self.actions.peek().map(|Reverse((at, _))| *at)
    }

    /// Takes the next action that is due by `now`.
    pub fn due(&mut self, now: Time) -> Option<ScheduleAction> {
        if self.next()? > now {
            return None;
        }
        let Reverse((_, action)) = self.actions.pop()?;
        if matches!(action, ScheduleAction::BeginWeek(_)) {
            self.queue_near_days(now);
        }
        Some(action)
    }

    /// Puts all days of repeated weeks into the queue whose first action may be due by `now`.
    fn queue_near_days(&mut self, now: Time) {
        let LeadTimes { block, enlarge, mark, notify, all_circuits } = self.lead_times;
        let times =
            [Some(block), enlarge, Some(mark), notify.map(|(begin, _)| begin), all_circuits];
        let longest = times.into_iter().flatten().fold(Time::ZERO, Time::max);
        let whole_weeks = all_circuits.is_some();
        let mut repeated = std::mem::take(&mut self.repeated);
        for week in &mut repeated {
            while week.begins(whole_weeks) <= now.after(longest) {
                let (days, begins) = week.take(whole_weeks);
                self.add_week(&week.days[days], begins, now);
            }
        }
        if let Some(next) = repeated.iter().map(|week| week.begins(whole_weeks)).min() {
            self.add_action(next.since(longest).max(now), ScheduleAction::BeginWeek(0));
        }
        self.repeated = repeated;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::rack_days;
    use proptest::prelude::*;
    use slotline_circuits::{CircuitTimingSpec, Rotor, Week};

    proptest! {
        /// At any time, the number of intervals that have begun and not ended is that of the days which require them.
        #[test]
        fn what_is_on_is_what_the_days_say(
            racks in 2usize..7, day in 5u64..50, night in 1u64..20, grow in 0u64..900, mark in 0u64..900,
            notify in 0u64..900, early in 0u64..60
        ) {
            let [day, night, grow, mark, notify] = [day, night, grow, mark, notify].map(Time::us);
            let early = Time::us(early).min(notify);
            let length = (day + night).times(racks as u64 - 1);
            let spec = CircuitTimingSpec {
                week: length.as_ps(), night: night.as_ps(), min_day: day.as_ps(), ..CircuitTimingSpec::etalon(0)
            };
            let mut week = Week::default();
            Rotor::new(racks, spec.build().unwrap()).rotate(&mut week);
            let rack = rack_days(&[week], slotline_net::topology::Dark::All).remove(0);
            let lead_times = LeadTimes {
                block: night, enlarge: Some(grow), mark, notify: Some((notify, early)), all_circuits: None
            };
            let mut executor = ScheduleExecutor::repeating(lead_times, vec![(rack.clone(), length)]);
            let (mut on, mut circuits) = ([[0i64; 8]; 5], [0i64; 8]);
            let weeks = 3;
            for at in (1..length.times(weeks).as_ps() / 1_000_000).map(Time::us) {
                while let Some(action) = executor.due(at) {
                    match action {
                        ScheduleAction::Begin { condition, rack, .. } => {
                            on[condition as usize][usize::from(rack)] += 1;
                        }
                        ScheduleAction::End { condition, rack, .. } => {
                            on[condition as usize][usize::from(rack)] -= 1;
                        }
                        ScheduleAction::Open { to, .. } => circuits[usize::from(to)] += 1,
                        ScheduleAction::Close { to, .. } => circuits[usize::from(to)] -= 1,
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
                let intervals = [
                    ((night, none), false),
                    ((grow, none), false),
                    ((mark, none), true),
                    ((none, none), true),
                    ((notify, early), false),
                    ((none, none), false),
                ];
                let names = ["blocked", "size", "marks", "receiving", "messages", "circuit"];
                let counts = on.iter().chain([&circuits]);
                for ((on, (lead, source)), name) in counts.zip(intervals).zip(names) {
                    for (to, on) in on.iter().enumerate().skip(1) {
                        prop_assert_eq!(*on, count(to, lead, source), "{} of {} at {}", name, to, at);
                    }
                }
            }
        }
    }
}
