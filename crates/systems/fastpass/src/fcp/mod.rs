//! The two ends of FCP as state machines (Fastpass §5.3). They keep the counts of demand and of grants equal
//! when packets are lost, repeated or delayed, and begin again after one end has lost its counts.
//!
//! The ends have neither clock nor socket: their input is bytes and the time, and their output is bytes and a deadline.
//! No packet is sent twice. Values that were not acknowledged in time are reported again with their latest state.
//! `docs/protocol/fcp.md` is the specification.
//!
//! [`Session`] has the epochs and packet numbers that both ends share. [`EndpointSession`] and
//! [`ArbiterSession`] have the counts of either end. [`receive_all`] and [`send_grants`] serve all sessions
//! of an arbiter at once.

mod arbiter;
mod arrivals;
mod batch;
mod endpoint;
mod flows;
mod grant_queue;
mod session;
#[cfg(test)]
mod tests;
mod window;

pub use arbiter::{ArbiterEvent, ArbiterSession, Denied};
pub use batch::{MessageBatch, SessionGrants, receive_all, send_grants};
pub use endpoint::{EndpointEvent, EndpointSession};
pub use session::{Counters, Session};

use crate::wire::fcp::{Invalid, Key, LONGEST};
use slotline_net::time::Time;

/// The parameters of one end.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// The secret of this pair.
    pub key: Key,
    /// This end's node.
    pub me: u32,
    /// The other end's node.
    pub peer: u32,
    /// The number of nodes in the network. A message that names node `nodes` or a higher one is refused.
    pub nodes: u32,
    /// After this time without an acknowledgement, the values of a packet are reported again. The other end may
    /// wait for a quarter of it before it acknowledges, so it has to be more than 4/3 of a round trip.
    /// Fastpass uses 200 µs.
    pub timeout: Time,
    /// The least time between bursts of packets of one end. Later events go into the next burst.
    /// Fastpass uses 20 µs at the arbiter.
    pub gap: Time,
    /// An endpoint whose last demand is not acknowledged yet waits for this time before it sends more demand.
    /// Zero means as long as `gap`.
    pub quiet_time: Time,
    /// An endpoint that waits for slots and receives nothing requests an answer at this interval.
    pub alive: Time,
    /// The longest message that this end sends, in bytes: from [`SHORTEST`](crate::wire::fcp::SHORTEST) to
    /// [`LONGEST`].
    pub longest: u16,
    /// The seed of the nonces, together with the key. It has to be random, and different after each restart.
    pub seed: u64,
}

impl Config {
    /// Uses Fastpass' time-out (200 µs) and gap (20 µs). An endpoint asks for an answer after 1 ms of
    /// silence.
    pub const fn with_defaults(key: Key, me: u32, peer: u32, nodes: u32, seed: u64) -> Config {
        let (timeout, gap, alive) = (Time::us(200), Time::us(20), Time::ms(1));
        let longest = LONGEST as u16;
        Config { key, me, peer, nodes, timeout, gap, quiet_time: Time::ZERO, alive, longest, seed }
    }
    /// How long an acknowledgement may wait for a packet in the same direction.
    const fn ack_delay(&self) -> Time {
        Time::ps(self.timeout.as_ps() / 4)
    }
}

/// The reason why a message was not accepted. Its content is not used, but an answer may have to be sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Refused {
    /// The bytes are not a message, or not one by an owner of the key.
    #[error(transparent)]
    Invalid(#[from] Invalid),
    /// The message is not from the other end to this one.
    #[error("the message is from node {sender} to node {receiver}, which are not the two ends")]
    Stranger {
        /// The sender.
        sender: u32,
        /// The receiver.
        receiver: u32,
    },
    /// The message names a node that the network does not have.
    #[error("the message names node {node}, but the network has {nodes} nodes")]
    Node {
        /// The number of the node.
        node: u32,
        /// The number of nodes.
        nodes: u32,
    },
    /// The message has a record that only this end sends.
    #[error("the message has a record of the wrong direction")]
    Direction,
    /// The message is of another epoch.
    #[error("the message is of another epoch")]
    Epoch,
    /// The packet number was received before, or is too old for the window.
    #[error("packet {0} was received before, or is too old for the window")]
    Repeated(u64),
}

/// The most slots that may be pending from an endpoint to one destination.
pub const MAX_PENDING: u32 = i32::MAX as u32;

/// The reason why a demand is refused. The state does not change.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum DemandError {
    /// The network has no such destination.
    #[error("the network has no node {0}")]
    NoSuchNode(u32),
    /// More than [`MAX_PENDING`] slots would be pending.
    #[error("more than {MAX_PENDING} slots would be pending to node {0}")]
    TooMuch(u32),
}
