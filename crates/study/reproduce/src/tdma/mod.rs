//! Practical TDMA for datacenter Ethernet (Vattikonda et al., 2012).

mod clocks;
mod flapping;
mod frames;
mod ping;
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
        data!(
            "tdma-4",
            "Figure 7: all-to-all among 24 hosts at one switch, scaled to 10 GB for each pair"
        ),
        data!(
            "tdma-5",
            "Figure 8: all-to-all among 24 hosts at three switches below a fourth, scaled to 10 GB"
        ),
        ping::PING,
        data!(
            "tdma-7",
            "Figure 11: every host sends a block to one neighbour after the other, by size of the block"
        ),
        flapping::FLAPPING,
        data!("tdma-9", "Section 6.5: what pause frames take of each host's link"),
        spread::TREE,
        spread::SCALE,
        clocks::CLOCKS,
        spread::TRIGGERS,
    ],
};
