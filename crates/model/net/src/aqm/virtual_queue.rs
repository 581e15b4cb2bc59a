//! A virtual queue: a leaky bucket without packets that estimates the occupancy of a queue (NetBump, Figure 5.5).

use super::discipline::{Arrival, Backlog};
use crate::time::Time;
use crate::units::{Bytes, InverseRate};

/// A virtual queue. Its level is stored as the time at which the bucket is empty, as in a FIFO port. For equal packets
/// at equal times both have exactly the same backlog.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct VirtualQueue {
    empty_at: Time,
    pace: InverseRate,
    /// The capacity, as the time to drain it.
    limit: Time,
    capacity: Bytes,
}

impl VirtualQueue {
    /// An empty queue that drains at `pace` and holds `capacity` bytes.
    pub fn new(pace: InverseRate, capacity: Bytes) -> VirtualQueue {
        VirtualQueue { empty_at: Time::ZERO, pace, limit: pace.time_for(capacity.0), capacity }
    }

    /// The backlog for a packet that arrives now.
    #[inline]
    pub fn backlog(&self, now: Time) -> Backlog {
        let wait = self.empty_at.since(now);
        Backlog { wait, idle_since: (wait == Time::ZERO).then_some(self.empty_at) }
    }

    /// Bytes not yet drained.
    pub fn bytes(&self, now: Time) -> u64 {
        self.pace.bytes_in(self.empty_at.since(now))
    }

    /// The arrival of a packet of `len` bytes, as the input of a discipline.
    #[inline]
    pub fn arrival(&self, len: u32, ect: bool, now: Time) -> Arrival {
        Arrival { now, backlog: self.backlog(now), pace: self.pace, len, ect }
    }

    /// Adds a packet of `len` bytes. Returns whether there was room. Without room the level stays, as in a queue that
    /// drops the packet.
    #[inline]
    pub fn add(&mut self, len: u32, now: Time) -> bool {
        match self.filled(self.empty_at, len, now) {
            Some(empty_at) => {
                self.empty_at = empty_at;
                true
            }
            None => false,
        }
    }

    /// As [`VirtualQueue::add`], for a level that is stored elsewhere: the bucket is empty at `empty_at`. Returns the
    /// new time, or `None` if there is no room.
    #[inline]
    pub fn filled(&self, empty_at: Time, len: u32, now: Time) -> Option<Time> {
        let full_at = empty_at.max(now) + self.pace.time_for(u64::from(len));
        (full_at.since(now) <= self.limit).then_some(full_at)
    }

    /// This queue with a level that is stored elsewhere.
    #[inline]
    pub fn at_level(self, empty_at: Time) -> VirtualQueue {
        VirtualQueue { empty_at, ..self }
    }

    /// The time at which it is or was empty, if no more packets arrive.
    pub fn empty_at(&self) -> Time {
        self.empty_at
    }

    /// The rate at which it drains.
    pub fn inverse_rate(&self) -> InverseRate {
        self.pace
    }

    /// Its capacity.
    pub fn capacity(&self) -> Bytes {
        self.capacity
    }

    /// Changes the rate at which it drains. Its level in bytes does not change.
    pub fn set_pace(&mut self, pace: InverseRate, now: Time) {
        let bytes = self.bytes(now);
        let idle = self.empty_at <= now;
        *self = VirtualQueue {
            empty_at: if idle { self.empty_at } else { now + pace.time_for(bytes) },
            ..VirtualQueue::new(pace, self.capacity)
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Rate;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    /// A real queue, whose packets leave one after the other.
    struct Real {
        pace: InverseRate,
        limit: u64,
        /// When each packet will have left, and its bytes.
        packets: VecDeque<(Time, u64)>,
        free_at: Time,
    }

    impl Real {
        /// Bytes not yet sent, including the rest of the packet in transmission.
        fn bytes(&mut self, now: Time) -> u64 {
            while self.packets.front().is_some_and(|(left, _)| *left <= now) {
                self.packets.pop_front();
            }
            let Some((ends, _)) = self.packets.front() else { return 0 };
            let waiting: Time = self
                .packets
                .iter()
                .skip(1)
                .fold(Time::ZERO, |sum, (_, b)| sum + self.pace.time_for(*b));
            self.pace.bytes_in(ends.since(now) + waiting)
        }
        fn arrive(&mut self, len: u64, now: Time) -> bool {
            let left = self.free_at.max(now) + self.pace.time_for(len);
            let fits = left.since(now) <= self.pace.time_for(self.limit);
            if fits {
                self.free_at = left;
                self.packets.push_back((left, len));
            }
            fits
        }
    }

    proptest! {
        /// A bump that sees all packets knows the queue exactly, including drops.
        #[test]
        fn equals_a_real_queue_that_gets_the_same_packets(
            mbps in 1u64..100_000,
            limit in 0u64..60_000,
            packets in prop::collection::vec((0u64..4_000_000, 1u32..9_000), 1..300),
        ) {
            let pace = Rate(mbps * 1_000_000).inverse_rate();
            let mut real = Real { pace, limit, packets: VecDeque::new(), free_at: Time::ZERO };
            let mut virt = VirtualQueue::new(pace, Bytes(limit));
            let mut now = Time::ZERO;
            for (gap, len) in packets {
                now += Time::ps(gap);
                prop_assert_eq!(virt.bytes(now), real.bytes(now));
                prop_assert_eq!(virt.add(len, now), real.arrive(u64::from(len), now));
                prop_assert_eq!(virt.bytes(now), real.bytes(now));
            }
        }

        /// Clocks of captures may step back. Then nothing overflows, and no queue becomes shorter.
        #[test]
        fn time_may_step_back(steps in prop::collection::vec((0u64..u64::MAX / 4, 0u32..70_000), 1..50)) {
            let mut queue = VirtualQueue::new(Rate(1_000_000_000).inverse_rate(), Bytes(40_000));
            for (now, len) in steps {
                queue.add(len, Time::ps(now));
                prop_assert!(queue.bytes(queue.empty_at) == 0);
            }
        }
    }

    #[test]
    fn figures_of_the_paper() {
        // 40 KB at 1 Gbit/s: 320 us to drain; 1500 bytes every 6 us fill it by 750 bytes each.
        let mut queue = VirtualQueue::new(Rate(1_000_000_000).inverse_rate(), Bytes(40_000));
        for n in 0..10 {
            assert_eq!(queue.bytes(Time::us(6 * n)), 750 * n);
            assert!(queue.add(1500, Time::us(6 * n)));
        }
        queue.set_pace(Rate(10_000_000_000).inverse_rate(), Time::us(60));
        assert_eq!(queue.bytes(Time::us(60)), 7_500);
        assert_eq!(queue.bytes(Time::us(66)), 0);
    }
}
