//! Forged, replayed, altered, truncated and random datagrams are refused, and change nothing.

use crate::world::{World, due, end, key, refusal, reply, sealed};
use proptest::prelude::*;
use slotline_base::time::Time;
use slotline_envelope::{Event, OpenError, Settings};

const MANY: Settings = Settings {
    initiations: 1_000_000,
    initiations_per_source: 1_000_000,
    rekey_after: Time::s(120),
    rekey_after_messages: 1 << 60,
    waiting_messages: 32,
    waiting_bytes: 65_536,
};

/// Datagrams that differ from one in a bit.
fn flipped(right: &[u8]) -> impl Iterator<Item = Vec<u8>> {
    (0..8 * right.len()).map(|bit| {
        let mut wrong = right.to_vec();
        wrong[bit / 8] ^= 1 << (bit % 8);
        wrong
    })
}

#[test]
fn data_with_any_bit_flipped_is_refused() {
    let mut world = World::connected();
    let mut right = sealed(&mut world.ends[0], 1, b"a message", world.now);
    for mut wrong in flipped(&right) {
        assert!(world.ends[1].open(&mut wrong, 0, world.now).is_err());
    }
    let counters = world.ends[1].counters();
    assert!(counters.forged > 200 && counters.malformed > 20 && counters.unknown_session > 20);
    let event = world.ends[1].open(&mut right, 0, world.now);
    assert_eq!(event, Ok(Event::Message { peer: 0, message: b"a message" }));
}

#[test]
fn initiations_and_responses_with_any_bit_flipped_are_refused() {
    let (mut a, mut b) = (end(1, 1, 2, MANY), end(2, 0, 1, MANY));
    let initiation = sealed(&mut a, 1, b"waits", Time::ZERO);
    for mut wrong in flipped(&initiation) {
        assert!(b.open(&mut wrong, 0, Time::ZERO).is_err());
    }
    let response = reply(&mut b, initiation, Time::ZERO);
    let handshake_waits = flipped(&response)
        .take(100)
        .all(|mut wrong| a.open(&mut wrong, 0, Time::ZERO).is_err() && !a.is_ready(1, Time::ZERO));
    assert!(handshake_waits);
    assert!(a.open(&mut flipped(&response).nth(500).unwrap(), 0, Time::ZERO).is_err());
}

#[test]
fn a_few_wrong_responses_do_not_end_a_handshake_and_many_cost_little() {
    let (mut a, mut b) = (end(1, 1, 2, MANY), end(2, 0, 1, MANY));
    let initiation = sealed(&mut a, 1, b"waits", Time::ZERO);
    let response = reply(&mut b, initiation, Time::ZERO);
    let noise = || flipped(&response).skip(8 * 8);
    assert!(noise().take(15).all(|mut wrong| a.open(&mut wrong, 0, Time::ZERO).is_err()));
    assert!(a.open(&mut response.clone(), 0, Time::ZERO).is_ok());
    let again = due(&mut b, Time::s(500));
    assert!(again.is_empty());
    let mut a = end(1, 1, 2, MANY);
    let initiation = sealed(&mut a, 1, b"waits", Time::ZERO);
    let mut b = end(2, 0, 1, MANY);
    let response = reply(&mut b, initiation, Time::ZERO);
    let last = flipped(&response)
        .skip(8 * 8)
        .map(|mut wrong| a.open(&mut wrong, 0, Time::ZERO).unwrap_err())
        .last();
    assert_eq!(last, Some(OpenError::Throttled));
    assert_eq!((a.counters().forged, a.counters().throttled), (16, 8 * 56 - 16));
}

#[test]
fn a_datagram_is_opened_once() {
    let mut world = World::connected();
    let datagram = sealed(&mut world.ends[0], 1, b"once", world.now);
    assert!(world.ends[1].open(&mut datagram.clone(), 0, world.now).is_ok());
    for source in 0..3 {
        let replay = refusal(&mut world.ends[1], &datagram, source, world.now);
        assert_eq!(replay, Some(OpenError::Replayed));
    }
    assert_eq!(world.ends[1].counters().replayed, 3);
}

#[test]
fn a_datagram_goes_in_one_direction() {
    let mut world = World::connected();
    let mut datagram = sealed(&mut world.ends[0], 1, b"to the other end", world.now);
    assert!(world.ends[0].open(&mut datagram, 1, world.now).is_err());
}

