//! The flow-level engine treats flows as fluids. Each flow has a rate at any time. There are no packets.
//!
//! [`run`] takes a [`FlowNetwork`], made of the same graph, traffic, routes and changes as a
//! [`crate::Network`], and returns a [`FlowOutcome`]. Rates are exactly max-min fair
//! ([`maxmin`]) at any moment, or follow TCP's sawtooth ([`aimd`]). A flow takes one path, or is spread over
//! all its equal paths. One run uses one thread.

mod agenda;
mod ahead;
pub mod aimd;
mod applications;
mod bundles;
mod bursts;
mod classified;
mod ends;
mod engine;
mod fabric;
mod finish;
mod flow_paths;
mod lanes;
mod levels;
pub mod maxmin;
mod members;
mod network;
mod paced;
mod path_choice;
mod queue;
mod rates;
mod scheduled;
mod senders;
mod shares;
#[cfg(test)]
mod tests;

pub use aimd::AimdOptions;
pub use engine::run;
pub use fabric::Fabric;
pub use flow_paths::FlowPath;
pub use maxmin::{Effort, FlowKey, MaxMin};
pub use network::{FlowNetwork, FlowOutcome, Passage, Volume};
pub use rates::Model;
pub use scheduled::Scheduled;
pub use shares::{Parts, Whole};
