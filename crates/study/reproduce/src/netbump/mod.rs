//! NetBump: user-extensible active queue management (Al-Fares' thesis, chapter 5).

mod accuracy;
mod affinity;
mod cost;
mod dctcp;
mod disciplines;
mod latency;
mod lines;
mod qcn;
mod red;
mod replay;

use super::Paper;
use slotline_net::units::Bytes;
use slotline_scenario::Scenario;

/// The paper.
pub(super) static PAPER: Paper = Paper {
    key: "nb",
    title: "NetBump: User-extensible Active Queue Management with Bumps on the Wire (M. Al-Fares, doctoral \
            thesis, UC San Diego, chapter 5)",
    experiments: &[
        latency::LATENCY,
        cost::COST,
        accuracy::ALONE,
        accuracy::UPDATES,
        accuracy::NEIGHBOUR,
        accuracy::LIMITED,
        red::RED,
        dctcp::CONVERGENCE,
        dctcp::CALLS,
        qcn::QCN,
        cost::CORES,
        lines::LINES,
        disciplines::ALL,
    ],
};

/// The buffer of the thesis' switches, for all ports, in kilobytes: that of the scenarios.
const SHARED: u32 = 1_500;
/// Buffers of switches with ports of 1 Gbit/s: the thesis', and a small one of each port's own.
const BUFFERS: [u32; 2] = [SHARED, 150];

/// Sets the buffer of all switches to that of a point.
fn set_buffer(scenario: &mut Scenario, kb: u32) -> String {
    if kb == SHARED {
        return "1.5 MB for all ports".into();
    }
    for scheme in &mut scenario.scheme {
        scheme.queue.shared = None;
        scheme.queue.limit = Bytes(u64::from(kb) * 1_000);
    }
    format!("{kb} KB for each port")
}
