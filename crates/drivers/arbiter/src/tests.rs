use crate::threads;
use crate::threads::Threads;
use crate::worker::Order;
use proptest::prelude::*;
use slotline_fastpass::schedule::{MakeCrew, Placed};
use slotline_fastpass::spec;
use slotline_fastpass::{EmptySchedule, FastpassSpec, Schedule};
use slotline_net::time::Time;
use std::panic::AssertUnwindSafe;

/// Networks with one rack, with hosts of different rates, with racks under spines, with pods, and without such an order.
const FABRICS: [&str; 5] = [
    "kind = 'star'\nhosts = 7",
    "kind = 'star'\nhosts = 5\noverrides = [{ link = 'h1-s0', rate = '40Gbps' }]",
    "kind = 'leaf-spine'\nleaves = 3\nspines = 2\nhosts-per-leaf = 4\nuplink-rate = '10Gbps'",
    "kind = 'fat-tree'\nk = 4",
    "kind = 'leaf-spine'\nleaves = 3\nspines = 2\nhosts-per-leaf = 3\nuplinks-per-spine = 2",
];

fn empty(spec: &FastpassSpec, fabric: &str) -> EmptySchedule {
    let fabric = toml::from_str(fabric).unwrap();
    EmptySchedule::of_network(&spec.build().unwrap(), &fabric).unwrap()
}

/// What happens at an arbiter, by host numbers that may be too high.
#[derive(Clone, Copy, Debug)]
enum Event {
    Demand(u16, u16, u32),
    Restart(u16),
    Works(u32, bool),
    /// The end of a round, and the beginning of the next one.
    Round,
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    let demand = || (0u16..16, 0u16..16, 1u32..200);
    let event = prop_oneof![
        20 => demand().prop_map(|(src, dst, slots)| Event::Demand(src, dst, slots)),
        1 => (0u16..5).prop_map(Event::Restart),
        1 => (0u32..9, any::<bool>()).prop_map(|(link, works)| Event::Works(link, works)),
        4 => Just(Event::Round),
    ];
    prop::collection::vec(event, 1..200)
}

fn specs() -> impl Strategy<Value = FastpassSpec> {
    let turns = prop_oneof![Just(1u32), Just(4), 1u32..64];
    (1u32..=64, 1u32..5, turns, any::<bool>(), any::<bool>()).prop_map(
        |(batch, allocators, quantum, strict_turns, shortest)| match shortest {
            true => FastpassSpec {
                batch,
                allocators,
                policy: spec::Order::ShortestFirst,
                processing: Time::ZERO,
                ..Default::default()
            },
            false => FastpassSpec {
                batch,
                allocators,
                quantum,
                strict_turns,
                processing: Time::ZERO,
                ..Default::default()
            },
        },
    )
}

/// The results of all rounds: timeslots, whether nobody waits, and timeslots without a path.
fn run(mut schedule: Schedule, events: &[Event]) -> Vec<(Vec<Placed>, bool, u64)> {
    let mut results = Vec::new();
    let drained = std::iter::repeat_n(&Event::Round, 30);
    for &event in events.iter().chain(drained) {
        match event {
            Event::Demand(src, dst, slots) => _ = schedule.demand(src, dst, slots),
            Event::Restart(src) => schedule.restart(src),
            Event::Works(link, works) => schedule.set_works(link, works),
            Event::Round => {
                schedule.collect();
                let unplaced = schedule.counters().unplaced;
                results.push((schedule.placed().to_vec(), schedule.is_idle(), unplaced));
                schedule.begin();
            }
        }
    }
    results
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]
    /// Threads allocate the same timeslots and paths as one thread, whatever comes between the beginning and the end of a
    /// round.
    #[test]
    fn threads_decide_as_one(spec in specs(), which in 0usize..5, events in events()) {
        let empty = empty(&spec, FABRICS[which]);
        let (here, there) = (run(empty.begin(None), &events), run(empty.begin(Some(&threads())), &events));
        prop_assert_eq!(here, there);
    }
}

/// A round goes on while the arbiter does something else, and a schedule may end in the middle of one.
#[test]
fn a_round_is_out_until_it_is_collected() {
    let spec = FastpassSpec { allocators: 3, ..FastpassSpec::default() };
    let mut schedule = empty(&spec, FABRICS[0]).begin(Some(&threads()));
    assert!(schedule.demand(0, 1, 100));
    schedule.begin();
    assert!(schedule.is_out() && !schedule.is_idle());
    assert!(schedule.demand(0, 2, 1), "for the next round");
    schedule.collect();
    assert!(!schedule.is_out() && !schedule.is_idle());
    let slots =
        |schedule: &Schedule| schedule.placed().iter().map(|of| of.slots.count_ones()).sum::<u32>();
    assert_eq!(slots(&schedule), 100);
    schedule.batch();
    assert_eq!(slots(&schedule), 1);
    assert!(schedule.demand(3, 4, 1));
    schedule.begin();
    drop(schedule);
}

/// A panic in a thread continues in the arbiter's, and no thread waits for ever.
#[test]
fn a_panic_ends_all_threads() {
    for which in 0..3 {
        let make = MakeCrew::new(move |parts| {
            let mut threads = Threads::begin(parts);
            threads.order(which, Order::Panic);
            Box::new(threads)
        });
        let spec = FastpassSpec { allocators: 3, ..FastpassSpec::default() };
        let mut schedule = empty(&spec, FABRICS[0]).begin(Some(&make));
        assert!(schedule.demand(0, 1, 500));
        let ended = std::panic::catch_unwind(AssertUnwindSafe(|| schedule.batch().len()));
        let reason = *ended.unwrap_err().downcast::<&str>().unwrap();
        assert_eq!(reason, "a test has ordered it");
    }
}
