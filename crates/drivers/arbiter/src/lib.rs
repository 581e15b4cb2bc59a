//! The allocators of Fastpass' arbiter on several cores (Fastpass, §6.2).
//!
//! ```text
//!            demand                     timeslots and paths
//!   arbiter ────────> part 0 (thread) ──────────────────────> arbiter
//!          ╲            ↑ │                                  ╱
//!           ╲           │ ↓ pairs that still wait           ╱
//!            ──────> part 1 (thread) ──────────────────────
//! ```
//!
//! A [`Part`](slotline_fastpass::schedule::Part) of a schedule has one partition of the allocation and the choice of paths for its batches. Each has a
//! thread of its own. In a round all parts allocate one batch each: a part serves its own set of pairs first, then the
//! sets move from part to part ([`slotline_fastpass::allocation::partitions`]). Then each part chooses the paths of its
//! batch. Meanwhile the arbiter's thread hears hosts; what it hears belongs to the next round.
//!
//! **Deterministic.** A part waits for each message at a fixed point of its work, so the result does not depend on
//! the speed of threads: it is that of [`slotline_fastpass::Schedule`] in one thread, timeslot by timeslot.
//!
//! **Nothing is shared.** Threads exchange lists by channels of the standard library. Lists are handed over, not copied, and
//! come back. A thread without work sleeps.
//!
//! **Termination.** Threads end with their crew. If one ends by a panic, the others end too, and the panic
//! continues in the arbiter's thread.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod threads;
mod worker;

pub use slotline_fastpass::schedule::MakeCrew;
pub use threads::{THREAD, threads};

#[cfg(test)]
mod tests;
