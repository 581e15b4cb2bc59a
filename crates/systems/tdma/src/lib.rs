//! TDMA Ethernet (Vattikonda, Porter, Vahdat, Snoeren, "Practical TDMA for Datacenter Ethernet",
//! EuroSys 2012): rounds of slots in which every sender has its path for itself.
//!
//! This is the part that knows neither clock nor wire nor node: [`Demand`] goes in, a [`Round`] comes
//! out of a [`RoundScheduler`], and a [`ClassMap`] names its assignments in pause frames.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod any;
mod classes;
mod demand;
mod ends;
mod links;
pub mod node;
pub mod options;
mod parts;
mod paths;
mod planner;
mod racks;
mod round;
mod set;
mod slot_length;
pub mod spec;
mod system;
mod tree;
pub mod wire;

pub use classes::{ClassMap, Classes, TooManyClasses};
pub use demand::Demand;
pub use options::{Tdma, TdmaSpec};
pub use round::{Assignment, Round};
pub use spec::{RoundSpec, Rounds, SchedulerKind};

use slotline_net::error::SpecError;
use slotline_net::id::HostId;
use slotline_net::scheme::network::Network;

/// Decides who sends to whom in the slots of a round (§4.3, §5.2.2).
pub trait RoundScheduler: Send {
    /// Replaces `round` with the next one, and takes what it schedules out of `demand`, of receive
    /// buffers too. Without demand that can be served, the round has no slots.
    fn plan(&mut self, demand: &mut Demand, round: &mut Round);
    /// How many slots `host` gets in turn before the next host does (1 where nothing is said; 0 counts
    /// as 1).
    fn set_weight(&mut self, host: HostId, weight: u32);
    /// A directed link of the network works, or does not: what needs it is not scheduled.
    fn set_link(&mut self, link: u32, up: bool);
    /// Paths have changed. Links and hosts keep their numbers; links that are down stay so.
    fn reroute(&mut self, network: Network) -> Result<(), SpecError>;
}

#[cfg(test)]
mod tests;
