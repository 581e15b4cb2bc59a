//! Computes the quantities that a scenario defines from the records of runs.

use crate::metrics::{Chosen, exchange_times, measure_of};
use crate::record::{RunRecord, RunSet, SampleRow, Window};
use crate::statistics::Estimate;
use serde::Deserialize;
use slotline_scenario::quantity::{QuantitySpec, Values};

/// The part of a scenario that is needed here.
#[derive(Deserialize)]
struct Scenario {
    #[serde(default)]
    measure: Measure,
}

#[derive(Default, Deserialize)]
struct Measure {
    #[serde(default)]
    quantity: Vec<QuantitySpec>,
}

/// The quantities that the scenario of `set` defines, in order.
pub fn of_set(set: &RunSet) -> Vec<QuantitySpec> {
    if !set.scenario.contains("measure.quantity") {
        return vec![];
    }
    let parsed: Result<Scenario, _> = toml::from_str(&set.scenario);
    parsed.map_or(vec![], |scenario| scenario.measure.quantity)
}

/// The mean over `runs` with its interval; `None` if no run has a value.
pub fn estimate(spec: &QuantitySpec, runs: &[&RunRecord], window: Window) -> Option<Estimate> {
    let values: Vec<f64> = runs.iter().filter_map(|run| value(spec, run, window)).collect();
    Estimate::of(&values)
}

/// The value of the quantity on `run`, in its base unit; `None` if the run has no data for it.
pub fn value(spec: &QuantitySpec, run: &RunRecord, window: Window) -> Option<f64> {
    let value = match (spec.metric, spec.values) {
        (Some(metric), _) => {
            let from_ps = spec.from.map_or(window.from_ps, |from| from.as_ps());
            let chosen = Chosen { workload: spec.workload, sender: spec.sender };
            measure_of(metric, run, Window { from_ps, ..window }, chosen)?.value
        }
        (None, Some(_)) => reduced(spec, &values(spec, run, window))?,
        (None, None) => counted(spec, run)?,
    };
    Some(value / spec.per / spec.whole().unwrap_or(1.0)).filter(|value| value.is_finite())
}

/// The values of which the quantity is a mean or a percentile, in their base unit; none if it is a metric or a count.
pub fn values(spec: &QuantitySpec, run: &RunRecord, window: Window) -> Vec<f64> {
    let from_ps = spec.from.map_or(window.from_ps, |from| from.as_ps());
    let chosen = Chosen { workload: spec.workload, sender: spec.sender };
    let port = spec.port.as_deref().unwrap_or_default();
    let window = Window { from_ps, ..window };
    spec.values.map_or(vec![], |values| all(values, run, window, chosen, port))
}

/// The samples of the queue at the port of the quantity: seconds and bytes; none if it is about something else.
pub fn queue_over_time(spec: &QuantitySpec, run: &RunRecord) -> Vec<(f64, f64)> {
    let port = spec.port.as_deref().filter(|_| spec.values == Some(Values::Queue));
    let moment = |sample: SampleRow| (sample.t_ps as f64 / 1e12, sample.queue_bytes as f64);
    port.map_or(vec![], |port| samples(run, port).into_iter().map(moment).collect())
}

fn counted(spec: &QuantitySpec, run: &RunRecord) -> Option<f64> {
    let count = |name: &Option<String>| Some(run.counted_by_name(name.as_deref()?)? as f64);
    let own = count(&spec.counter)? * spec.count_factor();
    match (&spec.over, spec.per_second) {
        (Some(_), _) => Some(own / count(&spec.over)?).filter(|share| share.is_finite()),
        (None, true) => Some(own / length(run)),
        (None, false) => Some(own),
    }
}

/// The mean of `values`, a percentile, or the share above a limit.
fn reduced(spec: &QuantitySpec, values: &[f64]) -> Option<f64> {
    let n = values.len();
    if n == 0 {
        return None;
    }
    if let (Some(kind), Some(above)) = (spec.values, &spec.above) {
        let limit = above.in_unit(kind.unit()).ok()?;
        return Some(values.iter().filter(|value| **value > limit).count() as f64 / n as f64);
    }
    let Some(percentile) = spec.percentile else {
        return Some(values.iter().sum::<f64>() / n as f64);
    };
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let rank = (percentile / 100.0 * n as f64).ceil() as usize;
    sorted.get(rank.clamp(1, n) - 1).copied()
}

/// All values of this kind on `run`, in their base unit.
fn all(values: Values, run: &RunRecord, window: Window, chosen: Chosen, port: &str) -> Vec<f64> {
    match values {
        Values::CompletionTimes => completion_times(run, window, chosen),
        Values::ExchangeTimes => exchange_times(run, window, chosen),
        Values::Queue => {
            let samples = samples(run, port);
            let within = samples.iter().filter(|sample| window.contains(sample.t_ps));
            within.map(|sample| sample.queue_bytes as f64).collect()
        }
        Values::Throughput => rates(&samples(run, port), window),
        Values::Sent => of_ports(run, port, |bytes, _, _| bytes as f64 * 8.0 / length(run)),
        Values::Peak => of_ports(run, port, |_, peak, _| peak as f64),
        Values::Lost => of_ports(run, port, |_, _, lost| lost),
        Values::Arrived => arrived(run, window, chosen),
    }
}

