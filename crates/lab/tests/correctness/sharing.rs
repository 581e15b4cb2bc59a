//! Long flows share a link as max-min fairness says.

use crate::common::records;

/// Payload bytes per flow after 200 ms on a star of 10 Gbit/s whose hosts but the last send to it.
fn delivered(hosts: u32, overrides: &str, transport: &str) -> Vec<f64> {
    let text = format!(
        r#"
        name = "sharing"
        end = {{ at = "200ms", when = "time" }}
        measure = {{ ideal = false }}
        fabric = {{ kind = "star", hosts = {hosts}, delay = "5us", overrides = [{overrides}] }}
        workload = [{{ kind = "bulk", senders = "0-{}", receivers = "{}" }}]
        [[scheme]]
        name = "sharing"
        transport = {{ kind = "{transport}", min-rto = "10ms" }}
        queue = {{ kind = "ecn", limit = "1MB", threshold = "100KB" }}
        "#,
        hosts - 2,
        hosts - 1,
    );
    records(&text, 1)[0].flows.iter().map(|flow| flow.delivered_bytes as f64).collect()
}

fn jain(shares: &[f64]) -> f64 {
    let (sum, squares) = shares.iter().fold((0.0, 0.0), |(s, q), x| (s + x, q + x * x));
    sum * sum / (shares.len() as f64 * squares)
}

/// Payload that fits through 10 Gbit/s in 200 ms.
const WHOLE: f64 = 10e9 / 8.0 * 0.2 * 1_460.0 / 1_538.0;

#[test]
fn dctcp_flows_get_equal_shares_of_a_full_link() {
    for flows in [2, 4, 16] {
        let shares = delivered(flows + 1, "", "dctcp");
        let fair = WHOLE / f64::from(flows);
        let off = shares.iter().map(|share| (share / fair - 1.0).abs()).fold(0.0, f64::max);
        eprintln!("{flows} flows: Jain {:.4}, most off {off:.3}", jain(&shares));
        assert!(off < 0.10 && jain(&shares) >= 0.95, "{flows} flows: {shares:?} of {fair}");
    }
}

/// A flow with a slow access link gets all of that; the others share the rest.
#[test]
fn what_a_slow_flow_leaves_goes_to_the_others() {
    let slow = r#"{ link = "h0-s0", rate = "1Gbps" }"#;
    let shares = delivered(4, slow, "dctcp");
    for (share, fair) in shares.iter().zip([0.1, 0.45, 0.45]) {
        assert!((share / (fair * WHOLE) - 1.0).abs() < 0.10, "{shares:?} of {WHOLE}");
    }
}

/// Loss-based flows share less evenly, but none starves and the link stays busy.
#[test]
fn loss_based_flows_fill_the_link() {
    for transport in ["newreno", "cubic"] {
        let shares = delivered(5, "", transport);
        let sum: f64 = shares.iter().sum();
        eprintln!("{transport}: Jain {:.4}, {:.3} of the link", jain(&shares), sum / WHOLE);
        assert!(sum > 0.9 * WHOLE && jain(&shares) > 0.8, "{transport}: {shares:?} of {WHOLE}");
    }
}
