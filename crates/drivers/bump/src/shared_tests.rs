//! Levels that several pipelines share.

use crate::levels::{Levels, Own};
use crate::shared::Shared;
use proptest::prelude::*;
use slotline_net::aqm::VirtualQueue;
use slotline_net::time::Time;
use slotline_net::units::{Bytes, Rate};

const GIGABIT: Rate = Rate(1_000_000_000);

fn queue(capacity: u64) -> VirtualQueue {
    VirtualQueue::new(GIGABIT.inverse_rate(), Bytes(capacity))
}

/// (picoseconds since the packet before, pipeline, bytes)
type Packet = (u64, usize, u32);

fn packets() -> impl Strategy<Value = Vec<Packet>> {
    let gap = prop_oneof![3 => 0u64..2_000_000, 1 => 0u64..60_000_000];
    prop::collection::vec((gap, 0usize..4, 1u32..2_000), 1..400)
}

proptest! {
    /// For any distribution of packets over pipelines, an estimate is at most one slack of each other
    /// pipeline too low and one slack of each pipeline too high, compared with a queue that gets all
    /// forwarded packets. That queue exceeds its capacity by at most the first of these amounts.
    #[test]
    fn estimates_stay_within_the_slack(
        pipelines in 1usize..=4, slack in 0u64..6_000, capacity in 2_000u64..60_000, packets in packets(),
    ) {
        let queue = queue(capacity);
        let mut all = VirtualQueue::new(GIGABIT.inverse_rate(), Bytes(u64::from(u32::MAX)));
        let mut levels = Shared::among(pipelines, 2, Bytes(slack));
        let (low, high) = (slack * (pipelines as u64 - 1), slack * pipelines as u64);
        let (low, high) = if pipelines == 1 { (0, 0) } else { (low + 1, high + 1) };
        let mut now = Time::ZERO;
        for (gap, who, len) in packets {
            now += Time::ps(gap);
            let one = &mut levels[who % pipelines];
            let estimate = queue.inverse_rate().bytes_in(one.level(1, &queue, now).since(now));
            let real = all.bytes(now);
            prop_assert!(estimate + low >= real, "{estimate} of {real}");
            prop_assert!(estimate <= real + high, "{estimate} of {real}");
            if one.fill(1, &queue, len, now) {
                all.add(len, now);
            }
            prop_assert!(all.bytes(now) <= capacity + low);
            prop_assert!(one.unpublished(1) <= queue.inverse_rate().time_for(slack));
            prop_assert_eq!(one.level(0, &queue, now), Time::ZERO);
        }
    }

    /// A single pipeline, or several without slack, give the levels of a pipeline that sees all packets.
    #[test]
    fn exact_alone_and_without_slack(
        several in any::<bool>(), slack in 0u64..6_000, capacity in 2_000u64..60_000, packets in packets(),
    ) {
        let queue = queue(capacity);
        let (pipelines, slack) = if several { (4, 0) } else { (1, slack) };
        let mut levels = Shared::among(pipelines, 1, Bytes(slack));
        let mut own = Own::new(1);
        let mut now = Time::ZERO;
        for (gap, who, len) in packets {
            now += Time::ps(gap);
            let one = &mut levels[who % pipelines];
            prop_assert_eq!(one.level(0, &queue, now).max(now), own.level(0, &queue, now).max(now));
            prop_assert_eq!(one.fill(0, &queue, len, now), own.fill(0, &queue, len, now));
        }
    }
}

fn two(slack: u64) -> [Shared; 2] {
    let all = Shared::among(2, 1, Bytes(slack));
    all.try_into().expect("two")
}

/// Three packets of 1,250 bytes take 30 us. The third packet exceeds the slack, so all three are published.
#[test]
fn the_amount_above_the_slack_is_published() {
    let queue = queue(100_000);
    let [mut one, mut other] = two(2_500);
    for published in [0, 0, 30] {
        assert!(one.fill(0, &queue, 1_250, Time::ZERO));
        assert_eq!(other.level(0, &queue, Time::ZERO), Time::us(published));
    }
    assert_eq!(one.level(0, &queue, Time::ZERO), Time::us(30));
}

/// 1,250 bytes take 10 us, and the slack of the other pipeline, 2,500 bytes, takes 20 us. After 30 us the
/// queue has been empty, so nothing need be published. Before 30 us that is not certain.
#[test]
fn bytes_that_have_certainly_drained_are_not_published() {
    for (gap, publishes) in [(30, false), (29, true)] {
        let queue = queue(100_000);
        let [mut one, mut other] = two(2_500);
        for n in 0..100 {
            let now = Time::us(gap * n);
            assert!(one.level(0, &queue, now) <= now);
            assert!(one.fill(0, &queue, 1_250, now));
        }
        assert_eq!(other.level(0, &queue, Time::ZERO) > Time::ZERO, publishes);
    }
}

/// Each pipeline estimates an empty queue after 20 us, but with both unpublished amounts it is not empty.
#[test]
fn two_pipelines_do_not_both_discard_their_bytes() {
    let queue = queue(100_000);
    let mut both = two(2_500);
    for n in 0..100 {
        let now = Time::us(20 * n);
        for one in &mut both {
            one.level(0, &queue, now);
            assert!(one.fill(0, &queue, 2_500, now) || n > 30);
        }
    }
    // 250 bytes come in a microsecond, and 125 leave.
    let now = Time::us(2_000);
    let full = queue.inverse_rate().time_for(100_000 - 3 * 2_500);
    assert!(both[0].level(0, &queue, now).since(now) >= full);
}

#[test]
fn a_packet_without_room_is_not_added() {
    let queue = queue(2_000);
    let [mut one, mut other] = two(0);
    assert!(one.fill(0, &queue, 1_250, Time::ZERO));
    assert!(!one.fill(0, &queue, 1_250, Time::ZERO));
    assert_eq!(other.level(0, &queue, Time::ZERO), Time::us(10));
}

#[test]
fn several_threads_fill_one_queue_with_every_packet_once() {
    const PACKETS: u64 = 20_000;
    let queue = queue(1_000_000_000);
    for slack in [0, 1_250, 20_000] {
        let mut all = Shared::among(4, 2, Bytes(slack));
        let mut watcher = all.pop().expect("four");
        let fill = |mut one: Shared| {
            for _ in 0..PACKETS {
                one.level(1, &queue, Time::ZERO);
                assert!(one.fill(1, &queue, 1_250, Time::ZERO));
            }
            one.unpublished(1)
        };
        let unpublished: Vec<Time> = std::thread::scope(|scope| {
            let spawn = |one| scope.spawn(|| fill(one));
            let running: Vec<_> = all.into_iter().map(spawn).collect();
            running.into_iter().map(|one| one.join().expect("it only counts")).collect()
        });
        let published = watcher.level(1, &queue, Time::ZERO);
        let all = unpublished.into_iter().fold(published, |sum, one| sum + one);
        assert_eq!(all, Time::us(10 * 3 * PACKETS), "{slack}");
        assert_eq!(watcher.level(0, &queue, Time::ZERO), Time::ZERO);
    }
}
