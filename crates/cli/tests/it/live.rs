//! Daemons on real hosts, as `slotline demo` starts them. If this machine cannot create hosts, the test prints why and
//! passes. Limits are wide, because machines may be busy.

use crate::folder::{Folder, stderr};
use serde_json::Value;

/// The values that a demonstration measured.
fn demo(folder: &Folder, control: &str, options: &[&str]) -> Value {
    let mut fixed = vec!["demo", control, "--json", "--skip-without", "--record", control];
    if !options.contains(&"--fat-tree") {
        fixed.extend(["--senders", "2", "--rate", "100Mbps"]);
    }
    let output = folder.run(&[&fixed, options].concat());
    assert!(output.status.success(), "{control}: {}", stderr(&output));
    let outcome: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let with = &outcome["with"];
    for sender in with["goodput"].as_array().expect("senders") {
        assert!(sender.as_f64() > Some(2.0), "{control} {options:?}: {with}");
    }
    assert!(with["pings"].as_array().is_some_and(|pings| pings.len() > 10), "{control}: {with}");
    outcome
}

fn agents(outcome: &Value) -> impl Iterator<Item = &Value> {
    let daemons = outcome["daemons"].as_object().expect("daemons");
    daemons.values().filter(|status| status.get("clock").is_some())
}

/// Replays the logs of all arbiters of a scheme, those that were killed or elected included.
fn replay_all(folder: &Folder, control: &str) {
    let logs = std::fs::read_dir(folder.0.join(control)).expect("logs");
    let mut sent = 0;
    for log in logs {
        let log = log.expect("a file").path();
        // An arbiter that was never active has begun no log.
        if log.metadata().is_ok_and(|data| data.len() == 0) {
            continue;
        }
        let output = folder.run(&["replay", &log.display().to_string()]);
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{}: {}", log.display(), stderr(&output));
        sent += text.split(" and ").nth(1).map_or(0, |rest| {
            rest.split(' ').next().and_then(|count| count.parse().ok()).unwrap_or(0u64)
        });
    }
    assert!(sent > 0, "{control}: no arbiter sent anything");
}

/// Hosts hold joined segments.
fn check_joined(outcome: &Value) {
    for agent in agents(outcome) {
        assert!(agent["scheduled"].as_u64() > Some(0), "{agent}");
        assert!(agent["joined-segments"].as_u64() > Some(1), "{agent}");
    }
}

/// The scheduler has learned that a link failed, and that it works again, and traffic has gone on meanwhile.
fn check_cut(outcome: &Value) {
    let arbiter = &outcome["daemons"]["arbiter"]["counters"];
    assert!(arbiter["rewirings"].as_u64() > Some(1), "{arbiter}");
    assert_eq!(arbiter["broken_links"], 0, "{arbiter}");
    let seconds = outcome["with"]["by_second"].as_array().expect("goodput by second");
    assert!(seconds.len() >= 6, "{seconds:?}");
    let idle = seconds.iter().filter(|second| second.as_f64() < Some(1.0)).count();
    assert!(idle <= 2, "{seconds:?}");
}

/// Timeslots have paths on which nothing is lost but at the bad link, and the arbiter has found that.
fn check_paths(outcome: &Value) {
    let hosts = agents(outcome).filter(|agent| agent["counters"]["slots_used"].is_u64());
    assert_eq!(hosts.filter(|host| host["scheduled"].as_u64() > Some(100)).count(), 16);
    let arbiter = &outcome["daemons"]["arbiter"];
    let faults = arbiter["faults"].as_array().expect("faults");
    assert!(faults.iter().any(|fault| fault["part"] == "agg1.0-core0"), "{arbiter}");
    assert!(faults.iter().all(|fault| fault["avoided-ns"].is_u64()), "{arbiter}");
    assert_eq!(outcome["with"]["dropped"], 0, "no queue was full: {arbiter}");
}

/// Each of the arbiters was killed while the other one was there.
fn check_kills(outcome: &Value) {
    for agent in agents(outcome) {
        assert!(agent["counters"]["arbiter_changes"].as_u64() > Some(0), "{agent}");
    }
    let kills = outcome["kills"].as_array().expect("kills");
    assert_eq!(kills.len(), 2);
    for kill in kills {
        assert!(kill["silence-ms"].as_f64() > Some(15.0), "{kill}");
        assert!(kill["longest-ping-ms"].as_f64() > Some(1.0), "{kill}");
        // The other arbiter's first timeslots come after its silence, the lead and a batch. Machines may be busy.
        let outage = kill["outage-ms"].as_f64();
        assert!(outage > Some(10.0) && outage < Some(200.0), "{kill}");
        assert!(kill["host-outage-ms"].as_f64() >= outage, "{kill}");
    }
    let timeslots = &outcome["timeslots"];
    assert!(timeslots["accepted"].as_u64() > Some(1_000), "{timeslots}");
    assert_eq!(timeslots["granted-twice"], 0, "{timeslots}");
}

