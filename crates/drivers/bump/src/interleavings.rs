//! The levels that pipelines share, on atomics that try every order in which two threads can interleave.

mod atomics {
    pub(super) use loom::sync::atomic::{AtomicU64, Ordering};
}
// The same file as `crate::shared`, on other atomics; only some of it is tried here.
#[allow(clippy::duplicate_mod, dead_code)]
#[path = "shared.rs"]
mod shared;

use crate::levels::Levels;
use shared::Shared;
use slotline_net::aqm::VirtualQueue;
use slotline_net::time::Time;
use slotline_net::units::{Bytes, Rate};

fn queue(capacity: u64) -> VirtualQueue {
    VirtualQueue::new(Rate(1_000_000_000).inverse_rate(), Bytes(capacity))
}

/// Two pipelines with `packets` packets of 1,250 bytes each at the same time. `check` gets the sum of the
/// published and unpublished amounts, and the number of packets that had room.
fn two(slack: u64, packets: u32, capacity: u64, check: fn(Time, usize)) {
    loom::model(move || {
        let mut all = Shared::among(3, 1, Bytes(slack));
        let (mut watcher, second) = (all.remove(2), all.remove(1));
        let first = all.remove(0);
        let pass = move |mut one: Shared| {
            let fits = (0..packets).filter(|_| {
                one.level(0, &queue(capacity), Time::ZERO);
                one.fill(0, &queue(capacity), 1_250, Time::ZERO)
            });
            (fits.count(), one.unpublished(0))
        };
        let there = loom::thread::spawn(move || pass(first));
        let (here, there) = (pass(second), there.join().expect("it only counts"));
        let published = watcher.level(0, &queue(capacity), Time::ZERO);
        check(published + here.1 + there.1, here.0 + there.0);
    });
}

#[test]
fn every_packet_counts_once() {
    for slack in [0, 1_250, 2_500] {
        two(slack, 3, 100_000, |level, fits| {
            assert_eq!((level, fits), (Time::us(60), 6));
        });
    }
}

#[test]
fn without_slack_never_more_than_fits() {
    two(0, 2, 3_750, |level, fits| assert_eq!((level, fits), (Time::us(30), 3)));
}

#[test]
fn with_slack_a_slack_more_than_fits_at_most() {
    two(1_250, 3, 3_750, |level, fits| {
        assert_eq!(level, Time::us(10 * fits as u64));
        assert!((3..=4).contains(&fits), "{fits}");
    });
}
