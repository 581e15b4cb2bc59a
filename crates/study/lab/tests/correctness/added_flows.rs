//! Flows that are added while a run goes on: the result is that of the scenario which has them from the start.

use crate::common::records;
use slotline_lab::record::RunRecord;
use slotline_lab::session::{NewFlow, Session};
use slotline_net::time::Time;
use slotline_scenario::{Loaded, Scenario};
use slotline_sim::Watch;
use std::path::{Path, PathBuf};

/// Sender, receiver, bytes, start in microseconds, and the pause after which it is added.
const ADDED: [(u32, u32, u64, u64, u64); 9] = [
    (1, 2, 40_000, 0, 0),
    (1, 2, 9_000, 0, 0),
    (3, 1, 200_000, 35, 0),
    (2, 4, 1, 60, 50),
    (1, 2, 60_000, 400, 50),
    (1, 5, 150_000, 400, 50),
    (1, 3, 20_000, 300, 100),
    (5, 1, 80_000, 1_500, 1_000),
    (4, 1, 3_000, 1_001, 1_000),
];

const STAR: &str = r#"{ kind = "star", hosts = 6, rate = "10Gbps" }"#;
const LEAVES: &str =
    r#"{ kind = "leaf-spine", leaves = 3, spines = 2, hosts-per-leaf = 2, host-rate = "10Gbps" }"#;
const TREE: &str = r#"{ kind = "fat-tree", k = 4, host-rate = "10Gbps" }"#;
const RACKS: &str = r#"{ kind = "hybrid", racks = 3, hosts-per-rack = 2, host-rate = "10Gbps",
    packet = { rate = "10Gbps", delay = "5us" }, circuits = { rate = "40Gbps", delay = "5us", reconfiguration = "10us" } }"#;
const PODS: &str = r#"{ kind = "hybrid", racks = 4, hosts-per-rack = 2, host-rate = "10Gbps",
    circuits = { switches = 3, rate = "5Gbps", delay = "1us", reconfiguration = "50us", dark = "changed" } }"#;
const WORKLOADS: &str = r#"
[[workload]]
kind = "poisson"
load = 0.3
sizes = "websearch"
until = "2ms"
[[workload]]
kind = "incast"
block = "60KB"
blocks = 3
request = "64B"
[[workload]]
kind = "udp"
senders = "0"
receivers = "5"
rate = "1Gbps"
until = "1ms"
"#;

fn text(fabric: &str, scheme: &str, trace: &str) -> String {
    format!(
        "name = \"added\"\nend = {{ at = \"3ms\" }}\nmeasure = {{ why = false, sample = \"10us\" }}\n\
         fabric = {fabric}\n{WORKLOADS}\n{trace}\n[[scheme]]\nname = \"one\"\n{scheme}\n"
    )
}

fn loaded(text: String) -> Loaded {
    Scenario::parse(Path::new("added.toml"), text).expect("a valid scenario")
}

fn flow((src, dst, bytes, at, _): (u32, u32, u64, u64, u64)) -> NewFlow {
    let name = |host: u32| format!("h{host}");
    NewFlow { src: name(src), dst: name(dst), bytes, at: Some(Time::us(at)), class: 0 }
}

/// A run with pauses, at which the flows are added.
fn with_pauses(text: String, threads: usize) -> (RunRecord, String) {
    let watch = Watch::default();
    let mut session = Session::start(loaded(text), true, threads).expect("flows can be added");
    for added in ADDED {
        session.advance(Some(Time::us(added.4)), &watch);
        session.add(&flow(added)).expect("a good flow");
    }
    let trace = session.trace();
    (session.finish(&watch).expect("it was not stopped"), trace)
}

/// A file with the trace, which has the name of the case.
fn file(name: &str, trace: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("added-{name}.csv"));
    std::fs::write(&path, trace).expect("a file");
    path
}

fn assert_same(name: &str, fabric: &str, scheme: &str) {
    for threads in [1, 2] {
        let (with, trace) = with_pauses(text(fabric, scheme, ""), threads);
        let path = file(name, &trace);
        let table = format!("[[workload]]\nkind = \"trace\"\nfile = \"{}\"\n", path.display());
        let before = records(&text(fabric, scheme, &table), 1).remove(0);
        assert_eq!(with.flows, before.flows, "{name}");
        assert_eq!(with.samples, before.samples, "{name}");
        assert_eq!(with.engine.digest, before.engine.digest, "{name}");
        assert!(with.flows.iter().filter(|flow| flow.group == 3).count() == ADDED.len());
    }
}

