//! Networks whose circuits come and go: what a rack does at which time, queues by destination rack,
//! demand. State machines without I/O: [`crate::node`] has the nodes, the crate
//! `slotline-circuits` the schedulers.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod agenda;
pub mod control;
pub mod demand;
pub mod node;
pub mod phases;
pub mod program;
pub mod ring;
pub mod spec;
pub mod voq;
pub mod wire;
pub mod wires;

pub use agenda::{Agenda, Deed, Leads, Wire};
pub use demand::{DemandKind, Ledger};
pub use program::RackDay;
pub use spec::{AtNight, Hops, NotifySpec, NotifyTo, RelaySpec, ResizeSpec, Shrink, VoqSpec};
pub use voq::{Voq, VoqStats};
pub use wires::{Rank, Ways, Wires};

/// In the place of a rack: none.
pub const NO_RACK: u16 = u16::MAX;
