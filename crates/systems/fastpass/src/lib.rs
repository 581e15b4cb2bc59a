//! Fastpass (Perry, Ousterhout, Balakrishnan, Shah, Fugal, 2014): an arbiter decides which packet leaves
//! in which timeslot (§3), and over which path (§4).
//!
//! Here is what knows neither clock nor wire nor node: demands go in, timeslots and paths come out, the
//! same ones on every machine. [`crate::node`] has the nodes.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod allocation;
pub mod faults;
pub mod fcp;
pub mod node;
pub mod paths;
pub mod schedule;
pub mod spec;
mod system;
pub mod timing;
pub mod watchdog;
pub mod wire;

pub use allocation::{
    Allocator, Demand, DemandError, Grant, Lanes, Partition, Partitions, Policy, Tenant,
    partition_of,
};
pub use paths::{
    Choice, FatTree, PathError, PathGrant, PathSelector, RouteError, RouteSelector, SelectError,
    Selector, TierChoice, Tiers, Topology, by_slot,
};
pub use schedule::Schedule;
pub use spec::{Fastpass, FastpassSpec, LEAST_RESERVE, MOST_RESERVE, Messages, SCHEDULED_CLASS};
pub use timing::Timing;
