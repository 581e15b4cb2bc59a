//! Queues whose discipline failed.

use super::NEVER;

/// A queue whose discipline failed. From then on, all of its packets passed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StoppedRow {
    /// Time, in picoseconds.
    pub t_ps: u64,
    /// Index into [`super::RunRecord::ports`]: the port of the switch that has the queue.
    pub port: u32,
    /// For a virtual queue, the number of its table at the switch; [`NEVER`] for the switch's own queue.
    pub bump: u64,
    /// The class of its packets; zero if all share one queue.
    pub class: u8,
    /// Packets that passed without a decision of the discipline, including the one at which it failed.
    pub unjudged: u64,
    /// The reason.
    pub why: String,
}

impl Default for StoppedRow {
    fn default() -> StoppedRow {
        StoppedRow { t_ps: 0, port: 0, bump: NEVER, class: 0, unjudged: 0, why: String::new() }
    }
}
