//! The bytes of each flow in the virtual queues of one bump, so that the flow with most bytes can be notified.

use crate::frame::Packet;
use crate::id::PortId;
use crate::time::Time;
use std::collections::VecDeque;

/// The packets in the virtual queues. No packet waits here: each is only recorded until it would have left.
#[derive(Clone, Debug)]
pub(super) struct Shares {
    /// By port: the packets, each with the time at which it would have left.
    queues: Vec<VecDeque<(Time, Packet)>>,
}

impl Shares {
    pub fn new(ports: usize) -> Shares {
        Shares { queues: vec![VecDeque::new(); ports] }
    }

    /// A packet has joined the virtual queue of `port`, as its last one, and would leave at `leaves`.
    pub fn add(&mut self, port: PortId, leaves: Time, packet: Packet) {
        self.queues[port.at()].push_back((leaves, packet));
    }

    /// The latest packet of the flow with most bytes in the virtual queue of `port`. Among several such flows it is the
    /// one with the lowest number. `None` if the queue is empty.
    pub fn largest(&mut self, port: PortId, now: Time) -> Option<Packet> {
        let queue = &mut self.queues[port.at()];
        while queue.pop_front_if(|(leaves, _)| *leaves <= now).is_some() {}
        let mut flows: Vec<(u32, u64)> = Vec::new();
        for (_, packet) in queue.iter() {
            let len = u64::from(packet.len);
            match flows.iter_mut().find(|(flow, _)| *flow == packet.flow) {
                Some((_, bytes)) => *bytes += len,
                None => flows.push((packet.flow, len)),
            }
        }
        let (flow, _) = flows.into_iter().max_by_key(|(flow, bytes)| (*bytes, !flow))?;
        queue.iter().rev().map(|(_, packet)| *packet).find(|packet| packet.flow == flow)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_flow_with_most_bytes_that_are_still_there() {
        let mut shares = Shares::new(2);
        let packet = |flow, len, seq| Packet { flow, len, seq, ..Packet::default() };
        for (at, one) in
            [packet(7, 1_500, 0), packet(3, 800, 1), packet(3, 600, 2), packet(9, 50, 3)]
                .into_iter()
                .enumerate()
        {
            shares.add(PortId(1), Time::us(10 * (at as u64 + 1)), one);
        }
        let mut largest = |now| shares.largest(PortId(1), Time::us(now)).map(|p| (p.flow, p.seq));
        assert_eq!(largest(9), Some((7, 0)));
        assert_eq!(largest(10), Some((3, 2)));
        assert_eq!(largest(29), Some((3, 2)));
        assert_eq!(largest(39), Some((9, 3)));
        assert_eq!(largest(40), None);
        assert_eq!(shares.largest(PortId(0), Time::ZERO), None);
    }
}
