//! A daemon's socket to other daemons. Every datagram is encrypted and authenticated.

use crate::clock::Local;
use crate::message::Message;
use slotline_envelope::{
    Counters, Endpoint, Event, KeyPair, PeerError, PublicKey, Sealed, Settings, Start,
};
use slotline_linux::datagrams::Datagrams;
use slotline_net::time::Time;
use std::hash::BuildHasher;
use std::hash::RandomState;
use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::os::fd::BorrowedFd;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The largest number of datagrams that are read or written by one call of the kernel.
const BATCH: usize = 64;
/// The largest number of datagrams without a message that are read at once.
const BURST: usize = 64;
/// A peer that does not answer for this time may have restarted and lost the keys of the session.
const SILENCE: Duration = Duration::from_secs(1);

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

/// The own key, and the public keys of peers by number.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Keys {
    /// The daemon's own key.
    pub own: KeyPair,
    /// The public keys of peers.
    pub peers: Vec<(u32, PublicKey)>,
}

impl Keys {
    /// A daemon's own key and those of its peers.
    pub fn of(own: &KeyPair, peers: &[Peer]) -> Keys {
        let peers = peers.iter().map(|peer| (peer.number, peer.key)).collect();
        Keys { own: own.clone(), peers }
    }
}

/// The time for which a peer may send faster than its quota, by how much it may be ahead.
const AHEAD: Duration = Duration::from_millis(100);

/// The address of a peer, the time at which it was heard last, and the time until which it has used its quota.
struct Known {
    address: SocketAddr,
    heard: Local,
    used: Local,
}

impl Known {
    /// Handles a message, which takes `share` of the peer's quota. Returns whether it is within the quota.
    fn hears(&mut self, now: Local, share: Duration) -> bool {
        self.heard = now;
        let within = self.used <= now.after(AHEAD);
        if within {
            self.used = self.used.max(now).after(share);
        }
        within
    }
}

/// The socket, the sessions with peers, and the state of each peer.
pub struct Channel {
    socket: Datagrams,
    endpoint: Endpoint,
    /// By number.
    peers: Vec<Option<Known>>,
    sources: RandomState,
    /// The time at which the socket was opened.
    since: Local,
    plain: Vec<u8>,
    unreadable: u64,
    /// The time between messages of a peer that sends as many as its quota permits.
    share: Duration,
    over_quota: u64,
}

