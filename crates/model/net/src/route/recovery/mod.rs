//! How switches find out about failures by themselves, and route around them.
//!
//! Neighbouring switches keep a session of hello packets (RFC 5880, BFD). A switch that has no way left
//! to the hosts of another switch tells the neighbours that could have come through it, with a tag; they
//! avoid it for these hosts, and pass the tag on where they have no way left themselves. When a session
//! comes back, so do the ways. A switch never takes a port that is on no shortest path of the whole
//! network, so packets do not go in circles, not even while the news is under way.
//!
//! Source: Al-Fares, "Data center network architecture", section 3.1.8. There a tag from a core switch
//! ends at the aggregation switches of other pods. In the paper's own wiring all core switches of such an
//! aggregation switch lead to the same aggregation switch of the failed pod: it has no way left, and has
//! to tell its edge switches. So tags here go on as far as they have to.

mod avoid;
mod session;
mod speaker;
mod spec;
mod unfold;

pub use avoid::{Avoid, NodeAvoid};
pub use session::{Session, State};
pub use speaker::{Speaker, Tag, Ways};
pub use spec::RecoverySpec;
pub use unfold::{LinkChange, Step, Story, unfold};

#[cfg(test)]
mod tests;
