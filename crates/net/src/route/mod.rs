//! Which port leads to a destination.

use crate::id::{HostId, NodeId, PortId};

/// Placeholder until `table.rs` is written.
pub type Next = Option<PortId>;
/// Types used by the table.
pub type Key = (NodeId, HostId);
