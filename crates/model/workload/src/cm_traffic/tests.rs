//! Tests of flows that triggers start, in a network in which every flow takes 10 us one way.

use super::super::testing::{fabric, made_with, refusal_with};
use super::super::trace::Trace;
use super::super::{Role, Traffic, WorkloadSpec, rehearsal};
use slotline_base::time::Time;

const ONE_WAY: Time = Time::us(10);

fn spec(priorities: bool) -> WorkloadSpec {
    WorkloadSpec::Trace(Trace { file: "a.cm".into(), priorities, ..Trace::default() })
}

fn file(flows: &[&str], triggers: &[&str]) -> String {
    format!(
        "Nodes 64\nConnections {}\nTriggers {}\n{}\n{}\n",
        flows.len(),
        triggers.len(),
        flows.join("\n"),
        triggers.join("\n")
    )
}

/// Source, destination, size and start in microseconds of all flows, sizes in rising order, signals
/// last.
fn started(traffic: &Traffic) -> Vec<(u32, u32, u64, u64)> {
    let starts = rehearsal::starts(traffic, ONE_WAY);
    let row = |(flow, start): (&super::super::Flow, Option<Time>)| {
        let conn = &traffic.conns[flow.conn.at()];
        let start = start.expect("every flow starts").as_ns() / 1_000;
        (flow.role == Role::Signal, flow.bytes, conn.src.0, conn.dst.0, start)
    };
    let mut rows: Vec<_> = traffic.flows.iter().zip(starts).map(row).collect();
    rows.sort_unstable();
    rows.into_iter().map(|(_, bytes, src, dst, start)| (src, dst, bytes, start)).collect()
}

fn run(flows: &[&str], triggers: &[&str]) -> Vec<(u32, u32, u64, u64)> {
    started(&made_with(&spec(false), &fabric(), &file(flows, triggers)))
}

#[test]
fn a_sender_goes_on_when_all_is_acknowledged() {
    let flows = ["0->1 start 0 size 101 send_done_trigger 1", "0->2 trigger 1 size 102"];
    assert_eq!(run(&flows, &["trigger id 1 oneshot"]), [(0, 1, 101, 0), (0, 2, 102, 20)]);
}

#[test]
fn a_receiver_goes_on_when_it_has_everything() {
    // As in a ring all-reduce, the next hop begins where the last one ended, whichever end activates it.
    for done in ["send_done_trigger", "recv_done_trigger"] {
        let first = format!("0->1 start 5000000 size 101 {done} 1");
        let flows = [first.as_str(), "1->2 trigger 1 size 102"];
        assert_eq!(run(&flows, &["trigger id 1 oneshot"]), [(0, 1, 101, 5), (1, 2, 102, 15)]);
    }
}

#[test]
fn other_hosts_are_notified() {
    let flows = [
        "0->1 start 0 size 101 recv_done_trigger 1",
        "5->2 trigger 1 size 102",
        "6->2 trigger 1 size 103",
        "6->3 trigger 1 size 104",
    ];
    let expected = [
        (0, 1, 101, 0),
        // Host 1 notifies 5 at 10 us, and 5 notifies 6 at 20 us.
        (5, 2, 102, 20),
        (6, 2, 103, 30),
        (6, 3, 104, 30),
        (1, 5, 64, 10),
        (5, 6, 64, 20),
    ];
    assert_eq!(run(&flows, &["trigger id 1 oneshot"]), expected);
}

#[test]
fn a_barrier_waits_for_all() {
    let flows = [
        "0->9 start 0 size 101 recv_done_trigger 3",
        "1->9 start 7000000 size 102 recv_done_trigger 3",
        "2->8 start 1000000 size 103 recv_done_trigger 3",
        "9->4 trigger 3 size 104",
    ];
    // The flow to host 8 ends last, at 11 us. Host 9 is notified at 21 us.
    let rows = run(&flows, &["trigger id 3 barrier count 3"]);
    assert_eq!(rows[3], (9, 4, 104, 21));
    assert_eq!(rows[4], (8, 9, 64, 11));
}

#[test]
fn a_multishot_starts_one_flow_each_time() {
    let flows = [
        "0->1 start 0 size 101 send_done_trigger 2",
        "0->2 start 3000000 size 102 send_done_trigger 2",
        "0->3 trigger 2 size 103 send_done_trigger 2",
        "0->4 trigger 2 size 104",
        "0->5 trigger 2 size 105",
    ];
    let expected =
        [(0, 1, 101, 0), (0, 2, 102, 3), (0, 3, 103, 20), (0, 4, 104, 23), (0, 5, 105, 40)];
    assert_eq!(run(&flows, &["trigger id 2 multishot"]), expected);
}

#[test]
fn a_flow_may_activate_two_triggers() {
    let flows = [
        "0->1 start 0 size 101 send_done_trigger 1 recv_done_trigger 2",
        "0->2 trigger 1 size 102",
        "1->3 trigger 2 size 103",
    ];
    let rows = run(&flows, &["trigger id 1 oneshot", "trigger id 2 oneshot"]);
    assert_eq!(rows, [(0, 1, 101, 0), (0, 2, 102, 20), (1, 3, 103, 10)]);
}

#[test]
fn impossible_triggers_are_refused_with_their_line() {
    let flow = "0->1 start 0 size 1 send_done_trigger 1";
    for (flows, trigger, why) in [
        (
            vec!["0->1 start 0 size 1", "0->2 trigger 1 size 1"],
            "oneshot",
            "line 6: trigger 1 starts 1",
        ),
        (
            vec![flow, flow, "0->2 trigger 1 size 1"],
            "oneshot",
            "line 7: trigger 1 is a oneshot, but 2",
        ),
        (vec![flow, "0->2 trigger 1 size 1"], "barrier count 2", "line 6: trigger 1 waits for 2"),
        (
            vec![flow, "0->2 trigger 1 size 1", "0->3 trigger 1 size 1"],
            "multishot",
            "line 7: trigger 1 starts one flow each time, 2 in all, but 1",
        ),
        (vec!["0->1 trigger 1 size 1 send_done_trigger 1"], "oneshot", "depends on itself"),
    ] {
        let text = file(&flows, &[&format!("trigger id 1 {trigger}")]);
        let error = refusal_with(&spec(false), &fabric(), &text);
        assert!(error.contains(why), "{text}\n{error}");
    }
    let failing = "Nodes 64\nConnections 1\nFailures 1\n0->1 start 0 size 1\n\
                   failure switch_type AGG switch_id 0 link_id 0\n";
    let error = refusal_with(&spec(false), &fabric(), failing);
    assert!(error.contains("line 5") && error.contains("slotline import"), "{error}");
}

#[test]
fn priorities_become_classes_if_asked() {
    let flows =
        ["0->1 start 0 size 1 prio 30", "0->2 start 0 size 2 prio 2", "0->3 start 0 size 3"];
    let text = file(&flows, &[]);
    let classes = |priorities| -> Vec<u8> {
        made_with(&spec(priorities), &fabric(), &text).conns.iter().map(|c| c.class).collect()
    };
    assert_eq!(classes(false), [0, 0, 0]);
    assert_eq!(classes(true), [6, 7, 0]);
    let many: Vec<String> = (0..9).map(|n| format!("0->1 start 0 size 1 prio {n}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let error = refusal_with(&spec(true), &fabric(), &file(&many, &[]));
    assert!(error.contains("line 12") && error.contains("the ninth"), "{error}");
}
