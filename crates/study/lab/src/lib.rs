//! The laboratory: a scenario file is loaded, built, run, recorded, compared and reported.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod arbiter_quality;
pub mod benchmark;
pub mod benchmark_arbiter;
pub mod benchmark_bump;
pub mod benchmark_circuits;
pub mod benchmark_fcp;
pub mod benchmark_flow;
pub mod benchmark_hedera;
pub mod benchmark_pipeline;
pub mod benchmark_report;
pub mod benchmark_tdma;
pub mod benchmark_xco;
pub mod build;
pub mod build_flow;
mod build_hybrid;
mod busiest;
pub mod catalogue;
pub mod change;
mod circuits;
pub mod collect;
mod collect_flow;
pub mod crosscheck;
pub mod diff;
pub mod explain;
pub mod export;
pub mod follow;
pub mod ideal;
pub mod import;
pub mod metrics;
pub mod output;
pub mod plan;
mod port_names;
pub mod record;
pub mod recovery;
pub mod reference;
pub mod reproduce;
pub mod run;
pub mod scenario;
pub mod scheduler;
pub mod schema;
mod side_by_side;
pub mod statistics;
pub mod summary;
pub mod sweep;
pub mod usage;
