//! Which paths packets take.

use crate::common::records;
use slotline_lab::record::RunRecord;
use std::collections::BTreeMap;

/// Flows of 1 MB from every host to the host `by` numbers further.
fn stride(fabric: &str, by: u32, routing: &str) -> RunRecord {
    let text = format!(
        r#"
        name = "paths"
        end = {{ at = "1s" }}
        fabric = {fabric}
        workload = [{{ kind = "stride", by = {by}, size = "1MB" }}]
        [[scheme]]
        name = "scheme"
        routing = "{routing}"
        transport = {{ kind = "newreno", min-rto = "2ms" }}
        "#
    );
    let run = records(&text, 2).remove(0);
    assert!(run.flows.iter().all(|flow| flow.finished()), "{routing} on {fabric}");
    run
}

/// Bytes sent by each port whose node and far node have names that begin with `node` and `far`.
fn bytes(run: &RunRecord, node: &str, far: &str) -> BTreeMap<String, u64> {
    let fits =
        |p: &&slotline_lab::record::PortRow| p.node.starts_with(node) && p.port.starts_with(far);
    let mut sum = BTreeMap::new();
    for port in run.ports.iter().filter(fits) {
        *sum.entry(format!("{}-{}", port.node, port.port)).or_insert(0) += port.tx_bytes;
    }
    sum
}

const LEAF_SPINE: &str = r#"{ kind = "leaf-spine", leaves = 2, spines = 4, hosts-per-leaf = 8 }"#;
const TWO_CARDS: &str =
    r#"{ kind = "leaf-spine", leaves = 4, spines = 2, hosts-per-leaf = 4, nics = 2 }"#;

#[test]
fn spraying_uses_all_paths_alike() {
    let run = stride(LEAF_SPINE, 8, "spray");
    for (port, sent) in bytes(&run, "leaf", "spine") {
        let fair = 8.0e6 * 1_538.0 / 1_460.0 / 4.0;
        let acknowledgements_and_repeats = 1.3;
        let share = sent as f64 / fair;
        assert!((0.9..acknowledgements_and_repeats).contains(&share), "{port}: {share}");
    }
}

#[test]
fn shortest_uses_the_lowest_port_only() {
    let run = stride(LEAF_SPINE, 8, "shortest");
    for (port, sent) in bytes(&run, "leaf", "spine") {
        assert_eq!(sent > 0, port.ends_with("spine0"), "{port}: {sent}");
    }
}

/// Hashes spread flows over paths, and each flow has one path. With 16 flows over 4 spines some share a path.
#[test]
fn ecmp_spreads_flows_over_paths() {
    let run = stride(LEAF_SPINE, 8, "ecmp");
    let up = bytes(&run, "leaf", "spine");
    assert!(up.values().filter(|sent| **sent > 1_000_000).count() >= 6, "{up:?}");
}

/// A host's n-th connection takes path n.
#[test]
fn pinned_connections_take_the_path_of_their_number() {
    let text = format!(
        r#"
        name = "pinned"
        end = {{ at = "1s" }}
        fabric = {LEAF_SPINE}
        [[workload]]
        kind = "bulk"
        senders = "0"
        receivers = "8"
        connections = 3
        size = "1MB"
        [[scheme]]
        name = "scheme"
        routing = "pinned"
        "#
    );
    let run = records(&text, 1).remove(0);
    let up = bytes(&run, "leaf0", "spine");
    let used: Vec<bool> = up.values().map(|sent| *sent > 1_000_000).collect();
    assert_eq!(used, [true, true, true, false], "{up:?}");
    assert!(up.values().skip(3).all(|sent| *sent == 0), "{up:?}");
}

#[test]
fn both_network_cards_of_a_host_are_used() {
    for routing in ["ecmp", "spray"] {
        let run = stride(TWO_CARDS, 4, routing);
        let sent = bytes(&run, "h", "leaf");
        assert_eq!(sent.len(), 32);
        let busy = sent.values().filter(|sent| **sent > 10_000).count();
        assert!(if routing == "spray" { busy == 32 } else { busy >= 16 }, "{routing}: {sent:?}");
    }
    // Two cards carry twice as much as one.
    let text = |nics| {
        format!(
            r#"
            name = "cards"
            end = {{ at = "1s" }}
            fabric = {{ kind = "star", hosts = 2, nics = {nics} }}
            [[workload]]
            kind = "bulk"
            senders = "0"
            receivers = "1"
            connections = 8
            size = "2MB"
            [[scheme]]
            name = "scheme"
            routing = "pinned"
            queue = {{ kind = "drop-tail", limit = "10MB" }}
            "#
        )
    };
    let last = |nics| {
        let run = records(&text(nics), 1).remove(0);
        run.flows.iter().map(|flow| flow.finish_ps).max().unwrap_or(0) as f64
    };
    let gain = last(1) / last(2);
    assert!((1.9..2.1).contains(&gain), "two cards are {gain} times as fast as one");
}
