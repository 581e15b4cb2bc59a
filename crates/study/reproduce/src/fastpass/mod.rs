//! Fastpass: a centralized "zero-queue" datacenter network (Perry et al., 2014).

mod arbiter;
mod failover;
mod fairness;
mod queue;
mod service;

use super::Paper;

/// The paper.
pub(super) static PAPER: Paper = Paper {
    key: "fp",
    title: "Fastpass: A Centralized \"Zero-Queue\" Datacenter Network (Perry, Ousterhout, Balakrishnan, Shah and \
            Fugal, 2014)",
    experiments: &[
        queue::QUEUE,
        queue::PING,
        fairness::FAIRNESS,
        arbiter::COMMUNICATION,
        queue::CONTROL,
        arbiter::ALLOCATION,
        arbiter::PATHS,
        service::SERVICE,
        failover::FAIL_OVER,
    ],
};