#[test]
fn an_initiation_is_answered_once() {
    let mut world = World::connected();
    let now = world.now + Time::s(121);
    let initiation = due(&mut world.ends[0], now).remove(0);
    reply(&mut world.ends[1], initiation.clone(), now);
    let replay = refusal(&mut world.ends[1], &initiation, 0, now);
    assert_eq!(replay, Some(OpenError::Replayed));
    let later = due(&mut world.ends[0], now + Time::ms(100)).remove(0);
    let latest = due(&mut world.ends[0], now + Time::ms(300)).remove(0);
    reply(&mut world.ends[1], latest, now);
    let overtaken = refusal(&mut world.ends[1], &later, 0, now);
    assert_eq!(overtaken, Some(OpenError::Replayed));
    world.send(1, b"the session works");
    world.run(Time::ms(1));
    assert_eq!(world.received[0], [b"the session works"]);
}

#[test]
fn a_replayed_initiation_does_not_displace_a_session_even_after_a_restart() {
    let mut a = end(1, 1, 2, MANY);
    let recorded = sealed(&mut a, 1, b"waits", Time::ZERO);
    let mut world = World::connected();
    world.ends[1].remove_peer(0).unwrap();
    world.ends[1].set_peer_key(0, key(1).public()).unwrap();
    world.send(1, b"waits");
    world.run(Time::ms(1));
    assert!(world.ready());
    // As if the timestamps were lost: this one is older than those that were answered.
    reply(&mut world.ends[1], recorded, world.now);
    world.send(1, b"works");
    world.run(Time::ms(1));
    assert_eq!(world.received[0], [&b"waits"[..], b"works"]);
}

#[test]
fn wrong_keys_are_refused() {
    let mut b = end(2, 0, 1, MANY);
    let mut stranger = end(3, 1, 2, MANY);
    let mut initiation = sealed(&mut stranger, 1, b"x", Time::ZERO);
    let refused = b.open(&mut initiation, 0, Time::ZERO);
    assert_eq!(refused, Err(OpenError::UnknownPeer(key(3).public())));
    let mut astray = end(1, 1, 3, MANY);
    let mut initiation = sealed(&mut astray, 1, b"x", Time::ZERO);
    assert_eq!(b.open(&mut initiation, 0, Time::ZERO), Err(OpenError::Forged));
    assert_eq!((b.counters().unknown_peer, b.counters().forged), (1, 1));
}

#[test]
fn other_versions_are_refused_and_counted() {
    let (mut a, mut b) = (end(1, 1, 2, MANY), end(2, 0, 1, MANY));
    let mut initiation = sealed(&mut a, 1, b"x", Time::ZERO);
    initiation[1..3].copy_from_slice(&[2, 3]);
    let refused = b.open(&mut initiation, 0, Time::ZERO);
    assert_eq!(refused, Err(OpenError::Version { lowest: 2, highest: 3 }));
    assert_eq!(b.counters().other_version, 1);
}

#[test]
fn truncated_datagrams_are_refused() {
    let (mut a, mut b) = (end(1, 1, 2, MANY), end(2, 0, 1, MANY));
    let initiation = sealed(&mut a, 1, b"waits", Time::ZERO);
    refuses_pieces(|piece| b.open(piece, 0, Time::ZERO).is_err(), &initiation);
    let response = reply(&mut b, initiation, Time::ZERO);
    refuses_pieces(|piece| a.open(piece, 0, Time::ZERO).is_err(), &response);
    a.open(&mut response.clone(), 0, Time::ZERO).unwrap();
    let data = due(&mut a, Time::ZERO).remove(0);
    refuses_pieces(|piece| b.open(piece, 0, Time::ZERO).is_err(), &data);
    assert!(b.open(&mut data.clone(), 0, Time::ZERO).is_ok());
}

fn refuses_pieces(mut refuses: impl FnMut(&mut [u8]) -> bool, datagram: &[u8]) {
    for len in 0..datagram.len() {
        assert!(refuses(&mut datagram[..len].to_vec()), "{len} bytes");
        assert!(refuses(&mut [datagram, &vec![0; len + 1]].concat()), "{len} bytes more");
    }
}

proptest! {
    #[test]
    fn random_bytes_are_refused(
        kind in 0_u8..5,
        mut bytes in prop::collection::vec(any::<u8>(), 0..200),
        zeros in any::<bool>(),
        len in prop::sample::select(vec![0, 1, 8, 16, 32, 64, 112, 200]),
    ) {
        let mut world = World::connected();
        bytes.resize(len, 1);
        bytes.iter_mut().take(1).for_each(|byte| *byte = kind);
        if zeros {
            bytes.iter_mut().take(4).skip(1).for_each(|byte| *byte = u8::from(kind < 3));
        }
        prop_assert!(world.ends[1].open(&mut bytes, 0, world.now).is_err());
        world.send(0, b"works");
        world.run(Time::ms(1));
        prop_assert_eq!(&world.received[1], &[b"works"]);
    }
}
