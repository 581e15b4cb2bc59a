//! The fat-tree: a scalable, commodity data center network architecture (Al-Fares, 2012, chapters 2 and 3).

mod bandwidth;
mod ecmp_loss;
mod failures;
mod patterns;
mod scheduler_cost;
mod water;

use super::Paper;

/// The paper.
pub(super) static PAPER: Paper = Paper {
    key: "ft",
    title: "A Scalable, Commodity Data Center Network Architecture (Al-Fares, Loukissas and Vahdat, 2008; \
            Al-Fares' thesis of 2012, chapters 2 and 3)",
    experiments: &[ecmp_loss::LOSS, bandwidth::BANDWIDTH, scheduler_cost::COST, failures::FAILURES],
};
