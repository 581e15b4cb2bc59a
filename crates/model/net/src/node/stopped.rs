//! Queues whose discipline failed.

use super::Tally;
use crate::aqm::Failure;
use crate::id::{NodeId, PortId};

/// A queue that goes on without its discipline, and why.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Stopped {
    /// The switch that has the queue, or the bump in front of it.
    pub node: NodeId,
    /// The port of the switch that the queue is of.
    pub port: PortId,
    /// Of a virtual queue: the number of its table at this switch.
    pub bump: Option<u32>,
    /// The class of packets in it; zero where they share one.
    pub class: u8,
    /// What happened.
    pub failure: Failure,
}

impl Tally {
    /// Counts a queue whose discipline can fail, and notes it where it did.
    pub fn guest(&mut self, stopped: Option<Stopped>) {
        self.add("stopped_disciplines", u64::from(stopped.is_some()));
        self.add("unjudged_packets", stopped.as_ref().map_or(0, |one| one.failure.unjudged));
        self.stopped.extend(stopped);
    }

    /// All queues whose discipline failed, in order of time.
    pub fn stopped(&self) -> Vec<Stopped> {
        let mut stopped = self.stopped.clone();
        stopped.sort_by_key(|one| (one.failure.at, one.node, one.port, one.bump, one.class));
        stopped
    }
}
