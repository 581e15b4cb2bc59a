//! Where the levels of virtual queues are kept: with one pipeline, or between several cores.

use slotline_net::aqm::VirtualQueue;
use slotline_net::time::Time;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The levels of virtual queues, as the times at which they are empty.
pub trait Levels {
    /// The level of queue `at`; empty for ever where there is no such queue.
    fn level(&self, at: usize) -> Time;
    /// A packet of `len` bytes fills queue `at`, whose rate and capacity are those of `queue` and whose
    /// level was `seen` when it was judged. Whether there was room.
    fn fill(&mut self, at: usize, queue: &VirtualQueue, seen: Time, len: u32, now: Time) -> bool;
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
    fn level(&self, at: usize) -> Time {
        self.0.get(at).copied().unwrap_or_default()
    }

    #[inline]
    fn fill(&mut self, at: usize, queue: &VirtualQueue, seen: Time, len: u32, now: Time) -> bool {
        let filled = queue.filled(seen, len, now);
        if let (Some(level), Some(filled)) = (self.0.get_mut(at), filled) {
            *level = filled;
        }
        filled.is_some()
    }
}

/// One level, on a cache line of its own.
#[derive(Debug, Default)]
#[repr(align(64))]
struct Line(AtomicU64);

/// Levels that several pipelines share, each on its core. Nobody waits for anybody: a level is one
/// word, and whoever comes second adds to what the first has left. No packet is lost or counted twice.
#[derive(Clone, Debug)]
pub struct Shared(Arc<[Line]>);

impl Shared {
    /// So many empty queues. Clones share them.
    pub fn new(queues: usize) -> Shared {
        Shared((0..queues).map(|_| Line::default()).collect())
    }
}

impl Levels for Shared {
    #[inline]
    fn level(&self, at: usize) -> Time {
        self.0.get(at).map_or(Time::ZERO, |line| Time::ps(line.0.load(Ordering::Relaxed)))
    }

    #[inline]
    fn fill(&mut self, at: usize, queue: &VirtualQueue, seen: Time, len: u32, now: Time) -> bool {
        let Some(line) = self.0.get(at) else { return true };
        let mut seen = seen.as_ps();
        while let Some(filled) = queue.filled(Time::ps(seen), len, now) {
            // A level says nothing about other memory: no order with anything else is needed.
            let stored = line.0.compare_exchange_weak(
                seen,
                filled.as_ps(),
                Ordering::Relaxed,
                Ordering::Relaxed,
            );
            match stored {
                Ok(_) => return true,
                Err(newer) => seen = newer,
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use slotline_net::units::{Bytes, Rate};

    #[test]
    fn several_threads_fill_one_queue_with_every_packet_once() {
        const PACKETS: u64 = 20_000;
        let queue = VirtualQueue::new(Rate(1_000_000_000).pace(), Bytes(1_000_000_000));
        let shared = Shared::new(2);
        std::thread::scope(|scope| {
            for _ in 0..3 {
                let mut own = shared.clone();
                scope.spawn(move || {
                    for _ in 0..PACKETS {
                        let seen = own.level(1);
                        assert!(own.fill(1, &queue, seen, 1250, Time::ZERO));
                    }
                });
            }
        });
        assert_eq!(shared.level(1), Time::us(10 * 3 * PACKETS));
        assert_eq!(shared.level(0), Time::ZERO);
    }

    #[test]
    fn what_does_not_fit_is_not_filled_in() {
        let queue = VirtualQueue::new(Rate(1_000_000_000).pace(), Bytes(2_000));
        let mut shared = Shared::new(1);
        assert!(shared.fill(0, &queue, Time::ZERO, 1250, Time::ZERO));
        assert!(!shared.fill(0, &queue, Time::ZERO, 1250, Time::ZERO));
        assert_eq!(shared.level(0), Time::us(10));
    }
}
