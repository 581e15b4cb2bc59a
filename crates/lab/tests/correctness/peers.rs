//! Against ns-3 on the same flow files: 10 Gbit/s links of 1 us in a fat-tree, packets of 1500 bytes
//! without framing, initial window 10, time-outs from 10 ms, 100 packets of buffer, marks from 15.

use crate::common::{mean, mean_fct_ms, records};
use slotline_lab::record::RunRecord;

/// Runs a trace under `transport` with `seeds` different path choices.
fn trace(file: &str, k: u32, transport: &str, seeds: u32) -> Vec<RunRecord> {
    let queue = match transport {
        "dctcp" => r#"{ kind = "ecn", limit = "150KB", threshold = "22.5KB" }"#,
        _ => r#"{ kind = "drop-tail", limit = "150KB" }"#,
    };
    let text = format!(
        r#"
        name = "peers"
        repeat = {seeds}
        end = {{ at = "5s" }}
        measure = {{ ideal = false }}
        fabric = {{ kind = "fat-tree", k = {k} }}
        workload = [{{ kind = "trace", file = "{file}" }}]
        [[scheme]]
        name = "peer"
        queue = {queue}
        transport = {{ kind = "{transport}", framing = "0B", min-rto = "10ms" }}
        "#
    );
    records(&text, 2)
}

/// `ours` is within `share` of what ns-3 has, both in milliseconds.
fn close(what: &str, runs: &[RunRecord], theirs: f64, share: f64) {
    let means: Vec<f64> = runs.iter().map(mean_fct_ms).collect();
    let ours = mean(means.iter().copied());
    eprintln!("{what}: {ours:.2} ms, ns-3 {theirs} ms; by seed {means:.2?}");
    assert!((ours / theirs - 1.0).abs() < share, "{what}: {ours} ms, ns-3 {theirs} ms: {means:?}");
}

#[test]
fn incast_dctcp() {
    close("incast, DCTCP", &trace("incast16.cm", 8, "dctcp", 10), 12.7, 0.10);
}

#[test]
fn incast_cubic() {
    close("incast, Cubic", &trace("incast16.cm", 8, "cubic", 10), 10.4, 0.10);
}

#[test]
fn incast_newreno() {
    close("incast, NewReno", &trace("incast16.cm", 8, "newreno", 10), 10.1, 0.10);
}

#[test]
fn permutation_of_128_dctcp() {
    close("perm128, DCTCP", &trace("perm128.cm", 8, "dctcp", 4), 19.7, 0.15);
}

#[test]
fn permutation_of_1024_dctcp() {
    close("perm1024, DCTCP", &trace("perm1024.cm", 16, "dctcp", 1), 4.08, 0.15);
}
