//! Searches for a placement of flows.

mod annealing;
mod best;
mod first_fit;
mod parts;
mod per_flow;

pub use annealing::{Annealing, default_c};
pub use best::best;
pub use first_fit::first_fit;
pub use per_flow::anneal_per_flow;
