//! Which circuits exist, and when: demand between racks, partial matchings, weeks of days and nights, and the
//! algorithms that plan such weeks.
//!
//! A circuit switch connects each rack's uplink with at most one rack's downlink at a time; a change of
//! circuits takes a *night*, in which nothing passes. A *day* is the time between two nights. A *week* is what
//! a scheduler plans at once. What circuits leave over goes through a packet switch of a lower rate.
//!
//! The crate is pure: no clock, no file, no hash order. Times are picoseconds, rates bits per second, demand
//! is in bytes; rows of matrices are sources, columns destinations.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod bvn;
mod class;
mod demand;
mod eclipse;
mod fair;
mod fixed;
mod greedy;
mod harvest;
mod heaviest;
mod levels;
mod matcher;
mod matching;
mod max_weight;
mod plan;
mod polish;
mod rotor;
mod scheduler;
mod select;
mod served;
mod settle;
mod solstice;
mod stuff;
mod terms;
pub mod text;
mod ticks;
mod wants;
mod week;

pub use bvn::Bvn;
pub use class::Class;
pub use demand::{Demand, DemandError, MAX_RACKS};
pub use eclipse::Eclipse;
pub use fixed::Fixed;
pub use harvest::Harvest;
pub use matching::{Circuits, Matching, MatchingError};
pub use max_weight::MaxWeight;
pub use rotor::Rotor;
pub use scheduler::{Note, Scheduler, plan_all};
pub use served::{Meter, Served, served};
pub use solstice::{Solstice, SolsticeSpec};
pub use terms::{Terms, TermsError, TermsSpec};
pub use week::{Slice, Week, WeekError};
