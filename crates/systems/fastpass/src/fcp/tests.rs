//! Tests of two ends over a channel with faults of all kinds, and over a good channel with single faults.

use super::*;
use crate::wire::fcp::{Acks, Header, LONGEST, Owned, Total, emit, owned};
use proptest::prelude::*;
use std::collections::BTreeSet;

const NODES: u32 = 6;
const DELAY: Time = Time::us(20);
const TIMEOUT: Time = Time::us(200);
const GAP: Time = Time::us(10);
const QUIET_TIME: Time = Time::us(35);
const ALIVE: Time = Time::ms(1);

const KEY: Key = Key(*b"a shared secret!");

fn config(me: u32, seed: u64) -> Config {
    let peer = 1 - me;
    let usual = Config::with_defaults(KEY, me, peer, NODES, seed);
    // Every other restarted endpoint has a quiet time.
    let quiet_time = QUIET_TIME.times(if me == 0 && seed > 1 { seed % 2 } else { 0 });
    Config { timeout: TIMEOUT, gap: GAP, quiet_time, alive: ALIVE, ..usual }
}

/// What the channel does to one packet.
#[derive(Clone, Copy, Debug)]
enum Fate {
    Deliver,
    Lose,
    Delay(u64),
    Double(u64),
    Flip(usize),
}

#[derive(Clone, Debug)]
enum Step {
    Demand(u32, u32),
    /// The arbiter grants this many slots.
    Grant(usize),
    Wait(u64),
    RestartEndpoint,
    /// Another arbiter takes over. If true, it announces itself.
    RestartArbiter(bool),
}

/// The slots of a mask.
fn slots_of(base: u64, mask: u64) -> impl Iterator<Item = u64> {
    (0..64).filter(move |bit| mask >> bit & 1 == 1).map(move |bit| base + bit)
}

/// The two ends, their users, and the channel between them.
struct Pair {
    now: Time,
    endpoint: EndpointSession,
    arbiter: ArbiterSession,
    /// Packets in the order of sending: when they arrive, whether they go to the arbiter, and their bytes.
    channel: Vec<(Time, bool, Vec<u8>)>,
    fates: Vec<Fate>,
    sent: usize,
    seed: u64,
    next_slot: u64,
    /// Slots that the arbiter's user granted, and those the endpoint's user got.
    given: BTreeSet<(u32, u64)>,
    got: BTreeSet<(u32, u64)>,
    /// The slots that the endpoint's user still waits for, by destination.
    open: Vec<u32>,
}

