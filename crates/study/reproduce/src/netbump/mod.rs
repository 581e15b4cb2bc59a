//! NetBump: user-extensible active queue management (Al-Fares' thesis, chapter 5).

mod accuracy;
mod affinity;
mod cost;
mod dctcp;
mod interface;
mod lines;
mod qcn;
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
        data!(
            "nb-1",
            "Figure 5.3: answers of 1 B and 1 MB through a bump, by the one-way latency that it adds"
        ),
        cost::COST,
        interface::LATENCY,
        accuracy::ALONE,
        accuracy::UPDATES,
        accuracy::NEIGHBOUR,
        accuracy::LIMITED,
        data!(
            "nb-5",
            "Figure 5.14: the queue behind a bump that does RED, for two max_p, four TCP flows, 1 Gbit/s"
        ),
        dctcp::CONVERGENCE,
        data!(
            "nb-6b",
            "Figure 5.15: 10,000 short remote calls beside two elephants, TCP and DCTCP with a bump"
        ),
        qcn::QCN,
        cost::CORES,
        lines::LINES,
        data!(
            "nb-A",
            "Queue and throughput of Fastpass's bulk transfer (fp-A's baseline) under each discipline"
        ),
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
