//! What a driver can change around a node.

use crate::id::PortId;
use crate::route::Routes;
use crate::topology::End;
use crate::units::Rate;
use std::sync::Arc;

/// A change in a node's surroundings, from the scenario's timeline.
#[derive(Clone)]
pub enum Change {
    /// The link at this port works (again).
    Up(PortId),
    /// The link at this port failed.
    Down(PortId),
    /// The link at this port now sends at another rate.
    Rate(PortId, Rate),
    /// The link that leaves another node by this port now sends at another rate. Only stations that
    /// know the whole network learn of it.
    Elsewhere(End, Rate),
    /// Other routes are in force.
    Routes(Arc<Routes>),
    /// A host is about to leave the network, and reports this to a central scheduler.
    Leave,
    /// A host has come back.
    Join,
    /// A station stops: it forgets everything and answers nobody.
    Stop,
    /// A station starts again, without any memory.
    Restart,
}
