//! Computes the values of metrics from the records of runs.

mod busiest;
pub mod circuits;
mod facts;
mod totals;

pub use busiest::{busiest_port, queues_in_use};
pub use facts::Chosen;
use slotline_schemes::counters;

use crate::record::{Gate, RunRecord, Window};
use facts::{Facts, count, exact, jain, mean, percentile, ratio};
use slotline_scenario::metric::Metric;

/// The largest size of small flows, in bytes of payload. These are short messages, for which latency matters (a class
/// of its own in "DCTCP", Alizadeh et al., SIGCOMM 2010, §4.3).
pub const SMALL: u64 = 100_000;
/// The smallest size of large flows, in bytes of payload. These are background transfers, for which throughput matters.
pub const LARGE: u64 = 10_000_000;

/// A metric's value on one run.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Measured {
    /// The value, in the metric's [`slotline_scenario::metric::Unit`].
    pub value: f64,
    /// Whether the true value may be higher, because unfinished flows contribute to it.
    pub at_least: bool,
}

/// The value of `metric` on `run`; `None` if the run has no data for it.
pub fn measure(metric: Metric, run: &RunRecord, window: Window) -> Option<Measured> {
    measure_of(metric, run, window, Chosen::default())
}

/// The value of `metric` on the flows of `run` that are `chosen`. Counts of packets and queues are those of the whole run.
pub fn measure_of(
    metric: Metric,
    run: &RunRecord,
    window: Window,
    chosen: Chosen,
) -> Option<Measured> {
    value(metric, &Facts::of(run, window, chosen))
}

/// The times of complete exchanges of the flows that are `chosen`, in seconds.
pub fn exchange_times(run: &RunRecord, window: Window, chosen: Chosen) -> Vec<f64> {
    let facts = Facts::of(run, window, chosen);
    let complete = facts.query_times().iter().filter(|time| !time.at_least);
    complete.map(|time| time.value).collect()
}

/// The values of all metrics on `run`, in the order of [`Metric::ALL`]. This is faster than measuring each metric
/// separately.
pub fn measure_all(run: &RunRecord, window: Window) -> Vec<Option<Measured>> {
    let facts = Facts::of(run, window, Chosen::default());
    Metric::ALL.iter().map(|metric| value(*metric, &facts)).collect()
}

/// Whether a metric is not known with real hosts: time-outs of each flow, and with real switches also its retransmissions,
/// and what waits in queues that were not sampled.
fn is_unknown(metric: Metric, run: &RunRecord) -> bool {
    let of_model = match metric {
        Metric::Retransmissions | Metric::Marks => true,
        Metric::QueueP50 | Metric::QueueP99 | Metric::QueueMax => run.samples.is_empty(),
        _ => false,
    };
    metric == Metric::Timeouts && run.engine.emulation.is_some()
        || of_model && has_real_switches(run)
}

fn has_real_switches(run: &RunRecord) -> bool {
    run.engine.emulation.is_some_and(|emulation| emulation.gate == Gate::OpenVswitch)
}