impl Pair {
    fn new(fates: Vec<Fate>) -> Pair {
        Pair {
            now: Time::us(1),
            endpoint: EndpointSession::new(config(0, 1)),
            arbiter: ArbiterSession::new(config(1, 2)),
            channel: Vec::new(),
            fates,
            sent: 0,
            seed: 2,
            next_slot: 0,
            given: BTreeSet::new(),
            got: BTreeSet::new(),
            open: vec![0; NODES as usize],
        }
    }
    /// A pair that has begun an epoch.
    fn opened() -> Pair {
        let mut pair = Pair::new(Vec::new());
        pair.demand(2, 1);
        pair.wait(Time::us(300));
        pair.grant(9);
        pair.wait(Time::us(300));
        assert!(pair.agrees() && pair.endpoint.session().is_open());
        pair
    }
    fn demand(&mut self, dst: u32, slots: u32) {
        self.endpoint.demand(dst, slots).unwrap();
        self.open[dst as usize] += slots;
        self.flush();
    }
    /// Grants at most `most` slots, in masks of up to eight.
    fn grant(&mut self, most: usize) {
        let pending = |dst: u32| (0..self.arbiter.pending(dst)).map(move |_| dst);
        let pending: Vec<u32> = (0..NODES).flat_map(pending).take(most).collect();
        for same in pending.chunk_by(|a, b| a == b).flat_map(|same| same.chunks(8)) {
            let (dst, first) = (same[0], self.next_slot);
            // The mask has every other slot. Its first slot is sometimes in the middle of the mask.
            let mask = (0..same.len()).fold(0, |mask, at| mask | 1 << (2 * at));
            let (base, shift) =
                if first % 3 == 0 { (first, 0) } else { (first - first % 64, first % 64) };
            let (base, mask) = if shift > 48 { (first, mask) } else { (base, mask << shift) };
            self.arbiter.grant(dst, dst as u16 * 10_000, base, mask).unwrap();
            self.given.extend(slots_of(base, mask).map(|slot| (dst, slot)));
            self.next_slot += 17 + first % 7 / 6 * 5_000_000_000;
        }
        self.flush();
    }
    fn restart_endpoint(&mut self) {
        self.seed += 1;
        self.endpoint = EndpointSession::new(config(0, self.seed));
        // The endpoint's queue is lost, and its user demands slots again.
        let open = std::mem::take(&mut self.open);
        self.open = vec![0; NODES as usize];
        for (dst, slots) in open.into_iter().enumerate() {
            self.demand(dst as u32, slots.div_ceil(2));
        }
    }
    fn restart_arbiter(&mut self) {
        self.seed += 1;
        self.arbiter = ArbiterSession::new(config(1, self.seed));
    }
    fn flush(&mut self) {
        let (now, mut out) = (self.now, Vec::new());
        for _ in 0..1_000 {
            let sent = self.sent;
            if self.endpoint.poll_message(now, &mut out) {
                self.post(true, out.clone());
            }
            if self.arbiter.poll_message(now, &mut out) {
                self.post(false, out.clone());
            }
            if sent == self.sent {
                let later = |at: Option<Time>| at.is_none_or(|at| at > now);
                assert!(later(self.endpoint.deadline()), "{:?}", self.endpoint);
                assert!(later(self.arbiter.deadline()), "{:?}", self.arbiter);
                return;
            }
        }
        panic!("an end never stops sending");
    }
    fn post(&mut self, up: bool, bytes: Vec<u8>) {
        assert!(bytes.len() <= LONGEST);
        let fate = self.fates.get(self.sent).copied().unwrap_or(Fate::Deliver);
        self.sent += 1;
        let at = self.now.after(DELAY);
        let late = |us| at.after(Time::us(us));
        match fate {
            Fate::Deliver => self.channel.push((at, up, bytes)),
            Fate::Lose => {}
            Fate::Delay(us) => self.channel.push((late(us), up, bytes)),
            Fate::Double(us) => {
                self.channel.push((at, up, bytes.clone()));
                self.channel.push((late(us), up, bytes));
            }
            Fate::Flip(bit) => {
                let mut bytes = bytes;
                let bit = bit % (bytes.len() * 8);
                bytes[bit / 8] ^= 1 << (bit % 8);
                self.channel.push((at, up, bytes));
            }
        }
    }
    /// Lets time pass.
    fn wait(&mut self, span: Time) {
        let end = self.now.after(span);
        loop {
            self.flush();
            let arrival = self.channel.iter().map(|packet| packet.0).min();
            let deadlines = [self.endpoint.deadline(), self.arbiter.deadline(), arrival];
            let Some(next) = deadlines.into_iter().flatten().min().filter(|&at| at <= end) else {
                self.now = end;
                return;
            };
            self.now = self.now.max(next);
            self.deliver();
        }
    }
    fn deliver(&mut self) {
        let now = self.now;
        let (due, rest) = std::mem::take(&mut self.channel).into_iter().partition(|p| p.0 <= now);
        self.channel = rest;
        for (_, up, bytes) in due {
            if up {
                self.at_arbiter(&bytes)
            } else {
                self.at_endpoint(&bytes)
            }
            self.flush();
        }
    }
    fn at_arbiter(&mut self, bytes: &[u8]) {
        let _ = self.arbiter.on_message(bytes, self.now, &mut Vec::new());
    }
    fn at_endpoint(&mut self, bytes: &[u8]) {
        let mut events = Vec::new();
        let _ = self.endpoint.on_message(bytes, self.now, &mut events);
        for event in events {
            let EndpointEvent::Granted { dst, path, first, slots } = event else { continue };
            assert_eq!(path, dst as u16 * 10_000);
            for slot in slots_of(first, slots) {
                assert!(self.given.contains(&(dst, slot)), "a slot that nobody granted");
                assert!(self.got.insert((dst, slot)), "a slot granted twice");
                let open = &mut self.open[dst as usize];
                *open = open.checked_sub(1).expect("more slots than pending");
            }
        }
    }
    /// Both ends count the same, and the endpoint knows what its user waits for.
    fn agrees(&self) -> bool {
        (0..NODES).all(|dst| {
            self.endpoint.demanded(dst) == self.arbiter.demanded(dst)
                && self.endpoint.granted(dst) == self.arbiter.granted(dst)
        })
    }
    fn check_user(&self) -> Result<(), TestCaseError> {
        for (dst, &open) in self.open.iter().enumerate() {
            prop_assert_eq!(self.endpoint.pending(dst as u32), open, "pending to node {}", dst);
        }
        Ok(())
    }
    fn step(&mut self, step: &Step) {
        match *step {
            Step::Demand(dst, slots) => self.demand(dst, slots),
            Step::Grant(most) => self.grant(most),
            Step::Wait(us) => self.wait(Time::us(us)),
            Step::RestartEndpoint => self.restart_endpoint(),
            Step::RestartArbiter(announced) => {
                self.restart_arbiter();
                if announced {
                    self.arbiter.announce();
                }
                self.flush();
            }
        }
    }
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (0..NODES, 0u32..30).prop_map(|(dst, slots)| Step::Demand(dst, slots)),
        6 => (0usize..60).prop_map(Step::Grant),
        8 => (0u64..600).prop_map(Step::Wait),
        1 => Just(Step::RestartEndpoint),
        1 => any::<bool>().prop_map(Step::RestartArbiter),
    ]
}

