//! Queues whose discipline failed. The simulation goes on: such a queue accepts all packets.

use super::{Counters, counters};
use crate::aqm::Failure;
use crate::id::{NodeId, PortId};

/// A queue that continues without its discipline, and the reason.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Stopped {
    /// The switch that has the queue, or the bump in front of it.
    pub node: NodeId,
    /// The port of the switch that the queue belongs to.
    pub port: PortId,
    /// The number of its table at this switch, if it is a virtual queue.
    pub bump: Option<u32>,
    /// The class of packets in it; zero if all classes share one queue.
    pub class: u8,
    /// How the discipline failed.
    pub failure: Failure,
}

impl Counters {
    /// Counts a queue whose discipline can fail; `stopped` is its failure, if it failed.
    pub fn guest(&mut self, stopped: Option<Stopped>) {
        self.add(counters::STOPPED_DISCIPLINES, u64::from(stopped.is_some()));
        let unjudged = stopped.as_ref().map_or(0, |one| one.failure.unjudged);
        self.add(counters::UNJUDGED_PACKETS, unjudged);
        self.stopped.extend(stopped);
    }

    /// All queues whose discipline failed, in order of time.
    pub fn stopped(&self) -> Vec<Stopped> {
        let mut stopped = self.stopped.clone();
        stopped.sort_by_key(|one| (one.failure.at, one.node, one.port, one.bump, one.class));
        stopped
    }
}
