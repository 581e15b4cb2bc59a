//! Records of runs: plain data, in the same form for every engine.

mod app;
mod estimate;
mod fault;
mod followed;
mod limit;
mod stopped;
mod voq;
mod why;

pub use app::AppRow;
pub use estimate::EstimateRow;
pub use fault::FaultRow;
pub use followed::{Capture, CapturedPacket, ScheduleRow, SequenceRow, Step};
pub use limit::LimitRow;
pub use stopped::StoppedRow;
pub use voq::VoqRow;
pub use why::{Part, WORST_PORTS, WhyRow};

use slotline_net::node::counters::BUMP_MARKS;
use slotline_net::node::{Counter, DropReason};

pub use slotline_net::samples::{SampleRow, Samples};

/// The value of a time if the event did not happen.
pub const NEVER: u64 = u64::MAX;

/// One flow (one message) of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FlowRow {
    /// Number of the flow in the run.
    pub flow: u32,
    /// Index of the scenario's workload that made it.
    pub group: u16,
    /// Sending host.
    pub src: u32,
    /// Receiving host.
    pub dst: u32,
    /// Payload bytes.
    pub bytes: u64,
    /// When it began, in picoseconds; [`NEVER`] if the run ended before.
    pub start_ps: u64,
    /// When its last byte arrived at the receiver; [`NEVER`] if it is unfinished.
    pub finish_ps: u64,
    /// Completion time of the flow alone in the network, in picoseconds; 0 if it was not computed.
    pub ideal_ps: u64,
    /// Retransmitted segments.
    pub retransmits: u32,
    /// Retransmission time-outs.
    pub timeouts: u32,
    /// Whether it consists of datagrams instead of a byte stream.
    pub udp: bool,
    /// Whether it is a request, which only asks for other flows.
    pub request: bool,
    /// Number of the exchange (requests and their responses) that it is part of.
    pub exchange: Option<u32>,
    /// Payload bytes that arrived, each counted once.
    pub delivered_bytes: u64,
}

impl FlowRow {
    /// Whether it began before the run ended.
    pub fn started(&self) -> bool {
        self.start_ps != NEVER
    }
    /// Whether its last byte arrived.
    pub fn finished(&self) -> bool {
        self.finish_ps != NEVER
    }
}

/// Totals of one port over a run.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PortRow {
    /// Name of its node, as in the topology.
    pub node: String,
    /// Name of the port: its number, or the node that it leads to.
    pub port: String,
    /// Whether the node is a host: packets that wait there are not in a queue of the network.
    pub host: bool,
    /// Bits per second of its link, at the start.
    pub rate_bps: u64,
    /// Packets sent.
    pub tx_packets: u64,
    /// Bytes sent, framing included.
    pub tx_bytes: u64,
    /// Packets dropped on arrival at its queue.
    pub drops: u64,
    /// Packets marked with congestion experienced.
    pub marks: u64,
    /// Longest queue, in bytes, without messages that wait in a class of their own.
    pub peak_bytes: u64,
    /// Most bytes of messages of a central scheme that waited in a class of their own.
    pub message_peak_bytes: u64,
    /// Pause frames that this port obeyed.
    pub pauses: u64,
}

/// One count of a central scheme, over a run.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ControlRow {
    /// Name of the count.
    pub count: String,
    /// The count.
    pub value: u64,
}

/// Counts of packets by their fate. Each packet is counted once.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Conservation {
    /// Packets created.
    pub sent: u64,
    /// Packets delivered.
    pub delivered: u64,
    /// Packets dropped, indexed by [`DropReason`].
    pub dropped: [u64; DropReason::ALL.len()],
    /// Packets in flight or queued when the run ended.
    pub in_flight: u64,
}

impl Conservation {
    /// Packets dropped for any reason.
    pub fn lost(&self) -> u64 {
        self.dropped.iter().fold(0, |sum: u64, dropped| sum.saturating_add(*dropped))
    }
    /// Whether sent = delivered + dropped + in flight. A damaged file may have numbers that are too large to add.
    pub fn holds(&self) -> bool {
        let ends = [self.delivered, self.in_flight].into_iter().chain(self.dropped);
        u128::from(self.sent) == ends.map(u128::from).sum()
    }
}

/// Work and cost of the engine.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct EngineStats {
    /// CPU time, all threads, in seconds.
    pub cpu_s: f64,
    /// Elapsed time, in seconds.
    pub wall_s: f64,
    /// Events handled.
    pub events: u64,
    /// Packets over links: one packet over one link is one hop.
    pub packet_hops: u64,
    /// Largest resident memory of the process so far, in bytes.
    pub peak_rss_bytes: u64,
    /// Fingerprint of everything that happened. Equal runs have equal digests, whatever the number of threads.
    pub digest: u64,
    /// Threads used.
    pub threads: u32,
    /// Simulated time at the end, in picoseconds.
    pub sim_time_ps: u64,
    /// Whether flows were fluids. There are then no data about packets and queues, and [`Conservation`] counts bytes on
    /// the wire.
    pub flow_level: bool,
    /// How well the machine kept up with the network, if hosts were real.
    pub emulation: Option<Emulation>,
}

/// How packets of real hosts reached the network.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Gate {
    /// The kernel held them until they left the modelled network card.
    #[default]
    Queue,
    /// They were read from the interface, so sockets did not notice how many waited.
    Interface,
    /// The same, by a packet socket with a ring.
    Packet,
    /// The same, by a socket of AF_XDP.
    Xdp,
    /// There was no model: the switches were real ones.
    OpenVswitch,
}

impl Gate {
    /// The name in scenarios.
    pub const fn name(self) -> &'static str {
        match self {
            Gate::Queue => "queue",
            Gate::Interface => "interface",
            Gate::Packet => "packet",
            Gate::Xdp => "xdp",
            Gate::OpenVswitch => "open-vswitch",
        }
    }
}