fn value(metric: Metric, facts: &Facts<'_>) -> Option<Measured> {
    let run = facts.run;
    if is_unknown(metric, run) || run.engine.flow_level && metric.is_of_packets() {
        return None;
    }
    match metric {
        Metric::FctMean => mean(facts.completion_times()),
        Metric::FctP50 => percentile(facts.completion_times().to_vec(), 50),
        Metric::FctP99 => percentile(facts.completion_times().to_vec(), 99),
        Metric::FctMax => percentile(facts.completion_times().to_vec(), 100),
        Metric::FctSmallP99 => percentile(facts.times_of(|bytes| bytes <= SMALL), 99),
        Metric::FctLargeMean => mean(&facts.times_of(|bytes| bytes >= LARGE)),
        Metric::SlowdownMean => mean(facts.slowdowns()),
        Metric::SlowdownP99 => percentile(facts.slowdowns().to_vec(), 99),
        Metric::QctMean => mean(facts.query_times()),
        Metric::QctP99 => percentile(facts.query_times().to_vec(), 99),
        Metric::Makespan => facts.makespan(),
        Metric::Goodput => facts.goodput(),
        Metric::GoodputPerFlow => mean(facts.rates()),
        Metric::GoodputTcp => facts.goodput_by_kind()[0],
        Metric::GoodputUdp => facts.goodput_by_kind()[1],
        Metric::Fairness => jain(facts.rates()),
        Metric::Retransmissions => facts.of_tcp(|totals| totals.retransmits),
        Metric::Timeouts => facts.of_tcp(|totals| totals.timeouts),
        Metric::Drops => count(run.census.lost()),
        Metric::Loss => ratio(run.census.lost(), run.census.sent),
        Metric::Marks => count(run.marks()),
        Metric::Pauses => count(run.ports.iter().map(|port| port.pauses).sum()),
        Metric::QueueP50 => percentile(facts.busiest_queue().to_vec(), 50),
        Metric::QueueP99 => percentile(facts.busiest_queue().to_vec(), 99),
        // Between samples a queue may have been longer.
        Metric::QueueMax => facts
            .longest_queue()
            .map(|longest| Measured { at_least: has_real_switches(run), ..longest }),
        Metric::CircuitUtilisation => circuits::utilisation(run),
        Metric::FabricLatencyP50 => circuits::latency(run, counters::hybrid::LATENCY.p50),
        Metric::FabricLatencyP99 => circuits::latency(run, counters::hybrid::LATENCY.p99),
        Metric::BumpError => {
            run.over(counters::net::BUMP_ERROR_BYTES, counters::net::BUMP_ESTIMATES).map(exact)
        }
        Metric::BumpWithin2 => {
            run.over(counters::net::BUMP_WITHIN_2_MTU, counters::net::BUMP_ESTIMATES).map(exact)
        }
        Metric::LimiterQueueMax => run.counted(counters::net::LIMITER_QUEUE_MOST).and_then(count),
        Metric::Completed => facts.of_tcp(|totals| totals.tcp.flows - totals.tcp.unfinished),
        Metric::Unfinished => facts.of_tcp(|totals| totals.tcp.unfinished),
        Metric::NotStarted => facts.never_began(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Conservation, EngineStats, FlowRow, NEVER, PortRow, Samples};

    const MS: u64 = 1_000_000_000;

    fn flow(start_ms: u64, took_ms: Option<u64>, bytes: u64) -> FlowRow {
        FlowRow {
            start_ps: start_ms * MS,
            finish_ps: took_ms.map_or(NEVER, |ms| (start_ms + ms) * MS),
            ideal_ps: MS,
            bytes,
            delivered_bytes: if took_ms.is_some() { bytes } else { bytes / 2 },
            retransmits: 2,
            ..FlowRow::default()
        }
    }
    fn run(flows: Vec<FlowRow>) -> RunRecord {
        let engine = EngineStats { sim_time_ps: 100 * MS, ..EngineStats::default() };
        RunRecord { flows, engine, ..RunRecord::default() }
    }
    fn value(metric: Metric, run: &RunRecord) -> f64 {
        measure(metric, run, Window::ALL).map_or(f64::NAN, |m| m.value)
    }
    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() <= 1e-12 * b.abs()
    }

    #[test]
    fn completion_times_are_exact() {
        let run = run((1..=200).map(|ms| flow(0, Some(ms), 1000)).collect());
        assert!(close(value(Metric::FctMean, &run), 0.1005));
        assert!(close(value(Metric::FctP50, &run), 0.100));
        assert!(close(value(Metric::FctP99, &run), 0.198));
        assert!(close(value(Metric::FctMax, &run), 0.200));
        assert!(close(value(Metric::SlowdownP99, &run), 198.0));
        assert_eq!(value(Metric::Retransmissions, &run), 400.0);
        assert_eq!(value(Metric::Completed, &run), 200.0);
        assert_eq!(value(Metric::Unfinished, &run), 0.0);
    }

    #[test]
    fn unfinished_flows_are_counted_and_flag_what_they_touch() {
        let mut flows: Vec<_> = (1..=9).map(|ms| flow(0, Some(ms), 1000)).collect();
        flows.push(flow(0, None, 1000));
        flows.push(FlowRow { start_ps: NEVER, finish_ps: NEVER, ..FlowRow::default() });
        let run = run(flows);
        let of = |m: Metric| measure(m, &run, Window::ALL).map(|m| (m.value, m.at_least));
        assert_eq!(of(Metric::FctP50), Some((0.005, false)));
        assert_eq!(of(Metric::FctP99), Some((0.1, true)));
        assert!(of(Metric::FctMean).is_some_and(|(v, flag)| close(v, 0.0145) && flag));
        assert_eq!(of(Metric::Unfinished), Some((1.0, false)));
        assert_eq!(of(Metric::NotStarted), Some((1.0, false)));
        assert_eq!(of(Metric::Makespan), Some((0.1, true)));
    }

    #[test]
    fn small_and_large_flows_are_distinguished() {
        let sizes = [SMALL, SMALL + 1, LARGE - 1, LARGE];
        let flows = (1..).zip(sizes).map(|(ms, bytes)| flow(0, Some(ms), bytes));
        let mixed = run(flows.collect());
        assert!(close(value(Metric::FctSmallP99, &mixed), 0.001));
        assert!(close(value(Metric::FctLargeMean, &mixed), 0.004));
        let alike = run(vec![flow(0, Some(1), SMALL); 3]);
        assert!(value(Metric::FctSmallP99, &alike).is_nan());
        assert!(value(Metric::FctLargeMean, &alike).is_nan());
    }

    #[test]
    fn goodput_and_fairness() {
        let run = run(vec![flow(0, Some(10), 1_000_000), flow(10, Some(10), 3_000_000)]);
        assert!(close(value(Metric::Goodput, &run), 1.6e9));
        assert!(close(value(Metric::GoodputPerFlow, &run), 1.6e9));
        assert!(close(value(Metric::Fairness, &run), 16.0 / (2.0 * 10.0)));
        assert!(measure(Metric::GoodputUdp, &run, Window::ALL).is_none());
        let late = Window { from_ps: 10 * MS, until_ps: NEVER };
        assert!(measure(Metric::Goodput, &run, late).is_some_and(|m| close(m.value, 2.4e9)));
    }

    #[test]
    fn udp_shares_the_goodput_but_has_no_completion() {
        let stream = FlowRow { udp: true, ..flow(0, None, 2_000_000) };
        let run = run(vec![flow(0, Some(100), 1_000_000), stream]);
        assert!(close(value(Metric::GoodputTcp, &run), 80e6));
        assert!(close(value(Metric::GoodputUdp, &run), 80e6));
        assert_eq!(value(Metric::Unfinished, &run), 0.0);
        assert!(close(value(Metric::FctMax, &run), 0.1));
    }

    #[test]
    fn requests_are_no_transfers_but_part_of_an_exchange() {
        let ask = |start, exchange| FlowRow {
            request: true,
            exchange: Some(exchange),
            ..flow(start, Some(1), 100)
        };
        let answer = |start, took, exchange| FlowRow {
            exchange: Some(exchange),
            ..flow(start, took, 1_000_000)
        };
        let mut flows = vec![ask(0, 0), ask(1, 0), answer(1, Some(9), 0), answer(2, Some(9), 0)];
        let all = |flows: &[FlowRow]| run(flows.to_vec());
        assert!(close(value(Metric::FctP50, &all(&flows)), 0.009));
        assert!(close(value(Metric::FctMean, &all(&flows)), 0.009));
        assert!(close(value(Metric::Goodput, &all(&flows)), 1.6e9));
        assert_eq!(value(Metric::Fairness, &all(&flows)), 1.0);
        assert!(close(value(Metric::QctMean, &all(&flows)), 0.011));
        assert!(close(value(Metric::Makespan, &all(&flows)), 0.011));
        assert_eq!(value(Metric::Completed, &all(&flows)), 4.0);
        flows.extend([ask(10, 1), FlowRow { start_ps: NEVER, ..answer(0, None, 1) }]);
        let open = measure(Metric::QctP99, &all(&flows), Window::ALL);
        assert_eq!(open.map(|m| (m.value, m.at_least)), Some((0.09, true)));
    }

    #[test]
    fn queues_are_judged_at_the_busiest_switch_port() {
        let mut run = run(vec![]);
        let port = |host, peak_bytes| PortRow { host, peak_bytes, marks: 3, ..PortRow::default() };
        run.ports = vec![port(true, 9_000_000), port(false, 50), port(false, 100)];
        run.samples = Samples::of_ports(0..3);
        for t_ps in 0..100 {
            let queues = [9_000_000, 1, t_ps];
            run.samples.take(t_ps, |port| (queues[port as usize], (t_ps + 1) * 1_500));
        }
        // The ports are idle from then on.
        (100..110).for_each(|t_ps| run.samples.take(t_ps, |_| (0, 150_000)));
        assert_eq!(busiest_port(&run, Window::ALL), Some(2));
        assert_eq!(value(Metric::QueueP50, &run), 49.0);
        assert_eq!(value(Metric::QueueP99, &run), 98.0);
        assert_eq!(value(Metric::QueueMax, &run), 100.0);
        assert_eq!(value(Metric::Marks, &run), 9.0);
    }

    #[test]
    fn losses_come_from_the_census() {
        let census =
            Conservation { sent: 100, delivered: 90, dropped: [5, 2, 0, 0, 1, 0, 0], in_flight: 2 };
        assert!(census.holds());
        let run = RunRecord { census, ..RunRecord::default() };
        assert_eq!(value(Metric::Drops, &run), 8.0);
        assert!(close(value(Metric::Loss, &run), 0.08));
        assert!(measure(Metric::FctMean, &run, Window::ALL).is_none());
        assert!(measure(Metric::QueueMax, &run, Window::ALL).is_none());
    }

    #[test]
    fn keys_are_the_names_in_files() {
        for metric in Metric::ALL {
            let json = serde_json::to_string(&metric).unwrap_or_default();
            assert_eq!(json, format!("\"{}\"", metric.key()));
        }
    }
}
