//! The pure half of Slotline: what a datacenter network *is*, without saying who drives it.
//!
//! Nothing here reads a clock, a socket, a file or an environment variable. Time and randomness come
//! in as arguments; effects go out as data ([`node::Effects`]). The same nodes are driven by a
//! virtual clock (`slotline-sim`) and by the wall clock (`slotline-live`).
#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub use slotline_base::{
    custom, error, histogram, id, quantity, rng, schema, time, topology, units,
};
pub use slotline_workload as workload;

pub mod aqm;
pub mod frame;
pub mod node;
pub mod route;
pub mod scheme;
pub mod transport;
pub mod wire;