/// How well a machine kept up with the network that it emulated. Spans are real time, in nanoseconds.
#[derive(Clone, Copy, PartialEq, Debug, Default, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Emulation {
    /// How many times slower than real time the network ran.
    pub dilation: f64,
    /// How packets reached the network.
    pub gate: Gate,
    /// Packets handed to hosts; with real switches echo requests that they answered.
    pub deliveries: u64,
    /// Delay of these packets after their planned time, or of answers after their requests: the mean.
    pub late_mean_ns: u64,
    /// The median.
    pub late_p50_ns: u64,
    /// The 99th percentile.
    pub late_p99_ns: u64,
    /// The 99.9th percentile.
    pub late_p999_ns: u64,
    /// The maximum.
    pub late_most_ns: u64,
    /// The highest valid delay at the 99th percentile.
    #[serde(default = "latest")]
    pub late_limit_ns: u64,
    /// Processor time of the thread that runs the network, except for time in which it only waited, as a share of real
    /// time; of real switches, all processor time of Open vSwitch.
    pub cpu_share: f64,
    /// Packets that a host's kernel did not take, or that it dropped before the network saw them, or that a real switch
    /// had no room to receive.
    pub lost_outside: u64,
    /// Packets that were not for the network, for example of other protocols.
    pub foreign: u64,
}

/// The limit of results that do not name it.
fn latest() -> u64 {
    Emulation::LATEST_NS
}

impl Emulation {
    /// The highest valid lateness of a modelled network at the 99th percentile, in nanoseconds. Runs above it are not valid.
    pub const LATEST_NS: u64 = 300_000;

    /// Whether the machine kept up, so that the results describe the network.
    pub fn is_valid(&self) -> bool {
        self.late_p99_ns <= self.late_limit_ns && self.lost_outside == 0
    }

    /// The worse of two runs in each respect, with the packets of both.
    pub fn worse(self, other: Emulation) -> Emulation {
        Emulation {
            dilation: self.dilation.min(other.dilation),
            gate: if self.gate == Gate::Queue { other.gate } else { self.gate },
            deliveries: self.deliveries + other.deliveries,
            late_mean_ns: self.late_mean_ns.max(other.late_mean_ns),
            late_p50_ns: self.late_p50_ns.max(other.late_p50_ns),
            late_p99_ns: self.late_p99_ns.max(other.late_p99_ns),
            late_p999_ns: self.late_p999_ns.max(other.late_p999_ns),
            late_most_ns: self.late_most_ns.max(other.late_most_ns),
            late_limit_ns: self.late_limit_ns.min(other.late_limit_ns),
            cpu_share: self.cpu_share.max(other.cpu_share),
            lost_outside: self.lost_outside + other.lost_outside,
            foreign: self.foreign + other.foreign,
        }
    }
}

/// One scheme with one seed.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct RunRecord {
    /// The scheme's name.
    pub scheme: String,
    /// The seed.
    pub seed: u64,
    /// Flows, by number.
    pub flows: Vec<FlowRow>,
    /// Ports.
    pub ports: Vec<PortRow>,
    /// Samples. Numbers of their ports are indices into [`RunRecord::ports`].
    pub samples: Samples,
    /// Counts of a central scheme, by name; empty without one.
    pub control: Vec<ControlRow>,
    /// Components that a central scheme found to be faulty, in order of discovery.
    pub faults: Vec<FaultRow>,
    /// Virtual queues of bumps and the queues that they model, in time order.
    pub estimates: Vec<EstimateRow>,
    /// Virtual queues of flows that bumps limit, in time order.
    pub limits: Vec<LimitRow>,
    /// Queues whose discipline failed, in time order.
    pub stopped: Vec<StoppedRow>,
    /// Programs that ran on real hosts.
    pub apps: Vec<AppRow>,
    /// Queues by destination of a hybrid fabric's racks, in order of source and destination.
    pub voqs: Vec<VoqRow>,
    /// Parts of the completion time of followed flows, by flow number; empty if none was followed.
    pub why: Vec<WhyRow>,
    /// The events of followed flows, in order of flow and time.
    pub sequence: Vec<SequenceRow>,
    /// Spans in which a central scheduler let hosts send, in order of beginning.
    pub schedule: Vec<ScheduleRow>,
    /// Packets that left captured ports.
    pub captures: Vec<Capture>,
    /// Work and cost of the engine.
    pub engine: EngineStats,
    /// Counts of packets by their fate.
    pub census: Conservation,
}

impl RunRecord {
    /// The value of the counter with this name, if the run has one. This is for names that come from files. Code that
    /// knows which counter it reads uses [`RunRecord::counted`].
    pub fn counted_by_name(&self, name: &str) -> Option<u64> {
        self.control.iter().find(|row| row.count == name).map(|row| row.value)
    }
    /// The value of a counter, if the run has one.
    pub fn counted(&self, counter: Counter) -> Option<u64> {
        self.counted_by_name(counter.name)
    }
    /// Packets marked with congestion experienced, by switches and by bumps.
    pub fn marks(&self) -> u64 {
        let ports: u64 = self.ports.iter().map(|port| port.marks).sum();
        ports + self.counted(BUMP_MARKS).unwrap_or(0)
    }
    /// One counter divided by another; `None` if the other is zero or missing.
    pub fn over(&self, part: Counter, whole: Counter) -> Option<f64> {
        let whole = self.counted(whole).filter(|whole| *whole > 0)?;
        Some(self.counted(part)? as f64 / whole as f64)
    }
    /// The value of a counter; zero if the run has none.
    pub fn control(&self, counter: Counter) -> u64 {
        self.counted(counter).unwrap_or(0)
    }
}
