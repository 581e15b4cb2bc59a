//! Whether the simulator is right: held against closed forms, queueing theory, other simulators, and
//! laws that hold in every network.

mod common;
mod lone_flow;
mod peers;
mod queueing;
mod sharing;
