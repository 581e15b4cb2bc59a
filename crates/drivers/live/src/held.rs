//! Packets that the kernel holds for this daemon. The model knows them by handles.

use crate::clock::Local;
use std::time::Duration;

/// A handle without a packet.
const NONE: u32 = u32::MAX;

/// The numbers of held packets, by handle.
#[derive(Debug, Default)]
pub struct Held {
    numbers: Vec<u32>,
    free: Vec<u32>,
    /// The time at which a packet last left, or at which the first one arrived.
    moved: Local,
}

impl Held {
    /// Adds packet `number` of the queue. Returns its handle.
    pub fn put(&mut self, number: u32, now: Local) -> u32 {
        if self.is_empty() {
            self.moved = now;
        }
        if let Some(handle) = self.free.pop() {
            self.numbers[handle as usize] = number;
            return handle;
        }
        self.numbers.push(number);
        self.numbers.len() as u32 - 1
    }
    /// Removes the packet with this handle. Returns its number.
    pub fn take(&mut self, handle: u32, now: Local) -> u32 {
        self.moved = now;
        self.free.push(handle);
        std::mem::replace(&mut self.numbers[handle as usize], NONE)
    }
    /// Removes all packets. Returns their numbers in ascending order.
    pub fn take_all(&mut self, now: Local) -> Vec<u32> {
        self.free.clear();
        self.moved = now;
        let mut numbers = std::mem::take(&mut self.numbers);
        numbers.retain(|&number| number != NONE);
        numbers.sort_unstable();
        numbers
    }
    /// The number of packets held.
    pub fn len(&self) -> usize {
        self.numbers.len() - self.free.len()
    }
    /// Whether no packet is held.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// The time for which packets have been held without one that left.
    pub fn stalled(&self, now: Local) -> Duration {
        if self.is_empty() { Duration::ZERO } else { now.since(self.moved) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_leave_once() {
        let mut held = Held::default();
        let at = |ms: u64| Local(ms * 1_000_000);
        let handles = [7, 8, 9].map(|number| held.put(number, at(number.into())));
        assert_eq!((handles, held.len()), ([0, 1, 2], 3));
        assert_eq!(held.stalled(at(27)), Duration::from_millis(20));
        assert_eq!(held.take(1, at(30)), 8);
        assert_eq!(held.stalled(at(31)), Duration::from_millis(1));
        assert_eq!(held.put(10, at(31)), 1, "handles are used again");
        assert_eq!(held.take_all(at(32)), [7, 9, 10]);
        assert!(held.is_empty() && held.stalled(at(99)).is_zero());
        assert_eq!(held.put(11, at(99)), 0);
    }
}
