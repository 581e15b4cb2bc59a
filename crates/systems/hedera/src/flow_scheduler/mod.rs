//! The flow scheduler of the fat-tree. It has a central list of reserved links, and a large flow gets the first path
//! without a reserved link.
//!
//! Source: Al-Fares, "Data center network architecture", sections 3.1.7 and 3.4.3.

mod scheduler;
mod spec;
mod system;

pub use scheduler::{FlowScheduler, Memory};
pub use spec::{FlowSchedulerSpec, FlowScheduling};
