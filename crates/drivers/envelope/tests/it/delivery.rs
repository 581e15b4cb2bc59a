//! Each message that arrives was sent and arrives once, whatever the network does, and new sessions lose no messages.

use crate::world::{Faults, NONE, World};
use proptest::prelude::*;
use slotline_base::time::Time;
use slotline_envelope::Settings;
use std::collections::BTreeSet;

/// Sends `count` messages in each direction, one every millisecond. Each has its number.
fn traffic(world: &mut World, count: u32) {
    for n in 0..count {
        for from in 0..2 {
            world.send(from, &n.to_be_bytes());
        }
        world.run(Time::ms(1));
    }
}

/// The numbers that an end received; each may arrive once.
fn numbers(world: &World, end: usize) -> BTreeSet<u32> {
    let all = world.received[end].iter().map(|message| message[..].try_into().unwrap());
    let set: BTreeSet<u32> = all.map(u32::from_be_bytes).collect();
    assert_eq!(set.len(), world.received[end].len(), "a message arrived twice");
    set
}

#[test]
fn the_first_messages_wait_and_arrive() {
    for from in 0..2 {
        let mut world = World::new(Settings::default(), NONE, 0);
        for n in 0..20_u8 {
            world.send(from, &[n]);
        }
        world.run(Time::ms(1));
        let expected: Vec<Vec<u8>> = (0..20).map(|n| vec![n]).collect();
        assert_eq!(world.received[1 - from], expected);
        assert!(world.ready() && world.errors.is_empty());
    }
}

#[test]
fn a_responder_with_messages_alone_is_confirmed() {
    let mut world = World::new(Settings::default(), NONE, 0);
    world.ends[0].renew(1, Time::ZERO).unwrap();
    world.run(Time::ms(1));
    assert!(world.ready());
    world.send(1, b"from the responder");
    world.run(Time::ms(1));
    assert_eq!(world.received[0], [b"from the responder"]);
}

fn rekeying(settings: Settings, seed: u64) {
    let mut world = World::new(settings, Faults { jitter: Time::ms(5), ..NONE }, seed);
    world.connect();
    traffic(&mut world, 3_000);
    world.run(Time::ms(10));
    for end in 0..2 {
        let arrived = numbers(&world, end);
        let missing: Vec<u32> = (0..3_000).filter(|n| !arrived.contains(n)).collect();
        assert!(missing.is_empty(), "end {end}, seed {seed}: {missing:?} are missing");
        assert!(world.ends[end].counters().handshakes > 5);
    }
}

#[test]
fn new_sessions_by_age_lose_nothing() {
    for seed in 0..10 {
        rekeying(Settings { rekey_after: Time::ms(200), ..Settings::default() }, seed);
    }
}

#[test]
fn new_sessions_by_number_of_messages_lose_nothing() {
    for seed in 0..10 {
        rekeying(Settings { rekey_after_messages: 300, ..Settings::default() }, seed);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn what_arrives_was_sent_once(
        seed in any::<u64>(),
        loss in 0.0..0.5,
        duplication in 0.0..0.5,
        jitter in 0_u64..40,
        rekey in 100_u64..1_000,
    ) {
        let settings = Settings { rekey_after: Time::ms(rekey), ..Settings::default() };
        let faults = Faults { loss, duplication, jitter: Time::ms(jitter) };
        let mut world = World::new(settings, faults, seed);
        world.ends[0].renew(1, Time::ZERO).unwrap();
        traffic(&mut world, 1_000);
        world.run(Time::s(5));
        world.faults = NONE;
        world.run(Time::s(5));
        prop_assert!(world.ready());
        for end in 0..2 {
            let numbers = numbers(&world, end);
            prop_assert!(numbers.iter().all(|&n| n < 1_000));
            // Handshakes may take most of the time if most datagrams are lost.
            prop_assert!(loss > 0.2 || numbers.len() > 300, "{} arrived", numbers.len());
        }
        let before = world.received.clone().map(|all| all.len());
        traffic(&mut world, 10);
        prop_assert_eq!(world.received.map(|all| all.len()), before.map(|len| len + 10));
    }
}
