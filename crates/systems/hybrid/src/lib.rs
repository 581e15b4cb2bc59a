//! Hybrid fabrics: racks reach each other by a packet switch and by circuits that change while the network
//! runs.
//!
//! Source: "Overcoming End-to-End Challenges in Reconfigurable Datacenter Networks" (Etalon), 2018;
//! Poutievski et al., "Jupiter Evolving", SIGCOMM 2022.
//!
//! - [`control`] has the options of the scheme and turns them into a program of circuits, week by week. The
//!   planners themselves are in the crate `slotline-circuits`.
//! - [`schedule`] turns a planned week into the actions of one switch and keeps the circuits that are up.
//! - [`voq`] has the queues by destination rack and their options; [`demand`] estimates what they will need.
//! - [`node`] has the switches and the scheduler, which exchange the messages of [`wire`].
//!
//! [`HybridSystem`] adds all of it to a network.
//!
//! Racks report demand to the scheduler, the scheduler plans a week and sends each rack its days, and the rack's
//! executor says when to open circuits, resize queues and notify hosts.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod control;
pub mod counters;
pub mod demand;
pub mod fit;
pub mod node;
pub mod schedule;
mod system;
pub mod voq;
pub mod wire;

pub use demand::{DemandEstimator, DemandKind};
pub use schedule::{LeadTimes, RackDay, ScheduleAction, ScheduleExecutor};
pub use system::{HybridOptions, HybridSystem};
pub use voq::{
    AtNight, Hops, NotifySpec, NotifyTo, RelaySpec, ResizeSpec, Shrink, Voq, VoqSpec, VoqStats,
};

/// Stands for the number of a rack where there is none.
pub const NO_RACK: u16 = u16::MAX;