/// An agent noticed steps of the clock that it uses, and not those of the time of day. Others noticed nothing. Once it had
/// measured the time again, its packets left in their timeslots.
fn check_clock(outcome: &Value) {
    let faults = outcome["clock_faults"].as_array().expect("faults of a clock");
    assert_eq!(faults.len(), 4);
    for (fault, noticed) in faults.iter().zip([0, 0, 1, 1]) {
        let count = |key: &str| fault[key].as_u64().expect("a count");
        assert_eq!((count("noticed"), count("others")), (noticed, 0), "{fault}");
        assert!(count("joined") >= noticed && fault["clock"] == "locked", "{fault}");
        assert!(count("used") > 20, "{fault}");
    }
    // An agent on a busy machine may be late. After one step in forty all packets were (notes on daemons).
    let is_late =
        |fault: &&Value| fault["misplaced"].as_u64() > fault["used"].as_u64().map(|n| n / 20);
    assert!(faults.iter().filter(is_late).count() <= 1, "{outcome}");
}

/// The second arbiter has taken over, racks obey it, and it drives the optical switch.
fn check_racks(outcome: &Value) {
    assert_eq!(agents(outcome).count(), 4, "an agent for each rack");
    let counted =
        |daemon: &Value, name: &str| daemon["counters"][name].as_u64().unwrap_or_default();
    for rack in agents(outcome) {
        assert_eq!((&rack["obeys"], &rack["counters"]["arbiter_changes"]), (&1.into(), &1.into()));
    }
    assert!(agents(outcome).any(|rack| counted(rack, "circuit_bytes") > 0), "{outcome}");
    let standby = &outcome["daemons"]["standby"];
    assert!(standby["active"] == true, "{standby}");
    for name in ["switch_changes", "weeks_planned"] {
        assert!(counted(standby, name) > 0, "{name}: {standby}");
    }
    assert_eq!(counted(standby, "take_overs"), 1, "{standby}");
}

/// Whether this machine can make hosts. Says why if it cannot.
pub fn makes_hosts(folder: &Folder) -> bool {
    let probed = folder.run(&["probe"]);
    if !probed.status.success() {
        let why = String::from_utf8_lossy(&probed.stdout).into_owned();
        println!("skipped: this machine cannot make hosts:\n{why}");
    }
    probed.status.success()
}

/// The demonstrations run one after another, because concurrent ones would be late. Each shows several things.
#[test]
fn real_hosts_send_as_daemons_decide() {
    let folder = Folder::new("live", &[]);
    if !makes_hosts(&folder) {
        return;
    }
    let joined = ["--seconds", "2", "--join-segments", "--ipv6"];
    check_joined(&demo(&folder, "tdma", &joined));
    let killed = ["--seconds", "4", "--join-segments", "--kill", "primary"];
    let outcome = demo(&folder, "xco", &killed);
    check_joined(&outcome);
    // XCo's other controller has taken over. On a busy machine it may have done so before, too.
    assert!(agents(&outcome).all(|agent| agent["obeys"] == 1), "{outcome}");
    let standby = &outcome["daemons"]["h5"]["counters"];
    let counted = |name: &str| standby[name].as_u64();
    assert!(counted("take_overs") >= Some(1) && counted("directives") > Some(10), "{standby}");
    // A quarter of these timeslots has no room for two segments.
    let outcome = demo(&folder, "fastpass", &["--faulty-clock", "--ipv6", "--seconds", "2"]);
    assert!(agents(&outcome).all(|agent| agent["scheduled"].as_u64() > Some(0)), "{outcome}");
    check_clock(&outcome);
    check_kills(&demo(&folder, "fastpass", &["--kill", "primary", "--kills", "2"]));
    // Without an arbiter packets leave at once. After its restart they are held again.
    let outcome = demo(&folder, "fastpass", &["--seconds", "5", "--kill", "arbiter"]);
    for agent in agents(&outcome) {
        let count = |key: &str| agent[key].as_u64().unwrap_or_default();
        assert!(
            count("silences") > 0 && count("unscheduled") > 0 && count("joined") > 1,
            "{agent}"
        );
    }
    // A restarted agent finds the arbiter again.
    let outcome =
        demo(&folder, "fastpass", &["--seconds", "4", "--kill", "agent", "--join-segments"]);
    assert!(agents(&outcome).all(|agent| agent["scheduled"].as_u64() > Some(0)), "{outcome}");
    // Daemons reload while packets wait, and lose neither packets nor sessions. A host that its arbiter has taken out of
    // the schedule sends at once, and returns.
    let outcome = demo(&folder, "fastpass", &["--seconds", "6", "--operate"]);
    for agent in agents(&outcome) {
        assert_eq!(agent["obeys"], 0, "{agent}");
        assert!(agent["scheduled"].as_u64() > Some(100), "{agent}");
        // It has begun anew with another scenario.
        assert!(agent["joined"].as_u64() > Some(1), "{agent}");
    }
    let arbiter = &outcome["daemons"]["h4"];
    assert_eq!(arbiter["other-scenario"], 0, "{arbiter}");
    let drained = &outcome["daemons"]["h1"];
    assert!(drained["joined"].as_u64() > Some(1), "{drained}");
    assert!(drained["unscheduled"].as_u64() > Some(100), "{drained}");
    packets_take_paths(&folder);
    // Racks hold packets for their circuits, and the second of two arbiters drives the optical switch after the first.
    check_racks(&demo(&folder, "circuits", &["--seconds", "4", "--kill", "primary"]));
    demo(&folder, "circuits", &["--seconds", "2", "--ipv6"]);
    for control in ["tdma", "xco", "fastpass", "hedera", "flow-scheduler", "circuits"] {
        replay_all(&folder, control);
    }
    bump_marks_and_fails_open(&folder);
}

