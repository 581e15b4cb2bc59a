//! XCo, explicit coordination of transmissions (Rajanna, Shah, Jahagirdar, Gopalan, 2010): a central
//! controller coordinates hosts, so that together they do not overload links.
//!
//! Hosts have virtual machines; what one virtual machine sends to another is a V2V flow. A pair of hosts is
//! permitted as a whole, for all its V2V flows.
//!
//! Data flows through the modules as follows. A coordinator in every host ([`node::coordinator`]) holds
//! packets back and reports to whom packets wait, in the messages of [`wire`]. A controller
//! ([`node::controller`]) passes reports to a scheduler: [`Timeslice`] separates senders in time (§3.2),
//! [`RateLimit`] limits their rates (§3.3), and [`OnDemand`] restricts either one to links near saturation
//! (§7). The controller sends the decisions to the coordinators as directives.
//!
//! [`spec`] has the options, and the module `system` puts controllers and coordinators into a network. With a
//! controller at each switch of a tree (§7), [`levels`] says which one decides about a pair of hosts, and
//! [`lending`] divides links among them.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod counters;
pub mod fit;
pub mod lending;
pub mod levels;
pub mod node;
mod scheduler;
pub mod spec;
mod system;
pub mod wire;

pub use scheduler::{OnDemand, RateLimit, Timeslice};
pub use spec::{Xco, XcoSpec};
