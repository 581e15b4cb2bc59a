//! Faults that fault isolation has found.

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
    /// When fault isolation named the part.
    pub found: Time,
    /// The part.
    pub part: Part,
    /// When the first timeslots that avoid the part began; `None` if there were none.
    pub avoided: Option<Time>,
    /// When the part was used again, because tests of it had succeeded; `None` if it never was.
    pub cleared: Option<Time>,
}

impl Fault {
    /// A fault of `part`, found at `found`. It is neither avoided nor cleared yet.
    pub const fn new(found: Time, part: Part) -> Fault {
        Fault { found, part, avoided: None, cleared: None }
    }
}
