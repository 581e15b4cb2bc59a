//! The ports that switches avoid.

use crate::id::{NodeId, PortId};
use std::collections::{BTreeMap, BTreeSet};

/// The ports that one switch avoids.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct NodeAvoid {
    /// Ports whose session is down.
    pub down: BTreeSet<PortId>,
    /// Ports from which there is no path to the hosts of a switch.
    pub tagged: BTreeSet<(PortId, NodeId)>,
}

impl NodeAvoid {
    /// Whether packets for the hosts of `dst` may leave by `port`.
    pub fn usable(&self, port: PortId, dst: NodeId) -> bool {
        !self.down.contains(&port) && !self.tagged.contains(&(port, dst))
    }
    /// Whether it avoids `port` for any destination.
    pub fn avoids(&self, port: PortId) -> bool {
        self.down.contains(&port) || self.tagged.iter().any(|(tagged, _)| *tagged == port)
    }
    /// Whether it avoids nothing.
    pub fn is_empty(&self) -> bool {
        self.down.is_empty() && self.tagged.is_empty()
    }
}

/// The ports that all switches avoid. Switches that avoid none are left out.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Avoid {
    nodes: BTreeMap<NodeId, NodeAvoid>,
}

impl Avoid {
    /// Whether no switch avoids a port.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }
    /// The ports that `node` avoids, if any.
    pub fn of(&self, node: NodeId) -> Option<&NodeAvoid> {
        self.nodes.get(&node)
    }
    /// Sets the ports that `node` avoids from now on.
    pub fn set(&mut self, node: NodeId, avoid: NodeAvoid) {
        if avoid.is_empty() {
            self.nodes.remove(&node);
        } else {
            self.nodes.insert(node, avoid);
        }
    }
}
