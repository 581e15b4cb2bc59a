//! Measurements of the program itself: the cost of its engines, schedulers and reports.
//!
//! Each module has the cases of one benchmark. [`BENCHMARKS`] lists all of them for the command line.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod arbiter;
mod arbiter_parts;
pub mod arbiter_quality;
#[cfg(target_os = "linux")]
mod bridged;
pub mod bump;
pub mod circuits;
#[cfg(target_os = "linux")]
mod crowd;
#[cfg(target_os = "linux")]
pub mod daemons;
#[cfg(target_os = "linux")]
pub mod emulate;
pub mod engine;
pub mod fcp;
pub mod flow;
#[cfg(target_os = "linux")]
mod gates;
pub mod hedera;
#[cfg(target_os = "linux")]
mod htsim;
#[cfg(target_os = "linux")]
pub mod interface;
#[cfg(target_os = "linux")]
pub mod peer;
pub mod pipeline;
pub mod report;
mod table;
pub mod tdma;
pub mod xco;

pub use table::{BENCHMARKS, Benchmark, Choice, Failure, Outcome, Separate, Work};

use serde::{Deserialize, Serialize};

/// One measured value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// The measured quantity.
    pub name: String,
    /// The scenario file without its extension.
    pub scenario: String,
    /// The scheme of the scenario.
    pub scheme: String,
    /// Threads used.
    pub threads: u32,
    /// The value.
    pub value: f64,
    /// Its unit.
    pub unit: String,
}
