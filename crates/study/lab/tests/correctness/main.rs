//! Checks that the simulator is right: compares it with closed forms, queueing theory, other simulators, and laws that
//! hold in every network.

mod added_flows;
mod ahead;
mod bumps;
mod circuits_ahead;
mod collectives;
mod common;
mod controllers;
mod coordination;
mod cores;
mod determinism;
mod elections;
mod external;
mod failures;
mod fastpass;
mod fat_tree;
mod flow_level;
mod hedera;
mod hybrid;
mod hybrid_events;
mod imported;
#[cfg(target_os = "linux")]
mod late_machines;
mod laws;
mod lone_flow;
mod nodes;
mod objects;
mod order;
mod own_fabric;
mod paths;
mod peers;
mod port_kinds;
mod ports;
mod queueing;
mod real_discovery;
mod real_paths;
#[cfg(target_os = "linux")]
mod real_racks;
mod real_switches;
mod sharing;
mod tdma;
mod zero_queue;
