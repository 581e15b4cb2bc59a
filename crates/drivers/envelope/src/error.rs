//! Why a message is not sealed, a datagram not opened, or a peer not taken.

use crate::PublicKey;
use crate::wire::{MAX_MESSAGE, VERSION};
use thiserror::Error;

/// Why a message was not sealed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SealError {
    /// No key is known for this peer.
    #[error("peer {0} has no key; set one before messages go to it")]
    UnknownPeer(u32),
    /// The message does not fit into a datagram.
    #[error("a message of {0} bytes does not fit into a datagram; at most {MAX_MESSAGE} do")]
    TooLong(usize),
    /// An empty message, which the protocol uses itself.
    #[error("an empty message is never delivered; a message has at least one byte")]
    Empty,
}

/// Why a datagram was not opened. It changed nothing.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum OpenError {
    /// It is not of this protocol, with what is wrong.
    #[error("the datagram is not of this protocol: {0}")]
    Malformed(&'static str),
    /// It names versions of the protocol that this program does not speak.
    #[error(
        "the peer speaks versions {lowest} to {highest} of the protocol, and this program {VERSION}"
    )]
    Version {
        /// The lowest version that the peer names.
        lowest: u8,
        /// The highest version that the peer names.
        highest: u8,
    },
    /// The authentication failed: it was altered, or made with another key.
    #[error("the authentication of the datagram failed")]
    Forged,
    /// It was received before, or is too old to know.
    #[error("the datagram was received before, or is too old")]
    Replayed,
    /// Its session or handshake does not exist (any more).
    #[error("the datagram is of no session; its sender has to begin a handshake")]
    UnknownSession,
    /// A handshake by a key that no peer has.
    #[error("the handshake is by the key {0}, which no peer has")]
    UnknownPeer(PublicKey),
    /// More initiations than the rates allow, or too many wrong responses to one.
    #[error("more handshakes than the rates allow; the peer will try again")]
    Throttled,
    /// The system gives no random bytes, so there is no answer to the initiation.
    #[error("the system gives no random bytes")]
    Entropy,
}

/// Why a peer or its key was not taken.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PeerError {
    /// No key is known for this peer.
    #[error("peer {0} has no key")]
    UnknownPeer(u32),
    /// Another peer has this key.
    #[error("the key {key} is that of peer {peer}; each peer needs a key of its own")]
    KeyOfOtherPeer {
        /// The key.
        key: PublicKey,
        /// Who has it.
        peer: u32,
    },
    /// The key is that of this endpoint.
    #[error("the key {0} is that of this endpoint; each peer needs a key of its own")]
    OwnKey(PublicKey),
    /// There are as many peers as an endpoint can have.
    #[error("an endpoint has at most {0} peers")]
    TooMany(usize),
}
