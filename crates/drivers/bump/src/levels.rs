//! The levels of virtual queues. [`Own`] holds the levels of a single pipeline, [`crate::shared`] those that
//! several cores share.

use slotline_net::aqm::VirtualQueue;
use slotline_net::time::Time;

/// The levels of virtual queues, as the times at which they are empty.
pub trait Levels {
    /// The level of queue `at`, whose rate and capacity are those of `queue`. A queue that does not exist is
    /// always empty.
    fn level(&mut self, at: usize, queue: &VirtualQueue, now: Time) -> Time;
    /// Adds a packet of `len` bytes to queue `at`. Returns whether the queue had room for it.
    fn fill(&mut self, at: usize, queue: &VirtualQueue, len: u32, now: Time) -> bool;
}

/// The levels of a single pipeline.
#[derive(Clone, Debug)]
pub struct Own(Vec<Time>);

impl Own {
    /// The levels of `queues` empty queues.
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
