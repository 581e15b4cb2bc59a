//! XCo: explicit coordination to prevent network fabric congestion (Rajanna et al., 2010).
//!
//! Only the captions of the figures were available, so all values of the paper are from its text.

mod conserve;
mod fairness;
mod incast;
mod loss;
mod migration;
mod mix;
mod ping;
mod response;
mod short;

use super::quantity::{each, goodput};
use super::{Paper, Quantity};
use slotline_lab::record::RunRecord;

/// The paper.
pub(super) static PAPER: Paper = Paper {
    key: "xco",
    title: "XCo: Explicit Coordination to Prevent Network Fabric Congestion in Cloud Computing Cluster \
            Platforms (Rajanna, Shah, Jahagirdar and Gopalan, 2010)",
    experiments: &[
        incast::STRIPED,
        incast::BLOCKS,
        mix::ONE_GIGABIT,
        mix::TEN_GIGABIT,
        short::SHORT_FLOWS,
        ping::PING,
        migration::MIGRATION,
        fairness::FAIRNESS,
        conserve::WORK_CONSERVATION,
        response::RESPONSE,
        loss::BOTTLENECK,
        loss::SCALE,
    ],
};

const GOODPUT: Quantity =
    Quantity { key: "goodput", name: "goodput", unit: "Mbit/s", of: |run| goodput(run, |_| true) };
const TIMEOUTS: Quantity = Quantity {
    key: "timeouts",
    name: "time-outs per 100 blocks",
    unit: "1",
    of: timeouts_per_100_blocks,
};
const PER_TCP_FLOW: Quantity = Quantity {
    key: "tcp",
    name: "goodput per TCP flow",
    unit: "Mbit/s",
    of: |run| each(run, |f| !f.udp),
};

fn timeouts_per_100_blocks(run: &RunRecord) -> f64 {
    let timeouts: u32 = run.flows.iter().map(|flow| flow.timeouts).sum();
    let blocks = run.flows.iter().filter_map(|flow| flow.exchange).max().map_or(1, |last| last + 1);
    f64::from(timeouts) * 100.0 / f64::from(blocks)
}
