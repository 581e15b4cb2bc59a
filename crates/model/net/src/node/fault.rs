//! What fault isolation has found, for the record.

use crate::id::NodeId;
use crate::time::Time;

/// A part of a network that can fail.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Part {
    /// A link, by its number.
    Link(u32),
    /// A switch, by its node.
    Switch(NodeId),
}

/// A part that was found to be faulty.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Fault {
    /// When it was named.
    pub found: Time,
    /// What was named.
    pub part: Part,
    /// When the first timeslots began that do not use it; none if that never came.
    pub avoided: Option<Time>,
    /// When tries had succeeded and it was used again; none if that never came.
    pub cleared: Option<Time>,
}

impl Fault {
    /// One that is found at this time.
    pub const fn new(found: Time, part: Part) -> Fault {
        Fault { found, part, avoided: None, cleared: None }
    }
}
