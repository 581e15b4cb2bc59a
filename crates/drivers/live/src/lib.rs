//! The wall-clock driver: runs the nodes of the simulator over real sockets.
//!
//! [`run`] connects nodes by UDP sockets on the loopback interface, one socket per port. Only the driver uses
//! the clock and the sockets. A node gets times, packets and wake-ups as in the simulator.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod driver;
mod udp;

pub use driver::{LiveError, Options, Outcome, Report, run};
