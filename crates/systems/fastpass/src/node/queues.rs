//! The packets of a host by destination, and the number of timeslots that they need.

use slotline_net::frame::Packet;
use slotline_net::id::HostId;
use slotline_net::prefetch::{prefetch, prefetch_value};
use std::collections::VecDeque;

/// The packets for one destination. They fill timeslots greedily, in order (§6.1), so each packet belongs to
/// a group that fits into one timeslot.
pub(super) struct Queue {
    /// The destination.
    pub dst: HostId,
    packets: VecDeque<Packet>,
    /// Bytes waiting.
    pub bytes: u64,
    /// The number of groups, which is the number of timeslots needed.
    pub needed: u32,
    /// Room left in the last group, in bytes.
    room: u32,
    /// Timeslots granted that have not passed yet.
    pub granted: u32,
}

/// The queues of one host. A destination gets its queue with its first packet.
pub(super) struct Queues {
    /// Bytes of a timeslot.
    capacity: u32,
    /// By destination, the index into `queues` plus one. Zero means that there is no queue yet.
    places: Vec<u32>,
    queues: Vec<Queue>,
    packets: usize,
}

impl Queues {
    pub fn new(capacity: u32) -> Queues {
        Queues { capacity, places: Vec::new(), queues: Vec::new(), packets: 0 }
    }
    /// Requests what is needed soon.
    #[inline]
    pub fn expect(&self) {
        prefetch(&self.queues, 0);
        prefetch(&self.places, 0);
    }
    /// Requests the first packet for `dst`.
    #[inline]
    pub fn expect_packet(&self, dst: HostId) {
        if let Some(packet) = self.get(dst).and_then(|queue| queue.packets.front()) {
            prefetch_value(packet);
        }
    }
    /// Packets waiting.
    pub fn packets(&self) -> usize {
        self.packets
    }
    /// The queue for `dst`, if it ever had a packet.
    pub fn get(&self, dst: HostId) -> Option<&Queue> {
        let place = self.places.get(dst.at()).copied().unwrap_or(0);
        self.queues.get((place as usize).wrapping_sub(1))
    }
    /// The queue for `dst`, if it ever had a packet, to be changed.
    pub fn get_mut(&mut self, dst: HostId) -> Option<&mut Queue> {
        let place = self.places.get(dst.at()).copied().unwrap_or(0);
        self.queues.get_mut((place as usize).wrapping_sub(1))
    }
    /// All queues, in the order of their first packets.
    pub fn iter(&self) -> impl Iterator<Item = &Queue> {
        self.queues.iter()
    }
    fn make(&mut self, dst: HostId) -> &mut Queue {
        if self.places.len() <= dst.at() {
            self.places.resize(dst.at() + 1, 0);
        }
        let place = &mut self.places[dst.at()];
        if *place == 0 {
            let packets = VecDeque::new();
            self.queues.push(Queue { dst, packets, bytes: 0, needed: 0, room: 0, granted: 0 });
            *place = self.queues.len() as u32;
        }
        &mut self.queues[*place as usize - 1]
    }
    /// Adds a packet. Returns whether it needs another timeslot.
    pub fn push(&mut self, packet: Packet) -> bool {
        let (capacity, len) = (self.capacity, u32::from(packet.len));
        self.packets += 1;
        let queue = self.make(packet.dst);
        queue.packets.push_back(packet);
        queue.bytes += u64::from(len);
        let more = len > queue.room;
        if more {
            queue.needed += 1;
            queue.room = capacity;
        }
        queue.room = queue.room.saturating_sub(len);
        more
    }
    /// Removes the first packet for `dst`, if it has at most `room` bytes. A packet larger than a timeslot takes
    /// a whole one.
    pub fn pop(&mut self, dst: HostId, room: u32) -> Option<Packet> {
        let capacity = self.capacity;
        let queue = self.get_mut(dst)?;
        let fits = |packet: &mut Packet| u32::from(packet.len).min(capacity) <= room;
        let packet = queue.packets.pop_front_if(fits)?;
        queue.bytes -= u64::from(packet.len);
        self.packets -= 1;
        Some(packet)
    }
    /// Notes that a timeslot for `dst` has passed in which packets left.
    pub fn served(&mut self, dst: HostId) {
        let Some(queue) = self.get_mut(dst) else { return };
        queue.needed = queue.needed.saturating_sub(1);
        if queue.packets.is_empty() {
            (queue.needed, queue.room) = (0, 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn packet(dst: u32, len: u16) -> Packet {
        Packet { dst: HostId(dst), len, ..Packet::default() }
    }
    /// Timeslots for packets in order, as many in each as fit.
    fn groups(packets: &[u16], capacity: u32) -> u32 {
        let (mut count, mut room) = (0, 0);
        for &len in packets {
            let len = u32::from(len);
            if len > room {
                (count, room) = (count + 1, capacity);
            }
            room = room.saturating_sub(len);
        }
        count
    }

    proptest! {
        #[test]
        fn what_is_needed_is_what_greedy_filling_takes(
            steps in prop::collection::vec((84u16..=1700, 0u8..3), 1..200)
        ) {
            let mut queues = Queues::new(1538);
            let mut waiting = Vec::new();
            for (len, what) in steps {
                if what > 0 {
                    queues.push(packet(7, len));
                    waiting.push(len);
                } else if !waiting.is_empty() {
                    let mut room = 1538;
                    while let Some(packet) = queues.pop(HostId(7), room) {
                        prop_assert_eq!(waiting.remove(0), packet.len);
                        room = u32::saturating_sub(room, packet.len.into());
                    }
                    queues.served(HostId(7));
                }
                let queue = queues.get(HostId(7)).map(|queue| (queue.needed, queue.bytes));
                let bytes = waiting.iter().map(|&len| u64::from(len)).sum::<u64>();
                prop_assert_eq!(queue.unwrap_or_default(), (groups(&waiting, 1538), bytes));
                prop_assert_eq!(queues.packets(), waiting.len());
            }
        }
    }
}
