//! A daemon's socket to other daemons. Every datagram is encrypted and authenticated.

use crate::clock::Local;
use crate::message::Message;
use crate::quotas::{Meter, Quotas};
use slotline_envelope::{
    Counters, Endpoint, Event, KeyPair, OpenError, PeerError, PublicKey, Sealed, Settings, Start,
};
use slotline_linux::datagrams::{Datagrams, Share};
use slotline_net::time::Time;
use std::collections::{HashMap, HashSet, VecDeque};
use std::hash::BuildHasher;
use std::hash::RandomState;
use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::os::fd::BorrowedFd;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The largest number of datagrams that are read or written by one call of the kernel.
const BATCH: usize = 64;
/// The largest number of datagrams without a message that are read at once: as many as handshakes may wait.
const BURST: usize = WAITING;
/// The largest number of handshakes that wait. Peers repeat those for which there is no room.
const WAITING: usize = 1_024;
/// A peer that does not answer for this time may have restarted and lost the keys of the session.
const SILENCE: Duration = Duration::from_secs(1);
/// The longest time for which an endpoint is used. Times of the network and of endpoints reach 213 days.
pub(crate) const LONGEST: Duration = Duration::from_secs(200 * 24 * 3_600);

/// Another daemon.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Peer {
    /// Its number: that of its host in the network. Arbiters come last.
    pub number: u32,
    /// The address on which it listens.
    pub address: SocketAddr,
    /// Its public key.
    pub key: PublicKey,
}

/// The address of a peer, the time at which it was heard last, its quota, and its tenant.
struct Known {
    address: SocketAddr,
    heard: Local,
    meter: Meter,
    tenant: Option<usize>,
}

/// The socket, the sessions with peers, and the state of each peer.
pub struct Channel {
    socket: Datagrams,
    endpoint: Endpoint,
    own: KeyPair,
    /// The local time from which the endpoint counts.
    base: Local,
    /// By number.
    peers: Vec<Option<Known>>,
    sources: RandomState,
    /// Handshakes that peers have begun, and where they come from. Messages do not wait behind them.
    handshakes: VecDeque<(Vec<u8>, SocketAddr)>,
    /// The time at which the socket was opened.
    since: Local,
    plain: Vec<u8>,
    quotas: Quotas,
    /// The use of the quotas of tenants.
    tenants: Vec<Meter>,
    over_quota: u64,
    /// Datagrams that earlier endpoints refused.
    refused: u64,
}

/// An endpoint that counts from `now` on. The peers have one or two keys each, the newest first.
fn endpoint(
    own: &KeyPair,
    peers: &[(u32, Vec<PublicKey>)],
    sources: &RandomState,
) -> Result<Endpoint, PeerError> {
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let start = Start { since_1970, seed: sources.hash_one(since_1970) };
    let mut endpoint = Endpoint::new(own.clone(), [], start, Settings::default())?;
    for (peer, keys) in peers {
        keys.iter().rev().try_for_each(|key| endpoint.set_peer_key(*peer, *key))?;
    }
    Ok(endpoint)
}

impl Channel {
    /// Opens the socket of the daemon with this key.
    ///
    /// # Errors
    /// The address cannot be used, or two daemons have the same key.
    pub fn open(
        address: SocketAddr,
        own: KeyPair,
        peers: &[Peer],
        now: Local,
    ) -> io::Result<Channel> {
        Channel::open_share((address, Share::ALL), own, peers, now)
    }
    /// Opens one of several sockets of the daemon. The peers are those whose datagrams arrive at this one.
    ///
    /// # Errors
    /// As for [`Channel::open`].
    pub(crate) fn open_share(
        (address, share): (SocketAddr, Share),
        own: KeyPair,
        peers: &[Peer],
        now: Local,
    ) -> io::Result<Channel> {
        let sources = RandomState::new();
        let keys: Vec<_> = peers.iter().map(|peer| (peer.number, vec![peer.key])).collect();
        let endpoint = endpoint(&own, &keys, &sources)
            .map_err(|error| io::Error::new(ErrorKind::InvalidInput, error))?;
        let mut channel = Channel {
            socket: Datagrams::bind(address, share, BATCH)?,
            endpoint,
            own,
            base: now,
            peers: Vec::new(),
            sources,
            handshakes: VecDeque::new(),
            since: now,
            plain: Vec::new(),
            quotas: Quotas::default(),
            tenants: Vec::new(),
            over_quota: 0,
            refused: 0,
        };
        peers.iter().for_each(|peer| channel.know(peer, now));
        Ok(channel)
    }

