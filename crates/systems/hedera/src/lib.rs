//! Hedera: edge switches detect large flows, and a central scheduler gives them paths that do not conflict.
//!
//! Source: Al-Fares, Radhakrishnan, Raghavan, Huang and Vahdat, "Hedera: Dynamic Flow Scheduling for
//! Data Center Networks", NSDI 2010; chapter 4 of Al-Fares' dissertation (UC San Diego, 2012), whose
//! section numbers are used.
//!
//! - [`placement`] has the algorithms: demand estimation and the search for paths.
//! - `scheduler.rs` has [`Scheduler`], which turns reports of large flows into paths; `spec.rs` has the options.
//! - [`node`] has the flow table of an edge switch and the host of the scheduler, which exchange the messages of
//!   [`wire`]; `system.rs` puts them into a network.
//! - [`Survivors`] has the paths that are left where real switches report links that do not work.
//! - [`flow_scheduler`] is the older scheduler of the fat-tree, with the same nodes and messages.
//!
//! Each poll, edge switches report their large flows, the scheduler estimates demands and places all flows, and edge
//! switches install the paths.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod counters;
pub mod fit;
pub mod flow_scheduler;
pub mod node;
pub mod placement;
mod scheduler;
mod spec;
mod survivors;
mod system;
pub mod wire;

pub use scheduler::Scheduler;
pub use spec::{Hedera, HederaSpec, PlacementKind};
pub use survivors::Survivors;
