//! XCo: explicit coordination to prevent network fabric congestion (Rajanna et al., 2010).
//!
//! Only the captions of the figures were available, so all values of the paper are from its text.

mod response;
mod scale;

use super::Paper;

/// The paper.
pub(super) static PAPER: Paper = Paper {
    key: "xco",
    title: "XCo: Explicit Coordination to Prevent Network Fabric Congestion in Cloud Computing Cluster \
            Platforms (Rajanna, Shah, Jahagirdar and Gopalan, 2010)",
    experiments: &[
        data!(
            "xco-1",
            "Figures 2 and 13: striped iSCSI reads from N targets, jumbo frames, 1 Gbit/s"
        ),
        data!("xco-2", "Figures 3 and 14: barrier-synchronised reads from N servers, 1 Gbit/s"),
        data!("xco-3", "Figures 4 and 15: K of five senders use UDP, the others TCP, 1 Gbit/s"),
        data!(
            "xco-4",
            "Figures 5 and 16: K of 13 senders to 13 receivers use UDP, the others TCP, 10 Gbit/s"
        ),
        data!(
            "xco-5",
            "Figures 7 and 17: a long TCP flow beside K sequences of flows of 30 KB, 1 Gbit/s"
        ),
        data!(
            "xco-6",
            "Figures 8 and 18: ping across 10 Gbit/s that a mix of TCP and UDP saturates"
        ),
        data!(
            "xco-7",
            "Figure 19: live migration of 256 MB beside 0 to 4 senders with TCP or UDP, 1 Gbit/s"
        ),
        data!("xco-8", "Figure 20: two UDP and three TCP senders as fast as they can, 1 Gbit/s"),
        data!(
            "xco-9",
            "Figure 21: three slow and two greedy UDP senders; what work conservation is worth"
        ),
        response::RESPONSE,
        data!(
            "xco-11",
            "Figures 23 to 26: packets lost with N UDP senders, and with UDP beside TCP"
        ),
        scale::SCALE,
        data!(
            "xco-13",
            "Section 4.8: the first flow between two virtual machines, whose queue is set up in 75 ms"
        ),
        data!(
            "xco-14",
            "Not in the paper: the incast of xco-2 with other buffers, delays, transports and time-outs"
        ),
        data!(
            "xco-15",
            "Not in the paper: xco-3 with two UDP senders and other buffers, slices and datagrams"
        ),
        data!("xco-16", "Not in the paper: xco-9 with other buffers, slices and datagrams"),
    ],
};