fn completion_times(run: &RunRecord, window: Window, chosen: Chosen) -> Vec<f64> {
    let counts = |flow: &&crate::record::FlowRow| {
        let complete = flow.finished() && !flow.udp && !flow.request;
        complete && chosen.has(flow) && window.contains(flow.start_ps)
    };
    let time = |flow: &crate::record::FlowRow| (flow.finish_ps - flow.start_ps) as f64 / 1e12;
    run.flows.iter().filter(counts).map(time).collect()
}

/// The rate at which payload of the chosen flows arrived in `window`. Each flow has the same rate from its start to its
/// end, or to the end of the run.
fn arrived(run: &RunRecord, window: Window, chosen: Chosen) -> Vec<f64> {
    let (from, until) = (window.from_ps, window.until_ps.min(run.engine.sim_time_ps));
    let within = |flow: &crate::record::FlowRow| {
        let end = if flow.finished() { flow.finish_ps } else { run.engine.sim_time_ps };
        let both = end.min(until).saturating_sub(flow.start_ps.max(from));
        // A flow of a real host may start while the run ends.
        flow.delivered_bytes as f64 * both as f64 / end.saturating_sub(flow.start_ps).max(1) as f64
    };
    let flows = run.flows.iter().filter(|flow| flow.started() && chosen.has(flow));
    let bytes: f64 = flows.map(within).sum();
    if until > from { vec![bytes * 8e12 / (until - from) as f64] } else { vec![] }
}

/// The length of the run in seconds.
fn length(run: &RunRecord) -> f64 {
    run.engine.sim_time_ps.max(1) as f64 / 1e12
}

/// A value of each port called `name`, from the bytes that it sent, its longest queue, and the share that it dropped.
fn of_ports(run: &RunRecord, name: &str, value: impl Fn(u64, u64, f64) -> f64) -> Vec<f64> {
    let ports = run.ports.iter().filter(|port| is_called(&port.node, &port.port, name));
    let lost = |drops: u64, sent: u64| drops as f64 / (drops + sent).max(1) as f64;
    ports
        .map(|port| value(port.tx_bytes, port.peak_bytes, lost(port.drops, port.tx_packets)))
        .collect()
}

/// Whether a port of `node` towards `to` is called `name`: `s0-h1`.
fn is_called(node: &str, to: &str, name: &str) -> bool {
    name.strip_prefix(node).and_then(|rest| rest.strip_prefix('-')) == Some(to)
}

fn samples(run: &RunRecord, name: &str) -> Vec<SampleRow> {
    let port = run.ports.iter().position(|port| is_called(&port.node, &port.port, name));
    port.map_or(vec![], |port| run.samples.rows_of(port as u32))
}

