//! Hedera's parts: the flow table of an edge switch, and the host that its scheduler runs on.

mod edge;
mod scheduler;
#[cfg(test)]
mod tests;

pub use edge::{EdgeAgent, EdgeConfig};
pub use scheduler::SchedulerNode;

use slotline_net::node::agent::AGENT_TOKENS;

/// Wake-ups of an edge switch's agent.
const POLL: u32 = AGENT_TOKENS;
const INSTALL: u32 = AGENT_TOKENS + 1;
