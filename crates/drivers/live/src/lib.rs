//! The wall-clock driver: runs the very nodes that the simulator runs, over real sockets.
//!
//! [`run`] places nodes at the ends of UDP sockets on the loopback interface, one socket per port.
//! It alone knows the clock and the sockets; nodes see times, packets and wake-ups as ever.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod driver;
mod udp;

pub use driver::{LiveError, Outcome, Report, run};
