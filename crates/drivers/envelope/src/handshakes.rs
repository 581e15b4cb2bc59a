//! Handshakes of an endpoint: how they begin, and what they change.

use crate::handshake::{self, Initiator};
use crate::peer::{Peer, Pending};
use crate::session::{Names, Role, Session};
use crate::wire::{self, Initiation, Response};
use crate::{Endpoint, Event, OpenError};
use slotline_base::time::Time;

/// A response, as a datagram.
pub type Reply = [u8; wire::RESPONSE];

/// The time from an initiation to the next one: after the first initiation, and the maximum.
pub(crate) const RETRY: [Time; 2] = [Time::ms(100), Time::s(2)];

impl Endpoint {
    /// Appends an initiation to `peer`, which replaces an initiation that waits for its response. Returns whether it
    /// was appended.
    pub(crate) fn initiate(&mut self, number: u32, now: Time, out: &mut Vec<u8>) -> bool {
        let Some(peer) = self.peers.get_mut(&number) else {
            return false;
        };
        let old = peer.pending.take();
        let (began, attempts) = old.as_ref().map_or((now, 0), |old| (old.began, old.attempts));
        peer.initiate_at = now.after(retry_after(attempts));
        peer.last_initiation = Some(now);
        if let Some(old) = old {
            self.indices.remove(old.local);
        }
        let local = self.indices.insert(number);
        let (header, key) = (wire::initiation_header(local), peer.key_to_try(attempts));
        let timestamp = self.timestamps.next(now);
        let Some((noise, message)) = Initiator::begin(&self.own, &key, &header, timestamp) else {
            self.indices.remove(local);
            return false;
        };
        let attempts = attempts + 1;
        let pending = Pending { noise, local, key, began, attempts, wrong_responses: 0 };
        peer.pending = Some(Box::new(pending));
        out.extend_from_slice(&header);
        out.extend_from_slice(&message);
        true
    }
    /// Answers an initiation. The new session waits for its first datagram.
    pub(crate) fn respond(
        &mut self,
        initiation: &Initiation,
        source: u64,
        now: Time,
    ) -> Result<Event<'static>, OpenError> {
        if !self.limiter.admits(source, now) {
            return Err(OpenError::Throttled);
        }
        let received = handshake::receive(&self.own, initiation.header, initiation.noise)
            .ok_or(OpenError::Forged)?;
        let key = received.remote;
        let number = *self.by_key.get(&key).ok_or(OpenError::UnknownPeer(key))?;
        let peer = self.peers.get_mut(&number).ok_or(OpenError::UnknownPeer(key))?;
        if !peer.note_timestamp(key, received.timestamp) {
            return Err(OpenError::Replayed);
        }
        if let Some(old) = peer.next.take() {
            self.indices.remove(old.local());
        }
        let names = Names { local: self.indices.insert(number), remote: initiation.sender };
        let Some((message, secrets)) = received.respond(names.local) else {
            self.indices.remove(names.local);
            return Err(OpenError::Entropy);
        };
        peer.next = Some(Session::new(names, Role::Responder, key, &secrets, now));
        self.reschedule(number, now);
        Ok(Event::Handshake { peer: number, reply: reply(names.remote, &message) })
    }
    /// Handles the response to an initiation of this end.
    pub(crate) fn finish(
        &mut self,
        response: &Response,
        source: u64,
        now: Time,
    ) -> Result<Event<'static>, OpenError> {
        let number = self.indices.find(response.receiver).ok_or(OpenError::UnknownSession)?;
        let peer = self.peers.get_mut(&number).ok_or(OpenError::UnknownSession)?;
        let waits = |pending: &&mut Box<Pending>| pending.local == response.receiver;
        let pending = peer.pending.as_mut().filter(waits).ok_or(OpenError::UnknownSession)?;
        let (remote, secrets) = pending.finish(response)?;
        let names = Names { local: pending.local, remote };
        let session = Session::new(names, Role::Initiator, pending.key, &secrets, now);
        peer.pending = None;
        peer.owes_confirmation = true;
        self.establish(number, session, source, now);
        Ok(Event::Established { peer: number })
    }
    /// Confirms a session that the peer began: its first datagram has arrived, so the initiation was not a replay.
    pub(crate) fn confirm(&mut self, number: u32, source: u64, now: Time) {
        if let Some(session) = self.peers.get_mut(&number).and_then(|peer| peer.next.take()) {
            self.establish(number, session, source, now);
        }
    }
    /// Makes a session the current one.
    fn establish(&mut self, number: u32, session: Box<Session>, source: u64, now: Time) {
        let Some(peer) = self.peers.get_mut(&number) else {
            return;
        };
        if peer.pending.is_none() {
            peer.initiate_at = session.rekey_at(self.own.public(), &self.settings);
        }
        peer.proved_key(session.key());
        if let Some(evicted) = peer.promote(session) {
            self.indices.remove(evicted);
        }
        self.counters.handshakes += 1;
        self.move_source(number, source);
        self.reschedule(number, now);
    }
    fn move_source(&mut self, number: u32, source: u64) {
        let old = self.peers.get_mut(&number).and_then(|peer| peer.source.replace(source));
        if let Some(old) = old.filter(|old| *old != source) {
            self.limiter.forget(old);
        }
        self.limiter.know(source);
    }
    /// Updates the timer of a peer.
    pub(crate) fn reschedule(&mut self, number: u32, now: Time) {
        if let Some(peer) = self.peers.get_mut(&number) {
            let deadline = Peer::next_deadline(peer, now);
            self.timers.set(number, &mut peer.deadline, deadline);
        }
    }
}

fn reply(receiver: u32, message: &[u8]) -> Reply {
    let mut reply = [0; wire::RESPONSE];
    let (header, noise) = reply.split_at_mut(wire::RESPONSE_HEADER);
    header.copy_from_slice(&wire::response_header(receiver));
    noise.copy_from_slice(message);
    reply
}

/// The time after which an initiation is repeated, if `attempts` were made before it.
fn retry_after(attempts: u32) -> Time {
    let [first, most] = RETRY;
    first.times(1 << attempts.min(16)).min(most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retries_slow_down() {
        let times = [0, 1, 4, 5, 1_000].map(retry_after);
        assert_eq!(times, [100, 200, 1_600, 2_000, 2_000].map(Time::ms));
    }
}
