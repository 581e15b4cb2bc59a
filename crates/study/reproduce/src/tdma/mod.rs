//! Practical TDMA for datacenter Ethernet (Vattikonda et al., 2012).

mod flapping;
mod frames;
mod neighbours;
mod ping;
mod shuffle;

use super::Paper;

/// The paper.
pub(super) static PAPER: Paper = Paper {
    key: "tdma",
    title: "Practical TDMA for Datacenter Ethernet (Vattikonda, Porter, Vahdat and Snoeren, 2012)",
    experiments: &[
        frames::HARDWARE,
        frames::SPREAD,
        frames::SOFTWARE,
        shuffle::ONE_SWITCH,
        shuffle::TREE,
        ping::PING,
        neighbours::NEIGHBOURS,
        flapping::FLAPPING,
        frames::OVERHEAD,
    ],
};
