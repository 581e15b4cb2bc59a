//! The state of an endpoint for one peer: its keys, sessions, handshake, and waiting messages.

use crate::OpenError;
use crate::handshake::{Initiator, Secrets};
use crate::keys::PublicKey;
use crate::queue::Queue;
use crate::session::Session;
use crate::wire::Response;
use slotline_base::time::Time;

/// The number of keys that a peer may have at a time: the newest, and the previous one.
const MOST_KEYS: usize = 2;
/// The number of previous sessions that still open datagrams. If both ends begin a handshake at the same time, each end
/// seals in the session that the other one began. If that happens twice in a row, datagrams of the third last session
/// may be in flight.
const MOST_PREVIOUS: usize = 3;
/// The number of wrong responses to one initiation that are read. Each costs a computation on curves.
const MOST_WRONG_RESPONSES: u32 = 16;

/// A key of a peer, and the timestamp of its last initiation.
struct PeerKey {
    key: PublicKey,
    last: u64,
}

/// A handshake that this end began.
pub(crate) struct Pending {
    pub noise: Initiator,
    pub local: u32,
    pub key: PublicKey,
    /// The time of the first initiation, and the number of initiations.
    pub began: Time,
    pub attempts: u32,
    pub wrong_responses: u32,
}

pub(crate) struct Peer {
    /// The keys, the newest first.
    keys: Vec<PeerKey>,
    /// The key of the last handshake that succeeded.
    proved: PublicKey,
    /// The session that seals and opens.
    pub current: Option<Box<Session>>,
    /// A session that only opens: the peer began it, and it is not confirmed yet.
    pub next: Option<Box<Session>>,
    /// Sessions that only open: the previous current ones, the newest first.
    pub previous: Vec<Session>,
    pub pending: Option<Box<Pending>>,
    pub queue: Queue,
    /// Whether the peer has yet to learn that the current session works.
    pub owes_confirmation: bool,
    /// The time to send an initiation; [`Time::MAX`] means never.
    pub initiate_at: Time,
    pub last_initiation: Option<Time>,
    /// The source of the datagram with which the peer last proved its key.
    pub source: Option<u64>,
    /// The deadline in the entry among the timers.
    pub deadline: Time,
}

