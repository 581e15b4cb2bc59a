//! Distributed failure recovery: switches detect failures by themselves, and route around them.
//!
//! Neighbouring switches have a session of hello packets (RFC 5880, BFD). A switch that has lost its last path to the
//! hosts of another switch sends a tag to the neighbours that may route through it. These neighbours avoid it for these
//! hosts. They send the tag on if they have no other path. When a session comes up again, its paths are used again. A
//! switch uses only ports on shortest paths of the network without failures, so packets never loop, not even while tags
//! are in transit.
//!
//! Source: Al-Fares, "Data center network architecture", section 3.1.8. There a tag from a core switch ends at the
//! aggregation switches of other pods. In the paper's own wiring, all core switches of such an aggregation switch are
//! linked to the same aggregation switch of the failed pod. The aggregation switch therefore has no other path, and
//! must notify its edge switches. For this reason tags are sent on here as far as needed.

mod avoid;
mod session;
mod simulate;
mod speaker;
mod spec;

pub use avoid::{Avoid, NodeAvoid};
pub use session::{Session, State};
pub use simulate::{LinkChange, Step, Timeline, simulate};
pub use speaker::{ShortestPaths, Speaker, Tag};
pub use spec::RecoverySpec;

#[cfg(test)]
mod tests;
