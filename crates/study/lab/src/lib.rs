//! The laboratory: a scenario is built into a network, run, recorded, measured and compared.
//!
//! [`build`] makes a network of a scenario, [`run`] runs it, [`collect`] and [`follow`] record what happens,
//! [`metrics`] and [`summary`] measure and compare it, and [`output`] keeps results and shows them on the
//! terminal. [`sweep`] does that for many scenarios of one file.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod build;
pub mod build_flow;
pub mod change;
pub mod collect;
mod collect_flow;
pub mod crosscheck;
pub mod diff;
pub mod explain;
pub mod follow;
pub mod ideal;
pub mod metrics;
pub mod output;
pub mod record;
pub mod recovery;
pub mod run;
pub mod statistics;
pub mod summary;
pub mod sweep;
pub mod usage;
