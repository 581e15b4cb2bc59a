//! Who runs the parts of a schedule: the caller, or a driver with threads.

use super::part::{Part, Round};
use crate::allocation::partitions::allocate_round;
use std::fmt;
use std::sync::Arc;

/// Runs the parts of a schedule beside the caller.
pub trait Crew: Send {
    /// Begins a round: takes the rounds of all parts, in order.
    fn begin(&mut self, rounds: &mut Vec<Round>);
    /// Waits for the end of the round, and returns the rounds in the same order.
    fn finish(&mut self, rounds: &mut Vec<Round>);
    /// The timeslots that pairs of a source wait for ([`Part::backlog_of`]). This is not called during a round.
    fn backlog_of(&mut self, source: u16) -> Vec<(u16, u16, u64)>;
}

/// Makes the crew of a schedule's parts.
#[derive(Clone)]
pub struct MakeCrew(Arc<dyn Fn(Vec<Part>) -> Box<dyn Crew> + Send + Sync>);

impl MakeCrew {
    /// `make` is called each time an arbiter begins.
    pub fn new(make: impl Fn(Vec<Part>) -> Box<dyn Crew> + Send + Sync + 'static) -> MakeCrew {
        MakeCrew(Arc::new(make))
    }
    pub(super) fn crew(&self, parts: Vec<Part>) -> Box<dyn Crew> {
        (self.0)(parts)
    }
}

impl fmt::Debug for MakeCrew {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MakeCrew")
    }
}

/// Allocates a round in this thread: one part after the other in each step.
pub(super) fn run(parts: &mut [Part], rounds: &mut [Round]) {
    parts.iter_mut().zip(&mut *rounds).for_each(|(part, round)| part.take(round));
    match parts {
        [part] => {
            let (partition, grants) = part.allocation();
            partition.allocate_alone(grants);
        }
        _ => allocate_round(&mut parts.iter_mut().map(Part::allocation).collect::<Vec<_>>()),
    }
    parts.iter_mut().zip(rounds).for_each(|(part, round)| part.place(round));
}