fn fate() -> impl Strategy<Value = Fate> {
    prop_oneof![
        5 => Just(Fate::Deliver),
        2 => Just(Fate::Lose),
        2 => (0u64..2_000).prop_map(Fate::Delay),
        2 => (0u64..2_000).prop_map(Fate::Double),
        1 => any::<usize>().prop_map(Fate::Flip),
    ]
}

/// The longest delay of a packet by [`brief`].
const BRIEF: Time = Time::us(150);

fn brief() -> impl Strategy<Value = Fate> {
    prop_oneof![
        4 => Just(Fate::Deliver),
        2 => Just(Fate::Lose),
        1 => (0u64..150).prop_map(Fate::Delay),
        1 => (0u64..150).prop_map(Fate::Double),
        1 => any::<usize>().prop_map(Fate::Flip),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn demand_is_satisfied_in_the_end_and_no_slot_twice(
        steps in prop::collection::vec(step(), 0..60), fates in prop::collection::vec(fate(), 0..200)
    ) {
        let mut pair = Pair::new(fates);
        for step in &steps {
            pair.step(step);
            pair.check_user()?;
        }
        // From here on the channel is clean. Old packets may still arrive, and the loss of an end's counts may
        // be noticed only by a request for an answer.
        pair.fates.clear();
        pair.wait(Time::ms(4));
        pair.wait(ALIVE.after(TIMEOUT.times(4)));
        for _ in 0..4 {
            pair.grant(usize::MAX);
            pair.wait(ALIVE.after(TIMEOUT.times(2)));
        }
        pair.check_user()?;
        prop_assert_eq!(pair.open.iter().sum::<u32>(), 0, "demand is left");
        // Then no more packets are sent.
        let sent = pair.sent;
        pair.wait(Time::ms(20));
        prop_assert_eq!(pair.sent, sent, "satisfied ends go on sending");
    }

    /// The same test with an endpoint that has a quiet time.
    #[test]
    fn after_faults_counts_agree_within_a_timeout_and_a_quiet_time(
        steps in prop::collection::vec((0..NODES, 0u32..30, 0usize..60), 1..8),
        fates in prop::collection::vec(brief(), 0..40),
    ) {
        let mut pair = Pair::opened();
        pair.restart_endpoint();
        prop_assert_eq!(pair.seed % 2, 1, "the endpoint has a quiet time");
        pair.demand(0, 1);
        pair.wait(Time::ms(3));
        let quiet = pair.sent;
        pair.fates = vec![Fate::Deliver; quiet];
        pair.fates.extend(fates);
        for (dst, slots, most) in steps {
            pair.demand(dst, slots);
            pair.wait(DELAY);
            pair.grant(most);
            pair.wait(DELAY);
        }
        pair.fates.clear();
        pair.wait(BRIEF);
        pair.wait(TIMEOUT.after(DELAY.times(2)).after(QUIET_TIME.times(2)));
        prop_assert!(pair.agrees(), "{:?} {:?}", pair.endpoint, pair.arbiter);
        pair.check_user()?;
    }

    #[test]
    fn after_faults_counts_agree_within_a_timeout(
        steps in prop::collection::vec((0..NODES, 0u32..30, 0usize..60), 1..8),
        fates in prop::collection::vec(brief(), 0..40),
    ) {
        let mut pair = Pair::opened();
        let quiet = pair.sent;
        pair.fates = vec![Fate::Deliver; quiet];
        pair.fates.extend(fates);
        for (dst, slots, most) in steps {
            pair.demand(dst, slots);
            pair.wait(DELAY);
            pair.grant(most);
            pair.wait(DELAY);
        }
        pair.fates.clear();
        // Delayed packets arrive.
        pair.wait(BRIEF);
        // The last lost packet may just have been sent, and a lost slot is demanded again, which takes one
        // more delay.
        pair.wait(TIMEOUT.after(DELAY.times(2)).after(GAP.times(2)));
        prop_assert!(pair.agrees(), "{:?} {:?}", pair.endpoint, pair.arbiter);
        pair.check_user()?;
    }

    /// Whatever happened before: on a clean channel a restarted arbiter has the demand one round trip after
    /// its reset, which is three delays after the endpoint's next packet.
    #[test]
    fn resynchronisation_takes_one_round_trip(
        steps in prop::collection::vec(step(), 0..20), dst in 0..NODES, restart_arbiter: bool
    ) {
        let mut pair = Pair::opened();
        steps.iter().for_each(|step| pair.step(step));
        pair.wait(Time::ms(3));
        if restart_arbiter { pair.restart_arbiter() } else { pair.restart_endpoint() }
        pair.demand(dst, 1);
        // A request for an answer that is not acknowledged delays the demand by a quiet time.
        pair.wait(DELAY.times(3).after(GAP).after(QUIET_TIME));
        prop_assert!(pair.endpoint.session().is_open() && pair.arbiter.session().is_open());
        prop_assert!(pair.agrees(), "{:?} {:?}", pair.endpoint, pair.arbiter);
    }

    #[test]
    fn no_bytes_make_an_end_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let mut pair = Pair::opened();
        prop_assert!(pair.endpoint.on_message(&bytes, pair.now, &mut Vec::new()).is_err());
        prop_assert!(pair.arbiter.on_message(&bytes, pair.now, &mut Vec::new()).is_err());
        let counters = pair.arbiter.session().counters();
        prop_assert_eq!(counters.malformed + counters.forged, 1);
    }

    /// An owner of the key may still send nonsense.
    #[test]
    fn no_message_makes_an_end_panic(
        messages in prop::collection::vec(nonsense(), 1..20)
    ) {
        let mut pair = Pair::opened();
        for (up, nonces, number, records) in messages {
            let (source, destination) = if up { (0, 1) } else { (1, 0) };
            let epoch = if up { pair.endpoint.session().epoch() } else { pair.arbiter.session().epoch() };
            let (from, to) = nonces.or(epoch).unwrap_or((7, 0));
            let acks = Acks { highest: number, before: !0 };
            let header = Header { source, destination, from, to, number, acks };
            pair.post(up, emit(&KEY, &header, &records).unwrap());
            for (_, up, bytes) in std::mem::take(&mut pair.channel) {
                let now = pair.now;
                if up {
                    let _ = pair.arbiter.on_message(&bytes, now, &mut Vec::new());
                } else {
                    let _ = pair.endpoint.on_message(&bytes, now, &mut Vec::new());
                }
            }
            pair.flush();
            pair.channel.clear();
            pair.now = pair.now.after(DELAY);
        }
    }
}

