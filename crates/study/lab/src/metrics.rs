//! What is measured on a run: each metric with its unit and which way is better.

mod facts;

pub use crate::busiest::busiest_port;
use crate::circuits;
use crate::record::{RunRecord, Window};
use facts::{Facts, count, exact, jain, mean, percentile, ratio};
use serde::{Deserialize, Serialize};

/// The largest of small flows, in bytes of payload: short messages, for which latency is all (the
/// class that "DCTCP", Alizadeh et al., SIGCOMM 2010, §4.3, reports on its own).
pub const SMALL: u64 = 100_000;
/// The smallest of large flows, in bytes of payload: background transfers, for which throughput is all.
pub const LARGE: u64 = 10_000_000;

/// Metrics of packets and queues: a run without packets has none.
pub const PACKET_METRICS: [Metric; 15] = [
    Metric::Retransmissions,
    Metric::Timeouts,
    Metric::Drops,
    Metric::Loss,
    Metric::Marks,
    Metric::Pauses,
    Metric::QueueP50,
    Metric::QueueP99,
    Metric::QueueMax,
    Metric::CircuitUtilisation,
    Metric::FabricLatencyP50,
    Metric::FabricLatencyP99,
    Metric::BumpError,
    Metric::BumpWithin2,
    Metric::LimiterQueueMax,
];

/// Which way is better.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Better {
    /// Lower values.
    Lower,
    /// Higher values.
    Higher,
    /// Neither: it describes, it does not judge.
    Neither,
}

/// The unit of a metric's values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unit {
    /// Seconds.
    Seconds,
    /// Bits per second.
    BitsPerSecond,
    /// Bytes.
    Bytes,
    /// A count.
    Count,
    /// A ratio.
    Ratio,
}

impl Unit {
    /// Its symbol in results.
    pub const fn symbol(self) -> &'static str {
        match self {
            Unit::Seconds => "s",
            Unit::BitsPerSecond => "bit/s",
            Unit::Bytes => "B",
            Unit::Count | Unit::Ratio => "1",
        }
    }
}

/// A quantity measured on each run.
///
/// Completion times are of TCP flows: a datagram stream has no completion. "Unfinished" flows began
/// and did not end; they enter means and percentiles with the time they had at the end of the run,
/// and a value that this touches is marked as a lower bound ([`Measured::at_least`]).
///
/// Flows that merely ask for others (the requests of an incast, of clients) have no part in completion
/// times, slowdowns, goodputs and fairness, which they would otherwise dominate by their number. They
/// count in all else.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Metric {
    /// Mean flow completion time.
    FctMean,
    /// Median flow completion time.
    FctP50,
    /// 99th percentile of the flow completion time (nearest rank).
    FctP99,
    /// Longest flow completion time.
    FctMax,
    /// 99th percentile of the completion time of flows of up to 100 KB, where there are larger ones.
    ///
    /// Source: for the class, Alizadeh et al., "Data Center TCP (DCTCP)", SIGCOMM 2010, section 4.3.
    FctSmallP99,
    /// Mean completion time of flows of 10 MB or more, where there are smaller ones.
    FctLargeMean,
    /// Mean of completion time over the time the flow takes alone in the network.
    SlowdownMean,
    /// 99th percentile of the slowdown.
    SlowdownP99,
    /// Mean time from a request to the last byte that answers it. The answer of an incast is a whole
    /// block, from all servers.
    AnswerMean,
    /// 99th percentile of the time from a request to the last byte that answers it.
    AnswerP99,
    /// From the first start to the last completion.
    Makespan,
    /// Payload delivered, all flows, over the time in which they were active.
    Goodput,
    /// Mean over flows of payload delivered over the flow's own time.
    GoodputPerFlow,
    /// Goodput of TCP flows.
    GoodputTcp,
    /// Goodput of UDP flows.
    GoodputUdp,
    /// Jain's index of the flows' goodputs: 1 when all are equal.
    ///
    /// Source: Jain, Chiu and Hawe, "A Quantitative Measure of Fairness and Discrimination",
    /// DEC Research Report TR-301, 1984.
    Fairness,
    /// Segments sent again.
    Retransmissions,
    /// Retransmission time-outs.
    Timeouts,
    /// Packets dropped, for any reason.
    Drops,
    /// Packets dropped over packets sent.
    Loss,
    /// Packets marked with congestion experienced.
    Marks,
    /// Priority pauses obeyed.
    Pauses,
    /// Median queue at the switch port whose mean queue is longest, while it is in use: of the samples
    /// before which it sent something. Idle times would only say how long the run was.
    QueueP50,
    /// 99th percentile of the queue at the switch port whose mean queue is longest, while it is in use.
    QueueP99,
    /// Longest queue at any switch port.
    QueueMax,
    /// Bytes over circuits, over what these can carry in their days; of pairs of racks that have data to
    /// send.
    ///
    /// Source: "Overcoming End-to-End Challenges in Reconfigurable Datacenter Networks" (Etalon), 2018,
    /// section 4.1.
    CircuitUtilisation,
    /// Median time of packets of more than 1,000 B from the switch of their rack to that of another: waiting
    /// there and propagation.
    FabricLatencyP50,
    /// 99th percentile of the time of packets of more than 1,000 B from the switch of their rack to that of
    /// another.
    FabricLatencyP99,
    /// How far bumps' virtual queues were from the queues of their switches, in the mean over packets.
    BumpError,
    /// Share of packets that met a virtual queue within two packets of the switch's queue.
    #[serde(rename = "bump-within-2")]
    BumpWithin2,
    /// Most that the virtual queue of a flow that a bump limits ever held.
    LimiterQueueMax,
    /// TCP flows completed.
    Completed,
    /// TCP flows that began and did not complete.
    Unfinished,
    /// TCP flows that had not begun when the run ended.
    NotStarted,
}

