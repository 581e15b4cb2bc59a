//! The reasons why a message is not sealed, a datagram not opened, or a peer refused.

use crate::PublicKey;
use crate::wire::{MAX_MESSAGE, VERSION};
use thiserror::Error;

/// The reason why a message was not sealed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SealError {
    /// No key is known for this peer.
    #[error("peer {0} has no key; set one before messages go to it")]
    UnknownPeer(u32),
    /// The message does not fit into a datagram.
    #[error("a message of {0} bytes does not fit into a datagram; at most {MAX_MESSAGE} do")]
    TooLong(usize),
    /// The message is empty. The protocol uses empty messages itself.
    #[error("an empty message is never delivered; a message has at least one byte")]
    Empty,
}

/// The reason why a datagram was not opened. The endpoint has not changed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum OpenError {
    /// The datagram does not belong to this protocol, with the reason.
    #[error("the datagram is not of this protocol: {0}")]
    Malformed(&'static str),
    /// The datagram names versions of the protocol that this program does not support.
    #[error(
        "the peer speaks versions {lowest} to {highest} of the protocol, and this program speaks {VERSION}"
    )]
    Version {
        /// The lowest version that the peer names.
        lowest: u8,
        /// The highest version that the peer names.
        highest: u8,
    },
    /// The authentication failed: the datagram was altered, or made with another key.
    #[error("the authentication of the datagram failed")]
    Forged,
    /// The datagram was received before, or is too old to tell.
    #[error("the datagram was received before, or is too old")]
    Replayed,
    /// The session or handshake of the datagram does not exist (any more).
    #[error("the datagram belongs to no session; its sender has to begin a handshake")]
    UnknownSession,
    /// A handshake with a key that no peer has.
    #[error("the handshake uses the key {0}, which no peer has")]
    UnknownPeer(PublicKey),
    /// More initiations than the rates allow, or too many wrong responses to an initiation.
    #[error("more handshakes than the rates allow; the peer will try again")]
    Throttled,
    /// The operating system provides no random bytes, so the initiation is not answered.
    #[error("the system provides no random bytes")]
    Entropy,
}

/// The reason why a peer or its key was refused.
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
        /// The peer that has the key.
        peer: u32,
    },
    /// The key is that of this endpoint.
    #[error("the key {0} is that of this endpoint; each peer needs a key of its own")]
    OwnKey(PublicKey),
    /// There are as many peers as an endpoint can have.
    #[error("an endpoint has at most {0} peers")]
    TooMany(usize),
}