#[test]
fn the_result_is_that_of_flows_known_from_the_start() {
    for (name, fabric, scheme) in [
        ("tcp", STAR, ""),
        ("dctcp", LEAVES, "transport = \"dctcp\"\nqueue = \"ecn\""),
        ("spray", LEAVES, "routing = \"spray\""),
        ("flowlet", LEAVES, "routing = \"flowlet\""),
        ("destination", LEAVES, "routing = \"ecmp-destination\""),
        ("rack", STAR, "transport = { kind = \"cubic\", loss-recovery = \"rack\" }"),
        ("xco", STAR, "control = \"xco\""),
        ("fastpass", STAR, "control = \"fastpass\""),
        ("tdma", STAR, "control = \"tdma\""),
        ("qcn", STAR, "queue = \"qcn\""),
        ("packet-switch", RACKS, ""),
        ("rotor", RACKS, "control = \"circuits\""),
        (
            "queues",
            RACKS,
            "control = { kind = \"circuits\", scheduler = \"solstice\", week = \"400us\" }",
        ),
        (
            "announced",
            RACKS,
            "control = { kind = \"circuits\", scheduler = \"eclipse\", week = \"400us\", demand = \"adu\" }",
        ),
        (
            "notified",
            RACKS,
            "transport = \"tdtcp\"\ncontrol = \"circuits\"\nvoq = { packets = 16, notify = {} }",
        ),
        (
            "pods",
            PODS,
            "control = { kind = \"circuits\", scheduler = \"mesh\", week = \"500us\", day = \"300us\", demand = \"adu\" }",
        ),
        (
            "hedera",
            TREE,
            "control = { kind = \"hedera\", poll = \"200us\", gather = \"10us\", computing = \"20us\", install = \"10us\" }",
        ),
        (
            "flow-scheduler",
            TREE,
            "control = { kind = \"flow-scheduler\", poll = \"200us\", computing = \"20us\", install = \"10us\" }",
        ),
    ] {
        assert_same(name, fabric, scheme);
    }
}

#[test]
fn added_flows_are_reported_when_they_are_complete() {
    let watch = Watch::default();
    let plain = loaded(text(STAR, "", ""));
    let mut session = Session::start(plain, false, 1).expect("flows can be added");
    assert_eq!(session.flows(), 0);
    let mut ends = Vec::new();
    for round in 0..5 {
        let at = ends.last().map(|end: &Time| end.after(Time::us(10)));
        let new = NewFlow { at, ..flow((round, round + 1, 30_000, 0, 0)) };
        assert_eq!(session.add(&new).expect("a good flow"), round);
        let done = session.advance(None, &watch);
        let [(number, end)] = done[..] else { panic!("{done:?}") };
        assert_eq!(number, round);
        assert!(at.unwrap_or_default() < end && end < session.now());
        ends.push(end);
    }
    let record = session.finish(&watch).expect("it was not stopped");
    assert_eq!(record.flows.len(), 5);
    assert!(record.flows.iter().all(|flow| flow.delivered_bytes == 30_000));
}

#[test]
fn wrong_flows_are_refused() {
    let mut session = Session::start(loaded(text(STAR, "", "")), true, 1).expect("flows");
    session.advance(Some(Time::us(500)), &Watch::default());
    let mut refusal = |new: NewFlow| session.add(&new).expect_err("a wrong flow").to_string();
    let good = || flow((1, 2, 1_000, 600, 0));
    let past = refusal(NewFlow { at: Some(Time::us(100)), ..good() });
    assert!(past.contains("100us is past: the run has reached 499"), "{past}");
    let late = refusal(NewFlow { at: Some(Time::ms(3)), ..good() });
    assert!(late.contains("not before the end of the run at 3ms"), "{late}");
    let unknown = refusal(NewFlow { src: "h9".into(), ..good() });
    assert!(unknown.contains("no host `h9`: the hosts are `h0` to `h5`"), "{unknown}");
    assert!(refusal(NewFlow { dst: "h1".into(), ..good() }).contains("itself"));
    assert!(refusal(NewFlow { bytes: 0, ..good() }).contains("at least 1 byte"));
    assert!(refusal(NewFlow { class: 8, ..good() }).contains("classes 0 to 7"));
    let perfect =
        "control = { kind = \"circuits\", scheduler = \"solstice\", demand = \"perfect\" }";
    let perfect = loaded(text(RACKS, perfect, ""));
    let refused = Session::start(perfect, true, 1).err().expect("a refusal").to_string();
    assert!(refused.contains("no flows can be added under `one`"), "{refused}");
}
