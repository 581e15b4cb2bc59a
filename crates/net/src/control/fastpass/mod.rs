//! The arbiter of Fastpass (Perry, Ousterhout, Balakrishnan, Shah, Fugal, 2014): which packet leaves
//! in which timeslot (§3), and over which path (§4).
//!
//! This is the pure core alone: **no scheme of a scenario uses it yet.** It knows neither clock nor
//! wire nor node; demands go in, timeslots and paths come out, the same ones on every machine.

mod active;
pub mod allocate;
mod bits;
mod guests;
mod keys;
pub mod paths;
pub mod split;
mod visit;

pub use allocate::{Allocator, DemandError, Grant, Policy};
pub use paths::{Choice, PathError, PathSelector, by_slot};
pub use split::{Ways, way_of};
