//! Practical TDMA for datacenter Ethernet (Vattikonda et al., 2012).

mod clocks;
mod flapping;
mod frames;
mod neighbours;
mod ping;
mod shuffle;
mod spread;

use super::Paper;

/// The paper.
pub(super) static PAPER: Paper = Paper {
    key: "tdma",
    title: "Practical TDMA for Datacenter Ethernet (Vattikonda, Porter, Vahdat and Snoeren, 2012)",
    experiments: &[
        frames::HARDWARE,
        spread::ONE_SWITCH,
        frames::SOFTWARE,
        shuffle::ONE_SWITCH,
        shuffle::TREE,
        ping::PING,
        neighbours::NEIGHBOURS,
        flapping::FLAPPING,
        frames::OVERHEAD,
        spread::TREE,
        spread::SCALE,
        clocks::CLOCKS,
        spread::TRIGGERS,
    ],
};
