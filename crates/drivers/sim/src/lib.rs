//! The virtual-clock driver: a packet-level discrete-event engine.
//!
//! This crate contains no policy. [`run`] takes a [`Network`] (a graph, the nodes' contents and the queues
//! of ports) and returns an [`Outcome`]. Several simulations may run in one process; there is no global
//! state, and nothing reads a clock. The result is identical for any number of threads.
//!
//! **Why it is fast.** A FIFO port is one number, the time at which it is free: a packet's departure
//! is known when it is enqueued, so a hop costs one event. Packets are 36-byte records that are stored
//! in the event calendar itself. Time is divided into windows shorter than the least link latency; in a
//! window no node can affect another, so all events of a node are handled together while its state is
//! in the cache, and threads synchronise once per window.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod ahead;
mod ahead_queue;
mod any_node;
mod at_once;
mod calendar;
mod carry_out;
mod collect;
mod crossings;
mod departure;
mod division;
mod engine;
mod expect;
pub mod flow;
mod foreseen;
mod host_ahead;
mod host_events;
mod item;
mod journal;
mod line;
mod links;
mod network;
mod node_events;
mod notes;
mod notices;
mod parallel;
mod plain_switch;
mod sample;
mod session;
mod shard;
mod slowest;
mod sojourn;
mod stepper;

pub use crossings::Crossing;
pub use division::{Division, divided, useful_threads};
pub use engine::{Conservation, Options, Outcome, PortCounters, run};
pub use journal::{Follow, Hop, Journal, Room};
pub use network::{Network, Place, Queue};
pub use notes::FIRST_NOTES;
pub use parallel::Watch;
pub use session::Session;
pub use slowest::Slowest;
pub use stepper::{PortState, Stepper};
