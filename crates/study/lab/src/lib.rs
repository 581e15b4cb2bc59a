//! The laboratory builds a network from a scenario, runs it, records it, measures it and compares schemes.
//!
//! [`build`] builds the network, [`run`] runs it, also in steps ([`session`]), [`collect`] and [`follow`] record the run,
//! [`metrics`] and [`summary`] measure and compare it, and [`output`] stores results and shows them on the
//! terminal. [`sweep`] runs many scenarios of one file.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod build;
pub mod build_flow;
#[cfg(target_os = "linux")]
pub mod calibrate;
pub mod change;
pub mod collect;
mod collect_flow;
pub mod crosscheck;
pub mod diff;
#[cfg(target_os = "linux")]
pub mod emulate;
pub mod expect;
pub mod explain;
pub mod fit;
pub mod follow;
pub mod footprint;
pub mod ideal;
#[cfg(target_os = "linux")]
pub mod live;
pub mod metrics;
pub mod output;
pub mod quantity;
pub mod record;
pub mod recovery;
pub mod run;
pub mod session;
pub mod statistics;
#[cfg(target_os = "linux")]
pub mod status;
pub mod summary;
pub mod sweep;
pub mod usage;
