//! Programs on real hosts.

use super::NEVER;

/// A program that ran on a real host.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AppRow {
    /// Name of the host.
    pub host: String,
    /// What its shell ran.
    pub run: String,
    /// When it started, in picoseconds; [`NEVER`] where the run ended before.
    pub start_ps: u64,
    /// When it ended, in picoseconds; [`NEVER`] where the run ended it.
    pub end_ps: u64,
    /// Its exit code, 128 and the signal where a signal ended it; [`NEVER`] without any.
    pub exit: u64,
    /// What it wrote.
    pub output: String,
}

impl Default for AppRow {
    fn default() -> AppRow {
        let (host, run, output) = Default::default();
        AppRow { host, run, start_ps: NEVER, end_ps: NEVER, exit: NEVER, output }
    }
}
