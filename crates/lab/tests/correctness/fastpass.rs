//! Fastpass as a whole: queues, timeslots and links, fail-over, faults, lost messages.

use crate::common::{assemble, drain, node, records};
use slotline_lab::record::RunRecord;
use slotline_net::node::DropReason;
use slotline_net::node::fastpass::Arbiter;
use slotline_net::node::station::StoppableNode;
use slotline_net::time::Time;

const STAR: &str = r#"{ kind = "star", hosts = 8, delay = "500ns" }"#;
const LEAF_SPINE: &str =
    r#"{ kind = "leaf-spine", leaves = 4, spines = 4, hosts-per-leaf = 4, delay = "500ns" }"#;

/// Bytes of a full packet on the wire.
const PACKET: u64 = 1_538;

fn scenario(fabric: &str, workload: &str, control: &str, more: &str) -> String {
    format!(
        r#"
        name = "fastpass"
        end = {{ at = "1s" }}
        fabric = {fabric}
        workload = [{workload}]
        {more}
        [[scheme]]
        name = "scheme"
        control = {{ kind = "fastpass", {control} }}
        "#
    )
}

fn one(text: &str) -> RunRecord {
    records(text, 1).remove(0)
}

/// Every host sends datagrams to every other, at nine tenths of what timeslots can carry.
const ALL_TO_ALL: &str = r#"
    { kind = "udp", pairs = "all", rate = "1Gbps", message = "1472B", until = "2ms" }"#;

#[test]
fn show() {
    let text = scenario(
        STAR,
        r#"{ kind = "permutation", size = "2MB" }"#,
        "",
        "",
    );
    let run = one(&text);
    for row in &run.control {
        eprintln!("{} {}", row.count, row.value);
    }
    for flow in &run.flows {
        eprintln!("{flow:?}");
    }
    for port in &run.ports {
        eprintln!("{port:?}");
    }
    let _ = (LEAF_SPINE, PACKET, ALL_TO_ALL, Time::ZERO, DropReason::Full);
    let _ = (assemble, drain, node::<StoppableNode>);
    let _arbiter: Option<Arbiter> = None;
}
