//! Files of other programs as workloads: real ones, as they are.

use slotline_net::error::SpecError;
use slotline_net::time::Time;
use slotline_net::units::Rate;
use slotline_net::workload::{
    HostLocation, HostMap, Role, Setting, Start, Traffic, TrafficBuilder, WorkloadSpec,
};
use std::fs;
use std::path::PathBuf;

fn data(name: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name);
    fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// The traffic of `trace`, the keys of a `[[workload]]` table, among `hosts` hosts, and the notes.
fn made(trace: &str, hosts: u32) -> Result<(Traffic, Vec<String>), SpecError> {
    let place = |host| HostLocation { pod: 0, edge: host / 4, rate: Rate(10_000_000_000) };
    let fabric = HostMap { hosts: (0..hosts).map(place).collect() };
    let spec: WorkloadSpec = toml::from_str(&format!("kind = \"trace\"\n{trace}")).expect("keys");
    let files = |name: &str| Ok(data(name));
    let setting = Setting { fabric: &fabric, horizon: Time::MAX, seed: 1, files: &files };
    let mut out = TrafficBuilder::new(hosts);
    spec.generate(0, &setting, &mut out)?;
    let notes = out.notes().to_vec();
    Ok((out.finish()?, notes))
}

/// Flows, flows that wait for a trigger, and messages between hosts about triggers.
fn counts(traffic: &Traffic) -> (usize, usize, usize) {
    let signal = |flow: &&slotline_net::workload::Flow| flow.role == Role::Signal;
    let signals = traffic.flows.iter().filter(signal).count();
    let waiting = traffic.flows.iter().filter(|flow| !signal(flow));
    let waiting = waiting.filter(|flow| matches!(flow.start, Start::After { .. })).count();
    (traffic.flows.len() - signals, waiting, signals)
}

#[test]
fn matrices_of_htsim_are_workloads() {
    for (name, nodes, expected) in [
        ("one", 16, (1, 0, 0)),
        ("bidir", 16, (2, 0, 0)),
        ("incast", 16, (15, 0, 0)),
        ("outcast_incast", 128, (21, 0, 0)),
        ("perm_16n_16c_2MB", 16, (16, 0, 0)),
        // Every host sees by itself what its next flow waits for.
        ("allreduce", 16, (56, 48, 0)),
        ("serial", 16, (12, 8, 0)),
        ("serialn", 16, (56, 32, 0)),
        ("prio", 16, (12, 8, 0)),
    ] {
        let (traffic, notes) = made(&format!("file = \"htsim/{name}.cm\""), nodes).expect(name);
        assert_eq!(counts(&traffic), expected, "{name}");
        assert!(notes[0].contains("read as cm, by its name"), "{notes:?}");
        assert_eq!(notes.iter().any(|note| note.contains("`prio` is not used")), name == "prio");
        let error =
            made(&format!("file = \"htsim/{name}.cm\""), nodes - 1).unwrap_err().to_string();
        assert!(error.contains(&format!("{nodes} nodes: the fabric has {} hosts", nodes - 1)));
    }
}

#[test]
fn what_htsim_refuses_is_refused() {
    // Its generator announces a trigger more than it writes.
    let error = made("file = \"htsim/butterfly.cm\"", 16).unwrap_err().to_string();
    assert!(error.contains("line 26: 8 triggers announced, 7 found"), "{error}");
}

#[test]
fn files_of_hpcc_are_workloads() {
    let flows = "file = \"hpcc/flow.txt\"\nformat = \"hpcc-flows\"";
    let (traffic, notes) = made(flows, 6).unwrap();
    assert_eq!(counts(&traffic), (6, 0, 0));
    assert!(notes[0].contains("6 flows announced: 2 further lines are ignored"), "{notes:?}");
    let starts: Vec<Start> = traffic.flows.iter().map(|flow| flow.start).collect();
    assert!(starts.contains(&Start::At(Time::ps(2_000_010_000_500))), "{starts:?}");
    let (traffic, notes) = made("file = \"hpcc/fct.txt\"\nformat = \"hpcc-fct\"", 6).unwrap();
    assert_eq!(counts(&traffic), (3, 0, 0));
    assert!(notes[0].contains("hexadecimal addresses"), "{notes:?}");
    let error = made(flows, 5).unwrap_err().to_string();
    assert!(error.contains("host 5: the fabric has hosts 0 to 4"), "{error}");
    let error = made("file = \"hpcc/flow.txt\"", 6).unwrap_err().to_string();
    assert!(error.contains("add format = \"csv\""), "{error}");
}

#[test]
fn programs_are_workloads() {
    let (traffic, _) = made("file = \"goal/allreduce.goal\"", 4).unwrap();
    // Each rank's first send starts by itself.
    assert_eq!(counts(&traffic), (24, 20, 0));
    let (traffic, _) = made("file = \"goal/broadcast.goal\"", 8).unwrap();
    assert_eq!(counts(&traffic), (7, 4, 0));
}

#[test]
fn keys_of_other_formats_are_refused() {
    for (keys, why) in [
        ("file = \"goal/broadcast.goal\"\ntime-unit = \"us\"", "`time-unit` is for traces in cm"),
        ("file = \"goal/broadcast.goal\"\npriorities = true", "is for traces in cm and hpcc-flows"),
        ("file = \"htsim/one.cm\"\neager = \"1KB\"", "`eager` is for traces in goal"),
        ("file = \"htsim/one.cm\"\nidle-gap = \"1s\"", "`idle-gap` is for traces in pcap"),
        (
            "file = \"htsim/one.cm\"\naddresses = \"a\"",
            "`addresses` is for traces in pcap and flow-log",
        ),
        (
            "file = \"htsim/one.cm\"\nepoch = \"0\"",
            "`epoch` is for traces in flow-log and zeek and netflow",
        ),
        (
            "file = \"logs/conn.log\"\ncolumns = { src = \"a\" }",
            "`columns` is for traces in flow-log",
        ),
    ] {
        let error = made(keys, 16).unwrap_err().to_string();
        assert!(error.contains(why), "{keys}: {error}");
    }
}
