//! The weeks that a scheduler plans one after another, as a rack sees them.

use crate::{NO_RACK, RackDay, ScheduleAction, ScheduleExecutor};
use slotline_net::time::Time;

/// It determines when to report demand for a week, and which days to use if a plan is late.
#[derive(Clone, Debug)]
pub struct WeekTracker {
    length: Time,
    /// How long before a week its demand is reported.
    ahead: Time,
    /// The days of the newest plan.
    latest: Vec<RackDay>,
    /// The next week that has no plan.
    next: u64,
    /// Whether a week whose plan has not arrived repeats the newest plan. Otherwise it has no circuits.
    repeats: bool,
    /// How many weeks began without their plan.
    pub late: u64,
}

impl WeekTracker {
    /// Weeks of `length`, whose demand is reported `ahead` of their beginning. The first week has the days `first`.
    pub fn new(
        length: Time,
        ahead: Time,
        first: Vec<RackDay>,
        executor: &mut ScheduleExecutor,
    ) -> WeekTracker {
        executor.add_action(Time::ZERO, ScheduleAction::BeginWeek(0));
        WeekTracker { length, ahead, latest: first, next: 0, repeats: true, late: 0 }
    }

    /// From now on a week whose plan has not arrived has no circuits. Packets that the switch of a real rack sends to a
    /// circuit that is not there are lost.
    pub fn leave_out_late_weeks(&mut self) {
        self.repeats = false;
    }

    /// Begins at `now`, while the schedule goes on.
    pub fn skip_to(&mut self, now: Time, executor: &mut ScheduleExecutor) {
        self.next = now.as_ps() / self.length.as_ps();
        let begins = self.length.times(self.next);
        executor.add_action(begins, ScheduleAction::BeginWeek(self.next));
    }

    /// When a week ends.
    pub fn end_of(&self, week: u64) -> Time {
        self.length.times(week + 1)
    }

    /// A week begins.
    pub fn begin(&mut self, week: u64, executor: &mut ScheduleExecutor, now: Time) {
        if self.next <= week {
            self.late += u64::from(week > 0);
            if week > 0 && !self.repeats {
                self.latest.clear();
            }
            executor.add_week(&self.latest, self.length.times(week), now);
            self.next = week + 1;
        }
        let next = self.length.times(week + 1);
        executor.add_action(next, ScheduleAction::BeginWeek(week + 1));
        let report = Time::ps(next.as_ps().saturating_sub(self.ahead.as_ps()));
        executor.add_action(report.max(now), ScheduleAction::Report(week + 1));
    }

    /// Whether a plan is possible: its days are within a week, and at ports that exist.
    pub fn fits(&self, days: &[RackDay], uplinks: u32, ends: u32) -> bool {
        let end = |end: u16| end == NO_RACK || u32::from(end) < ends;
        days.iter().all(|day| {
            let within = day.from <= day.until && day.until <= self.length;
            within && u32::from(day.uplink) < uplinks && end(day.to) && end(day.source)
        })
    }

    /// The plan of a week has arrived. If it is late, it is used for the next week that has none.
    pub fn plan(
        &mut self,
        week: u64,
        days: Vec<RackDay>,
        executor: &mut ScheduleExecutor,
        now: Time,
    ) {
        if week == self.next {
            executor.add_week(&days, self.length.times(week), now);
            self.next = week + 1;
        }
        self.latest = days;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LeadTimes;

    fn day(to: u16) -> Vec<RackDay> {
        let (from, until) = (Time::ZERO, Time::us(50));
        vec![RackDay { uplink: 0, from, until, to, source: to }]
    }

    /// The racks to which circuits lead, week by week, where plans arrive as given.
    fn weeks(plans: &[(u64, u64, u16)]) -> (Vec<u16>, u64) {
        seen(plans, 0, |_| {})
    }
    /// The same from a time in us on, where the tracker is changed before.
    fn seen(
        plans: &[(u64, u64, u16)],
        from: u64,
        change: impl Fn(&mut WeekTracker),
    ) -> (Vec<u16>, u64) {
        let mut executor = ScheduleExecutor::new(LeadTimes::default());
        let mut weekly = WeekTracker::new(Time::us(100), Time::us(100), day(1), &mut executor);
        change(&mut weekly);
        if from > 0 {
            executor.skip_to(Time::us(from));
            weekly.skip_to(Time::us(from), &mut executor);
        }
        let mut seen = Vec::new();
        for us in from..500 {
            for (_, week, to) in plans.iter().filter(|plan| plan.0 == us) {
                weekly.plan(*week, day(*to), &mut executor, Time::us(us));
            }
            while let Some(action) = executor.due(Time::us(us)) {
                match action {
                    ScheduleAction::BeginWeek(week) => {
                        weekly.begin(week, &mut executor, Time::us(us))
                    }
                    ScheduleAction::Open { to, .. } => seen.push(to),
                    _ => {}
                }
            }
        }
        (seen, weekly.late)
    }

    #[test]
    fn plans_beyond_the_week_or_the_network_are_none() {
        let mut executor = ScheduleExecutor::new(LeadTimes::default());
        let weekly = WeekTracker::new(Time::us(100), Time::us(100), vec![], &mut executor);
        let [usual] = day(1)[..] else { panic!("one day") };
        let fits = |day: RackDay| weekly.fits(&[usual, day], 1, 3);
        let whole = RackDay { until: Time::us(100), to: NO_RACK, ..usual };
        assert!(fits(usual) && fits(whole));
        assert!(!fits(RackDay { until: Time::MAX, ..usual }));
        assert!(!fits(RackDay { from: Time::us(60), ..usual }));
        assert!(!fits(RackDay { uplink: 1, ..usual }));
        assert!(!fits(RackDay { to: 3, ..usual }) && !fits(RackDay { source: 9, ..usual }));
    }

    #[test]
    fn a_week_without_a_plan_is_as_the_newest_one() {
        assert_eq!(weeks(&[(30, 1, 2), (120, 2, 3), (290, 3, 4), (310, 4, 5)]).0, [1, 2, 3, 4, 5]);
        assert_eq!(weeks(&[(30, 1, 2), (320, 4, 5)]), (vec![1, 2, 2, 2, 5], 2));
        // The plan for week 1 arrives within that week, so week 2 uses it.
        assert_eq!(weeks(&[(130, 1, 2)]), (vec![1, 1, 2, 2, 2], 4));
    }

    #[test]
    fn a_week_without_a_plan_may_have_no_circuits() {
        let plans = [(30, 1, 2), (230, 2, 9), (320, 4, 5)];
        let leave_out = WeekTracker::leave_out_late_weeks;
        assert_eq!(seen(&plans, 0, leave_out), (vec![1, 2, 5], 2));
        // A switch that begins in the second week has circuits once a plan has come.
        assert_eq!(seen(&plans, 140, leave_out), (vec![5], 3));
        assert_eq!(seen(&[], 20, leave_out), (vec![1], 4), "the day of the first week goes on");
    }
}
