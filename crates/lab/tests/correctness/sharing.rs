//! Long flows share a link as max-min fairness says.

//!
//! Hosts have faster links than the one they share: with equal rates and no randomness a sender that
//! fills its own link meets each place in a full drop-tail queue at the instant at which it becomes
//! free, and locks the others out (Floyd and Jacobson, "On Traffic Phase Effects in Packet-Switched
//! Gateways", 1992).

use crate::common::records;

/// Gbit/s of payload per flow between 100 and 400 ms: the hosts but the last send to it over its link
/// of 10 Gbit/s.
fn shares(flows: u32, overrides: &str, transport: &str) -> Vec<f64> {
    let delivered = |until: &str| {
        let text = format!(
            r#"
            name = "sharing"
            end = {{ at = "{until}", when = "time" }}
            measure = {{ ideal = false }}
            [fabric]
            kind = "star"
            hosts = {}
            rate = "40Gbps"
            overrides = [{{ link = "s0-h{flows}", rate = "10Gbps" }}, {overrides}]
            [[workload]]
            kind = "bulk"
            senders = "0-{}"
            receivers = "{flows}"
            size = "1GB"
            [[scheme]]
            name = "sharing"
            transport = {{ kind = "{transport}", min-rto = "10ms" }}
            queue = {{ kind = "ecn", limit = "300KB", threshold = "100KB" }}
            "#,
            flows + 1,
            flows - 1,
        );
        let flows = records(&text, 1).remove(0).flows;
        flows.into_iter().map(|flow| flow.delivered_bytes as f64)
    };
    let gbps = |(all, before): (f64, f64)| (all - before) * 8.0 / 0.3 * 1e-9;
    delivered("400ms").zip(delivered("100ms")).map(gbps).collect()
}

/// Jain's index of fairness: 1 where all shares are equal.
fn jain(shares: &[f64]) -> f64 {
    let (sum, squares) = shares.iter().fold((0.0, 0.0), |(s, q), x| (s + x, q + x * x));
    sum * sum / (shares.len() as f64 * squares)
}

/// Payload at 10 Gbit/s, in Gbit/s.
const WHOLE: f64 = 10.0 * 1_460.0 / 1_538.0;

/// The largest deviation from the fair shares.
fn off(shares: &[f64], fair: &[f64]) -> f64 {
    shares.iter().zip(fair).map(|(share, fair)| (share / fair - 1.0).abs()).fold(0.0, f64::max)
}

#[test]
fn dctcp_flows_share_a_full_link_equally() {
    for flows in [2, 4, 16] {
        let shares = shares(flows, "", "dctcp");
        let fair = vec![WHOLE / f64::from(flows); flows as usize];
        assert!(off(&shares, &fair) < 0.10 && jain(&shares) > 0.99, "{shares:?} of {WHOLE}");
        assert!(shares.iter().sum::<f64>() > 0.99 * WHOLE, "{shares:?}: the link is not full");
    }
}

#[test]
fn loss_based_flows_share_a_full_link() {
    for transport in ["newreno", "cubic"] {
        for flows in [2, 4, 16] {
            let shares = shares(flows, "", transport);
            assert!(jain(&shares) > 0.95, "{transport}: {shares:?} of {WHOLE}");
            assert!(shares.iter().sum::<f64>() > 0.95 * WHOLE, "{transport}: {shares:?}");
        }
    }
}

/// A flow with a slow access link gets all of that; the others share the rest.
#[test]
fn what_a_slow_flow_leaves_goes_to_the_others() {
    let shares = shares(3, r#"{ link = "h0-s0", rate = "1Gbps" }"#, "dctcp");
    assert!(off(&shares, &[0.1, 0.45, 0.45].map(|part| part * WHOLE)) < 0.10, "{shares:?}");
}
