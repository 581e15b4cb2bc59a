//! Compared with ns-3 on the same flow files: 10 Gbit/s links of 1 us in a fat-tree, packets of 1500 bytes without
//! framing, initial window 10, time-outs from 10 ms, 100 packets of buffer, marks from 15. ns-3 ran once, with one
//! choice of paths. Here means are taken over several.

use crate::common::{mean, mean_fct_ms, records};

/// A trace under `transport`, with `seeds` different path choices.
fn scenario(file: &str, k: u32, transport: &str, seeds: u32) -> String {
    let queue = match transport {
        "dctcp" => r#"{ kind = "ecn", limit = "150KB", threshold = "22.5KB" }"#,
        _ => r#"{ kind = "drop-tail", limit = "150KB" }"#,
    };
    format!(
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
    )
}

/// Mean completion times in milliseconds, by seed.
fn means(file: &str, k: u32, transport: &str, seeds: u32) -> Vec<f64> {
    records(&scenario(file, k, transport, seeds), 2).iter().map(mean_fct_ms).collect()
}

/// Checks that the mean of `ours` is within `share` of the value of ns-3, all in milliseconds.
fn close(ours: &[f64], theirs: f64, share: f64) {
    let mean = mean(ours.iter().copied());
    assert!((mean / theirs - 1.0).abs() < share, "{mean:.2} ms, ns-3 {theirs} ms: {ours:.2?}");
}

#[test]
fn incast_dctcp() {
    close(&means("incast16.cm", 8, "dctcp", 20), 12.7, 0.10);
}

/// This depends on the hosts' processing time. Without its randomness some senders always get the last place in the
/// full queue and others never do, which causes time-outs (phase effects).
#[test]
fn incast_cubic() {
    close(&means("incast16.cm", 8, "cubic", 40), 10.4, 0.10);
}

#[test]
fn permutation_of_128_dctcp() {
    close(&means("perm128.cm", 8, "dctcp", 3), 19.7, 0.15);
}

#[test]
fn permutation_of_1024_dctcp() {
    close(&means("perm1024.cm", 16, "dctcp", 1), 4.08, 0.15);
}
