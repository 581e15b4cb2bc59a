//! Routes: the ports of each node towards each destination, on equal-cost shortest paths by number of hops.

mod build;
pub mod classifier;
pub mod recovery;
mod table;
pub mod two_level;
mod used;

pub use table::{Choices, Routes, Row, TableSizes};

use serde::{Deserialize, Serialize};

/// How one of several shortest paths is chosen.
#[derive(
    Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum RoutingSpec {
    /// Always the lowest of equal-cost ports.
    Shortest,
    /// Equal-cost multipath by a hash of the flow; under a central scheduler other than Hedera, of the pair of hosts.
    ///
    /// Source: RFC 2992.
    #[default]
    Ecmp,
    /// Equal-cost multipath anew for every packet.
    ///
    /// Source: Dixit, Prakash, Hu and Kompella, "On the Impact of Packet Spraying in Data Center
    /// Networks", INFOCOM 2013.
    Spray,
    /// Equal-cost multipath by a hash of the destination alone: all packets for a host that meet at a
    /// switch take the same path from there.
    ///
    /// Source: Al-Fares' dissertation (UC San Diego, 2012), section 4.4.2: its static baseline.
    EcmpDestination,
    /// Equal-cost multipath anew for every burst of a flow: after a pause of at least `flowlet-gap`.
    ///
    /// Source: Sinha, Kandula and Katabi, "Harnessing TCP's Burstiness with Flowlet Switching",
    /// HotNets 2004.
    Flowlet,
    /// A host's n-th connection takes the n-th of the equal paths.
    Pinned,
    /// Two-level tables of a fat-tree: down by prefix, up by the destination's number at its switch.
    ///
    /// Source: Al-Fares, Loukissas and Vahdat, "A Scalable, Commodity Data Center Network
    /// Architecture", SIGCOMM 2008, section 3.
    TwoLevel,
    /// Switches put each flow on the least loaded of equal ports, and move some of them every second.
    ///
    /// Source: Al-Fares, Loukissas and Vahdat, "A Scalable, Commodity Data Center Network
    /// Architecture", SIGCOMM 2008, sections 3.6 and 4.2.
    Classifier,
}

#[cfg(test)]
mod tests;
