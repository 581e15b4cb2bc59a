//! Fastpass (Perry, Ousterhout, Balakrishnan, Shah, Fugal, SIGCOMM 2014): an arbiter decides in which
//! timeslot each packet leaves (§3) and which path it takes (§4).
//!
//! Data flows through the modules as follows. Endpoints in the hosts ([`node`]) send their demand to the
//! arbiter over the protocol FCP ([`fcp`], bytes in [`wire`]). The arbiter gives the demand to a
//! [`schedule`]: [`allocation`] assigns timeslots, 64 at a time, and [`paths`] selects a path for each
//! timeslot. The arbiter sends the grants back over FCP. [`faults`] finds links and switches that lose
//! packets, and [`watchdog`] decides which of two arbiters is active (§5).
//!
//! [`spec`] has the options, [`timing`] converts timeslots to time and bytes, and the module `system` puts
//! all parts into a network. No module reads a clock: time is an argument, and the same input gives the same
//! output on every machine.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod allocation;
pub mod counters;
pub mod faults;
pub mod fcp;
pub mod fit;
pub mod node;
pub mod paths;
pub mod schedule;
pub mod spec;
mod system;
pub mod timing;
pub mod watchdog;
pub mod wire;

pub use allocation::{
    Allocator, Demand, DemandError, Grant, Partition, Partitions, Policy, Tenant, partition_of,
};
pub use paths::{
    BySlot, Choice, FatTree, PathError, PathGrant, PathSelector, RouteError, RouteSelector,
    SelectError, Selector, TierChoice, Tiers, Topology,
};
pub use schedule::{EmptySchedule, Schedule};
pub use spec::{Fastpass, FastpassSpec, LEAST_RESERVE, MOST_RESERVE, Messages, SCHEDULED_CLASS};
pub use timing::Timing;
