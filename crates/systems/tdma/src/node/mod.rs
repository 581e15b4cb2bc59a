//! The nodes of TDMA Ethernet: the fabric manager, its controllers, and the agents of hosts.

mod agent;
mod buffer;
mod controller;
mod demand_tracker;
mod known_round;
mod manager;
mod nic;
mod outbox;
mod queues;
mod runs;
mod signals;

pub use agent::{SHORT_CLASS, TdmaAgent};
pub use controller::SlotController;
pub use manager::{FabricManager, ManagerConfig};
pub use signals::{Signals, SwitchHosts};

use slotline_net::node::agent::AGENT_TOKENS;

/// The token of all wake-ups of agents.
const TOKEN: u32 = AGENT_TOKENS;

#[cfg(test)]
mod tests;
