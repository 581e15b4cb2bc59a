//! Where large flows go: demand estimation and placement on the equal paths of a multi-rooted tree.
//!
//! Source: Al-Fares, "Scale-Out Packet Switching for Data Center Networks: Topology, Dynamic Flow
//! Scheduling, and Extensible Queue Management" (dissertation, UC San Diego, 2012), chapter 4
//! ("Hedera"). Algorithms alone: when they run and who does what they say is in
//! [`crate`].
//!
//! Demands and capacities are shares of the fastest host's network card. Inside, they are whole
//! numbers of 1 / [`UNIT`], demands rounded down and capacities rounded up: three flows of a third fit
//! on a link, and sums do not drift.

mod annealing;
mod best;
mod colour;
mod estimate;
mod fabric;
mod first_fit;
mod load;
pub mod matrix;
mod per_flow;
mod quality;
mod seats;
mod split;
mod tiers;

pub use annealing::{Annealing, default_c};
pub use best::best;
pub use colour::{bijective, colour};
pub use estimate::Estimator;
pub use fabric::Fabric;
pub use first_fit::first_fit;
pub use load::Load;
pub use per_flow::anneal_per_flow;
pub use quality::max_min;

use slotline_net::id::HostId;

/// One share of the fastest network card, as the whole number that placement calculates with.
pub const UNIT: i32 = 1 << 18;

/// A large flow that wants a place.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Flow {
    /// Where it comes from.
    pub src: HostId,
    /// Where it goes.
    pub dst: HostId,
    /// Its natural demand, as a share of the fastest network card.
    pub demand: f64,
    /// The number of the path that it has been given before.
    pub path: Option<u16>,
}

impl Flow {
    /// A flow that has no place yet.
    pub fn new(src: u32, dst: u32, demand: f64) -> Flow {
        Flow { src: HostId(src), dst: HostId(dst), demand, path: None }
    }
    /// Its demand in whole numbers.
    fn amount(&self) -> i32 {
        (self.demand * f64::from(UNIT)) as i32
    }
}

#[cfg(test)]
mod pattern_tests;
#[cfg(test)]
mod tests;
