//! Queues by destination rack: their options, and the queue itself.

pub mod ring;
mod spec;

pub use spec::{AtNight, Hops, NotifySpec, NotifyTo, RelaySpec, ResizeSpec, Shrink, VoqSpec};

use ring::Ring;
use slotline_net::frame::Packet;
use slotline_net::time::Time;

/// The counters of a queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct VoqStats {
    /// Packets that arrived.
    pub arrived: u64,
    /// Packets that found no room.
    pub refused: u64,
    /// Packets that were dropped when the queue was made shorter.
    pub shed: u64,
    /// Packets that left.
    pub left: u64,
    /// The time that the packets that left had waited, in picoseconds.
    pub waited: u64,
    /// How often the size of the queue changed.
    pub resizes: u64,
    /// Bytes that left by a circuit.
    pub circuit_bytes: u64,
    /// Bytes that left by the packet switch.
    pub packet_bytes: u64,
    /// The most packets that waited at one time.
    pub longest: u32,
    /// Whether packets of more than 1,000 B arrived, which are not acknowledgements.
    pub carries_data: bool,
}

/// A FIFO of the packets of one rack for another, with room for a limited number of them.
#[derive(Clone, Debug)]
pub struct Voq {
    packets: Ring<(Packet, Time)>,
    /// Packets that the packet switch returned. They leave first.
    returned: Ring<(Packet, Time)>,
    bytes: u64,
    limit: u32,
    /// The counters so far.
    pub stats: VoqStats,
}

/// The most returned packets that may wait (Etalon's emulator).
const RETURNED: usize = 5;

/// A packet of more bytes than this carries data and is not an acknowledgement.
pub const DATA: u16 = 1000;

impl Voq {
    /// An empty queue with room for `limit` packets.
    pub fn new(limit: u32) -> Voq {
        Voq {
            packets: Ring::default(),
            returned: Ring::default(),
            bytes: 0,
            limit,
            stats: VoqStats::default(),
        }
    }
    /// Puts a packet that arrived at `now` at the end. Returns whether there was room.
    #[inline]
    pub fn push(&mut self, packet: Packet, now: Time) -> bool {
        self.stats.arrived += 1;
        self.stats.carries_data |= packet.len > DATA;
        if self.packets.len() >= self.limit as usize {
            self.stats.refused += 1;
            return false;
        }
        self.bytes += u64::from(packet.len);
        self.packets.push((packet, now));
        self.stats.longest = self.stats.longest.max(self.packets.len() as u32);
        true
    }
    /// Puts a packet that the packet switch returned behind other returned ones and before all others. Returns
    /// whether there was room.
    pub fn take_back(&mut self, packet: Packet, now: Time) -> bool {
        if self.returned.len() >= RETURNED {
            self.stats.refused += 1;
            return false;
        }
        self.bytes += u64::from(packet.len);
        self.returned.push((packet, now));
        true
    }
    /// Takes the first packet at `now`. Returns it and how long it has waited.
    #[inline(always)]
    pub fn pop(&mut self, now: Time) -> Option<(&Packet, Time)> {
        let first = if self.returned.is_empty() { &mut self.packets } else { &mut self.returned };
        let (packet, came) = first.pop()?;
        self.bytes -= u64::from(packet.len);
        let waited = now.since(*came);
        self.stats.left += 1;
        self.stats.waited += waited.as_ps();
        Some((packet, waited))
    }
    /// The first packet.
    #[inline]
    pub fn first(&self) -> Option<&Packet> {
        self.returned.first().or(self.packets.first()).map(|(packet, _)| packet)
    }
    /// From now on there is room for `limit` packets. Packets beyond it stay until they leave.
    pub fn resize(&mut self, limit: u32) {
        self.stats.resizes += u64::from(self.limit != limit);
        self.limit = limit;
    }
    /// Removes the last packet if there are more than the limit.
    pub fn shed(&mut self) -> Option<Packet> {
        if self.packets.len() <= self.limit as usize {
            return None;
        }
        let (last, _) = *self.packets.pop_last()?;
        self.bytes -= u64::from(last.len);
        self.stats.shed += 1;
        Some(last)
    }
    /// The number of packets that wait.
    #[inline]
    pub fn len(&self) -> usize {
        self.packets.len() + self.returned.len()
    }
    /// Whether no packet waits.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// The number of bytes that wait.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn returned_packets_leave_first() {
        let (mut voq, now) = (Voq::new(2), Time::ZERO);
        let packet = |seq| Packet { seq, len: 100, ..Packet::default() };
        assert_eq!([1, 2, 3].map(|seq| voq.push(packet(seq), now)), [true, true, false]);
        let back = [4, 5, 6, 7, 8, 9].map(|seq| voq.take_back(packet(seq), now));
        assert_eq!(
            back,
            [true, true, true, true, true, false],
            "in addition to the others, but at most five"
        );
        assert_eq!((voq.len(), voq.bytes()), (7, 700));
        let first = voq.first().map(|packet| packet.seq);
        let order: Vec<u32> = std::iter::from_fn(|| voq.pop(now).map(|(p, _)| p.seq)).collect();
        assert_eq!((first, order), (Some(4), vec![4, 5, 6, 7, 8, 1, 2]));
        assert!(voq.is_empty() && voq.bytes() == 0);
    }

    proptest! {
        /// However the size changes, packets leave in the order in which they arrived, and each packet
        /// has left, waits, was refused or was shed.
        #[test]
        fn resizing_never_reorders(steps in prop::collection::vec((0u8..5, 1u32..20), 0..300)) {
            let mut voq = Voq::new(8);
            let (mut last, mut left, mut came) = (None, 0u64, 0u64);
            for (seq, (action, amount)) in steps.into_iter().enumerate() {
                match action {
                    0..=2 => {
                        let packet = Packet { seq: seq as u32, len: 100, ..Packet::default() };
                        voq.push(packet, Time::us(seq as u64));
                        came += 1;
                    }
                    3 => if let Some((packet, waited)) = voq.pop(Time::us(seq as u64)) {
                        prop_assert!(last < Some(packet.seq));
                        prop_assert_eq!(waited, Time::us(seq as u64 - u64::from(packet.seq)));
                        last = Some(packet.seq);
                        left += 1;
                    },
                    _ => {
                        voq.resize(amount);
                        if amount % 2 == 0 {
                            while voq.shed().is_some() {}
                            prop_assert!(voq.len() <= amount as usize);
                        }
                    }
                }
                prop_assert_eq!(voq.bytes(), 100 * voq.len() as u64);
                let gone = left + voq.stats.refused + voq.stats.shed;
                prop_assert_eq!((voq.stats.arrived, came), (came, gone + voq.len() as u64));
            }
        }
    }
}
