//! Fastpass (Perry, Ousterhout, Balakrishnan, Shah, Fugal, 2014): an arbiter decides which packet leaves
//! in which timeslot (§3), and over which path (§4).
//!
//! Here is what knows neither clock nor wire nor node: demands go in, timeslots and paths come out, the
//! same ones on every machine. [`crate::node`] has the nodes.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod active;
pub mod allocate;
mod bits;
mod colouring;
pub mod fabric;
pub mod faults;
pub mod fcp;
mod keys;
pub mod lanes;
pub mod node;
pub mod paths;
pub mod routes;
pub mod schedule;
pub mod select;
mod served;
pub mod spec;
pub mod split;
mod system;
mod tenants;
pub mod tiers;
pub mod timing;
mod visit;
pub mod watchdog;
pub mod way;
pub mod wire;

pub use allocate::{Allocator, Demand, DemandError, Grant, Policy};
pub use lanes::Lanes;
pub use paths::{Choice, PathError, PathSelector, by_slot};
pub use routes::{RouteError, RouteSelector};
pub use schedule::Schedule;
pub use select::{Network, Part, SelectError, Selector};
pub use spec::{Fastpass, FastpassSpec, LEAST_RESERVE, MOST_RESERVE, Messages, SCHEDULED_CLASS};
pub use split::{Ways, way_of};
pub use tenants::Tenant;
pub use tiers::{FatTree, TierChoice, Tiers};
pub use timing::Timing;
pub use way::Way;
