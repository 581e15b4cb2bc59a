//! A bump on the wire for real frames (Al-Fares, NetBump, chapter 5): classify, estimate, mark or drop
//! or notify, process, forward. A bump never queues or delays a packet.
//!
//! The virtual queues and the disciplines are those of `slotline_net::aqm`, which the simulator uses, too.
//! This crate adds the parts for real frames: parsing, ECN bits with their checksum, captures, levels that
//! several cores share, and disciplines in eBPF object files.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod alu;
/// The atomics of [`shared`]; tests have others.
mod atomics {
    pub(crate) use std::sync::atomic::{AtomicU64, Ordering};
}
pub mod btf;
pub mod capture;
pub mod classify;
pub mod ebpf;
pub mod frame;
pub mod guard;
#[cfg(test)]
mod interleavings;
pub mod levels;
pub mod link;
pub mod maps;
pub mod memory;
pub mod notice;
pub mod object;
pub mod pipeline;
pub mod shared;
#[cfg(test)]
mod shared_tests;
pub mod vm;
pub mod watch;

pub use classify::{ByDestination, Classify};
pub use ebpf::{EbpfDiscipline, Loaded};
pub use frame::{Content, Fault, Packet};
pub use guard::Guarded;
pub use levels::{Levels, Own};
pub use pipeline::{Action, Malformed, Passed, Pipeline, Process};
pub use shared::Shared;
pub use watch::Watched;
