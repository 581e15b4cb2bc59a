//! Reliable transport over segments, as state machines without I/O.
//!
//! Sequence numbers count segments of a connection. A connection carries messages (flows) one after
//! another; each takes whole segments, of which the last may be short.

pub mod congestion;
pub mod receiver;
pub mod rtt;
pub mod scoreboard;
pub mod sender;
pub mod spec;

pub use receiver::{Receiver, Reply};
pub use sender::{Segment, Sender};
pub use spec::{Transport, TransportSpec};
