//! Encrypted and authenticated datagrams between daemons, without sockets.
//!
//! An [`Endpoint`] has its own [`KeyPair`] and knows its peers and their public keys, one or two for each. The caller
//! passes in the time and datagrams. The endpoint returns messages and the datagrams to send:
//!
//! - [`Endpoint::seal`] turns a message into a datagram. Without a session, the message waits, and a handshake begins.
//! - [`Endpoint::open`] handles a datagram from the network: a message, or a step of a handshake.
//! - [`Endpoint::poll`] returns the datagrams that are due (waiting messages, retries, new keys), one per call.
//!   [`Endpoint::next_deadline`] says when to call it next. It may change with each `seal` and `open`.
//!
//! The protocol resembles WireGuard: a handshake `Noise_IK_25519_AESGCM_SHA256` of one message in each direction, then
//! AES-256-GCM with an explicit counter in each datagram, and a window against replays. `wire` has the formats.
//!
//! # Guarantees
//!
//! - A datagram that no peer sealed, or that was opened before, gives an error and changes nothing.
//! - A responder uses a new session after a message has arrived in it. A replayed initiation leads to no such message,
//!   so it cannot replace a working session. The previous session remains valid for reception.
//! - The end that began a session begins the next one after 120 s. The other end does so if that has not happened after
//!   150 s (160 s at the end with the greater key, so that the two do not collide). An end also does so when it has
//!   sealed 2^60 messages. A session ends after 180 s. Therefore a reachable peer always has a session, used or not.
//! - Initiations beyond a rate are dropped before any computation on curves. Sources of peers that have or had a
//!   session are exempt from the common rate, but not from the rate per source.
//!
//! # Limits
//!
//! - Messages may be lost or reordered, like the datagrams that carry them.
//! - A peer that restarts has no sessions. Its own first handshake creates new ones. Until then, data that others send
//!   to it is lost, and they do not notice. A caller that receives nothing calls [`Endpoint::renew`].
//! - Timestamps of initiations are kept in memory. After a restart, one recorded initiation may be answered, without
//!   consequences.
//! - An attacker who can send from arbitrary addresses can use up the common rate, and so delay first handshakes of
//!   peers.
//! - Lengths and times of messages, and the indices in headers, are visible. Private keys are not erased from memory.
//!
//! # Measuring
//!
//! `cargo run --release -p slotline-envelope --example measure` prints the time to seal, to open, and of a handshake.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod counters;
mod curve;
mod endpoint;
mod error;
mod handshake;
mod handshakes;
mod indices;
mod keys;
mod limiter;
mod peer;
mod peers;
mod queue;
mod schedule;
mod session;
mod settings;
mod timers;
mod timestamps;
mod window;
pub mod wire;

pub use counters::Counters;
pub use endpoint::{Endpoint, Event, Sealed};
pub use error::{OpenError, PeerError, SealError};
pub use handshakes::Reply;
pub use keys::{KeyError, KeyPair, PublicKey};
pub use settings::{Settings, Start};
