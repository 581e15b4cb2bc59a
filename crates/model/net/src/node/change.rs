//! Changes in the surroundings of a node.

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
    /// know the whole network are notified.
    Elsewhere(End, Rate),
    /// Other routes are in force.
    Routes(Arc<Routes>),
    /// A host is about to leave the network, and reports this to a central scheduler.
    Leave,
    /// A host has come back.
    Join,
    /// A station stops: it loses its state and sends no more messages.
    Stop,
    /// A station starts again, without its former state.
    Restart,
}