    /// Notes the address of a peer.
    fn know(&mut self, peer: &Peer, now: Local) {
        let at = peer.number as usize;
        self.peers.resize_with(self.peers.len().max(at + 1), || None);
        match &mut self.peers[at] {
            Some(known) => known.address = peer.address,
            none => {
                let (address, meter) = (peer.address, Meter::new(self.quotas.each));
                *none = Some(Known { address, heard: now, meter, tenant: None });
            }
        }
    }
    /// A local time as the endpoint counts it.
    fn time(&self, now: Local) -> Time {
        Time::ns(now.0.saturating_sub(self.base.0))
    }
    fn known(&self, peer: u32) -> Option<&Known> {
        self.peers.get(peer as usize)?.as_ref()
    }

    /// Limits the messages that are handled.
    pub fn limit(&mut self, quotas: Quotas) {
        for known in self.peers.iter_mut().flatten() {
            (known.meter, known.tenant) = (Meter::new(quotas.each), None);
        }
        self.tenants = quotas.tenants.iter().map(|(_, quota)| Meter::new(*quota)).collect();
        for (tenant, (members, _)) in quotas.tenants.iter().enumerate() {
            for &member in members {
                if let Some(Some(known)) = self.peers.get_mut(member as usize) {
                    known.tenant = Some(tenant);
                }
            }
        }
        self.quotas = quotas;
    }
    /// Notes a message of a peer. Returns whether it is within the quotas.
    fn counts(&mut self, peer: u32, now: Local) -> bool {
        let Some(Some(known)) = self.peers.get_mut(peer as usize) else { return false };
        known.heard = now;
        let mut tenant = known.tenant.map(|tenant| &mut self.tenants[tenant]);
        let free = |meter: &&mut Meter| meter.admits(now);
        let within = known.meter.admits(now) && tenant.as_ref().is_none_or(free);
        if within {
            known.meter.count(now);
            tenant.iter_mut().for_each(|tenant| tenant.count(now));
        }
        self.over_quota += u64::from(!within);
        within
    }
    /// Messages that were dropped because their sender sent more than its quota.
    pub fn over_quota(&self) -> u64 {
        self.over_quota
    }

    /// Begins anew with another key and other peers.
    fn replace(&mut self, own: &KeyPair, peers: &[Peer], now: Local) -> Result<(), PeerError> {
        let keys: Vec<_> = peers.iter().map(|peer| (peer.number, vec![peer.key])).collect();
        let endpoint = endpoint(own, &keys, &self.sources)?;
        self.refused = self.refused();
        (self.endpoint, self.base, self.own) = (endpoint, now, own.clone());
        self.peers.clear();
        peers.iter().for_each(|peer| self.know(peer, now));
        self.limit(self.quotas.clone());
        Ok(())
    }
    /// Whether a machine has another number among these peers.
    fn renumbers(&self, peers: &[Peer]) -> bool {
        let numbers: HashMap<PublicKey, u32> =
            peers.iter().map(|peer| (peer.key, peer.number)).collect();
        let moved = |known: u32| {
            let keys = self.endpoint.peer_keys(known);
            keys.iter().any(|key| numbers.get(key).is_some_and(|number| *number != known))
        };
        self.numbers().any(moved)
    }

