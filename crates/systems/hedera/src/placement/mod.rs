//! Placement of large flows on the equal-cost paths of a multi-rooted tree: demand estimation, then a search.
//!
//! Source: Al-Fares, "Scale-Out Packet Switching for Data Center Networks: Topology, Dynamic Flow
//! Scheduling, and Extensible Queue Management" (dissertation, UC San Diego, 2012), chapter 4
//! ("Hedera"). This module has only the algorithms. [`crate::Scheduler`] decides when they run.
//!
//! Demands and capacities are shares of the rate of the fastest NIC. Internally, they are whole numbers of
//! 1 / [`UNIT`]. Demands are rounded down and capacities rounded up, so three flows of a third fit on a link
//! and sums do not drift.

mod bipartite;
mod demand;
mod network;
mod search;

pub use bipartite::{bijective, colour};
pub use demand::{Estimator, matrix};
pub use network::{Fabric, Load, max_min};
pub use search::{Annealing, anneal_per_flow, best, default_c, first_fit};

use slotline_net::id::HostId;

/// The rate of the fastest NIC as the whole number with which placement calculates.
pub const UNIT: i32 = 1 << 18;

/// A large flow that needs a path.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Flow {
    /// The sending host.
    pub src: HostId,
    /// The receiving host.
    pub dst: HostId,
    /// The natural demand, as a share of the rate of the fastest NIC.
    pub demand: f64,
    /// The number of the path that it has, if any.
    pub path: Option<u16>,
}

impl Flow {
    /// A flow that has no path yet.
    pub fn new(src: u32, dst: u32, demand: f64) -> Flow {
        Flow { src: HostId(src), dst: HostId(dst), demand, path: None }
    }
    /// The demand in units of 1 / [`UNIT`].
    fn amount(&self) -> i32 {
        (self.demand * f64::from(UNIT)) as i32
    }
}

#[cfg(test)]
mod pattern_tests;
#[cfg(test)]
mod tests;
