//! The metrics of a run, each with its unit and with whether lower or higher is better. The laboratory
//! computes their values.

use serde::{Deserialize, Serialize};

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
    /// A share or an index: a ratio of at most one.
    Share,
}

impl Unit {
    /// Its symbol in results.
    pub const fn symbol(self) -> &'static str {
        match self {
            Unit::Seconds => "s",
            Unit::BitsPerSecond => "bit/s",
            Unit::Bytes => "B",
            Unit::Count | Unit::Ratio | Unit::Share => "1",
        }
    }
}

/// What a metric is measured on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Basis {
    /// Flows: every run has them.
    Flows,
    /// Packets and queues: a run of the flow-level engine has none.
    Packets,
}

/// The declaration of a metric.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct About {
    /// Key in scenario and result files.
    pub key: &'static str,
    /// Title in tables and pages.
    pub title: &'static str,
    /// Unit of its values.
    pub unit: Unit,
    /// Whether lower or higher values are better.
    pub better: Better,
    /// What it is measured on.
    pub basis: Basis,
}

/// Makes [`Metric`] from a list of metrics: `Name = "key", "Title", unit, better, basis;`.
macro_rules! metrics {
    ($($(#[$comment:meta])* $name:ident = $key:literal, $title:literal, $unit:ident, $better:ident, $basis:ident;)*) => {
        /// A quantity measured on each run.
        ///
        /// Completion times are of TCP flows: a datagram stream has no completion. "Unfinished" flows began and did not
        /// end. Means and percentiles include them with their time until the end of the run, and are then marked as
        /// lower bounds.
        ///
        /// Requests are flows that only ask for other flows, in an incast or from clients. Completion times, slowdowns,
        /// goodputs and fairness exclude them, because requests would dominate them by their number. All other metrics
        /// include them.
        #[derive(
            Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize, schemars::JsonSchema,
        )]
        pub enum Metric {
            $($(#[$comment])* #[serde(rename = $key)] $name,)*
        }

        impl Metric {
            /// All metrics, in the order in which they are shown.
            pub const ALL: [Metric; [$($key),*].len()] = [$(Metric::$name),*];

            /// Its declaration.
            pub const fn about(self) -> About {
                match self {
                    $(Metric::$name => About {
                        key: $key,
                        title: $title,
                        unit: Unit::$unit,
                        better: Better::$better,
                        basis: Basis::$basis,
                    },)*
                }
            }
        }
    };
}

// In the order in which they are shown. The laboratory computes the values, in `metrics::value`.
metrics! {
    /// Mean flow completion time.
    FctMean = "fct-mean", "FCT mean", Seconds, Lower, Flows;
    /// Median flow completion time.
    FctP50 = "fct-p50", "FCT median", Seconds, Lower, Flows;
    /// 99th percentile of the flow completion time (nearest rank).
    FctP99 = "fct-p99", "FCT 99th", Seconds, Lower, Flows;
    /// Longest flow completion time.
    FctMax = "fct-max", "FCT longest", Seconds, Lower, Flows;
    /// 99th percentile of the completion time of flows of up to 100 KB, if there are larger ones.
    ///
    /// Source: for the class, Alizadeh et al., "Data Center TCP (DCTCP)", SIGCOMM 2010, section 4.3.
    FctSmallP99 = "fct-small-p99", "FCT 99th, small", Seconds, Lower, Flows;
    /// Mean completion time of flows of 10 MB or more, if there are smaller ones.
    FctLargeMean = "fct-large-mean", "FCT mean, large", Seconds, Lower, Flows;
    /// Mean of the completion time divided by the time that the flow takes alone in the network.
    SlowdownMean = "slowdown-mean", "Slowdown mean", Ratio, Lower, Flows;
    /// 99th percentile of the slowdown.
    SlowdownP99 = "slowdown-p99", "Slowdown 99th", Ratio, Lower, Flows;
    /// Mean query completion time: from a request to the last byte of its response. The response of an
    /// incast is a whole block, from all servers.
    QctMean = "qct-mean", "QCT mean", Seconds, Lower, Flows;
    /// 99th percentile of the query completion time.
    QctP99 = "qct-p99", "QCT 99th", Seconds, Lower, Flows;
    /// From the first start to the last completion.
    Makespan = "makespan", "All flows done", Seconds, Lower, Flows;
    /// Payload delivered by all flows, divided by the time in which flows were active.
    Goodput = "goodput", "Goodput", BitsPerSecond, Higher, Flows;
    /// Mean over flows of the payload delivered, divided by the flow's own time.
    GoodputPerFlow = "goodput-per-flow", "Goodput per flow", BitsPerSecond, Higher, Flows;
    /// Goodput of TCP flows.
    GoodputTcp = "goodput-tcp", "Goodput of TCP", BitsPerSecond, Higher, Flows;
    /// Goodput of UDP flows.
    GoodputUdp = "goodput-udp", "Goodput of UDP", BitsPerSecond, Higher, Flows;
    /// Jain's index of the flows' goodputs: 1 when all are equal.
    ///
    /// Source: Jain, Chiu and Hawe, "A Quantitative Measure of Fairness and Discrimination",
    /// DEC Research Report TR-301, 1984.
    Fairness = "fairness", "Fairness (Jain)", Share, Higher, Flows;
    /// Segments sent again.
    Retransmissions = "retransmissions", "Retransmissions", Count, Lower, Packets;
    /// Retransmission time-outs.
    Timeouts = "timeouts", "Time-outs", Count, Lower, Packets;
    /// Packets dropped, for any reason.
    Drops = "drops", "Drops", Count, Lower, Packets;
    /// Packets dropped, divided by packets sent.
    Loss = "loss", "Loss", Share, Lower, Packets;
    /// Packets marked with congestion experienced.
    Marks = "marks", "ECN marks", Count, Neither, Packets;
    /// Priority pauses obeyed.
    Pauses = "pauses", "Pauses", Count, Neither, Packets;
    /// Median queue at the switch port with the longest mean queue, while it is in use: a sample counts if the port has
    /// sent something since the sample before. Idle time would only show how long the run was.
    QueueP50 = "queue-p50", "Queue median", Bytes, Lower, Packets;
    /// 99th percentile of the queue at the switch port with the longest mean queue, while it is in use.
    QueueP99 = "queue-p99", "Queue 99th", Bytes, Lower, Packets;
    /// Longest queue at any switch port, without messages of a scheme that wait in a class of their own (Fastpass).
    QueueMax = "queue-max", "Queue longest", Bytes, Lower, Packets;
    /// Bytes sent over circuits, divided by what the circuits can carry in their days, for pairs of racks that have
    /// data to send.
    ///
    /// Source: "Overcoming End-to-End Challenges in Reconfigurable Datacenter Networks" (Etalon), 2018,
    /// section 4.1.
    CircuitUtilisation = "circuit-utilisation", "Circuit utilisation", Share, Higher, Packets;
    /// Median time of packets of more than 1,000 B from the switch of their rack to that of another: waiting
    /// there, transmission and propagation.
    FabricLatencyP50 = "fabric-latency-p50", "Fabric latency median", Seconds, Lower, Packets;
    /// 99th percentile of the time of packets of more than 1,000 B from the switch of their rack to that of
    /// another.
    FabricLatencyP99 = "fabric-latency-p99", "Fabric latency 99th", Seconds, Lower, Packets;
    /// Mean over packets of the difference between bumps' virtual queues and the queues of their switches.
    BumpError = "bump-error", "Virtual queue off by", Bytes, Lower, Packets;
    /// Share of packets for which the virtual queue was within two packets of the switch's queue.
    BumpWithin2 = "bump-within-2", "Within 2 packets", Share, Higher, Packets;
    /// Longest virtual queue of a flow that a bump limits.
    LimiterQueueMax = "limiter-queue-max", "Limited flow's virtual queue longest", Bytes, Lower, Packets;
    /// TCP flows completed.
    Completed = "completed", "Flows completed", Count, Higher, Flows;
    /// TCP flows that began and did not complete.
    Unfinished = "unfinished", "Flows unfinished", Count, Lower, Flows;
    /// TCP flows that had not begun when the run ended.
    NotStarted = "not-started", "Flows not begun", Count, Lower, Flows;
}

impl Metric {
    /// Key in scenario and result files.
    pub const fn key(self) -> &'static str {
        self.about().key
    }
    /// Title in tables and pages.
    pub const fn title(self) -> &'static str {
        self.about().title
    }
    /// Unit of its values.
    pub const fn unit(self) -> Unit {
        self.about().unit
    }
    /// Whether lower or higher values are better.
    pub const fn better(self) -> Better {
        self.about().better
    }
    /// Whether it is measured on packets or queues, so that a run without packets does not have it.
    pub fn is_of_packets(self) -> bool {
        self.about().basis == Basis::Packets
    }
    /// The least and the largest value that it can have. None is negative.
    pub fn possible(self) -> (f64, f64) {
        (0.0, if self.unit() == Unit::Share { 1.0 } else { f64::INFINITY })
    }
}
