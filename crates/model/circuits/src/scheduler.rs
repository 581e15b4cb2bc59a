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

/// Plans week after week for all parallel switches at once.
pub trait Together {
    /// Plans the next week of each switch; the arguments are those of [`plan_all`].
    ///
    /// # Panics
    /// Where there are other racks or switches than the scheduler was made for.
    fn weeks(
        &mut self,
        demand: &Demand,
        works: &dyn Fn(usize, usize) -> bool,
        out: &mut [Week],
    ) -> Note;
}

/// A scheduler of either kind.
pub enum Planner {
    /// It plans one switch after the other.
    Apart(Box<dyn Scheduler + Send>),
    /// It plans all of them as a whole.
    Together(Box<dyn Together + Send>),
}

impl Planner {
    /// Plans a week for each switch; see [`plan_all`].
    pub fn plan(
        &mut self,
        demand: &Demand,
        terms: &Terms,
        works: impl Fn(usize, usize) -> bool,
        memory: &mut Memory,
        out: &mut [Week],
    ) -> Note {
        match self {
            Planner::Apart(scheduler) => {
                plan_all(&mut **scheduler, demand, terms, works, memory, out)
            }
            Planner::Together(scheduler) => scheduler.weeks(demand, &works, out),
        }
    }
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

/// Memory for planning several parallel circuit switches.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    /// What all switches together leave over.
    pub rest: Demand,
    some: Demand,
}

/// Plans a week for each of several parallel circuit switches: each for what those before it leave over, of the
/// racks whose port `works` at that switch (switch first, then rack). Circuits at other ports may be planned; they
/// carry nothing, and are not reckoned with. Returns the first switch's note.
pub fn plan_all(
    scheduler: &mut dyn Scheduler,
    demand: &Demand,
    terms: &Terms,
    works: impl Fn(usize, usize) -> bool,
    memory: &mut Memory,
    out: &mut [Week],
) -> Note {
    let Memory { rest, some } = memory;
    rest.copy_from(demand);
    let mut first = None;
    for (switch, week) in out.iter_mut().enumerate() {
        let works = |rack: usize| works(switch, rack);
        let note = if (0..demand.racks()).all(works) {
            scheduler.week(rest, week)
        } else {
            keep(rest, works, some);
            scheduler.week(some, week)
        };
        first = first.or(Some(note));
        take(week, terms, works, rest);
    }
    first.unwrap_or(Note::NoDemand)
}

/// What of a demand is between racks whose ports work.
pub(crate) fn keep(demand: &Demand, works: impl Fn(usize) -> bool, some: &mut Demand) {
    some.copy_from(demand);
    let racks = demand.racks();
    let dead = |&(src, dst): &(usize, usize)| !works(src) || !works(dst);
    let pairs = (0..racks).flat_map(|src| (0..racks).map(move |dst| (src, dst)));
    pairs.filter(dead).for_each(|(src, dst)| some.set(src, dst, 0));
}

/// Takes from a demand what the circuits of a week carry.
fn take(week: &Week, terms: &Terms, works: impl Fn(usize) -> bool, rest: &mut Demand) {
    for day in week.days() {
        let bytes = terms.circuit_bytes(day.length);
        for (src, dst) in day.circuits.pairs().filter(|(src, dst)| works(*src) && works(*dst)) {
            rest.set(src, dst, rest.get(src, dst).saturating_sub(bytes));
        }
    }
}
