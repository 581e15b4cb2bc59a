//! The nodes of Hedera: the flow table of an edge switch, and the host of the scheduler.

mod edge;
mod scheduler;
#[cfg(test)]
mod tests;

pub use edge::{EdgeAgent, EdgeConfig};
pub use scheduler::SchedulerNode;

use slotline_net::node::agent::AGENT_TOKENS;

/// The tokens of wake-ups of an edge switch's agent.
const POLL: u32 = AGENT_TOKENS;
const INSTALL: u32 = AGENT_TOKENS + 1;
