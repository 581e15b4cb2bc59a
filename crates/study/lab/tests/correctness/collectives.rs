//! Collective operations and replicated writes take as long as computed by hand, on both engines and on any number of
//! threads.

use crate::common::{fct_ps, records};
use slotline_lab::record::RunRecord;

/// Bytes on the wire of a full packet of 8960 B of payload, and of a short one.
const FULL: u64 = 9_038;
const SHORT: u64 = 78;
const PAYLOAD: u64 = 8_960;
/// Picoseconds that a byte takes at 10 Gbit/s.
const BYTE: u64 = 800;
/// Delay of each of the two links.
const DELAY: u64 = 1_000_000;

fn runs(
    engine: &str,
    transport: &str,
    hosts: u32,
    workload: &str,
    threads: usize,
) -> Vec<RunRecord> {
    let text = format!(
        r#"
        name = "collectives"
        seed = 5
        engine = "{engine}"
        end = {{ at = "10s" }}
        fabric = {{ kind = "star", hosts = {hosts}, rate = "10Gbps", delay = "1us" }}
        [[workload]]
        {workload}
        [[scheme]]
        name = "scheme"
        transport = {{ {transport} }}
        "#
    );
    records(&text, threads)
}

/// A window that never limits a sender, and a transport that the flow-level engine can use.
const PACKETS: &str = r#"kind = "fixed", mtu = "9000B", processing = "0s""#;
const FLUID: &str = r#"kind = "newreno", mtu = "9000B""#;

fn run(engine: &str, hosts: u32, workload: &str) -> RunRecord {
    let transport = if engine == "packet" { PACKETS } else { FLUID };
    runs(engine, transport, hosts, workload, 1).remove(0)
}

/// From the first start to the last end.
fn span(run: &RunRecord) -> u64 {
    assert!(run.flows.iter().all(|flow| flow.finished()), "unfinished flows");
    let start = run.flows.iter().map(|flow| flow.start_ps).min().unwrap();
    run.flows.iter().map(|flow| flow.finish_ps).max().unwrap() - start
}

/// A message alone on two links: all of its bytes on the first link, and its last packet on the second.
fn message(bytes: u64) -> u64 {
    let full = (bytes - 1) / PAYLOAD;
    let last = bytes - full * PAYLOAD + SHORT;
    let longest = if full > 0 { FULL } else { last };
    (full * FULL + last + longest) * BYTE + 2 * DELAY
}

fn is_about(what: &str, found: u64, expected: u64, percent: f64) {
    let off = (found as f64 / expected as f64 - 1.0) * 100.0;
    assert!(off.abs() <= percent, "{what}: {found} ps for {expected} ps, {off:.2} % off");
}

/// There are 2(n - 1) steps, and every host sends a share in each. Acknowledgements on the way back take less than one
/// percent.
#[test]
fn a_ring_all_reduce_takes_its_steps() {
    for (hosts, size) in [(2, 1_000_000), (4, 8_000_000), (9, 900_000), (8, 800)] {
        let workload = format!("kind = \"collective\"\nhosts = {hosts}\nsize = \"{size}B\"");
        let share = message(size / u64::from(hosts));
        let expected = 2 * u64::from(hosts - 1) * share;
        for engine in ["packet", "flow"] {
            let took = span(&run(engine, hosts, &workload));
            is_about(&format!("{engine}, {hosts} hosts, {size} B"), took, expected, 1.0);
            // The bound of Patarasuk and Yuan: 2(n - 1) / n of the vector has to leave every host.
            let least = 2 * u64::from(hosts - 1) * (size / u64::from(hosts)) * BYTE;
            assert!(took > least);
        }
    }
}

#[test]
fn halving_and_doubling_takes_fewer_steps_for_as_many_bytes() {
    let workload = "kind = \"collective\"\npattern = \"halving-doubling\"\nsize = \"8MB\"";
    let expected = 2 * [4_000_000, 2_000_000, 1_000_000].map(message).iter().sum::<u64>();
    for engine in ["packet", "flow"] {
        is_about(engine, span(&run(engine, 8, workload)), expected, 1.0);
    }
}

#[test]
fn a_pipeline_computes_and_sends() {
    let workload = "kind = \"collective\"\npattern = \"pipeline\"\nsize = \"100KB\"\n\
                    compute = \"500us\"\nmicrobatches = 6";
    // Counted from the first message: the first of 9 computations is done, and the last has no message.
    let one_way = 9 * 500_000_000 + 3 * message(100_000);
    let expected = 2 * one_way - 2 * 500_000_000;
    for engine in ["packet", "flow"] {
        is_about(engine, span(&run(engine, 4, workload)), expected, 0.1);
    }
}

/// A block is forwarded to the third host packet by packet. This takes one packet longer, not twice as long.
#[test]
fn replicas_are_written_in_a_pipeline() {
    let fabric = r#"{ kind = "leaf-spine", leaves = 2, spines = 1, hosts-per-leaf = 2, host-rate = "10Gbps", uplink-rate = "10Gbps", delay = "1us" }"#;
    let written = |replicas: u32| {
        let text = format!(
            r#"
            name = "hdfs"
            end = {{ at = "10s" }}
            fabric = {fabric}
            workload = [{{ kind = "hdfs", files = 1, size = "4MB", block = "4MB", replicas = {replicas} }}]
            [[scheme]]
            name = "scheme"
            transport = {{ {PACKETS} }}
            "#
        );
        span(&records(&text, 1)[0])
    };
    let [two, three] = [2, 3].map(written);
    let bytes = 4_000_000u64.div_ceil(PAYLOAD) * FULL * BYTE;
    assert!(two > bytes && three > two, "{two} {three}");
    assert!(three < two + two / 10, "{two} {three}");
}

/// Random placement, three replicas, stragglers, barriers and losses in one run.
#[test]
fn any_number_of_threads_gives_the_same() {
    let text = r#"
        name = "applications"
        seed = 3
        end = { at = "1s" }
        fabric = { kind = "leaf-spine", leaves = 3, spines = 1, hosts-per-leaf = 3 }
        [[workload]]
        kind = "hdfs"
        files = 9
        size = "300KB"
        block = "200KB"
        replicas = 3
        packet = "20KB"
        [[workload]]
        kind = "collective"
        size = "90KB"
        rounds = 3
        compute = "20us"
        stragglers = 0.3
        barrier = "step"
        gap = "1us"
        [[scheme]]
        name = "retcp"
        transport = { kind = "retcp", min-rto = "1ms" }
        queue = { kind = "drop-tail", limit = "20KB" }
        [[scheme]]
        name = "tdtcp"
        transport = { kind = "tdtcp", min-rto = "1ms" }
        queue = { kind = "drop-tail", limit = "20KB" }
        "#;
    let [one, three] = [1, 3].map(|threads| records(text, threads));
    for (one, three) in one.iter().zip(&three) {
        assert_eq!(one.engine.digest, three.engine.digest);
        assert_eq!(one.flows, three.flows);
        assert!(
            one.flows.iter().all(|flow| fct_ps(flow) > 0 && flow.delivered_bytes == flow.bytes)
        );
        assert!(one.flows.iter().map(|flow| flow.retransmits).sum::<u32>() > 0);
    }
}
