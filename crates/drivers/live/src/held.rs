//! Packets that the kernel holds for this daemon. The model knows them by handles.

use crate::clock::Local;
use slotline_linux::hold::Ticket;
use std::time::Duration;

/// A held packet, and its place in the order in which packets came.
type Place = (u64, Ticket);

/// The held packets, by handle.
#[derive(Debug, Default)]
pub struct Held {
    packets: Vec<Option<Place>>,
    free: Vec<u32>,
    came: u64,
    /// The time at which a packet last left, or at which the first one arrived.
    moved: Local,
}

impl Held {
    /// Adds a packet of the queue. Returns its handle.
    pub fn put(&mut self, packet: impl Into<Ticket>, now: Local) -> u32 {
        if self.is_empty() {
            self.moved = now;
        }
        self.came += 1;
        let place = Some((self.came, packet.into()));
        if let Some(handle) = self.free.pop() {
            self.packets[handle as usize] = place;
            return handle;
        }
        self.packets.push(place);
        self.packets.len() as u32 - 1
    }
    /// Removes the packet with this handle; `None` if there is none.
    pub fn take(&mut self, handle: u32, now: Local) -> Option<Ticket> {
        self.moved = now;
        let (_, packet) = self.packets.get_mut(handle as usize)?.take()?;
        self.free.push(handle);
        Some(packet)
    }
    /// Removes all packets. Returns them in the order in which they came.
    pub fn take_all(&mut self, now: Local) -> Vec<Ticket> {
        self.free.clear();
        self.moved = now;
        let mut packets: Vec<Place> = self.packets.drain(..).flatten().collect();
        packets.sort_unstable_by_key(|(came, _)| *came);
        packets.into_iter().map(|(_, packet)| packet).collect()
    }
    /// The number of packets held.
    pub fn len(&self) -> usize {
        self.packets.len() - self.free.len()
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
        let handles = [7u32, 8, 9].map(|number| held.put(number, at(number.into())));
        assert_eq!((handles, held.len()), ([0, 1, 2], 3));
        assert_eq!(held.stalled(at(27)), Duration::from_millis(20));
        assert_eq!(held.take(1, at(30)), Some(Ticket::from(8)));
        assert_eq!(held.take(1, at(30)), None);
        assert_eq!(held.stalled(at(31)), Duration::from_millis(1));
        let split = Ticket { number: 1, split: true };
        assert_eq!(held.put(split, at(31)), 1, "handles are used again");
        assert_eq!(held.take_all(at(32)), [Ticket::from(7), Ticket::from(9), split]);
        assert!(held.is_empty() && held.stalled(at(99)).is_zero());
        assert_eq!(held.put(11u32, at(99)), 0);
    }
}
