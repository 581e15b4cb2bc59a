//! TDMA Ethernet (Vattikonda, Porter, Vahdat, Snoeren, "Practical TDMA for Datacenter Ethernet",
//! EuroSys 2012): rounds of slots in which each sender has its path to itself.
//!
//! - [`options`] has the options of the scheme and of its rounds.
//! - The planner (`planner/`) is a [`RoundScheduler`]: it takes a [`Demand`] and fills the slots of a [`Round`]. What
//!   it knows of the network is in `paths/`.
//! - A [`ClassMap`] gives the assignments of a round their classes in pause frames.
//! - [`node`] has the fabric manager, its controllers and the agents of hosts, which exchange the messages of [`wire`];
//!   `system.rs` puts them into a network.
//!
//! Hosts report demand, the fabric manager plans a round and announces it, and pause frames open the slots.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod classes;
pub mod counters;
mod demand;
pub mod fit;
pub mod node;
pub mod options;
mod paths;
mod planner;
mod round;
mod system;
pub mod wire;

pub use classes::{ClassMap, Classes, TooManyClasses};
pub use demand::Demand;
pub use options::rounds::{RoundSpec, Rounds, SchedulerKind};
pub use options::{Tdma, TdmaSpec};
pub use round::{Assignment, Round};

use slotline_net::error::SpecError;
use slotline_net::id::HostId;
use slotline_net::scheme::network::Network;

/// Decides who sends to whom in the slots of a round (§4.3, §5.2.2).
pub trait RoundScheduler: Send {
    /// Replaces `round` with the next one, and takes what it schedules out of `demand` and out of receive
    /// buffers. If no demand can be served, the round has no slots.
    fn plan(&mut self, demand: &mut Demand, round: &mut Round);
    /// Sets how many slots `host` gets in turn before the next host (1 by default; 0 counts as 1).
    fn set_weight(&mut self, host: HostId, weight: u32);
    /// Notes whether a directed link works or has failed. Paths over a failed link are not scheduled.
    fn set_link(&mut self, link: u32, up: bool);
    /// Replaces the paths. Links and hosts keep their numbers, and failed links stay failed.
    ///
    /// # Errors
    /// The planner does not suit the network.
    fn reroute(&mut self, network: Network) -> Result<(), SpecError>;
}

#[cfg(test)]
mod tests;
