use super::super::testing::{fabric, made, refusal};
use super::super::{Role, Traffic, WorkloadSpec, rehearsal};
use super::*;
use proptest::prelude::*;
use std::collections::BTreeSet;

fn collective(text: &str) -> WorkloadSpec {
    WorkloadSpec::Collective(toml::from_str(text).expect(text))
}

fn traffic(text: &str) -> Traffic {
    made(&collective(text), &fabric())
}

/// The start times of all messages except those of barriers, in microseconds, if each message takes 10 us.
fn starts(text: &str) -> Vec<u64> {
    let traffic = traffic(text);
    let starts = rehearsal::starts(&traffic, Time::us(10));
    let is_signal = |at: &usize| traffic.flows[*at].role == Role::Signal;
    let mut starts: Vec<u64> = (0..traffic.flows.len())
        .filter(|at| !is_signal(at))
        .map(|at| starts[at].expect("starts").as_ps() / 1_000_000)
        .collect();
    starts.sort_unstable();
    starts
}

fn ends(text: &str) -> u64 {
    starts(text).last().copied().unwrap() + 10
}

#[test]
fn a_ring_goes_step_by_step() {
    let expected: Vec<u64> = (0..6).flat_map(|step| [step * 10; 4]).collect();
    assert_eq!(starts("hosts = 4"), expected);
    let traffic = traffic("hosts = 4\nsize = '1001B'");
    assert!(traffic.flows.iter().all(|flow| flow.bytes == 251));
    assert_eq!(traffic.conns.len(), 4, "connections last");
}

/// A message takes 10 us, a barrier two messages, a gap 3 us, and a computation 5 us. A host that computes for
/// 15 us sends at 15 us. At 65 us it receives the sixth message, which its predecessor sends at 55 us. It then
/// computes again, and its next round takes 60 us.
#[test]
fn rounds_barriers_and_computation_take_their_time() {
    let times = [
        ("rounds = 3", 3 * 60),
        ("rounds = 3\nbarrier = 'round'", 3 * 60 + 2 * 20),
        ("rounds = 3\nbarrier = 'round'\ngap = '3us'", 3 * 60 + 2 * 23),
        ("barrier = 'step'\ngap = '3us'", 60 + 5 * 23),
        ("rounds = 2\ncompute = '5us'", 2 * 65),
        ("rounds = 2\ncompute = '5us'\nstragglers = 0.25\nslowdown = 3", 65 + 15 + 60),
        ("start = '7us'", 67),
    ];
    for (text, expected) in times {
        assert_eq!(ends(&format!("hosts = 4\n{text}")), expected, "{text}");
    }
}

/// Microbatches keep stages busy: (m + n - 1) computations and n - 1 messages in a row, forward and back. The
/// last message is for the first stage, which then computes once more.
#[test]
fn a_pipeline_has_its_known_time() {
    for (stages, batches) in [(2, 1), (4, 1), (4, 8), (7, 3)] {
        let text = format!(
            "pattern = 'pipeline'\nhosts = {stages}\nmicrobatches = {batches}\ncompute = '50us'"
        );
        let one_way = (batches + stages - 1) * 50 + (stages - 1) * 10;
        assert_eq!(ends(&text), 2 * one_way - 50, "{text}");
        let twice = format!("{text}\nrounds = 2");
        assert_eq!(ends(&twice), 4 * one_way - 50, "{text}");
    }
}

#[test]
fn a_slow_stage_holds_up_the_pipeline() {
    let text = "pattern = 'pipeline'\nhosts = 4\nmicrobatches = 20\ncompute = '50us'";
    let slow = ends(&format!("{text}\nstragglers = 0.25\nslowdown = 2"));
    // The slow stage computes for 20 times 100 us each way.
    assert!((2 * 2_000..2 * 2_000 + 2 * (3 * 50 + 3 * 10) + 200).contains(&slow), "{slow}");
}

#[test]
fn rounds_are_exchanges() {
    let traffic = traffic("hosts = 4\nrounds = 3\nbarrier = 'round'");
    let of = |round| traffic.flows.iter().filter(move |f| f.role.exchange() == Some(round)).count();
    assert_eq!([0, 1, 2, 3].map(of), [24, 24, 24, 0]);
    assert_eq!(traffic.flows.iter().filter(|flow| flow.role == Role::Signal).count(), 2 * 6);
}

