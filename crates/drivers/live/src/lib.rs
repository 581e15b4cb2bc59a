//! The wall-clock driver: runs the nodes of the simulator over real sockets.
//!
//! A [`seat::Seat`] runs one node; who calls it has the clock and the sockets. [`run`] connects the nodes of a whole network by
//! UDP sockets on the loopback interface, one socket per port. A node gets times, packets and wake-ups as in the simulator.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod driver;
pub mod seat;
mod udp;

pub use driver::{LiveError, Options, Outcome, Report, run};
