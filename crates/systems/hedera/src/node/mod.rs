//! The nodes of Hedera: the flow table of an edge switch, at a simulated host or on a real switch, and the host of the
//! scheduler.

mod edge;
mod scheduler;
mod switch;
mod table;
#[cfg(test)]
mod tests;

pub use edge::EdgeAgent;
pub use scheduler::SchedulerNode;
pub use switch::{ANY, EdgeSwitch, SPREAD};
pub use table::{FlowTable, TableConfig};

use slotline_net::node::agent::AGENT_TOKENS;

/// The tokens of wake-ups of an edge switch's agent.
const POLL: u32 = AGENT_TOKENS;
const INSTALL: u32 = AGENT_TOKENS + 1;
/// The token of a report of ports.
const PORTS: u32 = AGENT_TOKENS + 2;
