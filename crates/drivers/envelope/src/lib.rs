//! Encrypted and authenticated datagrams between daemons, without sockets.
//!
//! An [`Endpoint`] has its own [`KeyPair`] and knows the public keys of its peers, each with one or two keys. A caller
//! passes it time and datagrams, and it returns messages and the datagrams to send:
//!
//! - [`Endpoint::seal`] makes a datagram of a message. Without a session, the message waits, and a handshake begins.
//! - [`Endpoint::open`] takes a datagram from the network: a message, or a step of a handshake.
//! - [`Endpoint::poll`] makes the datagrams that are due (waiting messages, retries, new keys), until it has none, and
//!   [`Endpoint::next_deadline`] says when to call it again. A caller asks after each `seal` and `open`.
//!
//! The protocol is in the manner of WireGuard: a handshake `Noise_IK_25519_AESGCM_SHA256` of one message each way, then
//! AES-256-GCM with an explicit counter in each datagram, and a window against replays. `wire` has the formats.
//!
//! # What holds
//!
//! - A datagram that was not sealed by a peer, or was opened before, gives an error and changes nothing.
//! - A responder uses a new session once a message arrived under it. A replayed initiation leads to no such message, so
//!   it cannot displace a session that works. The session before remains valid for reception.
//! - The end that began a session begins the next after 120 s; the other one does if that has not happened
//!   after 150 s (160 s at the end with the greater key, so that the two do not collide). An end does so as well once it
//!   has sealed 2^60 messages. A session ends after 180 s. So a peer that can be reached always has a session, used or not.
//! - Initiations beyond a rate are dropped before any arithmetic on curves. Sources of peers that have or had a session
//!   are exempt from the common rate, not from the rate per source.
//!
//! # What does not
//!
//! - Messages may be lost, and may overtake each other, like the datagrams that carry them.
//! - A peer that restarts has no sessions. Its own first handshake makes new ones. Until then, what others send it is lost,
//!   and they do not notice: a caller that hears nothing calls [`Endpoint::renew`].
//! - Timestamps of initiations are kept in memory: after a restart, one recorded initiation may be answered. Nothing
//!   follows from that.
//! - Who can send from arbitrary addresses can use up the common rate, and so delay first handshakes of peers.
//! - Lengths and times of messages, and the indices in headers, are visible. Private keys are not wiped from memory.
//!
//! # Measuring
//!
//! `cargo run --release -p slotline-envelope --example measure` prints the time to seal and to open, and of a handshake.
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
