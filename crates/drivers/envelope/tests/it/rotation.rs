//! Keys change while messages are sent in both directions.

use crate::world::{NONE, World, end, key};
use slotline_base::time::Time;
use slotline_envelope::{KeyPair, PeerError, Settings};

fn traffic(world: &mut World, count: usize) {
    for _ in 0..count {
        world.send(0, b"from 0");
        world.send(1, b"from 1");
        world.run(Time::ms(10));
    }
}

#[test]
fn a_rotation_interrupts_nothing() {
    let settings = Settings { rekey_after: Time::ms(500), ..Settings::default() };
    let mut world = World::new(settings, NONE, 0);
    world.connect();
    traffic(&mut world, 100);
    world.ends[1].set_peer_key(0, key(11).public()).unwrap();
    assert_eq!(world.ends[1].peer_keys(0), [11, 1].map(|n| key(n).public()));
    traffic(&mut world, 200);
    world.ends[0].set_own_key(key(11)).unwrap();
    traffic(&mut world, 200);
    world.ends[1].keep_newest_key(0).unwrap();
    traffic(&mut world, 200);
    assert_eq!(world.received.each_ref().map(Vec::len), [700, 700]);
    assert_eq!(world.ends[1].peer_keys(0), [key(11).public()]);
    assert!(world.ends[1].counters().handshakes >= 10);
}

#[test]
fn a_responder_may_rotate_too() {
    let settings = Settings { rekey_after: Time::ms(500), ..Settings::default() };
    let mut world = World::new(settings, NONE, 0);
    world.connect();
    traffic(&mut world, 100);
    world.ends[0].set_peer_key(1, key(12).public()).unwrap();
    world.ends[1].set_own_key(key(12)).unwrap();
    traffic(&mut world, 300);
    world.ends[0].keep_newest_key(1).unwrap();
    traffic(&mut world, 100);
    assert_eq!(world.received.each_ref().map(Vec::len), [500, 500]);
}

#[test]
fn a_key_that_is_no_longer_accepted_ends_its_sessions() {
    let mut world = World::connected();
    world.ends[1].set_peer_key(0, key(11).public()).unwrap();
    world.ends[1].keep_newest_key(0).unwrap();
    assert!(!world.ends[1].is_ready(0, world.now));
    world.send(0, b"by the old key");
    world.run(Time::s(1));
    assert!(world.received[1].is_empty());
    world.ends[0].set_own_key(key(11)).unwrap();
    world.run(Time::s(2));
    world.send(1, b"by the new key");
    world.run(Time::s(2));
    assert_eq!(world.received[0], [b"by the new key"]);
}

#[test]
fn a_removed_peer_is_a_stranger() {
    let mut world = World::connected();
    world.ends[1].remove_peer(0).unwrap();
    assert_eq!(world.ends[1].remove_peer(0), Err(PeerError::UnknownPeer(0)));
    assert_eq!(world.ends[1].next_deadline(), None);
    world.send(0, b"to nobody");
    world.ends[0].renew(1, world.now).unwrap();
    world.run(Time::s(2));
    let counters = world.ends[1].counters();
    assert_eq!(counters.unknown_session, 1);
    assert!(counters.unknown_peer > 1);
    world.ends[1].set_peer_key(0, key(1).public()).unwrap();
    world.run(Time::s(3));
    assert!(world.ready());
}

#[test]
fn each_peer_has_a_key_of_its_own() {
    let mut a = end(1, 1, 2, Settings::default());
    let (own, taken) = (key(1).public(), key(2).public());
    assert_eq!(a.set_peer_key(3, own), Err(PeerError::OwnKey(own)));
    let other = PeerError::KeyOfOtherPeer { key: taken, peer: 1 };
    assert_eq!(a.set_peer_key(3, taken), Err(other.clone()));
    assert_eq!(a.set_own_key(key(2)), Err(other));
    assert_eq!(a.set_peer_key(1, taken), Ok(()));
    let generated = KeyPair::generate().unwrap().public();
    assert_eq!(a.set_peer_key(3, generated), Ok(()));
}
