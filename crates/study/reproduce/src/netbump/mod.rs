//! NetBump: user-extensible active queue management (Al-Fares' thesis, chapter 5).

mod accuracy;
mod cost;
mod dctcp;
mod disciplines;
mod latency;
mod lines;
mod qcn;
mod red;

use super::Paper;

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
