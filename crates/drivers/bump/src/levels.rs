//! Where the levels of virtual queues are kept. Those of one pipeline alone are here, those that several
//! cores share in [`crate::shared`].

use slotline_net::aqm::VirtualQueue;
use slotline_net::time::Time;

/// The levels of virtual queues, as the times at which they are empty.
pub trait Levels {
    /// The level of queue `at`, whose rate and capacity are those of `queue`; empty for ever where there
    /// is no such queue.
    fn level(&mut self, at: usize, queue: &VirtualQueue, now: Time) -> Time;
    /// A packet of `len` bytes fills queue `at`. Whether there was room.
    fn fill(&mut self, at: usize, queue: &VirtualQueue, len: u32, now: Time) -> bool;
}

/// Levels of one pipeline alone.
#[derive(Clone, Debug)]
pub struct Own(Vec<Time>);

impl Own {
    /// So many empty queues.
    pub fn new(queues: usize) -> Own {
        Own(vec![Time::ZERO; queues])
    }
}

impl Levels for Own {
    #[inline]
    fn level(&mut self, at: usize, _queue: &VirtualQueue, _now: Time) -> Time {
        self.0.get(at).copied().unwrap_or_default()
    }

    #[inline]
    fn fill(&mut self, at: usize, queue: &VirtualQueue, len: u32, now: Time) -> bool {
        let Some(level) = self.0.get_mut(at) else { return true };
        let filled = queue.filled(*level, len, now);
        *level = filled.unwrap_or(*level);
        filled.is_some()
    }
}
