//! Packets that wait in a shaper of their own, in front of a card that asks for them.

use super::shaper::Shaper;
use crate::frame::Packet;
use crate::time::Time;
use crate::units::InverseRate;
use std::collections::VecDeque;

/// Packets that arrived at the same time, and leave together.
struct Burst {
    arrived: Time,
    due: Time,
    packets: u32,
}

/// A shaper and the packets that wait in it.
pub(in crate::node) struct Shaped {
    shaper: Shaper,
    packets: VecDeque<Packet>,
    bursts: VecDeque<Burst>,
}

impl Shaped {
    pub fn new(pace: InverseRate) -> Shaped {
        let (packets, bursts) = (VecDeque::new(), VecDeque::new());
        Shaped { shaper: Shaper::new(pace), packets, bursts }
    }

    /// Takes a packet.
    pub fn put(&mut self, packet: Packet, now: Time) {
        let due = now.after(self.shaper.hold(packet.len, now));
        self.packets.push_back(packet);
        match self.bursts.back_mut().filter(|burst| burst.arrived == now) {
            Some(burst) => (burst.due, burst.packets) = (due, burst.packets + 1),
            None => self.bursts.push_back(Burst { arrived: now, due, packets: 1 }),
        }
    }

    /// When the next packet leaves, unless another one comes at the same time.
    pub fn due(&self) -> Option<Time> {
        self.bursts.front().map(|burst| burst.due)
    }

    /// Takes the next packet that leaves by `now`.
    pub fn next(&mut self, now: Time) -> Option<Packet> {
        let burst = self.bursts.front_mut().filter(|burst| burst.due <= now)?;
        burst.packets -= 1;
        if burst.packets == 0 {
            self.bursts.pop_front();
        }
        self.packets.pop_front()
    }

    /// The number of waiting packets.
    pub fn held(&self) -> u64 {
        self.packets.len() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Rate;

    #[test]
    fn packets_of_a_burst_leave_together() {
        let mut shaped = Shaped::new(Rate(10_000_000_000).inverse_rate());
        let packet = |seq| Packet { seq, len: 1_250, ..Packet::default() };
        shaped.put(packet(1), Time::us(5));
        shaped.put(packet(2), Time::us(5));
        shaped.put(packet(3), Time::us(6));
        assert_eq!((shaped.due(), shaped.held()), (Some(Time::us(7)), 3));
        assert!(shaped.next(Time::us(6)).is_none());
        let mut at = |us| {
            let taken = std::iter::from_fn(|| shaped.next(Time::us(us)));
            taken.map(|packet| packet.seq).collect::<Vec<_>>()
        };
        assert_eq!((at(7), at(7), at(8), at(9)), (vec![1, 2], vec![], vec![3], vec![]));
        assert_eq!((shaped.due(), shaped.held()), (None, 0));
    }
}