impl Peer {
    pub fn new(key: PublicKey) -> Peer {
        Peer {
            keys: vec![PeerKey { key, last: 0 }],
            proved: key,
            current: None,
            next: None,
            previous: Vec::new(),
            pending: None,
            queue: Queue::default(),
            owes_confirmation: false,
            initiate_at: Time::MAX,
            last_initiation: None,
            source: None,
            deadline: Time::MAX,
        }
    }
    pub fn keys(&self) -> impl Iterator<Item = PublicKey> {
        self.keys.iter().map(|key| key.key)
    }
    /// Makes `key` the newest one. Returns the key that is no longer accepted.
    pub fn accept_key(&mut self, key: PublicKey) -> Option<PublicKey> {
        let last = self.keys.iter().find(|known| known.key == key).map_or(0, |known| known.last);
        self.keys.retain(|known| known.key != key);
        self.keys.insert(0, PeerKey { key, last });
        self.keep_keys(MOST_KEYS)
    }
    /// Keeps only the newest key. Returns the key that is no longer accepted.
    pub fn keep_newest_key(&mut self) -> Option<PublicKey> {
        self.keep_keys(1)
    }
    fn keep_keys(&mut self, most: usize) -> Option<PublicKey> {
        let dropped = if self.keys.len() > most { self.keys.pop()?.key } else { return None };
        if self.proved == dropped {
            self.proved = self.keys[0].key;
        }
        Some(dropped)
    }
    pub fn proved_key(&mut self, key: PublicKey) {
        self.proved = key;
    }
    /// The key for an attempt. The key that worked last comes first, and then both take turns.
    pub fn key_to_try(&self, attempt: u32) -> PublicKey {
        let other = self.keys().find(|&key| key != self.proved).unwrap_or(self.proved);
        if attempt.is_multiple_of(2) { self.proved } else { other }
    }
    /// Notes the timestamp of an initiation. Returns whether it is greater than the last one of that key.
    pub fn note_timestamp(&mut self, key: PublicKey, timestamp: u64) -> bool {
        let Some(known) = self.keys.iter_mut().find(|known| known.key == key) else {
            return false;
        };
        let newer = timestamp > known.last;
        known.last = known.last.max(timestamp);
        newer
    }
    /// The session with index `local` at this end.
    pub fn session(&mut self, local: u32) -> Option<&mut Session> {
        let new = [&mut self.current, &mut self.next].into_iter().flatten();
        let mut all = new.map(|session| &mut **session).chain(&mut self.previous);
        all.find(|session| session.local() == local)
    }
    pub fn is_unconfirmed(&self, local: u32) -> bool {
        self.next.as_ref().is_some_and(|session| session.local() == local)
    }
    /// Makes a session the current one. Returns the index of the session that is dropped for it.
    pub fn promote(&mut self, session: Box<Session>) -> Option<u32> {
        let old = self.current.replace(session)?;
        self.previous.insert(0, *old);
        let evicted = self.previous.len() > MOST_PREVIOUS;
        self.previous.pop_if(|_| evicted).map(|session| session.local())
    }
    /// Drops the sessions for which `ended` holds. Returns their indices.
    pub fn drop_sessions(&mut self, ended: impl Fn(&Session) -> bool) -> Vec<u32> {
        let new = [&mut self.current, &mut self.next].into_iter();
        new.filter_map(|place| place.take_if(|session| ended(session)))
            .map(|session| session.local())
            .chain(self.previous.extract_if(.., |session| ended(session)).map(|old| old.local()))
            .collect()
    }
    /// The time at which this peer needs attention.
    pub fn next_deadline(&self, now: Time) -> Time {
        if self.has_to_send(now) {
            return Time::ZERO;
        }
        let new = [&self.current, &self.next].into_iter().flatten();
        let sessions = new.map(|session| &**session).chain(&self.previous);
        sessions.map(|session| session.end()).fold(self.initiate_at, Time::min)
    }
    fn has_to_send(&self, now: Time) -> bool {
        let waits = self.owes_confirmation || !self.queue.is_empty();
        waits && self.current.as_ref().is_some_and(|session| session.may_seal(now))
    }
}

impl Pending {
    /// The index that the peer chose, and the keys.
    pub fn finish(&mut self, response: &Response) -> Result<(u32, Secrets), OpenError> {
        if self.wrong_responses >= MOST_WRONG_RESPONSES {
            return Err(OpenError::Throttled);
        }
        self.noise.finish(response).ok_or_else(|| {
            self.wrong_responses += 1;
            OpenError::Forged
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(n: u8) -> PublicKey {
        PublicKey::from_bytes([n; 32])
    }

    #[test]
    fn at_most_two_keys_are_accepted() {
        let mut peer = Peer::new(key(1));
        assert_eq!(peer.accept_key(key(1)), None);
        assert_eq!(peer.accept_key(key(2)), None);
        assert_eq!([0, 1, 2].map(|attempt| peer.key_to_try(attempt)), [key(1), key(2), key(1)]);
        assert_eq!(peer.accept_key(key(3)), Some(key(1)));
        assert_eq!([0, 1].map(|attempt| peer.key_to_try(attempt)), [key(3), key(2)]);
        assert_eq!(peer.accept_key(key(2)), None);
        assert_eq!(peer.keep_newest_key(), Some(key(3)));
        assert_eq!(peer.keep_newest_key(), None);
        assert_eq!(peer.keys().collect::<Vec<_>>(), [key(2)]);
    }

    #[test]
    fn each_key_has_its_own_timestamps() {
        let mut peer = Peer::new(key(1));
        assert!(peer.note_timestamp(key(1), 1_000));
        assert!(!peer.note_timestamp(key(1), 1_000));
        peer.accept_key(key(2));
        assert!(peer.note_timestamp(key(2), 10));
        peer.accept_key(key(1));
        assert!(!peer.note_timestamp(key(1), 999));
        assert!(!peer.note_timestamp(key(3), 5_000));
    }
}