type Nonsense = (bool, Option<(u64, u64)>, u64, Vec<Owned>);

fn nonsense() -> impl Strategy<Value = Nonsense> {
    let number = prop_oneof![0u64..6, Just(u64::MAX), Just(u64::MAX - 1), any::<u64>()];
    let records = owned(0..NODES + 1);
    (any::<bool>(), prop::option::weighted(0.1, any::<(u64, u64)>()), number, records)
}

#[test]
fn an_arbiter_that_lost_its_state_has_the_demand_after_one_round_trip() {
    let mut pair = Pair::opened();
    pair.restart_arbiter();
    pair.demand(3, 5);
    pair.demand(4, 7);
    pair.wait(DELAY);
    // The packet of the old epoch is there; the reset is on its way.
    assert!(!pair.arbiter.session().is_open() && pair.arbiter.session().counters().sent > 0);
    pair.wait(DELAY.times(2));
    assert!(pair.arbiter.session().is_open());
    assert_eq!((pair.arbiter.demanded(3), pair.arbiter.demanded(4)), (5, 7));
    assert!(pair.agrees());
}

#[test]
fn an_endpoint_that_lost_its_state_is_in_an_epoch_after_one_round_trip() {
    let mut pair = Pair::opened();
    pair.restart_endpoint();
    pair.demand(3, 5);
    pair.wait(DELAY.times(2));
    assert!(pair.endpoint.session().is_open());
    pair.wait(DELAY);
    assert_eq!(pair.arbiter.demanded(3), 5);
    assert!(pair.agrees());
}

