//! XCo: explicit coordination to prevent network fabric congestion (Rajanna et al., 2010).
//!
//! Only the captions of the figures were available, so all values of the paper are from its text.

mod conserve;
mod fairness;
mod loss;
mod migration;
mod mix;
mod ping;
mod response;
mod short;

use super::quantity::{each, goodput};
use super::{Experiment, Paper, Quantity, Study, Work};

/// The paper.
pub(super) static PAPER: Paper = Paper {
    key: "xco",
    title: "XCo: Explicit Coordination to Prevent Network Fabric Congestion in Cloud Computing Cluster \
            Platforms (Rajanna, Shah, Jahagirdar and Gopalan, 2010)",
    experiments: &[
        STRIPED,
        BLOCKS,
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
        SETUP,
    ],
};

/// Figures 2 and 13.
const STRIPED: Experiment = Experiment {
    id: "xco-1",
    about: "Figures 2 and 13: striped iSCSI reads from N targets, jumbo frames, 1 Gbit/s",
    work: Work::Runs(Study::data(
        "scenarios/reproduce/xco-1.toml",
        include_str!("../../../../../scenarios/reproduce/xco-1.toml"),
    )),
};

/// Figures 3 and 14.
const BLOCKS: Experiment = Experiment {
    id: "xco-2",
    about: "Figures 3 and 14: barrier-synchronised reads from N servers, 1 Gbit/s",
    work: Work::Runs(Study::data(
        "scenarios/reproduce/xco-2.toml",
        include_str!("../../../../../scenarios/reproduce/xco-2.toml"),
    )),
};

/// The set-up of queues: §4.8.
const SETUP: Experiment = Experiment {
    id: "xco-13",
    about: "Section 4.8: the first flow between two virtual machines, whose queue is set up in 75 ms",
    work: Work::Runs(Study::data(
        "scenarios/reproduce/xco-13.toml",
        include_str!("../../../../../scenarios/reproduce/xco-13.toml"),
    )),
};

const GOODPUT: Quantity =
    Quantity { key: "goodput", name: "goodput", unit: "Mbit/s", of: |run| goodput(run, |_| true) };
const PER_TCP_FLOW: Quantity = Quantity {
    key: "tcp",
    name: "goodput per TCP flow",
    unit: "Mbit/s",
    of: |run| each(run, |f| !f.udp),
};
