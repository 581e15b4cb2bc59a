//! Hedera: large flows are detected at edge switches and get paths that do not conflict.
//!
//! Source: Al-Fares, Radhakrishnan, Raghavan, Huang and Vahdat, "Hedera: Dynamic Flow Scheduling for
//! Data Center Networks", NSDI 2010; chapter 4 of Al-Fares' dissertation (UC San Diego, 2012), whose
//! section numbers are used. The algorithms are in [`crate::placement`].
#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod flow_scheduler;
pub mod node;
pub mod placement;
mod scheduler;
mod spec;
mod system;
pub mod wire;

pub use scheduler::Scheduler;
pub use spec::{Hedera, HederaSpec, PlacementKind};
