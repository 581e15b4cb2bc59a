//! Etalon: reconfigurable datacenter networks ("Overcoming End-to-End Challenges in Reconfigurable Datacenter
//! Networks", 2018).
//!
//! The values of figures are those of the plots in the authors' public source. The two experiments with letters are not
//! figures: they have the setup of the authors' own logs, three racks with the week of 25.

mod delay;
mod hdfs;
mod ours;
mod path_notices;
mod plots;
mod queues;
mod rings;
mod tradeoff;
mod validation;

use super::{Paper, Quantity};
use slotline_hybrid::{ResizeSpec, Shrink, VoqSpec};
use slotline_lab::metrics::circuits::utilisation;
use slotline_net::time::Time;
use slotline_scenario::SchemeSpec;
use slotline_schemes::counters;

/// The paper.
pub(super) static PAPER: Paper = Paper {
    key: "et",
    title: "Overcoming End-to-End Challenges in Reconfigurable Datacenter Networks (Etalon, 2018)",
    experiments: &[
        validation::TIMING,
        data!(
            "et-2",
            "Figures 5a, 6a and 7a: circuit utilisation and latency for queues of 4 to 128 packets",
            figures: queues::fixed_sizes
        ),
        data!(
            "et-3",
            "Figures 5b, 6b and 7b: queues that grow from 16 to 128 packets 0 to 1400 us ahead of a day",
            figures: queues::resized_sizes
        ),
        data!(
            "et-4",
            "Figures 8 and 9: circuit utilisation against latency, with resized queues, reTCP and both",
            figures: tradeoff::figures
        ),
        delay::DELAY,
        rings::DEMAND,
        rings::COMBINED,
        hdfs::WRITES,
        hdfs::CHANGING,
        queues::LOGS_STATIC,
        queues::LOGS_DYNAMIC,
        ours::NIGHTS,
        ours::SKEW,
        path_notices::PATH_NOTICES,
        data!(
            "et-M",
            "Not in the paper: demand of applications that arrives late over the control network of section 5.2"
        ),
    ],
};

const USE: Quantity = Quantity {
    key: "use",
    name: "circuit utilisation",
    unit: "%",
    of: |run| utilisation(run).map_or(0.0, |used| 100.0 * used.value),
};
const MEDIAN: Quantity = Quantity {
    key: "median",
    name: "median latency",
    unit: "us",
    of: |run| run.control(counters::hybrid::LATENCY.p50) as f64 / 1e3,
};
const TAIL: Quantity = Quantity {
    key: "tail",
    name: "99th percentile of the latency",
    unit: "us",
    of: |run| run.control(counters::hybrid::LATENCY.p99) as f64 / 1e3,
};
const BY_CIRCUIT: Quantity = Quantity {
    key: "by-circuit",
    name: "median latency by circuits",
    unit: "us",
    of: |run| run.control(counters::hybrid::CIRCUIT_LATENCY.p50) as f64 / 1e3,
};
const BY_PACKET: Quantity = Quantity {
    key: "by-packet",
    name: "median latency by the packet switch",
    unit: "us",
    of: |run| run.control(counters::hybrid::PACKET_SWITCH_LATENCY.p50) as f64 / 1e3,
};

/// Sets all queues to `packets`.
fn fixed(scheme: &mut SchemeSpec, packets: u32) {
    scheme.voq = Some(VoqSpec { packets, resize: None, ..scheme.voq.unwrap_or_default() });
}

/// resize(s, b, tau): from the scheme's size to `to`, `ahead` of a day; from then on acknowledgements are marked.
fn resized(scheme: &mut SchemeSpec, to: u32, ahead: Time) {
    let resize = Some(ResizeSpec { to, ahead, shrink: Shrink::Drop });
    scheme.voq = Some(VoqSpec { resize, mark_ahead: ahead, ..scheme.voq.unwrap_or_default() });
}
