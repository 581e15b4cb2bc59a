//! The wall-clock driver: runs the very nodes that the simulator runs, over real sockets.
//!
//! [`run`] places nodes at the ends of UDP sockets on the loopback interface, one socket per port.
//! It alone knows the clock and the sockets; nodes see times, packets and wake-ups as in a simulation.
//!
//! [`pipeline`] runs the arbiter of Fastpass on several cores.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod driver;
pub mod pipeline;
mod udp;

pub use driver::{LiveError, Options, Outcome, Report, run};
