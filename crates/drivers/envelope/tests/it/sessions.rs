//! The life of sessions: handshakes, retries, new sessions, and restarts.

use crate::world::{NONE, World, due, end, reply, sealed, started};
use slotline_base::time::Time;
use slotline_envelope::{Event, OpenError, SealError, Sealed, Settings};
use std::time::Duration;

#[test]
fn messages_have_limits() {
    let mut a = end(1, 1, 2, Settings::default());
    let mut out = Vec::new();
    let mut seal = |peer, len| a.seal(peer, &vec![0; len], Time::ZERO, &mut out);
    assert_eq!(seal(9, 1), Err(SealError::UnknownPeer(9)));
    assert_eq!(seal(1, 0), Err(SealError::Empty));
    assert_eq!(seal(1, 65_476), Err(SealError::TooLong(65_476)));
    assert_eq!(seal(1, 65_475), Ok(Sealed::Initiation));
    assert_eq!(seal(1, 1), Ok(Sealed::Waiting));
    assert_eq!(out.len(), 112);
}

#[test]
fn the_largest_message_arrives() {
    let mut world = World::connected();
    world.send(0, &[7; 65_475]);
    world.run(Time::ms(1));
    assert_eq!(world.received[1], [[7; 65_475]]);
}

#[test]
fn datagrams_are_appended() {
    let mut world = World::connected();
    let mut out = b"before".to_vec();
    let sealed = world.ends[0].seal(1, b"message", world.now, &mut out);
    assert_eq!((sealed, out.len()), (Ok(Sealed::Datagram), 6 + 7 + 32));
    let event = world.ends[1].open(&mut out[6..], 0, world.now);
    assert_eq!(event, Ok(Event::Message { peer: 0, message: b"message" }));
}

#[test]
fn initiations_are_repeated_ever_more_slowly_and_then_no_more() {
    let mut a = end(1, 1, 2, Settings::default());
    let mut times = vec![Time::ZERO];
    sealed(&mut a, 1, b"x", Time::ZERO);
    while let Some(deadline) = a.next_deadline() {
        times.extend(due(&mut a, deadline).iter().map(|_| deadline));
    }
    let first = [0, 100, 300, 700, 1_500, 3_100, 5_100, 7_100].map(Time::ms);
    assert_eq!(times[..8], first);
    assert!(times.last().is_some_and(|&last| last < Time::s(90)));
    assert_eq!((a.counters().dropped, a.counters().sealed), (1, 0));
    let mut out = Vec::new();
    assert_eq!(a.seal(1, b"x", Time::s(200), &mut out), Ok(Sealed::Initiation));
}

#[test]
fn idle_ends_keep_a_session() {
    let mut world = World::connected();
    for _ in 0..1_000 {
        world.run(Time::s(1));
        assert!(world.ready(), "at {}", world.now);
    }
    let handshakes = world.ends.each_ref().map(|end| end.counters().handshakes);
    assert_eq!(handshakes, [9, 9]);
    assert!(world.errors.is_empty());
}

#[test]
fn a_session_ends_when_the_peer_is_gone() {
    let mut world = World::connected();
    world.faults.loss = 1.0;
    world.run(Time::s(179));
    assert!(world.ready());
    world.run(Time::s(1));
    assert!(!world.ends[0].is_ready(1, world.now));
    world.run(Time::s(400));
    assert_eq!(world.ends[0].next_deadline(), None);
    world.faults = NONE;
    world.send(1, b"back");
    world.run(Time::ms(1));
    assert_eq!(world.received[0], [b"back"]);
}

#[test]
fn the_responder_takes_over_where_the_initiator_does_not_renew() {
    let mut world = World::connected();
    let before = world.ends[1].counters().handshakes;
    let now = world.now + Time::s(165);
    let initiations = due(&mut world.ends[1], now);
    assert_eq!(initiations.len(), 1);
    let mut answer = reply(&mut world.ends[0], initiations[0].clone(), now);
    let event = world.ends[1].open(&mut answer, 1, now);
    assert_eq!(event, Ok(Event::Established { peer: 0 }));
    assert_eq!(world.ends[1].counters().handshakes, before + 1);
}

#[test]
fn a_responder_uses_a_session_once_it_is_confirmed() {
    let mut world = World::connected();
    let now = world.now + Time::s(121);
    let initiation = due(&mut world.ends[0], now).remove(0);
    let mut response = reply(&mut world.ends[1], initiation, now);
    let mut old = sealed(&mut world.ends[1], 0, b"under the old session", now);
    assert_eq!(world.ends[0].open(&mut response, 1, now), Ok(Event::Established { peer: 1 }));
    assert!(matches!(world.ends[0].open(&mut old, 1, now), Ok(Event::Message { .. })));
    let mut still_old = sealed(&mut world.ends[1], 0, b"still", now);
    let index = |datagram: &[u8]| datagram[4..8].to_vec();
    assert_eq!(index(&still_old), index(&old));
    assert!(world.ends[0].open(&mut still_old, 1, now).is_ok());
    let mut confirmation = due(&mut world.ends[0], now).remove(0);
    assert_eq!(world.ends[1].open(&mut confirmation, 0, now), Ok(Event::Alive { peer: 0 }));
    let mut new = sealed(&mut world.ends[1], 0, b"under the new session", now);
    assert_ne!(index(&new), index(&old));
    assert!(world.ends[0].open(&mut new, 1, now).is_ok());
}

#[test]
fn a_peer_may_restart() {
    for restarted in 0..2 {
        let mut world = World::connected();
        let (own, other) = (restarted as u8 + 1, 2 - restarted as u8);
        let later = Duration::from_secs(1_700_000_100);
        world.ends[restarted] =
            started(later, own, 1 - restarted as u32, other, Settings::default());
        world.send(1 - restarted, b"lost");
        world.run(Time::ms(1));
        assert_eq!(world.errors, [OpenError::UnknownSession]);
        world.send(restarted, b"again");
        world.run(Time::ms(1));
        world.send(1 - restarted, b"hello again");
        world.run(Time::ms(1));
        assert_eq!(world.received[1 - restarted], [b"again"]);
        assert_eq!(world.received[restarted], [b"hello again"]);
    }
}

#[test]
fn a_peer_that_does_not_answer_gets_a_new_session_by_renewal() {
    let mut world = World::connected();
    let later = Duration::from_secs(1_700_000_100);
    world.ends[1] = started(later, 2, 0, 1, Settings::default());
    world.run(Time::s(2));
    world.ends[0].renew(1, world.now).unwrap();
    world.ends[0].renew(1, world.now).unwrap();
    world.run(Time::ms(1));
    world.send(1, b"from the restarted one");
    world.run(Time::ms(1));
    assert_eq!(world.received[0], [b"from the restarted one"]);
    assert_eq!(world.ends[1].counters().handshakes, 1);
}

#[test]
fn handshakes_by_both_ends_at_once_lead_to_one_that_works() {
    let mut world = World::new(Settings::default(), NONE, 0);
    world.send(0, b"from 0");
    world.send(1, b"from 1");
    world.run(Time::ms(1));
    assert_eq!(world.received, [vec![b"from 1"], vec![b"from 0"]]);
    world.run(Time::s(1_000));
    assert!(world.ready() && world.errors.is_empty());
}