/// A link that fails is avoided, and used again when it works.
fn packets_take_paths(folder: &Folder) {
    // Switches count flows and send them on paths.
    let installed = |agent: &Value| agent["counters"]["installed_paths"].as_u64().unwrap_or(0);
    let outcome = demo(folder, "hedera", &["--seconds", "6", "--cut", "--ipv6"]);
    check_cut(&outcome);
    assert_eq!(agents(&outcome).count(), 16, "an agent for each router below the core");
    assert!(agents(&outcome).all(|agent| agent["obeys"] == 0), "{outcome}");
    assert!(installed(&outcome["daemons"]["edge0.0"]) > 0, "{outcome}");
    assert_eq!(installed(&outcome["daemons"]["edge2.0"]), 0, "{outcome}");
    demo(folder, "flow-scheduler", &["--seconds", "2"]);
    // Packets take the paths of their timeslots, so lost ones show which link loses them.
    let outcome = demo(folder, "fastpass", &["--fat-tree", "--lossy", "50", "--seconds", "6"]);
    check_paths(&outcome);
    // Without an arbiter flows are spread by hash, and connections go on.
    let outcome = demo(folder, "hedera", &["--seconds", "4", "--kill", "arbiter"]);
    assert!(agents(&outcome).all(|agent| agent["silences"].as_u64() > Some(0)), "{outcome}");
}

/// The virtual queue of a bump is slower than the switch, so it is full first. Packets pass without a bump.
fn bump_marks_and_fails_open(folder: &Folder) {
    let outcome = demo(folder, "bump", &["--seconds", "2"]);
    assert_eq!(outcome["with"]["dropped"], 0, "{outcome}");
    assert!(outcome["daemons"]["bump"]["marked"].as_u64() > Some(0), "{outcome}");
    let kills = ["--skip-without", "--seconds", "2", "--kill", "bump", "--repeat", "2"];
    let output = folder.run(&[&["demo", "bump"], &kills[..]].concat());
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.contains("2 kills; no connection broke"), "{text}{}", stderr(&output));
    assert!(text.contains("Longest ping, ms: median"), "{text}");
}

/// Datagrams cross a bump between real interfaces: it takes time, and loses nothing at a small part of its load.
#[test]
fn a_bump_between_interfaces_passes_packets_on() {
    let folder = Folder::new("interface", &[]);
    if !makes_hosts(&folder) {
        return;
    }
    let measured = |discipline: &str| {
        let case = format!("{discipline}:50Mbps");
        let output = folder.run(&["bench", "interface", "--json", "--case", &case]);
        assert!(output.status.success(), "{case}: {}", stderr(&output));
        let rows = String::from_utf8(output.stdout).expect("text");
        let rows: Vec<Value> =
            rows.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        let value = |name: &str| {
            let row = rows.iter().find(|row| row["name"] == format!("interface/{name}"));
            row.and_then(|row| row["value"].as_f64()).unwrap_or_else(|| panic!("{name}: {rows:?}"))
        };
        [value("sent"), value("lost"), value("p0"), value("p50")]
    };
    let ([sent, _, least, _], [_, lost, by_bump, median]) = (measured("none"), measured("dctcp"));
    assert!((45.0..55.0).contains(&sent), "{sent} Mbit/s");
    assert!(lost < 5.0, "{lost} %");
    assert!(0.0 < least && least < by_bump && by_bump <= median, "{least}, {by_bump}, {median} us");
}
