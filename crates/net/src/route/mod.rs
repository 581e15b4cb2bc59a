//! Which port leads to a destination: equal-cost shortest paths by number of hops.

mod build;
mod table;

pub use table::{Routes, TableSizes};

use crate::id::NodeId;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// How one of several shortest paths is chosen.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RoutingSpec {
    /// Always the lowest port.
    Shortest,
    /// By a hash of the packet's entropy, which is the flow's: equal-cost multipath (RFC 2992).
    #[default]
    Ecmp,
    /// The same hash, of an entropy that the sender draws anew for each packet.
    Spray,
    /// The entropy is the number of the path.
    Pinned,
}

impl RoutingSpec {
    /// Every mode, with a line about it.
    pub const KINDS: [(&str, &str); 4] = [
        ("shortest", "always the lowest of equal-cost ports"),
        ("ecmp", "equal-cost multipath by flow hash"),
        ("spray", "equal-cost multipath anew for every packet"),
        ("pinned", "each flow on the numbered path given to it"),
    ];
}

/// What routes must avoid.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Down {
    /// Links, by index into [`crate::topology::Graph::links`]; both directions.
    pub links: BTreeSet<usize>,
    /// Nodes.
    pub nodes: BTreeSet<NodeId>,
}

#[cfg(test)]
mod tests;
