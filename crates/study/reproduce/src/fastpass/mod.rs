//! Fastpass: a centralized "zero-queue" datacenter network (Perry et al., 2014).

mod arbiter;
mod control;
mod daemons;
mod fairness;
mod isolation;

use super::Paper;

/// The paper.
pub(super) static PAPER: Paper = Paper {
    key: "fp",
    title: "Fastpass: A Centralized \"Zero-Queue\" Datacenter Network (Perry, Ousterhout, Balakrishnan, Shah and \
            Fugal, 2014)",
    experiments: &[
        data!(
            "fp-A",
            "Figure 7: queue and throughput, four senders with 20 TCP flows each to one receiver"
        ),
        data!("fp-B", "Figure 8: a ping every 10 ms beside the same transfer"),
        fairness::FAIRNESS,
        arbiter::COMMUNICATION,
        daemons::DAEMONS,
        control::CONTROL,
        arbiter::ALLOCATION,
        arbiter::PATHS,
        // The paper measures a company's service; this is one of the same kind.
        data!(
            "fp-H",
            "Experiment H: retransmissions under a latency-sensitive service of web servers and caches"
        ),
        data!(
            "fp-I",
            "Section 5.1: the primary arbiter is killed; silence, take-over, first timeslot"
        ),
        isolation::ISOLATION,
    ],
};