/// The rates between neighbouring samples in `window`.
fn rates(samples: &[SampleRow], window: Window) -> Vec<f64> {
    let pairs = samples.windows(2).filter(|pair| {
        pair[1].t_ps > pair[0].t_ps
            && window.contains(pair[0].t_ps)
            && window.contains(pair[1].t_ps)
    });
    let rate = |pair: &[SampleRow]| {
        let span = (pair[1].t_ps - pair[0].t_ps) as f64 / 1e12;
        pair[1].tx_bytes.saturating_sub(pair[0].tx_bytes) as f64 * 8.0 / span
    };
    pairs.map(rate).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::measure;
    use crate::record::{ControlRow, EngineStats, FlowRow, NEVER, PortRow, Samples};
    use proptest::prelude::*;
    use slotline_scenario::metric::Metric;

    fn spec(text: &str) -> QuantitySpec {
        toml::from_str(&format!("name = \"own\"\n{text}")).unwrap()
    }

    fn flow(group: u16, src: u32, ms: (u64, u64), bytes: u64) -> FlowRow {
        let ps = |ms: u64| if ms == 0 { NEVER } else { ms * 1_000_000_000 };
        let (start_ps, finish_ps) = (ms.0 * 1_000_000_000, ps(ms.1));
        FlowRow {
            group,
            src,
            start_ps,
            finish_ps,
            bytes,
            delivered_bytes: bytes,
            ..FlowRow::default()
        }
    }

    fn run() -> RunRecord {
        let port = |node: &str, port: &str, tx_bytes, drops| PortRow {
            node: node.into(),
            port: port.into(),
            tx_bytes,
            tx_packets: 30,
            drops,
            peak_bytes: 700,
            ..PortRow::default()
        };
        let sample = |ms: u64, port, queue_bytes, tx_bytes| SampleRow {
            t_ps: ms * 1_000_000_000,
            port,
            queue_bytes,
            tx_bytes,
        };
        RunRecord {
            flows: vec![
                flow(0, 1, (0, 10), 1_000),
                flow(1, 2, (0, 20), 3_000),
                flow(1, 3, (5, 0), 100),
            ],
            ports: vec![port("s0", "h1", 5_000, 10), port("s0", "h2", 1, 0)],
            samples: Samples::from_rows(&[
                sample(0, 0, 100, 0),
                sample(0, 1, 9_999, 0),
                sample(1, 0, 300, 1_000),
                sample(1, 1, 9_999, 0),
                sample(2, 0, 200, 4_000),
                sample(2, 1, 9_999, 0),
            ])
            .unwrap(),
            control: vec![
                ControlRow { count: "voq_drops".into(), value: 6 },
                ControlRow { count: "circuit_days".into(), value: 24 },
                ControlRow { count: "pause_frame_bytes".into(), value: 1_000 },
            ],
            engine: EngineStats { sim_time_ps: 40_000_000_000, ..EngineStats::default() },
            ..RunRecord::default()
        }
    }

    #[test]
    fn values_are_those_of_the_chosen_flows_and_ports() {
        for (text, expected) in [
            ("metric = \"goodput\"", 4_100.0 * 8.0 / 0.04),
            ("metric = \"goodput\"\nworkload = 0", 8e5),
            ("metric = \"goodput\"\nsender = 2\nper = 2", 6e5),
            ("metric = \"unfinished\"\nworkload = 1", 1.0),
            ("metric = \"completed\"\nfrom = \"1ms\"", 0.0),
            ("values = \"completion-times\"", 0.015),
            ("values = \"completion-times\"\npercentile = 100", 0.02),
            ("values = \"completion-times\"\nabove = \"10ms\"", 0.5),
            ("values = \"queue\"\nport = \"s0-h1\"", 200.0),
            ("values = \"queue\"\nport = \"s0-h1\"\npercentile = 50", 200.0),
            ("values = \"queue\"\nport = \"s0-h1\"\nfrom = \"1ms\"", 250.0),
            ("values = \"queue\"\nport = \"s0-h1\"\nabove = \"250B\"", 1.0 / 3.0),
            ("values = \"throughput\"\nport = \"s0-h1\"", 1.6e7),
            ("values = \"throughput\"\nport = \"s0-h1\"\npercentile = 0", 8e6),
            ("values = \"sent\"\nport = \"s0-h1\"", 1e6),
            ("values = \"peak\"\nport = \"s0-h1\"", 700.0),
            ("values = \"lost\"\nport = \"s0-h1\"", 0.25),
            // 1,000 bytes in 10 ms and 3,000 in 20, and 100 from 5 to 40 ms.
            ("values = \"arrived\"", 4_100.0 * 8.0 / 0.04),
            ("values = \"arrived\"\nworkload = 0\nshare-of = \"1Mbps\"", 0.2),
            ("values = \"arrived\"\nworkload = 1\nfrom = \"5ms\"", (2_250.0 + 100.0) * 8.0 / 0.035),
            ("counter = \"voq_drops\"", 6.0),
            ("counter = \"voq_drops\"\nover = \"circuit_days\"", 0.25),
            ("counter = \"pause_frame_bytes\"\nper-second = true", 2e5),
        ] {
            let found = value(&spec(text), &run(), Window::ALL).unwrap_or(f64::NAN);
            assert!((found - expected).abs() <= 1e-9 * expected, "{text}: {found}, {expected}");
        }
        for text in [
            "counter = \"circuit_drops\"",
            "values = \"queue\"\nport = \"s0-h3\"",
            "values = \"exchange-times\"",
            "metric = \"goodput\"\nworkload = 7",
        ] {
            assert_eq!(value(&spec(text), &run(), Window::ALL), None, "{text}");
        }
    }

    proptest! {
        /// Goodputs of workloads whose flows cover the same time add up to the goodput.
        #[test]
        fn parts_add_up(bytes in proptest::collection::vec((0_u16..3, 1_u64..1_000_000), 3..40)) {
            let flows = bytes.iter().map(|(group, bytes)| flow(*group, 0, (0, 7), *bytes)).collect();
            let run = RunRecord { flows, ..run() };
            let whole = measure(Metric::Goodput, &run, Window::ALL).unwrap().value;
            let part = |at| {
                let quantity = spec(&format!("metric = \"goodput\"\nworkload = {at}"));
                value(&quantity, &run, Window::ALL).unwrap_or(0.0)
            };
            let parts: f64 = (0..3).map(part).sum();
            prop_assert!((parts - whole).abs() <= 1e-9 * whole);
        }

        /// A percentile is the least value that is not below that share of all values.
        #[test]
        fn percentiles_are_by_nearest_rank(
            values in proptest::collection::vec(0.0..1e3_f64, 1..60),
            percent in 0.0..=100.0_f64,
        ) {
            let quantity = spec(&format!("values = \"completion-times\"\npercentile = {percent:?}"));
            let found = reduced(&quantity, &values).unwrap();
            let upto = |limit: f64| values.iter().filter(|value| **value <= limit).count() as f64;
            let wanted = percent / 100.0 * values.len() as f64;
            prop_assert!(values.contains(&found) && upto(found) >= wanted.min(values.len() as f64));
            let smaller = values.iter().copied().filter(|value| *value < found);
            prop_assert!(smaller.clone().all(|value| upto(value) < wanted));
        }
    }
}