    /// Replaces the own key and the peers. If a peer's key changes, the previous key is accepted as well, until the same
    /// new key is given a second time. Sessions continue. Peers that are not named any more are forgotten. If peers have other
    /// numbers than before, all sessions end, and daemons begin new ones with their next messages.
    ///
    /// # Errors
    /// Two daemons have the same key; a key may belong to the previous keys of another one.
    pub fn renew(&mut self, own: &KeyPair, peers: &[Peer], now: Local) -> Result<(), PeerError> {
        if self.renumbers(peers) {
            return self.replace(own, peers, now);
        }
        let named: HashSet<u32> = peers.iter().map(|peer| peer.number).collect();
        for gone in self.numbers().filter(|number| !named.contains(number)).collect::<Vec<_>>() {
            self.endpoint.remove_peer(gone)?;
            self.peers[gone as usize] = None;
        }
        for peer in peers {
            match self.endpoint.peer_keys(peer.number).first() {
                Some(newest) if *newest == peer.key => {
                    self.endpoint.keep_newest_key(peer.number)?;
                }
                _ => self.endpoint.set_peer_key(peer.number, peer.key)?,
            }
            self.know(peer, now);
        }
        if own.public() != self.endpoint.public_key() {
            self.endpoint.set_own_key(own.clone())?;
            self.own = own.clone();
        }
        Ok(())
    }
    /// The numbers of all peers.
    fn numbers(&self) -> impl Iterator<Item = u32> {
        (0..).zip(&self.peers).filter_map(|(number, known)| known.is_some().then_some(number))
    }

    /// Begins anew with an endpoint that counts from `now` on, with the same keys. All sessions end; daemons begin new
    /// ones with their next messages.
    fn begin_anew(&mut self, now: Local) {
        let keys = |number| (number, self.endpoint.peer_keys(number));
        let peers: Vec<_> = self.numbers().map(keys).collect();
        // The keys are those of the previous endpoint, so they are valid.
        if let Ok(endpoint) = endpoint(&self.own, &peers, &self.sources) {
            self.refused = self.refused();
            (self.endpoint, self.base) = (endpoint, now);
        }
    }

