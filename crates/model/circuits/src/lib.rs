//! Which circuits exist, and when: demand between racks, partial matchings, weeks of days and nights, and the
//! algorithms that plan such weeks.
//!
//! A circuit switch connects each rack's uplink with at most one rack's downlink at a time; a change of
//! circuits takes a *night*, in which nothing passes. A *day* is the time between two nights. A *week* is what
//! a scheduler plans at once. What circuits leave over goes through a packet switch of a lower rate.
//!
//! The crate is pure: no clock, no file, no hash order. Times are picoseconds, rates bits per second, demand
//! is in bytes; rows of matrices are sources, columns destinations.
//!
//! ```
//! use slotline_circuits::{Demand, Eclipse, Scheduler, TermsSpec, Week, served, text};
//!
//! // Etalon's network with weeks of 2 ms: rack 0 has 10 MB for rack 1, and rack 1 as much for rack 2.
//! let terms = TermsSpec::etalon(2_000_000_000).build()?;
//! let mut demand = Demand::new(3)?;
//! demand.set(0, 1, 10_000_000);
//! demand.set(1, 2, 10_000_000);
//!
//! let mut week = Week::default();
//! Eclipse::new(3, terms).week(&demand, &mut week);
//! assert_eq!(text::emit(&[week.clone()]), "unit us\n2 1980 -1/0/1 20 -1/-1/-1\n");
//! assert_eq!(served(&week, &demand, &terms).circuit, 20_000_000);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod bvn;
mod class;
mod cores;
mod demand;
mod eclipse;
mod estimate;
mod fair;
mod fixed;
mod greedy;
mod harvest;
mod heaviest;
mod joint;
mod loads;
mod matcher;
mod matching;
mod max_weight;
mod mesh;
mod mix;
mod panels;
mod place;
mod plan;
mod polish;
mod recent;
mod roll;
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
pub use cores::Cores;
pub use demand::{Demand, DemandError, MAX_RACKS};
pub use eclipse::Eclipse;
pub use fixed::Fixed;
pub use harvest::Harvest;
pub use matching::{Circuits, Matching, MatchingError};
pub use max_weight::MaxWeight;
pub use mesh::{Mesh, TooFew};
pub use mix::Mix;
pub use rotor::Rotor;
pub use scheduler::{Memory, Note, Planner, Scheduler, Together, plan_all};
pub use served::{Meter, Served, served};
pub use solstice::{Fallback, Solstice, SolsticeSpec};
pub use terms::{Terms, TermsError, TermsSpec};
pub use week::{Slice, Week, WeekError};