/// A local time as the envelope counts it.
fn time(now: Local) -> Time {
    Time::ns(now.0)
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
        let sources = RandomState::new();
        let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let start = Start {
            since_1970: since_1970.saturating_sub(Duration::from_nanos(now.0)),
            seed: sources.hash_one(since_1970),
        };
        let keys = peers.iter().map(|peer| (peer.number, peer.key));
        let endpoint = Endpoint::new(own, keys, start, Settings::default())
            .map_err(|error| io::Error::new(ErrorKind::InvalidInput, error))?;
        let mut channel = Channel {
            socket: Datagrams::bind(address, BATCH)?,
            endpoint,
            peers: Vec::new(),
            sources,
            since: now,
            plain: Vec::new(),
            unreadable: 0,
            share: Duration::ZERO,
            over_quota: 0,
        };
        peers.iter().for_each(|peer| channel.know(peer, now));
        Ok(channel)
    }

    /// Notes the address of a peer.
    fn know(&mut self, peer: &Peer, now: Local) {
        let at = peer.number as usize;
        self.peers.resize_with(self.peers.len().max(at + 1), || None);
        self.peers[at] = Some(Known { address: peer.address, heard: now, used: now });
    }
    fn known(&self, peer: u32) -> Option<&Known> {
        self.peers.get(peer as usize)?.as_ref()
    }

    /// Limits the messages per second that are handled from each peer.
    pub fn limit(&mut self, messages: u32) {
        self.share = Duration::from_secs(1) / messages.max(1);
    }
    /// Messages that were dropped because their sender sent more than its quota.
    pub fn over_quota(&self) -> u64 {
        self.over_quota
    }

    /// Replaces the keys. If a peer's key changes, the previous key is accepted as well, until the same new key is
    /// given a second time. Sessions continue.
    ///
    /// # Errors
    /// Two daemons have the same key.
    pub fn rekey(&mut self, keys: &Keys) -> Result<(), PeerError> {
        for &(peer, key) in &keys.peers {
            match self.endpoint.peer_keys(peer).first() {
                Some(newest) if *newest == key => self.endpoint.keep_newest_key(peer)?,
                _ => self.endpoint.set_peer_key(peer, key)?,
            }
        }
        if keys.own.public() != self.endpoint.public_key() {
            self.endpoint.set_own_key(keys.own.clone())?;
        }
        Ok(())
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
        self.unreadable + reasons.iter().sum::<u64>()
    }

    /// Sends a message to a peer, with the next [`Channel::attend`] or as soon as there is a session. Returns whether
    /// there is such a peer.
    pub fn send(&mut self, to: u32, message: &Message<'_>, now: Local) -> bool {
        let Some(address) = self.known(to).map(|peer| peer.address) else { return false };
        message.emit(&mut self.plain);
        match self.endpoint.seal(to, &self.plain, time(now), self.socket.bytes()) {
            Ok(Sealed::Waiting) => {}
            Ok(Sealed::Datagram | Sealed::Initiation) => self.socket.put(address),
            Err(_) => return false,
        }
        true
    }

    /// The next message and its sender; `None` if there is none among the next datagrams. In that case more datagrams
    /// may follow, and the socket remains readable. A flood of datagrams therefore does not keep the daemon from its
    /// work.
    ///
    /// # Errors
    /// The socket has failed.
    pub fn receive(&mut self, now: Local) -> io::Result<Option<(u32, Message<'_>)>> {
        for _ in 0..BURST {
            let Some((datagram, source)) = self.socket.receive()? else { return Ok(None) };
            let origin = self.sources.hash_one(source);
            match self.endpoint.open(datagram, origin, time(now)) {
                Ok(Event::Message { peer, message }) => {
                    let known = self.peers.get_mut(peer as usize).and_then(Option::as_mut);
                    if !known.is_some_and(|known| known.hears(now, self.share)) {
                        self.over_quota += 1;
                        continue;
                    }
                    self.plain.clear();
                    self.plain.extend_from_slice(message);
                    if Message::parse(&self.plain).is_some() {
                        return Ok(Message::parse(&self.plain).map(|message| (peer, message)));
                    }
                    self.unreadable += 1;
                }
                Ok(Event::Handshake { reply, .. }) => {
                    // If the reply is lost, the sender tries again.
                    self.socket.bytes().extend(reply);
                    self.socket.put(source);
                }
                // The endpoint has counted the error.
                Ok(Event::Alive { .. } | Event::Established { .. }) | Err(_) => {}
            }
        }
        Ok(None)
    }

    /// Begins a new session with a peer that should have answered and is silent.
    pub fn expect(&mut self, peer: u32, now: Local) {
        let silent = self.known(peer).is_some_and(|known| now.since(known.heard) > SILENCE);
        if silent {
            // The only error is an unknown peer, and this peer is known.
            let _ = self.endpoint.renew(peer, time(now));
        }
    }

    /// Sends all messages, and the datagrams that are due: messages that waited for a session, and handshakes. Returns
    /// the time until there is more to do, besides datagrams that arrive.
    pub fn attend(&mut self, now: Local) -> Duration {
        let next = loop {
            let next = self.endpoint.next_deadline().unwrap_or(Time::MAX);
            if next > time(now) {
                break next.since(time(now));
            }
            if let Some(peer) = self.endpoint.poll(time(now), self.socket.bytes())
                && let Some(address) = self.known(peer).map(|peer| peer.address)
            {
                self.socket.put(address);
            }
        };
        self.socket.flush();
        if self.socket.has_more() { Duration::ZERO } else { Duration::from_nanos(next.as_ns()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use slotline_net::frame::{Kind, Packet};
    use slotline_net::id::HostId;
    use std::net::{Ipv4Addr, UdpSocket};

    const NOW: Local = Local(1_000);

    fn key(number: u8) -> KeyPair {
        KeyPair::from_private([number + 1; 32])
    }
    /// Two daemons that know each other, and the address of the second.
    fn pair() -> (Channel, Channel, SocketAddr) {
        let free = || UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap();
        let (one, two) = (free(), free());
        let peer = |number: u8, address| Peer {
            number: number.into(),
            address,
            key: key(number).public(),
        };
        let first = Channel::open(one, key(0), &[peer(1, two)], NOW).unwrap();
        let second = Channel::open(two, key(1), &[peer(0, one)], NOW).unwrap();
        (first, second, two)
    }
    /// Lets both daemons do what is due until the second one has received a message.
    fn heard(first: &mut Channel, second: &mut Channel, now: Local) -> Option<(u32, Vec<u8>)> {
        for _ in 0..50 {
            assert_eq!(first.receive(now).unwrap(), None);
            first.attend(now);
            if let Some((from, Message::Control(_, payload))) = second.receive(NOW).unwrap() {
                return Some((from, payload.to_vec()));
            }
            second.attend(NOW);
            std::thread::sleep(Duration::from_millis(1));
        }
        None
    }
    fn message(payload: &[u8]) -> Message<'_> {
        let dst = HostId(1);
        Message::Control(Packet { dst, len: 84, kind: Kind::Control, ..Packet::default() }, payload)
    }

    #[test]
    fn a_message_comes_with_the_number_of_who_sent_it() {
        let (mut first, mut second, _) = pair();
        assert!(first.send(1, &message(b"demand"), NOW));
        assert_eq!(heard(&mut first, &mut second, NOW), Some((0, b"demand".to_vec())));
        assert_eq!((second.present(SILENCE, NOW), second.refused()), (0, 0));
        assert!(!first.send(7, &message(b""), NOW), "nobody has this number");
    }

    #[test]
    fn what_is_not_from_a_peer_is_refused_and_harms_nothing() {
        let (mut first, mut second, address) = pair();
        let rogue = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let mut forged = Vec::new();
        message(b"forged").emit(&mut forged);
        rogue.send_to(&forged, address).unwrap();
        rogue.send_to(&[], address).unwrap();
        // It knows the address and the public key of the second one, but the second one does not know its key.
        let peer = Peer { number: 1, address, key: key(1).public() };
        let mut stranger =
            Channel::open((Ipv4Addr::LOCALHOST, 0).into(), key(9), &[peer], NOW).unwrap();
        stranger.send(1, &message(b"forged"), NOW);
        assert_eq!(second.receive(NOW).unwrap(), None);
        first.send(1, &message(b"true"), NOW);
        assert_eq!(heard(&mut first, &mut second, NOW), Some((0, b"true".to_vec())));
        assert!(second.refused() >= 3, "{}", second.refused());
    }

    #[test]
    fn keys_change_while_messages_go_on() {
        let (mut first, mut second, address) = pair();
        let pass = |first: &mut Channel, second: &mut Channel, text: &[u8]| {
            assert!(first.send(1, &message(text), NOW));
            assert_eq!(heard(first, second, NOW), Some((0, text.to_vec())));
        };
        pass(&mut first, &mut second, b"old");
        let new = key(11);
        let keys = Keys { own: key(1), peers: vec![(0, new.public())] };
        second.rekey(&keys).unwrap();
        pass(&mut first, &mut second, b"both");
        let peer = Peer { number: 1, address, key: key(1).public() };
        first.rekey(&Keys::of(&new, std::slice::from_ref(&peer))).unwrap();
        first.endpoint.renew(1, time(NOW)).unwrap();
        pass(&mut first, &mut second, b"new");
        assert!(first.rekey(&Keys::of(&key(1), &[peer])).is_err(), "the key of the other one");
    }

    #[test]
    fn a_peer_is_heard_within_its_quota() {
        let (mut first, mut second, _) = pair();
        second.limit(1_000);
        assert!(first.send(1, &message(b"hello"), NOW));
        assert!(heard(&mut first, &mut second, NOW).is_some());
        let mut count = |now: Local| {
            for _ in 0..150 {
                assert!(first.send(1, &message(b"more"), now));
            }
            let mut heard = 0;
            for _ in 0..20 {
                while second.receive(now).unwrap().is_some() {
                    heard += 1;
                }
                std::thread::sleep(Duration::from_millis(1));
            }
            (heard, second.over_quota())
        };
        // A tenth of a second ahead: 100 messages and the one that is beyond it, less the first one of all.
        assert_eq!(count(NOW), (100, 50));
        assert_eq!(count(NOW.after(Duration::from_millis(20))), (20, 180));
        assert_eq!(count(NOW.after(Duration::from_secs(1))), (101, 229));
    }

    #[test]
    fn a_flood_does_not_keep_a_daemon_from_its_work() {
        let (mut first, mut second, address) = pair();
        let rogue = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        for _ in 0..2 * BURST {
            rogue.send_to(b"noise", address).unwrap();
        }
        assert_eq!(second.receive(NOW).unwrap(), None);
        assert_eq!(second.refused(), BURST as u64, "it returns, although more datagrams wait");
        assert!(first.send(1, &message(b"true"), NOW));
        assert_eq!(heard(&mut first, &mut second, NOW), Some((0, b"true".to_vec())));
    }

    #[test]
    fn a_peer_that_begins_anew_is_heard_again() {
        let (mut first, mut second, address) = pair();
        first.send(1, &message(b"one"), NOW);
        assert!(heard(&mut first, &mut second, NOW).is_some());
        let peer = Peer { number: 0, address: second.known(0).unwrap().address, key: key(0).public() };
        drop(second);
        let mut second = Channel::open(address, key(1), &[peer], NOW).unwrap();
        let later = NOW.after(SILENCE * 2);
        first.expect(1, later);
        let again = |_| {
            first.send(1, &message(b"two"), later);
            heard(&mut first, &mut second, later)
        };
        let found = (0..10).find_map(again).map(|(_, payload)| payload);
        assert_eq!(found.as_deref(), Some(&b"two"[..]));
    }
}
