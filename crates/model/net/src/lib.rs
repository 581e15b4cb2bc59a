//! The pure half of Slotline: what a datacenter network *is*, without saying who drives it.
//!
//! Nothing here reads a clock, a socket, a file or an environment variable. Time and randomness come
//! in as arguments; effects go out as data ([`node::Effects`]). The same nodes are driven by a
//! virtual clock (`slotline-sim`) and by the wall clock (`slotline-live`).
#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod aqm;
pub mod custom;
pub mod error;
pub mod frame;
pub mod histogram;
pub mod id;
pub mod node;
pub mod quantity;
pub mod rng;
pub mod route;
pub mod schema;
pub mod scheme;
pub mod time;
pub mod topology;
pub mod transport;
pub mod units;
pub mod wire;
pub mod workload;