/// A metric's value on one run.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Measured {
    /// The value, in the metric's [`Unit`].
    pub value: f64,
    /// The true value may be higher: unfinished flows take part in it.
    pub at_least: bool,
}

impl Metric {
    /// All metrics, in the order in which they are shown.
    pub const ALL: [Metric; 34] = [
        Metric::FctMean,
        Metric::FctP50,
        Metric::FctP99,
        Metric::FctMax,
        Metric::FctSmallP99,
        Metric::FctLargeMean,
        Metric::SlowdownMean,
        Metric::SlowdownP99,
        Metric::AnswerMean,
        Metric::AnswerP99,
        Metric::Makespan,
        Metric::Goodput,
        Metric::GoodputPerFlow,
        Metric::GoodputTcp,
        Metric::GoodputUdp,
        Metric::Fairness,
        Metric::Retransmissions,
        Metric::Timeouts,
        Metric::Drops,
        Metric::Loss,
        Metric::Marks,
        Metric::Pauses,
        Metric::QueueP50,
        Metric::QueueP99,
        Metric::QueueMax,
        Metric::CircuitUtilisation,
        Metric::FabricLatencyP50,
        Metric::FabricLatencyP99,
        Metric::BumpError,
        Metric::BumpWithin2,
        Metric::LimiterQueueMax,
        Metric::Completed,
        Metric::Unfinished,
        Metric::NotStarted,
    ];

    /// What is shown on a screen unless a scenario asks for others.
    pub const USUAL: [Metric; 21] = [
        Metric::FctMean,
        Metric::FctP50,
        Metric::FctP99,
        Metric::FctSmallP99,
        Metric::FctLargeMean,
        Metric::SlowdownP99,
        Metric::AnswerMean,
        Metric::AnswerP99,
        Metric::Makespan,
        Metric::Goodput,
        Metric::GoodputTcp,
        Metric::GoodputUdp,
        Metric::Retransmissions,
        Metric::Timeouts,
        Metric::Drops,
        Metric::Marks,
        Metric::QueueP99,
        Metric::QueueMax,
        Metric::CircuitUtilisation,
        Metric::FabricLatencyP50,
        Metric::Unfinished,
    ];

