//! The metrics of a run, each with its unit and with whether lower or higher is better. The laboratory
//! computes their values.

use serde::{Deserialize, Serialize};

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

/// Whether lower or higher values are better.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Better {
    /// Lower values.
    Lower,
    /// Higher values.
    Higher,
    /// Neither: the metric only describes a run.
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
/// and a value that this touches is marked as a lower bound.
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
    /// Mean query completion time: from a request to the last byte of its response. The response of an
    /// incast is a whole block, from all servers.
    QctMean,
    /// 99th percentile of the query completion time.
    QctP99,
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
    /// Longest queue at any switch port, without messages of a scheme that wait in a class of their own (Fastpass).
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
        Metric::QctMean,
        Metric::QctP99,
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

    /// Key in scenario and result files, title, unit, and whether lower or higher is better.
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
            Metric::QctMean => ("qct-mean", "QCT mean", Seconds, Lower),
            Metric::QctP99 => ("qct-p99", "QCT 99th", Seconds, Lower),
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
    /// Title in tables and pages.
    pub const fn title(self) -> &'static str {
        self.about().1
    }
    /// Unit of its values.
    pub const fn unit(self) -> Unit {
        self.about().2
    }
    /// Whether lower or higher values are better.
    pub const fn better(self) -> Better {
        self.about().3
    }
    /// The least and the largest value that it can have. None is negative, and shares and indices end at one.
    pub const fn possible(self) -> (f64, f64) {
        use Metric::{BumpWithin2, CircuitUtilisation, Fairness, Loss};
        match self {
            Fairness | Loss | CircuitUtilisation | BumpWithin2 => (0.0, 1.0),
            _ => (0.0, f64::INFINITY),
        }
    }
}
