//! The interfaces of all schedulers, and planning for parallel switches.

use crate::circuit_timing::CircuitTiming;
use crate::demand::Demand;
use crate::week::Week;
use std::fmt;

/// A scheduler that plans the weeks of one circuit switch.
pub trait Scheduler {
    /// Plans the next week for a demand. It writes to `out` and reuses its memory.
    ///
    /// # Panics
    /// The demand has a different number of racks from the scheduler.
    fn week(&mut self, demand: &Demand, out: &mut Week) -> Note;
}

/// A scheduler that plans the weeks of all parallel switches jointly.
pub trait JointScheduler {
    /// Plans the next week of each switch. `works` says whether the port of an end works, by switch and end.
    ///
    /// # Panics
    /// The number of racks or switches differs between the demand or the weeks and the scheduler.
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
    PerSwitch(Box<dyn Scheduler + Send>),
    /// It plans all switches jointly.
    Joint(Box<dyn JointScheduler + Send>),
}

impl Planner {
    /// Plans the next week of each switch; see [`plan_all`].
    pub fn plan(
        &mut self,
        demand: &Demand,
        timing: &CircuitTiming,
        works: impl Fn(usize, usize) -> bool,
        workspace: &mut PlanWorkspace,
        out: &mut [Week],
    ) -> Note {
        match self {
            Planner::PerSwitch(scheduler) => {
                plan_all(&mut **scheduler, demand, timing, works, workspace, out)
            }
            Planner::Joint(scheduler) => scheduler.weeks(demand, &works, out),
        }
    }
}

/// A scheduler's note on the week that it planned.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Note {
    /// The week is planned for the demand.
    Planned,
    /// There is no demand. The week is a rotation, so that any new traffic is served.
    NoDemand,
    /// The scheduler finds no days, or days that serve less than a rotation. The week is a rotation.
    Rotation,
    /// The week is the best of several plans. The name says which one.
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

/// Working memory for planning several parallel switches.
#[derive(Clone, Debug, Default)]
pub struct PlanWorkspace {
    /// The demand that no switch carries.
    pub residual: Demand,
    restricted: Demand,
}

/// Plans a week of each parallel circuit switch. Each switch is planned for the demand that the switches
/// before it do not carry, between racks whose ports work. `works` says whether a port works, by switch and
/// rack. A plan may have circuits at failed ports; they count as carrying nothing. Returns the note of the
/// first switch.
pub fn plan_all(
    scheduler: &mut dyn Scheduler,
    demand: &Demand,
    timing: &CircuitTiming,
    works: impl Fn(usize, usize) -> bool,
    workspace: &mut PlanWorkspace,
    out: &mut [Week],
) -> Note {
    let PlanWorkspace { residual, restricted } = workspace;
    residual.copy_from(demand);
    let mut first = None;
    for (switch, week) in out.iter_mut().enumerate() {
        let works = |rack: usize| works(switch, rack);
        let note = if (0..demand.racks()).all(works) {
            scheduler.week(residual, week)
        } else {
            restrict(residual, works, restricted);
            scheduler.week(restricted, week)
        };
        first = first.or(Some(note));
        subtract(week, timing, works, residual);
    }
    first.unwrap_or(Note::NoDemand)
}

/// Copies the demand between racks whose ports work.
pub(crate) fn restrict(demand: &Demand, works: impl Fn(usize) -> bool, restricted: &mut Demand) {
    restricted.copy_from(demand);
    let racks = demand.racks();
    let dead = |&(src, dst): &(usize, usize)| !works(src) || !works(dst);
    let pairs = (0..racks).flat_map(|src| (0..racks).map(move |dst| (src, dst)));
    pairs.filter(dead).for_each(|(src, dst)| restricted.set(src, dst, 0));
}

/// Subtracts from a demand what the circuits of a week carry.
fn subtract(
    week: &Week,
    timing: &CircuitTiming,
    works: impl Fn(usize) -> bool,
    residual: &mut Demand,
) {
    for day in week.days() {
        let bytes = timing.circuit_bytes(day.length);
        for (src, dst) in day.circuits.pairs().filter(|(src, dst)| works(*src) && works(*dst)) {
            residual.set(src, dst, residual.get(src, dst).saturating_sub(bytes));
        }
    }
}