    /// A file descriptor that is readable while datagrams wait.
    pub fn readable(&self) -> BorrowedFd<'_> {
        self.socket.readable()
    }
    /// The number of messages that could not be sent.
    pub fn lost(&self) -> u64 {
        self.socket.lost()
    }
    /// The number of peers that were heard within this time.
    pub fn present(&self, within: Duration, now: Local) -> usize {
        let present = |peer: &&Known| peer.heard > self.since && now.since(peer.heard) < within;
        self.peers.iter().flatten().filter(present).count()
    }
    /// Datagrams that were not messages of a peer.
    pub fn refused(&self) -> u64 {
        let Counters {
            malformed,
            other_version,
            forged,
            replayed,
            unknown_session,
            unknown_peer,
            throttled,
            ..
        } = self.endpoint.counters();
        let reasons =
            [malformed, other_version, forged, replayed, unknown_session, unknown_peer, throttled];
        self.refused + reasons.iter().sum::<u64>()
    }

    /// Sends a message to a peer, with the next [`Channel::attend`] or as soon as there is a session. Returns whether
    /// there is such a peer.
    pub fn send(&mut self, to: u32, message: &Message<'_>, now: Local) -> bool {
        let Some(address) = self.known(to).map(|peer| peer.address) else { return false };
        message.emit(&mut self.plain);
        match self.endpoint.seal(to, &self.plain, self.time(now), self.socket.bytes()) {
            Ok(Sealed::Waiting) => {}
            Ok(Sealed::Datagram | Sealed::Initiation) => self.socket.put(address),
            Err(_) => return false,
        }
        true
    }

    /// The same at once, with a value of the DSCP field. Without a session with the peer, one is begun, and nothing is sent:
    /// what waits for a session would leave without that value.
    pub(crate) fn send_tagged(
        &mut self,
        to: u32,
        message: &Message<'_>,
        dscp: u8,
        now: Local,
    ) -> bool {
        if !self.endpoint.is_ready(to, self.time(now)) {
            // An agent does not answer it.
            self.send(to, &Message::TimeRequest(now), now);
            return false;
        }
        let tagged = self.socket.set_dscp(dscp).is_ok() && self.send(to, message, now);
        self.socket.set_dscp(0).is_ok() && tagged
    }

    /// The next message and its sender; `None` if there is none among the next datagrams. In that case more datagrams
    /// may follow, and the socket remains readable. A flood of datagrams therefore does not keep the daemon from its
    /// work.
    ///
    /// # Errors
    /// The socket has failed.
    pub fn receive(&mut self, now: Local) -> io::Result<Option<(u32, Message<'_>)>> {
        let time = self.time(now);
        for _ in 0..BURST {
            let Some((datagram, source)) = self.socket.receive()? else { return Ok(None) };
            if Endpoint::begins_handshake(datagram) {
                let room = self.handshakes.len() < WAITING;
                self.refused += u64::from(!room);
                self.handshakes.extend(room.then(|| (datagram.to_vec(), source)));
                continue;
            }
            let origin = self.sources.hash_one(source);
            // The endpoint counts errors.
            let Ok(Event::Message { peer, message }) = self.endpoint.open(datagram, origin, time)
            else {
                continue;
            };
            self.plain.clear();
            self.plain.extend_from_slice(message);
            if !self.counts(peer, now) {
                continue;
            }
            if Message::parse(&self.plain).is_some() {
                return Ok(Message::parse(&self.plain).map(|message| (peer, message)));
            }
            self.refused += 1;
        }
        Ok(None)
    }

    /// Answers one handshake, so that messages that arrive meanwhile wait for no further ones. Those that exceed the limits
    /// take no time.
    fn answer_handshake(&mut self, time: Time) {
        while let Some((mut datagram, source)) = self.handshakes.pop_front() {
            let origin = self.sources.hash_one(source);
            match self.endpoint.open(&mut datagram, origin, time) {
                Err(OpenError::Throttled) => continue,
                Ok(Event::Handshake { reply, .. }) => {
                    // If the reply is lost, the sender tries again.
                    self.socket.bytes().extend(reply);
                    self.socket.put(source);
                }
                // The endpoint has counted the error.
                Ok(_) | Err(_) => {}
            }
            return;
        }
    }

    /// Begins a new session with a peer that should have answered and is silent.
    pub fn expect(&mut self, peer: u32, now: Local) {
        let silent = self.known(peer).is_some_and(|known| now.since(known.heard) > SILENCE);
        if silent {
            // The only error is an unknown peer, and this peer is known.
            let _ = self.endpoint.renew(peer, self.time(now));
        }
    }

    /// Sends all messages, and the datagrams that are due: messages that waited for a session, and handshakes. Answers at
    /// most one handshake. Returns the time until there is more to do, besides datagrams that arrive.
    pub fn attend(&mut self, now: Local) -> Duration {
        if now.since(self.base) > LONGEST {
            self.begin_anew(now);
        }
        let time = self.time(now);
        self.answer_handshake(time);
        let next = loop {
            let next = self.endpoint.next_deadline().unwrap_or(Time::MAX);
            if next > time {
                break next.since(time);
            }
            if let Some(peer) = self.endpoint.poll(time, self.socket.bytes())
                && let Some(address) = self.known(peer).map(|peer| peer.address)
            {
                self.socket.put(address);
            }
        };
        self.socket.flush();
        let more = self.socket.has_more() || !self.handshakes.is_empty();
        if more { Duration::ZERO } else { Duration::from_nanos(next.as_ns()) }
    }
}

#[cfg(test)]
#[path = "channel_tests.rs"]
mod tests;
