//! What all schedulers have in common.

use crate::demand::Demand;
use crate::terms::Terms;
use crate::week::Week;
use std::fmt;

/// Plans week after week.
pub trait Scheduler {
    /// Plans the next week for a demand, into a week whose memory is used again.
    ///
    /// # Panics
    /// Where the demand is of other racks than the scheduler was made for.
    fn week(&mut self, demand: &Demand, out: &mut Week) -> Note;
}

/// What a scheduler has to say about the week it planned.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Note {
    /// It is planned as the scheduler does.
    Planned,
    /// There is nothing to send: a rotation, so that whatever comes is served.
    NoDemand,
    /// The scheduler's own way finds no configuration, or ones that serve less than a rotation: a rotation instead.
    Rotation,
    /// Of several plans, this scheduler's was the best.
    Chosen(&'static str),
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Note::Planned => f.write_str("planned"),
            Note::NoDemand => f.write_str("no demand: a rotation"),
            Note::Rotation => f.write_str("nothing better found: a rotation"),
            Note::Chosen(name) => write!(f, "chosen: {name}"),
        }
    }
}

/// Plans a week for each of several parallel circuit switches: each for what those before it leave over.
/// Returns the first switch's note. `rest` is memory for the work.
pub fn plan_all(
    scheduler: &mut dyn Scheduler,
    demand: &Demand,
    terms: &Terms,
    rest: &mut Demand,
    out: &mut [Week],
) -> Note {
    rest.copy_from(demand);
    let mut first = None;
    for week in out {
        let note = scheduler.week(rest, week);
        first = first.or(Some(note));
        take(week, terms, rest);
    }
    first.unwrap_or(Note::NoDemand)
}

/// Takes from a demand what the circuits of a week carry.
fn take(week: &Week, terms: &Terms, rest: &mut Demand) {
    for day in week.days() {
        let bytes = terms.circuit_bytes(day.length);
        for (src, dst) in day.circuits.pairs() {
            rest.set(src, dst, rest.get(src, dst).saturating_sub(bytes));
        }
    }
}
