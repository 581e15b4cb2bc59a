//! FCP's two ends as state machines (Fastpass §5.3): what a packet's loss, repetition or delay does to
//! the counts of demand and of grants, and how both ends begin again after one has lost them.
//!
//! Neither clock nor socket: bytes and the time come in, bytes and a deadline go out. Nothing is ever
//! sent twice: what was not acknowledged in time is reported anew, as it is by then.
//! `docs/protocol/fcp.md` is the specification.

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

/// What an end has to know of the other one.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// The secret of this pair.
    pub key: Key,
    /// This end's node.
    pub me: u32,
    /// The other end's node.
    pub peer: u32,
    /// Nodes of the network: a message that names node `nodes` or a higher one is refused.
    pub nodes: u32,
    /// After this time without an acknowledgement, what a packet said is reported again. The other end
    /// may wait for a quarter of it before it acknowledges, so it is more than 4/3 of a round trip.
    /// Fastpass: 200 µs.
    pub timeout: Time,
    /// At least this long between bursts of packets of one end; what comes up meanwhile goes into the
    /// next. Fastpass: 20 µs at the arbiter.
    pub gap: Time,
    /// An endpoint whose last demand is not acknowledged yet waits for so long before it says what more it
    /// wants. Zero: as long as `gap` says.
    pub quiet_time: Time,
    /// An endpoint that waits for slots and hears nothing asks for an answer this often.
    pub alive: Time,
    /// The longest message that this end sends, in bytes: from [`SHORTEST`](crate::wire::fcp::SHORTEST) to
    /// [`LONGEST`].
    pub longest: u16,
    /// The nonces come from this and the key: random, and never the same after a restart.
    pub seed: u64,
}

impl Config {
    /// With Fastpass' time-out (200 µs) and gap (20 µs), and 1 ms of silence before an endpoint asks.
    pub const fn with_defaults(key: Key, me: u32, peer: u32, nodes: u32, seed: u64) -> Config {
        let (timeout, gap, alive) = (Time::us(200), Time::us(20), Time::ms(1));
        let longest = LONGEST as u16;
        Config { key, me, peer, nodes, timeout, gap, quiet_time: Time::ZERO, alive, longest, seed }
    }
    /// How long an acknowledgement may wait for a packet that goes the same way.
    const fn ack_delay(&self) -> Time {
        Time::ps(self.timeout.as_ps() / 4)
    }
}

/// Why a message was not accepted. Nothing of it was used, but that its sender may have to begin again.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Refused {
    /// Not a message, or not one by who has the key.
    #[error(transparent)]
    Invalid(#[from] Invalid),
    /// Not from the other end to this one.
    #[error("from node {sender} to node {receiver}, which are not the two ends")]
    Stranger {
        /// The sender.
        sender: u32,
        /// The receiver.
        receiver: u32,
    },
    /// A node that the network does not have.
    #[error("names node {node} of {nodes}")]
    Node {
        /// The node named.
        node: u32,
        /// How many there are.
        nodes: u32,
    },
    /// A record that only this end sends.
    #[error("has a record that only goes the other way")]
    Direction,
    /// Of an epoch that is not the present one.
    #[error("of another epoch")]
    Epoch,
    /// A packet number that was received before, or is too old to tell.
    #[error("packet {0} was received before, or is too old to tell")]
    Repeated(u64),
}

/// The most slots that an endpoint can wait for to one destination.
pub const MAX_PENDING: u32 = i32::MAX as u32;

/// A demand that is not taken; nothing has changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum DemandError {
    /// A destination that the network does not have.
    #[error("the network has no node {0}")]
    NoSuchNode(u32),
    /// More than [`MAX_PENDING`] slots.
    #[error("more than {MAX_PENDING} slots would be pending to node {0}")]
    TooMuch(u32),
}
