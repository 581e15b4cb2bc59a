//! Tasks of an endpoint that depend on time: waiting messages, retries, new sessions, and the end of old sessions.

use crate::handshakes::RETRY;
use crate::{Endpoint, PeerError, Sealed};
use slotline_base::time::Time;

/// The time for which initiations are repeated without an answer. Then the waiting messages are dropped, and the next
/// message starts again.
const GIVE_UP_AFTER: Time = Time::s(90);
/// The minimum time between handshakes that [`Endpoint::renew`] begins.
const RENEW_AFTER: Time = Time::s(1);

impl Endpoint {
    /// The earliest time at which [`Endpoint::poll`] has something to do. It may be in the past.
    pub fn next_deadline(&self) -> Option<Time> {
        self.timers.next()
    }
    /// Appends a datagram that is due to `out`, and returns its destination. `None` if nothing more is due.
    pub fn poll(&mut self, now: Time, out: &mut Vec<u8>) -> Option<u32> {
        while let Some(peer) = self.timers.due(now) {
            self.expire(peer, now);
            let sends = self.send_waiting(peer, now, out) || self.initiate_if_due(peer, now, out);
            self.reschedule(peer, now);
            if sends {
                return Some(peer);
            }
        }
        None
    }
    /// Begins a handshake with `peer` at the next call of [`Endpoint::poll`]: to have a session before the first
    /// message, or because the peer does not answer any more. At most one begins per second.
    pub fn renew(&mut self, peer: u32, now: Time) -> Result<(), PeerError> {
        let known = self.peers.get(&peer).ok_or(PeerError::UnknownPeer(peer))?;
        let earliest = known.last_initiation.map_or(now, |last| last.after(RENEW_AFTER).max(now));
        self.initiate_by(peer, earliest, now);
        Ok(())
    }
    /// Begins a new session, because the current one has sealed enough messages.
    pub(crate) fn rekey(&mut self, peer: u32, now: Time) {
        self.initiate_by(peer, now, now);
    }
    /// Makes a handshake begin at `time` at the latest, unless one is in progress.
    fn initiate_by(&mut self, number: u32, time: Time, now: Time) {
        if let Some(peer) = self.peers.get_mut(&number).filter(|peer| peer.pending.is_none()) {
            peer.initiate_at = peer.initiate_at.min(time);
        }
        self.reschedule(number, now);
    }
    /// Stores a message without a session. A session that the peer has begun gets the time of a retry to be confirmed.
    pub(crate) fn wait(
        &mut self,
        number: u32,
        message: &[u8],
        now: Time,
        out: &mut Vec<u8>,
    ) -> Sealed {
        let Some(peer) = self.peers.get_mut(&number) else {
            return Sealed::Waiting;
        };
        self.counters.dropped += peer.queue.push(message, &self.settings);
        let confirmed = peer.next.as_ref().map_or(now, |next| next.created().after(RETRY[0]));
        self.initiate_by(number, confirmed.max(now), now);
        let initiates = self.initiate_if_due(number, now, out);
        self.reschedule(number, now);
        if initiates { Sealed::Initiation } else { Sealed::Waiting }
    }
    fn send_waiting(&mut self, number: u32, now: Time, out: &mut Vec<u8>) -> bool {
        let Some(peer) = self.peers.get_mut(&number) else {
            return false;
        };
        let Some(session) = peer.current.as_mut().filter(|session| session.may_seal(now)) else {
            return false;
        };
        let owes_confirmation = std::mem::take(&mut peer.owes_confirmation);
        let message = peer.queue.pop();
        if message.is_none() && !owes_confirmation {
            return false;
        }
        session.seal(&message.unwrap_or_default(), out);
        self.counters.sealed += 1;
        true
    }
    fn initiate_if_due(&mut self, number: u32, now: Time, out: &mut Vec<u8>) -> bool {
        match self.peers.get(&number) {
            Some(peer) if peer.initiate_at <= now => self.initiate(number, now, out),
            _ => false,
        }
    }
    /// Ends sessions that are too old, and a handshake without an answer.
    fn expire(&mut self, number: u32, now: Time) {
        let Some(peer) = self.peers.get_mut(&number) else {
            return;
        };
        let mut indices = peer.drop_sessions(|session| session.end() <= now);
        let gives_up = peer.initiate_at <= now;
        let pending =
            peer.pending.take_if(|pending| gives_up && now.since(pending.began) >= GIVE_UP_AFTER);
        if let Some(pending) = pending {
            peer.initiate_at = Time::MAX;
            self.counters.dropped += peer.queue.clear();
            indices.push(pending.local);
        }
        self.free(indices);
    }
}
