//! Counters of an endpoint.

use crate::OpenError;

/// Counts since the start of an endpoint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Data datagrams that were opened, including those without a message.
    pub opened: u64,
    /// Data datagrams that were made.
    pub sealed: u64,
    /// Datagrams that do not belong to this protocol: too short, of an unknown type, or with reserved bits set.
    pub malformed: u64,
    /// Initiations and responses of versions that this program does not speak.
    pub other_version: u64,
    /// Datagrams whose authentication failed.
    pub forged: u64,
    /// Datagrams and initiations that were received before, or are too old to tell.
    pub replayed: u64,
    /// Datagrams of sessions and handshakes that do not exist (any more).
    pub unknown_session: u64,
    /// Initiations with a key that no peer has.
    pub unknown_peer: u64,
    /// Initiations beyond the rates, and responses after many wrong responses to an initiation. They are dropped
    /// without being read.
    pub throttled: u64,
    /// Sessions that came into use: a response arrived, or the first datagram in a session that a peer began.
    pub handshakes: u64,
    /// Messages that waited for a session and were dropped because there were too many or the peer did not answer.
    pub dropped: u64,
}

impl Counters {
    pub(crate) fn count(&mut self, error: &OpenError) {
        *match error {
            OpenError::Malformed(_) => &mut self.malformed,
            OpenError::Version { .. } => &mut self.other_version,
            OpenError::Forged => &mut self.forged,
            OpenError::Replayed => &mut self.replayed,
            OpenError::UnknownSession => &mut self.unknown_session,
            OpenError::UnknownPeer(_) => &mut self.unknown_peer,
            OpenError::Throttled => &mut self.throttled,
            OpenError::Entropy => return,
        } += 1;
    }
}
