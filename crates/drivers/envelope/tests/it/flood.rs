//! Large numbers of initiations cost little, and disturb no session.

use crate::world::{World, due, end, refusal, reply, sealed};
use slotline_base::time::Time;
use slotline_envelope::{Event, OpenError, Settings};

/// An initiation that only a computation on curves distinguishes from a valid one.
fn initiation(n: u64) -> Vec<u8> {
    let mut datagram = vec![1, 1, 1, 0, 0, 0, 0, 0];
    datagram.resize(112, n as u8 | 1);
    datagram
}

/// Sends initiations from `count` sources at the same moment.
fn flood(world: &mut World, count: u64) {
    for n in 0..count {
        let refusal = refusal(&mut world.ends[1], &initiation(n), 1_000 + n, world.now);
        assert!(matches!(refusal, Some(OpenError::Forged | OpenError::Throttled)));
    }
}

#[test]
fn a_flood_is_limited_and_sessions_go_on() {
    let mut world = World::connected();
    for _ in 0..40 {
        flood(&mut world, 3_000);
        world.send(0, b"from 0");
        world.send(1, b"from 1");
        world.run(Time::s(10));
    }
    assert_eq!(world.received.each_ref().map(Vec::len), [40, 40]);
    let counters = world.ends[1].counters();
    assert!(counters.forged <= 40 * 1_000, "{} were read", counters.forged);
    assert_eq!(counters.forged + counters.throttled, 40 * 3_000);
    assert!(counters.handshakes >= 3, "new sessions during the flood");
    assert!(world.errors.is_empty());
}

#[test]
fn a_peer_renews_its_session_during_a_flood() {
    let mut world = World::connected();
    world.now += Time::s(121);
    let initiation = due(&mut world.ends[0], world.now).remove(0);
    flood(&mut world, 3_000);
    let from_elsewhere = refusal(&mut world.ends[1], &initiation, 77, world.now);
    assert_eq!(from_elsewhere, Some(OpenError::Throttled));
    reply(&mut world.ends[1], initiation, world.now);
}

#[test]
fn one_source_cannot_use_up_the_rate_of_others() {
    let mut b = end(2, 0, 1, Settings::default());
    let mut a = end(1, 1, 2, Settings::default());
    for n in 0..10_000 {
        assert!(b.open(&mut initiation(n), 666, Time::ZERO).is_err());
    }
    assert_eq!((b.counters().forged, b.counters().throttled), (10, 9_990));
    let mut right = sealed(&mut a, 1, b"x", Time::ZERO);
    assert!(matches!(b.open(&mut right, 7, Time::ZERO), Ok(Event::Handshake { .. })));
}

#[test]
fn a_flood_with_a_peers_address_leaves_its_session() {
    let mut world = World::connected();
    for n in 0..5_000 {
        assert!(world.ends[1].open(&mut initiation(n), 0, world.now).is_err());
    }
    assert!(world.ends[1].counters().forged <= 10);
    world.send(0, b"works");
    world.run(Time::ms(1));
    assert_eq!(world.received[1], [b"works"]);
    assert!(due(&mut world.ends[1], world.now).is_empty());
}
