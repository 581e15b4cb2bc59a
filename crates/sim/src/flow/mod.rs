//! Flows as fluids: each has a rate at any time, and no packet is there.
pub mod maxmin;
mod shares;
pub use maxmin::{Effort, FlowKey, MaxMin};
