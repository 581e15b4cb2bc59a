//! The peers of an endpoint and their keys, which may change at run time.

use crate::indices;
use crate::keys::{KeyPair, PublicKey};
use crate::peer::Peer;
use crate::{Endpoint, PeerError};
use slotline_base::time::Time;

/// A peer has at most five sessions, a handshake, and a session that is about to replace another one.
const MOST_PEERS: usize = indices::MOST / 8;

impl Endpoint {
    /// Adds a peer, or gives a peer another key. The previous key remains accepted, so a rotation interrupts nothing.
    /// Give every end the new key, then let its owner use it ([`Endpoint::set_own_key`]). Call
    /// [`Endpoint::keep_newest_key`] when sessions with the old key have ended (after 190 s). A third key ends the
    /// first one, with its sessions.
    pub fn set_peer_key(&mut self, peer: u32, key: PublicKey) -> Result<(), PeerError> {
        self.check_key(peer, key)?;
        self.by_key.insert(key, peer);
        match self.peers.get_mut(&peer) {
            Some(known) => {
                let dropped = known.accept_key(key);
                self.revoke(peer, dropped);
            }
            None => _ = self.peers.insert(peer, Box::new(Peer::new(key))),
        }
        Ok(())
    }
    fn check_key(&self, peer: u32, key: PublicKey) -> Result<(), PeerError> {
        if key == self.own.public() {
            return Err(PeerError::OwnKey(key));
        }
        match self.by_key.get(&key) {
            Some(&other) if other != peer => Err(PeerError::KeyOfOtherPeer { key, peer: other }),
            None if self.peers.len() >= MOST_PEERS && !self.peers.contains_key(&peer) => {
                Err(PeerError::TooMany(MOST_PEERS))
            }
            _ => Ok(()),
        }
    }
    /// Ends the rotation of a peer's key: only the newest one is accepted, and sessions with the other one end.
    pub fn keep_newest_key(&mut self, peer: u32) -> Result<(), PeerError> {
        let known = self.peers.get_mut(&peer).ok_or(PeerError::UnknownPeer(peer))?;
        let dropped = known.keep_newest_key();
        self.revoke(peer, dropped);
        Ok(())
    }
    /// Removes a peer with its keys and sessions. Messages that wait for it are dropped.
    pub fn remove_peer(&mut self, peer: u32) -> Result<(), PeerError> {
        let mut gone = self.peers.remove(&peer).ok_or(PeerError::UnknownPeer(peer))?;
        self.timers.set(peer, &mut gone.deadline, Time::MAX);
        self.by_key.retain(|_, owner| *owner != peer);
        self.counters.dropped += gone.queue.clear();
        if let Some(source) = gone.source {
            self.limiter.forget(source);
        }
        let pending = gone.pending.take().map(|pending| pending.local);
        self.free(gone.drop_sessions(|_| true).into_iter().chain(pending));
        Ok(())
    }
    /// Replaces the key of this endpoint. Sessions remain; handshakes that begin later use the new key.
    pub fn set_own_key(&mut self, own: KeyPair) -> Result<(), PeerError> {
        if let Some(&peer) = self.by_key.get(&own.public()) {
            return Err(PeerError::KeyOfOtherPeer { key: own.public(), peer });
        }
        self.own = own;
        Ok(())
    }
    /// The keys of a peer that are accepted, the newest first.
    pub fn peer_keys(&self, peer: u32) -> Vec<PublicKey> {
        self.peers.get(&peer).into_iter().flat_map(|peer| peer.keys()).collect()
    }
    /// Ends the sessions and the handshake that use a key.
    fn revoke(&mut self, number: u32, key: Option<PublicKey>) {
        let (Some(key), Some(peer)) = (key, self.peers.get_mut(&number)) else {
            return;
        };
        self.by_key.remove(&key);
        let mut indices = peer.drop_sessions(|session| session.key() == key);
        let pending = peer.pending.take_if(|pending| pending.key == key);
        indices.extend(pending.map(|pending| pending.local));
        if !indices.is_empty() {
            peer.initiate_at = Time::ZERO;
        }
        self.free(indices);
        self.reschedule(number, Time::ZERO);
    }
    pub(crate) fn free(&mut self, indices: impl IntoIterator<Item = u32>) {
        indices.into_iter().for_each(|index| self.indices.remove(index));
    }
}