/// An arbiter that takes over need not wait for endpoints. Two round trips after its announcement it has all
/// demand, and the endpoint waits for nothing that was granted by the other arbiter.
#[test]
fn an_arbiter_that_takes_over_announces_itself() {
    let mut pair = Pair::opened();
    pair.demand(3, 5);
    pair.wait(Time::us(100));
    pair.grant(2);
    pair.wait(Time::us(100));
    pair.restart_arbiter();
    pair.arbiter.announce();
    pair.wait(DELAY.times(4));
    assert_eq!((pair.arbiter.demanded(3), pair.arbiter.pending(3)), (3, 3));
    assert!(pair.agrees());
    // An open epoch goes on.
    let epoch = pair.endpoint.session().epoch();
    pair.arbiter.announce();
    pair.wait(Time::ms(1));
    assert_eq!(pair.endpoint.session().epoch(), epoch);
}

#[test]
fn another_key_is_refused_and_counted() {
    let mut pair = Pair::opened();
    let other = Config { key: Key([1; 16]), ..config(0, 9) };
    let mut stranger = EndpointSession::new(other);
    stranger.demand(2, 1).unwrap();
    let mut bytes = Vec::new();
    assert!(stranger.poll_message(pair.now, &mut bytes));
    let refused = pair.arbiter.on_message(&bytes, pair.now, &mut Vec::new());
    assert_eq!(refused, Err(Refused::Invalid(Invalid::Forged)));
    assert_eq!(pair.arbiter.session().counters().forged, 1);
    assert!(pair.arbiter.session().is_open());
}

#[test]
fn a_packet_sent_back_to_its_sender_is_refused() {
    let mut pair = Pair::opened();
    pair.endpoint.demand(2, 1).unwrap();
    let mut bytes = Vec::new();
    assert!(pair.endpoint.poll_message(pair.now, &mut bytes));
    let refused = pair.endpoint.on_message(&bytes, pair.now, &mut Vec::new());
    assert_eq!(refused, Err(Refused::Stranger { sender: 0, receiver: 1 }));
}

#[test]
fn unknown_nodes_are_refused_on_both_sides() {
    let mut pair = Pair::opened();
    assert_eq!(pair.endpoint.demand(NODES, 1), Err(DemandError::NoSuchNode(NODES)));
    let (from, to) = pair.endpoint.session().epoch().unwrap();
    let records = vec![Owned::Demand(vec![Total { dst: NODES, slots: 1 }])];
    let acks = Acks::default();
    let header = Header { source: 0, destination: 1, from, to, number: 50, acks };
    let bytes = emit(&KEY, &header, &records).unwrap();
    let refused = pair.arbiter.on_message(&bytes, pair.now, &mut Vec::new());
    assert_eq!(refused, Err(Refused::Node { node: NODES, nodes: NODES }));
}

