//! Ports that switches avoid.

use crate::id::{NodeId, PortId};
use std::collections::{BTreeMap, BTreeSet};

/// What one switch avoids.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct NodeAvoid {
    /// Ports whose session is down.
    pub down: BTreeSet<PortId>,
    /// Ports behind which there is no way to the hosts of a switch.
    pub tagged: BTreeSet<(PortId, NodeId)>,
}

impl NodeAvoid {
    /// Whether packets for the hosts of `dst` may leave by `port`.
    pub fn usable(&self, port: PortId, dst: NodeId) -> bool {
        !self.down.contains(&port) && !self.tagged.contains(&(port, dst))
    }
    /// Whether it avoids `port` for anybody.
    pub fn avoids(&self, port: PortId) -> bool {
        self.down.contains(&port) || self.tagged.iter().any(|(tagged, _)| *tagged == port)
    }
    /// Whether it avoids nothing.
    pub fn is_empty(&self) -> bool {
        self.down.is_empty() && self.tagged.is_empty()
    }
}

/// What all switches avoid; those that avoid nothing are left out.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Avoid {
    nodes: BTreeMap<NodeId, NodeAvoid>,
}

impl Avoid {
    /// What `node` avoids, if anything.
    pub fn of(&self, node: NodeId) -> Option<&NodeAvoid> {
        self.nodes.get(&node)
    }
    /// `node` avoids this now.
    pub fn set(&mut self, node: NodeId, avoid: NodeAvoid) {
        if avoid.is_empty() {
            self.nodes.remove(&node);
        } else {
            self.nodes.insert(node, avoid);
        }
    }
}
