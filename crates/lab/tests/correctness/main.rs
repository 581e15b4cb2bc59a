//! Whether the simulator is right: held against closed forms, queueing theory, other simulators, and
//! laws that hold in every network.

mod common;
mod lone_flow;
mod nodes;
mod peers;
mod probe;
mod queueing;
mod sharing;
