//! Two endpoints, and a network between them under a virtual clock.

use slotline_base::rng::Stream;
use slotline_base::time::Time;
use slotline_envelope::{Endpoint, Event, KeyPair, OpenError, Settings, Start};
use std::collections::BTreeMap;
use std::time::Duration;

/// What the network does to datagrams.
#[derive(Clone, Copy, Debug)]
pub struct Faults {
    pub loss: f64,
    pub duplication: f64,
    pub jitter: Time,
}

pub const NONE: Faults = Faults { loss: 0.0, duplication: 0.0, jitter: Time::ZERO };
const DELAY: Time = Time::us(10);

/// Each end knows the other one as a peer whose number is its index in `ends`.
pub struct World {
    pub ends: [Endpoint; 2],
    pub received: [Vec<Vec<u8>>; 2],
    pub errors: Vec<OpenError>,
    pub now: Time,
    pub faults: Faults,
    under_way: BTreeMap<(Time, u64), (usize, Vec<u8>)>,
    sent: u64,
    random: Stream,
}

pub fn key(n: u8) -> KeyPair {
    KeyPair::from_private([n; 32])
}

/// An end with key `own` whose peer `number` has key `other`.
pub fn end(own: u8, number: u32, other: u8, settings: Settings) -> Endpoint {
    started(Duration::from_secs(1_700_000_000), own, number, other, settings)
}

pub fn started(at: Duration, own: u8, number: u32, other: u8, settings: Settings) -> Endpoint {
    let start = Start { since_1970: at, seed: u64::from(own) };
    Endpoint::new(key(own), [(number, key(other).public())], start, settings).unwrap()
}

impl World {
    pub fn new(settings: Settings, faults: Faults, seed: u64) -> World {
        World {
            ends: [end(1, 1, 2, settings), end(2, 0, 1, settings)],
            received: Default::default(),
            errors: Vec::new(),
            now: Time::ZERO,
            faults,
            under_way: BTreeMap::new(),
            sent: 0,
            random: Stream::named(seed, "test.network", 0),
        }
    }
    /// A world in which both ends have confirmed a session.
    pub fn connected() -> World {
        let mut world = World::new(Settings::default(), NONE, 0);
        world.connect();
        world
    }
    /// End 0 begins a session.
    pub fn connect(&mut self) {
        self.ends[0].renew(1, self.now).unwrap();
        self.run(Time::ms(50));
        assert!(self.ready());
    }
    pub fn ready(&self) -> bool {
        (0..2).all(|end| self.ends[end].is_ready(1 - end as u32, self.now))
    }
    pub fn send(&mut self, from: usize, message: &[u8]) {
        let mut out = Vec::new();
        self.ends[from].seal(1 - from as u32, message, self.now, &mut out).unwrap();
        self.transmit(from, out);
    }
    pub fn transmit(&mut self, from: usize, datagram: Vec<u8>) {
        if datagram.is_empty() || self.random.unit() < self.faults.loss {
            return;
        }
        let copies = 1 + u64::from(self.random.unit() < self.faults.duplication);
        for _ in 0..copies {
            let jitter = Time::ps(self.random.below(self.faults.jitter.as_ps()));
            self.sent += 1;
            self.under_way
                .insert((self.now + DELAY + jitter, self.sent), (1 - from, datagram.clone()));
        }
    }
    /// Simulates the next `span`.
    pub fn run(&mut self, span: Time) {
        let end = self.now + span;
        self.poll();
        while let Some(next) = self.next_event().filter(|&next| next <= end) {
            self.now = self.now.max(next);
            while let Some(entry) = self.under_way.first_entry().filter(|e| e.key().0 <= self.now) {
                let (to, datagram) = entry.remove();
                self.deliver(to, datagram);
            }
            self.poll();
        }
        self.now = end;
    }
    fn next_event(&self) -> Option<Time> {
        let arrival = self.under_way.keys().next().map(|(time, _)| *time);
        let deadlines = self.ends.iter().filter_map(Endpoint::next_deadline);
        arrival.into_iter().chain(deadlines).min()
    }
    pub fn deliver(&mut self, to: usize, mut datagram: Vec<u8>) {
        match self.ends[to].open(&mut datagram, 1 - to as u64, self.now) {
            Ok(Event::Message { peer, message }) => {
                assert_eq!(peer, 1 - to as u32);
                self.received[to].push(message.to_vec());
            }
            Ok(Event::Handshake { reply, .. }) => self.transmit(to, reply.to_vec()),
            Ok(Event::Alive { .. } | Event::Established { .. }) => {}
            Err(error) => self.errors.push(error),
        }
    }
    pub fn poll(&mut self) {
        for end in 0..2 {
            for datagram in due(&mut self.ends[end], self.now) {
                self.transmit(end, datagram);
            }
        }
    }
}

/// All datagrams that are due.
pub fn due(end: &mut Endpoint, now: Time) -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    loop {
        let mut out = Vec::new();
        if end.poll(now, &mut out).is_none() {
            assert!(out.is_empty());
            assert!(end.next_deadline().is_none_or(|deadline| deadline > now));
            return all;
        }
        all.push(out);
    }
}

/// The datagram of a sealed message.
pub fn sealed(end: &mut Endpoint, peer: u32, message: &[u8], now: Time) -> Vec<u8> {
    let mut out = Vec::new();
    end.seal(peer, message, now, &mut out).unwrap();
    out
}

/// The reply to an initiation.
pub fn reply(end: &mut Endpoint, mut initiation: Vec<u8>, now: Time) -> Vec<u8> {
    match end.open(&mut initiation, 0, now) {
        Ok(Event::Handshake { reply, .. }) => reply.to_vec(),
        other => panic!("{other:?}"),
    }
}

/// The reason why a datagram is refused, if it is.
pub fn refusal(end: &mut Endpoint, datagram: &[u8], source: u64, now: Time) -> Option<OpenError> {
    end.open(&mut datagram.to_vec(), source, now).err()
}
