//! Explanations of real runs.

use crate::record::{Part, RunRecord, Step, WhyRow};
use crate::run::Jobs;
use proptest::prelude::*;
use slotline_scenario::Scenario;
use std::path::Path;

const SCHEMES: [(&str, &str); 5] = [
    ("reno", "transport = { kind = \"newreno\", min-rto = \"5ms\" }"),
    ("dctcp", "transport = \"dctcp\"\nqueue = { kind = \"ecn\", threshold = \"30KB\" }"),
    ("cubic", "transport = { kind = \"cubic\", delayed-ack = \"200us\" }\nrouting = \"spray\""),
    ("classes", "transport = \"cubic\"\nqueue = { kind = \"drop-tail\", priorities = true }"),
    ("xco", "transport = \"cubic\"\ncontrol = { kind = \"xco\", slice = \"100us\" }"),
];

fn run(text: &str) -> RunRecord {
    let loaded = Scenario::parse(Path::new("test.toml"), text.into()).expect("a good scenario");
    Jobs::of(&loaded).run(&loaded, 1).expect("a run").remove(0)
}

fn scenario(fabric: &str, workload: &str, scheme: &str, seed: u32) -> String {
    format!(
        "name = \"why\"\nseed = {seed}\nend = {{ at = \"400ms\" }}\nfabric = {fabric}\n\
         [[workload]]\n{workload}\n[[scheme]]\nname = \"it\"\n{scheme}\n"
    )
}

fn lasted(record: &RunRecord, row: &WhyRow) -> u64 {
    let flow = &record.flows[row.flow as usize];
    flow.finish_ps - flow.start_ps
}

fn share(row: &WhyRow, part: Part) -> f64 {
    row.of(part) as f64 / row.parts.iter().sum::<u64>() as f64
}

/// Checks what holds for every explanation. Returns the share of time whose cause is unknown.
fn assert_sound(record: &RunRecord) -> f64 {
    let mut unknown = 0.0;
    for row in &record.why {
        assert_eq!(row.parts.iter().sum::<u64>(), lasted(record, row), "{row:?}");
        let waits: u64 = row.worst.iter().map(|(_, ps)| ps).sum();
        let waited = [Part::Card, Part::Queue, Part::Circuit, Part::Grant].map(|part| row.of(part));
        let waited: u64 = waited.iter().sum();
        assert!(waits <= waited && row.worst.is_sorted_by(|a, b| a.1 >= b.1), "{row:?}");
        unknown += share(row, Part::Unknown);
    }
    unknown / record.why.len().max(1) as f64
}

#[test]
fn a_lone_flow_waits_for_nobody() {
    let workload = "kind = \"bulk\"\nsenders = \"0\"\nreceivers = \"1\"\nsize = \"1MB\"";
    let fabric = "{ kind = \"star\", hosts = 3, rate = \"10Gbps\", delay = \"5us\" }";
    let record = run(&scenario(fabric, workload, SCHEMES[2].1, 1));
    assert_eq!(record.why.len(), 1);
    assert_eq!(assert_sound(&record), 0.0);
    let row = record.why[0];
    assert_eq!(row.of(Part::Timeout) + row.of(Part::Retransmitting), 0);
    // The last segment is short and catches up with the one before it.
    assert!(row.of(Part::Queue) < 1_000_000, "{row:?}");
    assert!(share(&row, Part::Propagating) + share(&row, Part::Serialising) > 0.95, "{row:?}");
    assert!(row.round_trips >= 2, "slow start takes round trips: {row:?}");
}

#[test]
fn incast_waits_at_the_receivers_port_and_for_timers() {
    let workload = "kind = \"incast\"\nsplit = false\nblock = \"64KB\"";
    let fabric = "{ kind = \"star\", hosts = 33, rate = \"10Gbps\", delay = \"1us\" }";
    let shallow = "transport = { kind = \"newreno\", min-rto = \"10ms\" }\n\
                   queue = { kind = \"drop-tail\", limit = \"100KB\" }";
    let record = run(&scenario(fabric, workload, shallow, 1));
    assert_eq!(assert_sound(&record), 0.0);
    assert!(record.why.len() >= 32);
    let slowest = record.why.iter().max_by_key(|row| lasted(&record, row)).expect("flows");
    assert!(share(slowest, Part::Timeout) > 0.5, "{slowest:?}");
    let queued = record.why.iter().max_by_key(|row| row.of(Part::Queue)).expect("flows");
    let port = &record.ports[queued.worst[0].0 as usize];
    assert_eq!((port.node.as_str(), port.port.as_str()), ("s0", "h0"));
}

