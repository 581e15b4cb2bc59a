//! Fastpass (Perry, Ousterhout, Balakrishnan, Shah, Fugal, 2014): an arbiter decides which packet leaves
//! in which timeslot (§3), and over which path (§4).
//!
//! Here is what knows neither clock nor wire nor node: demands go in, timeslots and paths come out, the
//! same ones on every machine. [`crate::node::fastpass`] has the nodes.

mod active;
pub mod allocate;
pub mod fabric;
pub mod faults;
pub mod paths;
pub mod schedule;
pub mod spec;
mod system;
pub mod timing;
pub mod watchdog;

pub use allocate::{Allocator, DemandError, Grant, Policy};
pub use paths::{Choice, PathError, PathSelector, by_slot};
pub use schedule::Schedule;
pub use spec::{Fastpass, FastpassSpec};
pub use timing::Timing;
