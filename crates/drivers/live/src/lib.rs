//! The wall-clock driver: runs the nodes of the simulator over real sockets.
//!
//! A [`seat::Seat`] runs one node; its caller has the clock and the sockets. [`run`] connects the nodes of a whole
//! network by UDP sockets on the loopback interface, one socket per port. A node gets times, packets and wake-ups as in
//! the simulator.
//!
//! On a real network an [`agent::Agent`] runs on each host and an [`arbiter::Arbiter`] on the machine of each
//! controller. Where circuits join racks, or flows
//! are sent on paths, switches have agents instead. Both have a [`config::Config`], a [`channel::Channel`] to the other daemons, and network time
//! ([`clock`]). A [`bump::LiveBump`] runs on a machine that forwards packets, and needs none of these.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod agent;
pub mod arbiter;
pub mod bump;
pub mod cabling;
pub mod channel;
pub mod clock;
pub mod config;
pub mod control;
pub mod discovery;
mod driver;
pub mod election;
pub mod forwarding;
pub mod grip;
mod held;
pub mod hook;
pub mod http;
mod ip;
pub mod keys;
pub mod lease;
mod line;
pub mod links;
pub mod message;
mod metrics;
pub mod neighbours;
pub mod notify;
pub mod observe;
pub mod observer;
pub mod parts;
pub mod ports;
pub mod quotas;
pub mod record;
pub mod reference;
pub mod renewal;
pub mod replay;
pub mod role;
pub mod running;
pub mod seat;
pub mod status;
pub mod timeslots;
mod udp;
pub mod uplinks;

pub use driver::{LiveError, Options, Outcome, Report, run};
