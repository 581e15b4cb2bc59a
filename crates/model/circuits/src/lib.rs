//! Circuit schedulers for hybrid networks: demand between racks in, a week of circuit configurations out.
//!
//! A circuit switch connects the uplink of each rack to the downlink of at most one other rack. Changing
//! circuits takes a *night*, in which the changed circuits carry nothing. The time between two nights is a
//! *day*. A *week* is the period that a scheduler plans at once. A packet switch of a lower rate carries the
//! demand that the circuits do not carry. The terms are those of Etalon (Mukerjee et al.,
//! "Overcoming End-to-End Challenges in Reconfigurable Datacenter Networks", 2018).
//!
//! The crate is pure: it reads no clock and no file, and no result depends on the order of a hash table. Times
//! are in picoseconds, rates in bits per second, demand in bytes. The rows of a matrix are sources, the columns
//! are destinations.
//!
//! ```
//! use slotline_circuits::{CircuitTimingSpec, Demand, Eclipse, Scheduler, Week, etalon_format, served};
//!
//! // Etalon's network with weeks of 2 ms: rack 0 has 10 MB for rack 1, and rack 1 has 10 MB for rack 2.
//! let timing = CircuitTimingSpec::etalon(2_000_000_000).build()?;
//! let mut demand = Demand::new(3)?;
//! demand.set(0, 1, 10_000_000);
//! demand.set(1, 2, 10_000_000);
//!
//! let mut week = Week::default();
//! Eclipse::new(3, timing).week(&demand, &mut week);
//! assert_eq!(etalon_format::emit(&[week.clone()]), "unit us\n2 1980 -1/0/1 20 -1/-1/-1\n");
//! assert_eq!(served(&week, &demand, &timing).circuit, 20_000_000);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # A scheduler of your own
//!
//! Implement [`Scheduler`]. It plans the week of one circuit switch; [`plan_all`] calls it once for each of
//! several parallel switches. A scheduler that plans all switches at once implements [`JointScheduler`]. The
//! scheduler below gives the largest demand a circuit for the whole week.
//!
//! ```
//! use slotline_circuits::{CircuitTiming, CircuitTimingSpec, Demand, Matching, Note, Scheduler, Week, served};
//!
//! struct LargestPair {
//!     timing: CircuitTiming,
//! }
//!
//! impl Scheduler for LargestPair {
//!     fn week(&mut self, demand: &Demand, out: &mut Week) -> Note {
//!         let racks = demand.racks();
//!         let largest = (0..racks * racks).max_by_key(|&cell| demand.cells()[cell]).unwrap_or(0);
//!         let mut day = Matching::dark(racks);
//!         // There is no circuit from a rack to itself: without demand the week stays dark.
//!         let connected = day.connect(largest / racks, largest % racks).is_ok();
//!         out.clear(racks);
//!         out.push(self.timing.week() - self.timing.night(), day.circuits());
//!         out.push_night(self.timing.night());
//!         if connected { Note::Planned } else { Note::NoDemand }
//!     }
//! }
//!
//! let timing = CircuitTimingSpec::etalon(2_000_000_000).build()?;
//! let mut demand = Demand::new(4)?;
//! demand.set(2, 3, 5_000_000);
//! let mut week = Week::default();
//! let note = LargestPair { timing }.week(&demand, &mut week);
//! week.check(&timing)?;
//! assert_eq!((note, served(&week, &demand, &timing).circuit), (Note::Planned, 5_000_000));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod b_matching;
mod bvn;
mod circuit_timing;
mod clos_direct;
mod demand;
mod demand_pattern;
mod eclipse;
pub mod etalon_format;
mod greedy;
mod link_allocation;
mod link_placement;
mod local_search;
mod matching;
mod max_min;
mod max_weight;
mod max_weight_matching;
mod mesh;
mod oblivious;
mod pair_selection;
mod panel_layout;
mod panels;
mod perfect_matching;
mod plan;
mod portfolio;
mod recent_demand;
mod remaining_time;
mod residual_graph;
mod rolling_greedy;
mod rotation_fallback;
mod scheduler;
mod served;
mod solstice;
mod stuffing;
mod ticks;
mod upper_bound;
mod week;

pub use bvn::Bvn;
pub use circuit_timing::{CircuitTiming, CircuitTimingError, CircuitTimingSpec};
pub use clos_direct::ClosDirect;
pub use demand::{Demand, DemandError, MAX_RACKS};
pub use demand_pattern::DemandPattern;
pub use eclipse::Eclipse;
pub use matching::{Circuits, Matching, MatchingError};
pub use max_weight::MaxWeight;
pub use mesh::{Mesh, TooFewSwitches};
pub use oblivious::{Fixed, Rotor};
pub use panel_layout::PanelLayout;
pub use portfolio::Portfolio;
pub use scheduler::{JointScheduler, Note, PlanWorkspace, Planner, Scheduler, plan_all};
pub use served::{Meter, Served, served};
pub use solstice::{Fallback, Solstice, SolsticeSpec};
pub use week::{Slice, Week, WeekError};
