//! The model of a datacenter network: its nodes, packets, queues, routes and transports, without a driver.
//!
//! This crate reads no clock, socket, file or environment variable. Time and random numbers are arguments, and effects
//! are returned as data ([`node::Effects`]). The same nodes run on a virtual clock (`slotline-sim`) and on the wall
//! clock (`slotline-live`).
#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub use slotline_base::{
    custom, error, histogram, id, order, prefetch, quantity, rng, schema, time, topology, units,
};
pub use slotline_workload as workload;

pub mod aqm;
pub mod frame;
mod keys;
pub mod node;
pub mod route;
pub mod samples;
pub mod scheme;
pub mod transport;
pub mod wire;
