//! The arbiter of Fastpass on several cores: communication, timeslot allocation and path selection
//! (Fastpass, §6.2).
//!
//! ```text
//!   port 0 ──demand──> partition 0 ──grants──> selection 0 ──permits──> port 0
//!          ╲        ╱    │    ↑    ╲        ╱             ╲         ╱
//!          ╱        ╲    ↓    │    ╱        ╲             ╱         ╲
//!   port 1 ──────────> partition 1 ──────────> selection 1 ───────────> port 1
//! ```
//!
//! A *port* communicates with some of the endpoints, over FCP or another protocol. Time is divided into
//! *rounds*. The demand of a round is all demand that the ports supply for it. A round is one batch of 64
//! timeslots for each *partition* of the pairs ([`slotline_fastpass::allocation::partitions`]). Each stage is
//! a state machine that never blocks. Stages are connected by lock-free rings, and a thread runs some of
//! the stages in turn.
//!
//! **Deterministic.** The order in which a stage reads its rings does not depend on the time at which a
//! message arrives. Therefore the same demand gives the same permits, byte by byte, on any number of
//! threads, and the allocation is that of [`slotline_fastpass::Partitions`].
//!
//! **Bounded.** The pipeline requests a round from a port when it has delivered all but
//! [`Setup::depth`] - 1 of the earlier rounds. A slow port thus slows demand down, and at most `depth`
//! rounds are in progress. Within this bound every stage receives all available messages, so no two stages
//! wait for each other.
//!
//! **Termination.** When all ports have ended, the pipeline finishes and delivers the rounds in progress.
//! A stage that ends closes its rings. If it ends by a panic, the other stages end too, and the panic
//! continues in the calling thread.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod allocation;
mod communication;
mod message;
mod permit;
mod port;
mod run;
mod selection;
mod setup;
mod stage;

pub use permit::{Permit, Permits};
pub use port::{Intake, Port, Refusal};
pub use run::{Report, run};
pub use setup::{PipelineError, Setup};
pub use slotline_fastpass::Demand;

#[cfg(test)]
mod tests;