    /// Key in scenario and result files, name for people, unit, and which way is better.
    pub const fn about(self) -> (&'static str, &'static str, Unit, Better) {
        use {Better::*, Unit::*};
        match self {
            Metric::FctMean => ("fct-mean", "FCT mean", Seconds, Lower),
            Metric::FctP50 => ("fct-p50", "FCT median", Seconds, Lower),
            Metric::FctP99 => ("fct-p99", "FCT 99th", Seconds, Lower),
            Metric::FctMax => ("fct-max", "FCT longest", Seconds, Lower),
            Metric::FctSmallP99 => ("fct-small-p99", "FCT 99th, small", Seconds, Lower),
            Metric::FctLargeMean => ("fct-large-mean", "FCT mean, large", Seconds, Lower),
            Metric::SlowdownMean => ("slowdown-mean", "Slowdown mean", Ratio, Lower),
            Metric::SlowdownP99 => ("slowdown-p99", "Slowdown 99th", Ratio, Lower),
            Metric::AnswerMean => ("answer-mean", "Answer mean", Seconds, Lower),
            Metric::AnswerP99 => ("answer-p99", "Answer 99th", Seconds, Lower),
            Metric::Makespan => ("makespan", "All flows done", Seconds, Lower),
            Metric::Goodput => ("goodput", "Goodput", BitsPerSecond, Higher),
            Metric::GoodputPerFlow => {
                ("goodput-per-flow", "Goodput per flow", BitsPerSecond, Higher)
            }
            Metric::GoodputTcp => ("goodput-tcp", "Goodput of TCP", BitsPerSecond, Higher),
            Metric::GoodputUdp => ("goodput-udp", "Goodput of UDP", BitsPerSecond, Higher),
            Metric::Fairness => ("fairness", "Fairness (Jain)", Ratio, Higher),
            Metric::Retransmissions => ("retransmissions", "Retransmissions", Count, Lower),
            Metric::Timeouts => ("timeouts", "Time-outs", Count, Lower),
            Metric::Drops => ("drops", "Drops", Count, Lower),
            Metric::Loss => ("loss", "Loss", Ratio, Lower),
            Metric::Marks => ("marks", "ECN marks", Count, Neither),
            Metric::Pauses => ("pauses", "Pauses", Count, Neither),
            Metric::QueueP50 => ("queue-p50", "Queue median", Bytes, Lower),
            Metric::QueueP99 => ("queue-p99", "Queue 99th", Bytes, Lower),
            Metric::QueueMax => ("queue-max", "Queue longest", Bytes, Lower),
            Metric::CircuitUtilisation => {
                ("circuit-utilisation", "Circuit utilisation", Ratio, Higher)
            }
            Metric::FabricLatencyP50 => {
                ("fabric-latency-p50", "Fabric latency median", Seconds, Lower)
            }
            Metric::FabricLatencyP99 => {
                ("fabric-latency-p99", "Fabric latency 99th", Seconds, Lower)
            }
            Metric::BumpError => ("bump-error", "Virtual queue off by", Bytes, Lower),
            Metric::BumpWithin2 => ("bump-within-2", "Within 2 packets", Ratio, Higher),
            Metric::LimiterQueueMax => {
                ("limiter-queue-max", "Limited flow's virtual queue longest", Bytes, Lower)
            }
            Metric::Completed => ("completed", "Flows completed", Count, Higher),
            Metric::Unfinished => ("unfinished", "Flows unfinished", Count, Lower),
            Metric::NotStarted => ("not-started", "Flows not begun", Count, Lower),
        }
    }
    /// Key in scenario and result files.
    pub const fn key(self) -> &'static str {
        self.about().0
    }
    /// Name for people.
    pub const fn title(self) -> &'static str {
        self.about().1
    }
    /// Unit of its values.
    pub const fn unit(self) -> Unit {
        self.about().2
    }
    /// Which way is better.
    pub const fn better(self) -> Better {
        self.about().3
    }

    /// Its value on `run`, or `None` where the run has nothing to measure it on.
    pub fn measure(self, run: &RunRecord, window: Window) -> Option<Measured> {
        self.of(&Facts::of(run, window))
    }
    /// The values of all metrics on `run`, in the order of [`Metric::ALL`]: quicker than one by one.
    pub fn measure_all(run: &RunRecord, window: Window) -> Vec<Option<Measured>> {
        let facts = Facts::of(run, window);
        Metric::ALL.iter().map(|metric| metric.of(&facts)).collect()
    }
    fn of(self, facts: &Facts<'_>) -> Option<Measured> {
        let run = facts.run;
        if run.engine.flow_level && PACKET_METRICS.contains(&self) {
            return None;
        }
        match self {
            Metric::FctMean => mean(facts.completion_times()),
            Metric::FctP50 => percentile(facts.completion_times().to_vec(), 50),
            Metric::FctP99 => percentile(facts.completion_times().to_vec(), 99),
            Metric::FctMax => percentile(facts.completion_times().to_vec(), 100),
            Metric::FctSmallP99 => percentile(facts.times_of(|bytes| bytes <= SMALL), 99),
            Metric::FctLargeMean => mean(&facts.times_of(|bytes| bytes >= LARGE)),
            Metric::SlowdownMean => mean(facts.slowdowns()),
            Metric::SlowdownP99 => percentile(facts.slowdowns().to_vec(), 99),
            Metric::AnswerMean => mean(facts.answer_times()),
            Metric::AnswerP99 => percentile(facts.answer_times().to_vec(), 99),
            Metric::Makespan => facts.makespan(),
            Metric::Goodput => facts.goodput(|_| true),
            Metric::GoodputPerFlow => mean(facts.rates()),
            Metric::GoodputTcp => facts.goodput_of_kind(false),
            Metric::GoodputUdp => facts.goodput_of_kind(true),
            Metric::Fairness => jain(facts.rates()),
            Metric::Retransmissions => facts.sum(|flow| flow.retransmits),
            Metric::Timeouts => facts.sum(|flow| flow.timeouts),
            Metric::Drops => count(run.census.lost()),
            Metric::Loss => ratio(run.census.lost(), run.census.sent),
            Metric::Marks => count(run.marks()),
            Metric::Pauses => count(run.ports.iter().map(|port| port.pauses).sum()),
            Metric::QueueP50 => percentile(facts.busiest_queue().to_vec(), 50),
            Metric::QueueP99 => percentile(facts.busiest_queue().to_vec(), 99),
            Metric::QueueMax => facts.longest_queue(),
            Metric::CircuitUtilisation => circuits::utilisation(run),
            Metric::FabricLatencyP50 => circuits::latency(run, "latency_p50_ns"),
            Metric::FabricLatencyP99 => circuits::latency(run, "latency_p99_ns"),
            Metric::BumpError => run.over("bump_error_bytes", "bump_estimates").map(exact),
            Metric::BumpWithin2 => run.over("bump_within_2_mtu", "bump_estimates").map(exact),
            Metric::LimiterQueueMax => run.counted("limiter_queue_most").and_then(count),
            Metric::Completed => facts.tally(|flow| flow.finished()),
            Metric::Unfinished => facts.tally(|flow| flow.started() && !flow.finished()),
            Metric::NotStarted => facts.never_began(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Conservation, EngineStats, FlowRow, NEVER, PortRow, SampleRow};

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
        metric.measure(run, Window::ALL).map_or(f64::NAN, |m| m.value)
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
        let of = |m: Metric| m.measure(&run, Window::ALL).map(|m| (m.value, m.at_least));
        assert_eq!(of(Metric::FctP50), Some((0.005, false)));
        assert_eq!(of(Metric::FctP99), Some((0.1, true)));
        assert!(of(Metric::FctMean).is_some_and(|(v, flag)| close(v, 0.0145) && flag));
        assert_eq!(of(Metric::Unfinished), Some((1.0, false)));
        assert_eq!(of(Metric::NotStarted), Some((1.0, false)));
        assert_eq!(of(Metric::Makespan), Some((0.1, true)));
    }

    #[test]
    fn small_and_large_flows_are_told_apart() {
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
        assert!(Metric::GoodputUdp.measure(&run, Window::ALL).is_none());
        let late = Window { from_ps: 10 * MS, until_ps: NEVER };
        assert!(Metric::Goodput.measure(&run, late).is_some_and(|m| close(m.value, 2.4e9)));
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
        assert!(close(value(Metric::AnswerMean, &all(&flows)), 0.011));
        assert!(close(value(Metric::Makespan, &all(&flows)), 0.011));
        assert_eq!(value(Metric::Completed, &all(&flows)), 4.0);
        flows.extend([ask(10, 1), FlowRow { start_ps: NEVER, ..answer(0, None, 1) }]);
        let open = Metric::AnswerP99.measure(&all(&flows), Window::ALL);
        assert_eq!(open.map(|m| (m.value, m.at_least)), Some((0.09, true)));
    }

    #[test]
    fn queues_are_judged_at_the_busiest_switch_port() {
        let mut run = run(vec![]);
        let port = |host, peak_bytes| PortRow { host, peak_bytes, marks: 3, ..PortRow::default() };
        run.ports = vec![port(true, 9_000_000), port(false, 50), port(false, 100)];
        for t_ps in 0..100 {
            let tx_bytes = (t_ps + 1) * 1_500;
            let sample = |port, queue_bytes| SampleRow { t_ps, port, queue_bytes, tx_bytes };
            run.samples.extend([sample(0, 9_000_000), sample(1, 1), sample(2, t_ps)]);
        }
        // Idle from then on.
        let idle = |t_ps| SampleRow { t_ps, port: 2, queue_bytes: 0, tx_bytes: 150_000 };
        run.samples.extend((100..110).map(idle));
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
        assert!(Metric::FctMean.measure(&run, Window::ALL).is_none());
        assert!(Metric::QueueMax.measure(&run, Window::ALL).is_none());
    }

    #[test]
    fn keys_are_the_names_in_files() {
        for metric in Metric::ALL {
            let json = serde_json::to_string(&metric).unwrap_or_default();
            assert_eq!(json, format!("\"{}\"", metric.key()));
        }
    }
}
