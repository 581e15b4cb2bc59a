//! Programs on real hosts.

use super::NEVER;

/// A program that ran on a real host.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AppRow {
    /// Name of the host.
    pub host: String,
    /// The command that its shell ran.
    pub run: String,
    /// When it started, in picoseconds; [`NEVER`] if the run ended before.
    pub start_ps: u64,
    /// When it ended, in picoseconds; [`NEVER`] if the end of the run stopped it.
    pub end_ps: u64,
    /// Its exit code; 128 plus the signal if a signal ended it; [`NEVER`] if there is none.
    pub exit: u64,
    /// Its output.
    pub output: String,
}

impl Default for AppRow {
    fn default() -> AppRow {
        let (host, run, output) = Default::default();
        AppRow { host, run, start_ps: NEVER, end_ps: NEVER, exit: NEVER, output }
    }
}
