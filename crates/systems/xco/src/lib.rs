//! XCo, explicit coordination of transmissions (Rajanna, Shah, Jahagirdar, Gopalan, 2010).
//!
//! Hosts report for whom they have packets waiting; a controller temporally separates (§3.2) or
//! rate-limits (§3.3) those that would together overload a link. Hosts have virtual machines; what one
//! sends to another is a V2V flow. A pair of hosts is permitted as a whole, for all its V2V flows.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod lending;
pub mod levels;
pub mod node;
mod scheduler;
pub mod spec;
mod system;
pub mod wire;

pub use scheduler::{OnDemand, RateLimit, Timeslice};
pub use spec::{Xco, XcoSpec};
