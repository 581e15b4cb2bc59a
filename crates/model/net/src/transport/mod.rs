//! Reliable transport over segments, as state machines without I/O.
//!
//! Sequence numbers count segments of a connection. A connection carries messages (flows) one after another. Each
//! message takes whole segments, of which the last may be short.

pub mod congestion;
#[cfg(test)]
mod harness;
mod lone_flow;
mod path_board;
mod paths;
mod probe;
mod rack;
pub mod receiver;
mod reduction;
pub mod rtt;
pub mod scoreboard;
pub mod sender;
pub mod spec;

pub use lone_flow::lone_flow_time;
pub use receiver::{Receiver, Reply};
pub use sender::{Segment, Sender};
pub use spec::{LossRecovery, Transport, TransportSpec};

#[cfg(test)]
mod tests;
