//! Weeks that come one by one while others run.

use crate::{Agenda, Deed, RackDay};
use slotline_net::time::Time;

/// A rack's side of a scheduler that plans week after week: when to report, and what to do where a plan
/// is late.
#[derive(Clone, Debug)]
pub struct Weekly {
    length: Time,
    /// How long before a week what is wanted of it is reported.
    ahead: Time,
    /// The newest plan.
    latest: Vec<RackDay>,
    /// The week that comes next and is not planned.
    next: u64,
    /// Weeks that were as the one before, because their plan was not there.
    pub late: u64,
}

impl Weekly {
    /// Weeks of `length`, reported for `ahead` of their beginning; the first is `first`.
    pub fn new(length: Time, ahead: Time, first: Vec<RackDay>, agenda: &mut Agenda) -> Weekly {
        agenda.add_deed(Time::ZERO, Deed::Week(0));
        Weekly { length, ahead, latest: first, next: 0, late: 0 }
    }

    /// When week `week` ends.
    pub fn end_of(&self, week: u64) -> Time {
        self.length.times(week + 1)
    }

    /// Week `week` begins.
    pub fn begin(&mut self, week: u64, agenda: &mut Agenda, now: Time) {
        if self.next <= week {
            self.late += u64::from(week > 0);
            agenda.add_week(&self.latest, now, now);
            self.next = week + 1;
        }
        let next = self.length.times(week + 1);
        agenda.add_deed(next, Deed::Week(week + 1));
        let report = Time::ps(next.as_ps().saturating_sub(self.ahead.as_ps()));
        agenda.add_deed(report.max(now), Deed::Report(week + 1));
    }

    /// The plan of a week is here: one that is late is for the next that has none.
    pub fn plan(&mut self, week: u64, days: Vec<RackDay>, agenda: &mut Agenda, now: Time) {
        if week == self.next {
            agenda.add_week(&days, self.length.times(week), now);
            self.next = week + 1;
        }
        self.latest = days;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Leads;

    fn day(to: u16) -> Vec<RackDay> {
        let (from, until) = (Time::ZERO, Time::us(50));
        vec![RackDay { uplink: 0, from, until, to, source: to }]
    }

    /// The racks that circuits lead to, week by week, where the plan of each week comes as given.
    fn weeks(plans: &[(u64, u64, u16)]) -> (Vec<u16>, u64) {
        let mut agenda = Agenda::new(Leads::default());
        let mut weekly = Weekly::new(Time::us(100), Time::us(100), day(1), &mut agenda);
        let mut seen = Vec::new();
        for us in 0..500 {
            for (_, week, to) in plans.iter().filter(|plan| plan.0 == us) {
                weekly.plan(*week, day(*to), &mut agenda, Time::us(us));
            }
            while let Some(deed) = agenda.due(Time::us(us)) {
                match deed {
                    Deed::Week(week) => weekly.begin(week, &mut agenda, Time::us(us)),
                    Deed::Open { to, .. } => seen.push(to),
                    _ => {}
                }
            }
        }
        (seen, weekly.late)
    }

    #[test]
    fn a_week_without_a_plan_is_as_the_newest_one() {
        assert_eq!(weeks(&[(30, 1, 2), (120, 2, 3), (290, 3, 4), (310, 4, 5)]).0, [1, 2, 3, 4, 5]);
        assert_eq!(weeks(&[(30, 1, 2), (320, 4, 5)]), (vec![1, 2, 2, 2, 5], 2));
        // The plan for week 1 comes within it: week 2 has it.
        assert_eq!(weeks(&[(130, 1, 2)]), (vec![1, 1, 2, 2, 2], 4));
    }
}
