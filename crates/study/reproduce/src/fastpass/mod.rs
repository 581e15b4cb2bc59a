//! Fastpass: a centralized "zero-queue" datacenter network (Perry et al., 2014).

mod arbiter;
mod failover;
mod fairness;
mod isolation;
mod queue;

use super::{Experiment, Paper, Study, Work};

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
        SERVICE,
        failover::FAIL_OVER,
        isolation::ISOLATION,
    ],
};

/// §7.4, experiment H. The paper measures a company's service; this is one of the same kind.
const SERVICE: Experiment = Experiment {
    id: "fp-H",
    about: "Experiment H: retransmissions under a latency-sensitive service of web servers and caches",
    work: Work::Runs(Study::data(
        "scenarios/reproduce/fp-H.toml",
        include_str!("../../../../../scenarios/reproduce/fp-H.toml"),
    )),
};
