//! Long flows share a link according to max-min fairness.
//!
//! Hosts have faster links than the shared one. Otherwise a sender that fills its own link gets each place in a full
//! drop-tail queue at the instant at which it becomes free, and locks the others out: Floyd and Jacobson, "On Traffic
//! Phase Effects in Packet-Switched Gateways" (1992).

use crate::common::{assemble, mean, results};
use slotline_net::node::host::FlowResult;
use slotline_net::time::Time;
use slotline_sim::{Options, Outcome, Watch, run};

/// A star of 40 Gbit/s in which host `n` has a link of 10 Gbit/s. The `n` others send to it over this link.
struct Contest {
    flows: u32,
    transport: &'static str,
    delay: &'static str,
    overrides: &'static str,
}

impl Contest {
    fn text(&self) -> String {
        let Contest { flows, transport, delay, overrides } = self;
        format!(
            r#"
            name = "sharing"
            end = {{ at = "1s" }}
            [fabric]
            kind = "star"
            hosts = {}
            rate = "40Gbps"
            delay = "{delay}"
            overrides = [{{ link = "s0-h{flows}", rate = "10Gbps" }}, {overrides}]
            [[workload]]
            kind = "bulk"
            senders = "0-{}"
            receivers = "{flows}"
            [[scheme]]
            name = "sharing"
            transport = {{ kind = "{transport}", min-rto = "10ms" }}
            queue = {{ kind = "ecn", limit = "300KB", threshold = "65KB" }}
            "#,
            flows + 1,
            flows - 1,
        )
    }

    /// Payload per flow in Gbit/s between 100 and 300 ms, and its mean over several runs.
    fn shares(&self) -> (Vec<Vec<f64>>, Vec<f64>) {
        let text = self.text();
        let runs: Vec<Vec<f64>> = (1..=4).map(|seed| shares(&text, seed)).collect();
        let of = |flow| mean(runs.iter().map(|run| run[flow]));
        let means = (0..self.flows as usize).map(of).collect();
        (runs, means)
    }
}

fn shares(text: &str, seed: u64) -> Vec<f64> {
    let delivered = |end| {
        let results = results(&run_until(assemble(text, seed), end));
        let bytes = |result| match result {
            FlowResult::Received(_, received) => Some(received.bytes as f64),
            FlowResult::Sent(..) => None,
        };
        results.into_iter().filter_map(bytes)
    };
    let gbps = |(all, before): (f64, f64)| (all - before) * 8.0 / 0.2 * 1e-9;
    delivered(Time::ms(300)).zip(delivered(Time::ms(100))).map(gbps).collect()
}

fn run_until(assembly: slotline_lab::build::Assembly, end: Time) -> Outcome {
    let options = Options { threads: 1, end, completions: assembly.flows };
    run(assembly.network, options, &Watch::default())
}

/// Jain's index of fairness: 1 if all shares are equal.
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

/// Windows of about 50 packets, which can be reduced finely. Windows of a few packets change by one packet at a time,
/// whatever their share of marks.
#[test]
fn dctcp_flows_share_a_full_link_equally() {
    for flows in [2, 4] {
        let contest = Contest { flows, transport: "dctcp", delay: "20us", overrides: "" };
        let (runs, means) = contest.shares();
        let fair = vec![WHOLE / f64::from(flows); flows as usize];
        assert!(off(&means, &fair) < 0.10, "{means:?} of {WHOLE}");
        for run in runs {
            assert!(jain(&run) > 0.95, "{run:?}");
            assert!(run.iter().sum::<f64>() > 0.99 * WHOLE, "{run:?}: the link is not full");
        }
    }
}

#[test]
fn loss_based_flows_share_a_full_link() {
    for (transport, flows) in [("newreno", 4), ("cubic", 4), ("newreno", 16), ("cubic", 16)] {
        let (runs, _) = Contest { flows, transport, delay: "1us", overrides: "" }.shares();
        for run in runs {
            assert!(jain(&run) > 0.95, "{transport}: {run:?} of {WHOLE}");
            assert!(run.iter().sum::<f64>() > 0.95 * WHOLE, "{transport}: {run:?} of {WHOLE}");
        }
    }
}

/// A flow with a slow access link gets its whole rate. The others share the rest.
#[test]
fn what_a_slow_flow_leaves_goes_to_the_others() {
    let overrides = r#"{ link = "h0-s0", rate = "1Gbps" }"#;
    let contest = Contest { flows: 3, transport: "dctcp", delay: "20us", overrides };
    let (_, means) = contest.shares();
    assert!(off(&means, &[0.1, 0.45, 0.45].map(|part| part * WHOLE)) < 0.10, "{means:?}");
}
