//! Emulation: real Linux hosts, each in a network namespace, joined by the modelled network.
//!
//! The network between the hosts is the one that `slotline-sim` simulates, with the same nodes. Its time follows a
//! clock ([`clock`]), which may run slower than real time. A packet of a real application enters the model at the card
//! of its host. The model carries a packet that stands for the real frame. When the model says that the packet arrives,
//! the other host gets the real frame with the marks of the model. The model is exact in network time, however busy the
//! machine is. Only the passage between kernel and model can be late; [`shared::Fidelity`] measures how late.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod applications;
pub mod bridge;
mod burst;
pub mod circuits;
pub mod classify;
pub mod clock;
mod datagrams;
pub mod fabric;
pub mod families;
pub mod fat_tree;
pub mod faulty_clock;
mod frames;
pub mod ipv4;
pub mod isolation;
mod joined;
pub mod lateness;
pub mod namespace;
pub mod optical;
mod port;
pub mod probe;
mod processors;
pub mod programs;
pub mod racks;
pub mod registry;
pub mod replay;
pub mod seat;
pub mod shared;
pub mod switches;
pub mod virtual_time;
mod wire;