#[test]
fn what_cannot_be_is_refused() {
    for (text, why) in [
        ("hosts = 1", "at least 2"),
        ("size = '0B'", "at least 1 byte"),
        ("stragglers = 0.5", "give `compute`"),
        ("stragglers = 1.5", "from 0 to 1"),
        ("slowdown = 0.5", "1 to 1000"),
        ("microbatches = 3", "pattern = \"pipeline\""),
        ("pattern = 'pipeline'\nmicrobatches = 0", "at least 1"),
        ("pattern = 'pipeline'\nbarrier = 'step'", "barrier = \"round\""),
        ("gap = '1us'", "after a barrier"),
        ("rounds = 0", "no flow"),
        ("rounds = 100000", "at most"),
    ] {
        let error = refusal(&collective(text), &fabric());
        assert!(error.contains(why), "{text}: {error}");
    }
}

/// Halving and doubling of 6 hosts: two send to partners first; 4 exchange halves, then quarters, and back.
#[test]
fn halving_and_doubling_by_hand() {
    let spec: Collective = toml::from_str("pattern = 'halving-doubling'\nsize = '100B'").unwrap();
    let row = |step: &Vec<Move>| -> Vec<(u32, u32, u64)> {
        step.iter().map(|m| (m.from, m.to, m.bytes)).collect()
    };
    let near = vec![(0, 1, 50), (1, 0, 50), (2, 3, 50), (3, 2, 50)];
    let far = vec![(0, 2, 25), (1, 3, 25), (2, 0, 25), (3, 1, 25)];
    let expected = vec![
        vec![(4, 0, 100), (5, 1, 100)],
        near.clone(),
        far.clone(),
        far,
        near,
        vec![(0, 4, 100), (1, 5, 100)],
    ];
    assert_eq!(spec.phases(6).iter().map(row).collect::<Vec<_>>(), expected);
}

proptest! {
    /// In the end every host has data of every host, directly or through others. In no step does a host send or
    /// receive twice. The traffic consists of the messages of the phases.
    #[test]
    fn everyone_hears_of_everyone(n in 2u32..40, which in 0usize..3, size in 1u64..100_000) {
        let pattern = [Pattern::RingAllReduce, Pattern::HalvingDoubling, Pattern::AllToAll][which];
        let hosts = Hosts::Count(n);
        let spec = Collective { pattern, size: Bytes(size), hosts, ..Collective::default() };
        let phases = spec.phases(n);
        let mut heard: Vec<BTreeSet<u32>> = (0..n).map(|place| BTreeSet::from([place])).collect();
        for phase in &phases {
            let before = heard.clone();
            for message in phase {
                heard[message.to as usize].extend(&before[message.from as usize]);
            }
            let ends = |of: fn(&Move) -> u32| phase.iter().map(of).collect::<BTreeSet<u32>>().len();
            prop_assert_eq!(ends(|m| m.from), phase.len());
            prop_assert_eq!(ends(|m| m.to), phase.len());
        }
        prop_assert!(heard.iter().all(|heard| heard.len() == n as usize));
        let planned: u64 = phases.iter().flatten().map(|m| m.bytes).sum();
        let traffic = made(&WorkloadSpec::Collective(spec), &fabric());
        prop_assert_eq!(traffic.flows.iter().map(|flow| flow.bytes).sum::<u64>(), planned);
    }

    /// Any operation runs to its end, and the messages of a connection start in order, whichever host is late.
    #[test]
    fn any_operation_ends(
        n in 2u32..12, which in 0usize..4, rounds in 1u32..4, barrier in 0usize..3, compute in 0u64..3,
    ) {
        let pipeline = which == 3;
        let patterns =
            [Pattern::RingAllReduce, Pattern::HalvingDoubling, Pattern::AllToAll, Pattern::Pipeline];
        let spec = Collective {
            pattern: patterns[which],
            hosts: Hosts::Random(n),
            rounds,
            barrier: [Barrier::None, Barrier::Round, Barrier::Step][if pipeline { barrier.min(1) } else { barrier }],
            compute: Time::us(compute),
            stragglers: if compute > 0 { 0.5 } else { 0.0 },
            slowdown: 100.0,
            ..Collective::default()
        };
        let traffic = made(&WorkloadSpec::Collective(spec), &fabric());
        let starts = rehearsal::starts(&traffic, Time::us(10));
        prop_assert!(starts.iter().all(Option::is_some));
        for conn in &traffic.conns {
            let own = &starts[conn.first.at()..conn.first.at() + conn.count as usize];
            prop_assert!(own.is_sorted(), "{conn:?}: {own:?}");
        }
    }
}
