//! The arbiter of Fastpass (Perry, Ousterhout, Balakrishnan, Shah, Fugal, 2014): which packet leaves
//! in which timeslot (§3), and over which path (§4).
//!
//! This is the pure core alone: **no scheme of a scenario uses it yet.** It knows neither clock nor
//! wire nor node; demands go in, timeslots and paths come out, the same ones on every machine.

mod active;
pub mod allocate;
mod bits;
mod keys;
pub mod lanes;
pub mod paths;
pub mod routes;
pub mod select;
pub mod split;
mod tenants;
pub mod tiers;
mod visit;
pub mod way;

pub use allocate::{Allocator, Demand, DemandError, Grant, Policy};
pub use lanes::Lanes;
pub use paths::{Choice, PathError, PathSelector, by_slot};
pub use routes::{RouteError, RouteSelector};
pub use select::{Network, Part, SelectError, Selector};
pub use split::{Ways, way_of};
pub use tenants::Tenant;
pub use tiers::{FatTree, TierChoice, Tiers};
pub use way::Way;
