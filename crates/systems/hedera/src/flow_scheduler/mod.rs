//! The flow scheduler of the fat-tree: a central list of reserved links, and the first path without one.
//!
//! Source: Al-Fares, "Data center network architecture", sections 3.1.7 and 3.4.3.

mod scheduler;
mod spec;
mod system;

pub use scheduler::{FlowScheduler, Memory};
pub use spec::{FlowSchedulerSpec, FlowScheduling};