#[test]
fn a_scheduled_flow_waits_for_its_grant() {
    let workload = "kind = \"incast\"\nsplit = false\nblock = \"300KB\"";
    let fabric = "{ kind = \"star\", hosts = 9, rate = \"10Gbps\", delay = \"1us\" }";
    let record = run(&scenario(fabric, workload, SCHEMES[4].1, 1));
    assert_eq!(assert_sound(&record), 0.0);
    let slowest = record.why.iter().max_by_key(|row| lasted(&record, row)).expect("flows");
    assert!(share(slowest, Part::Grant) > 0.5, "{slowest:?}");
    assert!(!record.schedule.is_empty());
    assert!(
        record
            .schedule
            .iter()
            .all(|row| row.from_ps < row.until_ps && row.dst == 0 || row.src == 0)
    );
}

#[test]
fn the_trace_of_a_flow_has_all_its_segments() {
    let workload = "kind = \"bulk\"\nsenders = \"0\"\nreceivers = \"1\"\nsize = \"1MB\"";
    let fabric = "{ kind = \"star\", hosts = 3, rate = \"10Gbps\", delay = \"5us\" }";
    let record = run(&scenario(fabric, workload, SCHEMES[0].1, 1));
    let of = |step| record.sequence.iter().filter(move |row| row.step == step);
    assert_eq!(of(Step::Sent).map(|row| row.bytes).max(), Some(1_000_000));
    // The run ends when the last byte has arrived, before the last acknowledgements have.
    assert!(of(Step::Acknowledged).any(|row| row.bytes > 980_000));
    assert!(of(Step::Sent).is_sorted_by_key(|row| row.bytes));
    assert_eq!(of(Step::Resent).count() as u32, record.flows[0].retransmits);
}

/// Without a packet switch a short flow spends nearly all of its time waiting for circuits. The parts add up with and
/// without one.
#[test]
fn a_flow_between_racks_waits_for_its_circuit() {
    let workload = "kind = \"shuffle\"\nsize = \"20KB\"";
    let scheme = "control = \"circuits\"\nvoq = { packets = 64 }\n\
                  transport = { kind = \"newreno\", min-rto = \"5ms\" }";
    let fabric = |more: &str| {
        format!(
            "{{ kind = \"hybrid\", racks = 4, hosts-per-rack = 2, {more} \
             circuits = {{ rate = \"40Gbps\", reconfiguration = \"20us\" }} }}"
        )
    };
    let alone = run(&scenario(&fabric(""), workload, scheme, 1));
    assert!(assert_sound(&alone) < 0.001);
    let between = |row: &&WhyRow| {
        let flow = &alone.flows[row.flow as usize];
        flow.src / 2 != flow.dst / 2
    };
    let shares: Vec<f64> =
        alone.why.iter().filter(between).map(|row| share(row, Part::Circuit)).collect();
    assert!(shares.len() == 48 && shares.iter().all(|share| *share > 0.3), "{shares:?}");
    assert!(alone.why.iter().filter(|row| !between(row)).all(|row| row.of(Part::Circuit) == 0));
    let both = run(&scenario(&fabric("packet = { rate = \"10Gbps\" },"), workload, scheme, 1));
    assert!(assert_sound(&both) < 0.001);
    let waited =
        |record: &RunRecord| record.why.iter().map(|row| row.of(Part::Circuit)).sum::<u64>();
    assert!(waited(&both) < waited(&alone) / 2);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// In any network and under any scheme the parts add up, and the cause of nearly no time is unknown.
    #[test]
    fn parts_add_up(
        scheme in 0..SCHEMES.len(),
        workload in 0..5usize,
        fabric in 0..3usize,
        seed in 0..1000u32,
    ) {
        let workloads = [
            "kind = \"incast\"\nsplit = false\nblock = \"100KB\"\nblocks = 2\nrequest = \"100B\"",
            "kind = \"shuffle\"\nsize = \"100KB\"",
            "kind = \"random\"\nsize = \"200KB\"\nrepeats = 2",
            "kind = \"poisson\"\nload = 0.6\nsizes = \"websearch\"\nuntil = \"5ms\"\npersistent = true",
            "kind = \"ring\"\nsize = \"100KB\"\nrepeats = 3",
        ];
        let fabrics = [
            "{ kind = \"star\", hosts = 8, rate = \"10Gbps\", delay = \"1us\" }",
            "{ kind = \"fat-tree\", k = 4, rate = \"10Gbps\", delay = \"1us\" }",
            "{ kind = \"leaf-spine\", leaves = 2, spines = 2, hosts-per-leaf = 4 }",
        ];
        let record = run(&scenario(fabrics[fabric], workloads[workload], SCHEMES[scheme].1, seed));
        let unknown = assert_sound(&record);
        prop_assert!(unknown < 0.001, "{unknown} of the time unknown: {}", SCHEMES[scheme].0);
    }
}
