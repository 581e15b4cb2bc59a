//! One end of secured datagrams: it turns messages into datagrams and datagrams into messages.

use crate::handshakes::Reply;
use crate::indices::Indices;
use crate::keys::{KeyPair, PublicKey};
use crate::limiter::Limiter;
use crate::peer::Peer;
use crate::timers::Timers;
use crate::timestamps::Timestamps;
use crate::wire::{self, DATA_HEADER, Frame, MAX_MESSAGE};
use crate::{Counters, OpenError, PeerError, SealError, Settings, Start};
use slotline_base::time::Time;
use std::collections::BTreeMap;

/// One end: its own key, its peers, and the sessions with them. Times count from the start of the program and never
/// decrease; [`Time`] reaches 213 days.
pub struct Endpoint {
    pub(crate) own: KeyPair,
    pub(crate) settings: Settings,
    /// Peers are boxed, so that the tree is small and fits into a cache.
    pub(crate) peers: BTreeMap<u32, Box<Peer>>,
    pub(crate) by_key: BTreeMap<PublicKey, u32>,
    pub(crate) indices: Indices,
    pub(crate) timers: Timers,
    pub(crate) limiter: Limiter,
    pub(crate) timestamps: Timestamps,
    pub(crate) counters: Counters,
}

/// The result of sealing a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sealed {
    /// The datagram of the message was appended.
    Datagram,
    /// The message waits for a session. The appended initiation begins a session.
    Initiation,
    /// The message waits for a session, and nothing was appended.
    Waiting,
}

/// The meaning of a datagram.
#[derive(Debug, PartialEq, Eq)]
pub enum Event<'a> {
    /// A message.
    Message {
        /// The sender.
        peer: u32,
        /// The message, in the datagram's memory.
        message: &'a [u8],
    },
    /// A keep-alive without a message.
    Alive {
        /// The sender.
        peer: u32,
    },
    /// A peer, or an attacker who recorded it, begins a handshake. The caller sends the reply to the source of the
    /// datagram.
    Handshake {
        /// The peer that begins it.
        peer: u32,
        /// The datagram to send.
        reply: Reply,
    },
    /// A handshake that this end began is complete. [`Endpoint::poll`] returns the messages that waited for it.
    Established {
        /// The peer.
        peer: u32,
    },
}

impl Endpoint {
    /// An end with its own key and with peers, each with a number that the caller chooses.
    pub fn new(
        own: KeyPair,
        peers: impl IntoIterator<Item = (u32, PublicKey)>,
        start: Start,
        settings: Settings,
    ) -> Result<Endpoint, PeerError> {
        let mut endpoint = Endpoint {
            own,
            settings,
            peers: BTreeMap::new(),
            by_key: BTreeMap::new(),
            indices: Indices::new(start.seed),
            timers: Timers::default(),
            limiter: Limiter::new(&settings, start.seed),
            timestamps: Timestamps::new(&start),
            counters: Counters::default(),
        };
        for (peer, key) in peers {
            endpoint.set_peer_key(peer, key)?;
        }
        Ok(endpoint)
    }
    /// The public key of this end.
    pub fn public_key(&self) -> PublicKey {
        self.own.public()
    }
    /// The counters so far.
    pub fn counters(&self) -> Counters {
        self.counters
    }
    /// Whether a message to this peer would be sealed immediately.
    pub fn is_ready(&self, peer: u32, now: Time) -> bool {
        let current = self.peers.get(&peer).and_then(|peer| peer.current.as_ref());
        current.is_some_and(|session| session.may_seal(now))
    }
    /// Seals a message to `peer`, and appends the datagram to `out`. Without a session the message waits, and an
    /// initiation is appended if a handshake has to begin.
    pub fn seal(
        &mut self,
        peer: u32,
        message: &[u8],
        now: Time,
        out: &mut Vec<u8>,
    ) -> Result<Sealed, SealError> {
        match message.len() {
            0 => return Err(SealError::Empty),
            1..=MAX_MESSAGE => {}
            len => return Err(SealError::TooLong(len)),
        }
        let known = self.peers.get_mut(&peer).ok_or(SealError::UnknownPeer(peer))?;
        let Some(session) = known.current.as_mut().filter(|session| session.may_seal(now)) else {
            return Ok(self.wait(peer, message, now, out));
        };
        session.seal(message, out);
        let worn = session.sealed() == self.settings.rekey_after_messages;
        self.counters.sealed += 1;
        if worn {
            self.rekey(peer, now);
        }
        Ok(Sealed::Datagram)
    }
    /// Whether a datagram begins a handshake, if it is valid. To answer it takes far longer than to open a message.
    pub fn begins_handshake(datagram: &[u8]) -> bool {
        matches!(wire::parse(datagram), Ok(Frame::Initiation(_)))
    }
    /// Handles a datagram from the network. `source` represents the address of its sender; initiations are limited per
    /// source. A message is deciphered in place. After an error the contents of the datagram are undefined.
    pub fn open<'a>(
        &mut self,
        datagram: &'a mut [u8],
        source: u64,
        now: Time,
    ) -> Result<Event<'a>, OpenError> {
        let event = match wire::parse(datagram) {
            Ok(Frame::Data { receiver, counter }) => {
                self.open_data(datagram, receiver, counter, source, now)
            }
            Ok(Frame::Initiation(initiation)) => self.respond(&initiation, source, now),
            Ok(Frame::Response(response)) => self.finish(&response, source, now),
            Err(error) => Err(error),
        };
        event.inspect_err(|error| self.counters.count(error))
    }
    fn open_data<'a>(
        &mut self,
        datagram: &'a mut [u8],
        receiver: u32,
        counter: u64,
        source: u64,
        now: Time,
    ) -> Result<Event<'a>, OpenError> {
        let peer = self.indices.find(receiver).ok_or(OpenError::UnknownSession)?;
        let known = self.peers.get_mut(&peer).ok_or(OpenError::UnknownSession)?;
        let session = known.session(receiver).ok_or(OpenError::UnknownSession)?;
        let length = session.open(datagram, counter, now)?;
        if known.is_unconfirmed(receiver) {
            self.confirm(peer, source, now);
        }
        self.counters.opened += 1;
        let message = &datagram[DATA_HEADER..DATA_HEADER + length];
        Ok(if message.is_empty() {
            Event::Alive { peer }
        } else {
            Event::Message { peer, message }
        })
    }
}