#[test]
fn what_is_not_pending_cannot_be_granted() {
    let mut pair = Pair::opened();
    let denied = |dst, slots, pending| Err(Denied::NotDemanded { dst, slots, pending });
    assert_eq!(pair.arbiter.grant(3, 1, 0, 1), denied(3, 1, 0));
    pair.demand(3, 2);
    pair.wait(DELAY);
    assert_eq!(pair.arbiter.grant(3, 1, 0, 0b111), denied(3, 3, 2));
    let late = Denied::TooLate { base: u64::MAX, slots: 2 };
    assert_eq!(pair.arbiter.grant(3, 1, u64::MAX, 2), Err(late));
    assert_eq!(pair.arbiter.grant(3, 1, u64::MAX, 1), Ok(()));
    assert_eq!((pair.arbiter.pending(3), pair.arbiter.granted(3)), (1, 1));
}

#[test]
fn no_more_is_pending_than_can_be_counted() {
    let mut pair = Pair::opened();
    pair.demand(3, MAX_PENDING - 1);
    assert_eq!(pair.endpoint.demand(3, 2), Err(DemandError::TooMuch(3)));
    pair.demand(3, 1);
    pair.wait(DELAY.after(GAP));
    assert_eq!(pair.arbiter.pending(3), MAX_PENDING);
}

/// Totals wrap around in 32 bits without an effect.
#[test]
fn totals_wrap_around() {
    let mut pair = Pair::opened();
    let mut all = 0u64;
    while all < 3 << 32 {
        pair.endpoint.demand(3, MAX_PENDING).unwrap();
        all += u64::from(MAX_PENDING);
        pair.wait(DELAY.after(GAP));
        let given = |pair: &mut Pair, slots: u32| {
            // These are too many slots to grant one by one.
            pair.arbiter.skip(3, slots);
            pair.endpoint.skip(3, slots);
        };
        given(&mut pair, MAX_PENDING - 7);
        pair.arbiter.grant(3, 30_000, all, 0x7f).unwrap();
        pair.given.extend((all..all + 7).map(|slot| (3, slot)));
        pair.open[3] = 7;
        pair.wait(DELAY.after(GAP));
        assert!(pair.agrees());
        assert_eq!((pair.endpoint.pending(3), pair.open[3]), (0, 0));
    }
}

#[test]
fn an_arbiter_without_an_answer_falls_silent() {
    let mut pair = Pair::opened();
    pair.demand(3, 5);
    pair.wait(Time::us(100));
    pair.fates = vec![Fate::Lose; 1_000];
    let before = pair.arbiter.session().counters().sent;
    pair.grant(5);
    pair.wait(Time::ms(50));
    let sent = pair.arbiter.session().counters().sent - before;
    assert!((5..=12).contains(&sent), "{sent} packets without an answer");
    pair.fates.clear();
    pair.wait(ALIVE.after(TIMEOUT));
    assert_eq!(pair.arbiter.pending(3), 5, "lost slots are pending again");
}

/// More demand waits for the acknowledgement of earlier demand, but not longer than the quiet time.
#[test]
fn demand_gathers() {
    let mut pair = Pair::opened();
    pair.restart_endpoint();
    pair.demand(3, 1);
    pair.wait(Time::ms(3));
    let sent = |pair: &Pair| pair.endpoint.session().counters().sent;
    // Nothing is unacknowledged, so the demand leaves.
    let first = sent(&pair);
    pair.demand(3, 1);
    pair.wait(GAP);
    assert_eq!(sent(&pair), first + 1);
    for _ in 0..2 {
        pair.demand(3, 1);
        pair.wait(GAP);
    }
    assert_eq!(sent(&pair), first + 1, "more demand waits");
    pair.wait(QUIET_TIME);
    assert_eq!(sent(&pair), first + 2, "one message after the quiet time");
    pair.wait(Time::ms(1));
    pair.demand(4, 1);
    pair.wait(GAP);
    assert_eq!(sent(&pair), first + 3, "earlier demand is acknowledged");
}
