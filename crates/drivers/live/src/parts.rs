//! Links and switches by their names, and what fault isolation has found out about them.

use slotline_net::node::{Fault, Part};
use slotline_net::topology::Graph;

/// The names of links and switches of a network.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Parts {
    links: Vec<String>,
    nodes: Vec<String>,
}

/// A link or switch that lost packets.
#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct FaultStatus {
    /// Its name: that of a switch, or those of both ends of a link.
    pub part: String,
    /// The network time at which it was found.
    pub found_ns: u64,
    /// The network time at which the first timeslots that avoid it began.
    pub avoided_ns: Option<u64>,
    /// The network time from which on it is used again; none while it is avoided.
    pub cleared_ns: Option<u64>,
}

impl From<&Graph> for Parts {
    fn from(graph: &Graph) -> Parts {
        let nodes: Vec<String> = graph.nodes.iter().map(|node| node.name.clone()).collect();
        Parts { links: (0..graph.links.len()).map(|at| graph.link_name(at)).collect(), nodes }
    }
}

impl Parts {
    /// The name of a part; its number if it has no name.
    fn name(&self, part: Part) -> String {
        let (names, at) = match part {
            Part::Link(at) => (&self.links, at),
            Part::Switch(node) => (&self.nodes, node.0),
        };
        names.get(at as usize).cloned().unwrap_or_else(|| at.to_string())
    }
    /// The state of a fault.
    pub fn status(&self, fault: &Fault) -> FaultStatus {
        FaultStatus {
            part: self.name(fault.part),
            found_ns: fault.found.as_ns(),
            avoided_ns: fault.avoided.map(|at| at.as_ns()),
            cleared_ns: fault.cleared.map(|at| at.as_ns()),
        }
    }
}
