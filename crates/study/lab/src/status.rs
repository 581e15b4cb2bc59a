//! The state that a running emulation publishes for `slotline top`.

use crate::collect::Scene;
use crate::record::PortRow;
use serde::{Deserialize, Serialize};
use slotline_emulate::clock::Dilation;
use slotline_emulate::shared::Snapshot;

/// The state of a running emulation.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Status {
    /// The scheme of the current run.
    pub scheme: String,
    /// How many times slower than real time the network runs.
    pub dilation: f64,
    /// Network time in nanoseconds.
    pub at_ns: u64,
    /// Packets that entered the network so far.
    pub entered: u64,
    /// Packets handed to hosts so far.
    pub delivered: u64,
    /// Packets that the network has dropped so far.
    pub dropped: u64,
    /// Packets lost outside of the network so far; nothing if that is known at the end only.
    pub lost_outside: Option<u64>,
    /// Lateness of deliveries so far, in nanoseconds of real time: the 99th percentile.
    pub late_p99_ns: u64,
    /// Lateness of deliveries so far, in nanoseconds of real time: the maximum.
    pub late_most_ns: u64,
    /// Processor time of the network, as a share of real time.
    pub cpu_share: f64,
    /// All ports.
    pub ports: Vec<PortStatus>,
    /// Counts of the scheme, by name.
    pub counters: Vec<(String, u64)>,
}

/// The state of a port.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct PortStatus {
    /// Its node and the node at the other end of its link, such as `s0-h3`.
    pub name: String,
    /// Bits per second, at the start of the run.
    pub rate_bps: u64,
    /// Bytes that wait or are in transmission.
    pub queued: u64,
    /// Bytes sent so far.
    pub sent: u64,
}

impl Status {
    /// Adds names to the values in a snapshot.
    pub(crate) fn of(taken: &Snapshot, scene: &Scene, scheme: &str, dilation: Dilation) -> Status {
        let late = &taken.fidelity.deliveries;
        let ns = |span: std::time::Duration| span.as_nanos() as u64;
        let ports = scene.ports_with(|_, _| PortRow::default());
        let port = |(row, state): (&PortRow, &slotline_sim::PortState)| PortStatus {
            name: format!("{}-{}", row.node, row.port),
            rate_bps: row.rate_bps,
            queued: state.queued,
            sent: state.sent,
        };
        Status {
            scheme: scheme.into(),
            dilation: dilation.factor(),
            at_ns: taken.at.as_ps() / 1_000,
            entered: taken.counts.entered,
            delivered: taken.counts.delivered,
            dropped: taken.dropped,
            lost_outside: Some(taken.counts.refused),
            late_p99_ns: ns(late.per_mille(990)),
            late_most_ns: ns(late.most()),
            cpu_share: taken.fidelity.cpu_share,
            ports: ports.iter().zip(&taken.ports).map(port).collect(),
            counters: taken.counters.all().map(|(name, n)| (name.name.to_string(), n)).collect(),
        }
    }
}
