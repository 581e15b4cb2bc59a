//! One queue per destination, each found and served in constant time (§5.3.2).

use slotline_net::frame::Packet;
use slotline_net::id::HostId;
use slotline_net::time::Time;
use std::collections::VecDeque;

#[derive(Default)]
struct Queue {
    dst: HostId,
    packets: VecDeque<Packet>,
    /// Bytes in `packets`.
    bytes: u64,
    /// The packets of short flows. They leave before the others, in a slot or without one.
    shorts: VecDeque<Packet>,
    /// Bytes in `shorts`.
    short: u64,
    /// The bytes of short flows in the present span, which ends at `renewal`.
    spent: u64,
    renewal: Time,
}

/// The queues of one host. A destination gets its queue with its first packet.
#[derive(Default)]
pub(super) struct Queues {
    /// By destination, the index into `queues` plus one; zero if there is no queue yet.
    places: Vec<u32>,
    queues: Vec<Queue>,
    /// Indices into `queues` in the order in which packets of short flows arrived. Some packets may have left in a slot
    /// since.
    order: VecDeque<u32>,
    shorts: u64,
    packets: u64,
    /// The queue from which the search for a packet without a slot begins.
    turn: usize,
}

impl Queues {
    fn get(&self, dst: HostId) -> Option<&Queue> {
        let place = self.places.get(dst.at()).copied().unwrap_or(0);
        self.queues.get((place as usize).wrapping_sub(1))
    }
    fn make(&mut self, dst: HostId) -> &mut Queue {
        if self.places.len() <= dst.at() {
            self.places.resize(dst.at() + 1, 0);
        }
        let place = &mut self.places[dst.at()];
        if *place == 0 {
            self.queues.push(Queue { dst, ..Queue::default() });
            *place = self.queues.len() as u32;
        }
        &mut self.queues[*place as usize - 1]
    }
    /// The number of waiting packets, including those of short flows.
    pub fn held(&self) -> u64 {
        self.packets + self.shorts
    }
    /// Whether packets wait for slots.
    pub fn any(&self) -> bool {
        self.packets > 0
    }
    /// The bytes that wait for `dst`, including those of short flows.
    pub fn bytes(&self, dst: HostId) -> u64 {
        self.get(dst).map_or(0, |queue| queue.bytes + queue.short)
    }
    /// The bytes that wait for slots, by destination.
    pub fn waiting(&self) -> impl Iterator<Item = (HostId, u64)> {
        let full = self.queues.iter().filter(|queue| queue.bytes > 0);
        full.map(|queue| (queue.dst, queue.bytes))
    }
    /// The length of the next packet for `dst`.
    pub fn next_len(&self, dst: HostId) -> Option<u16> {
        let queue = self.get(dst)?;
        queue.shorts.front().or(queue.packets.front()).map(|packet| packet.len)
    }
    /// Queues a packet that needs a slot.
    pub fn push(&mut self, packet: Packet) {
        let queue = self.make(packet.dst);
        queue.bytes += u64::from(packet.len);
        queue.packets.push_back(packet);
        self.packets += 1;
    }
    /// Takes the next packet for `dst`. Those of short flows are first, so that no packet overtakes another.
    pub fn pop(&mut self, dst: HostId) -> Option<Packet> {
        let place = self.places.get(dst.at()).copied().unwrap_or(0).checked_sub(1)?;
        self.take_short(place).or_else(|| self.take(place))
    }
    fn take(&mut self, place: u32) -> Option<Packet> {
        let queue = &mut self.queues[place as usize];
        let packet = queue.packets.pop_front()?;
        queue.bytes -= u64::from(packet.len);
        self.packets -= 1;
        Some(packet)
    }
    fn take_short(&mut self, place: u32) -> Option<Packet> {
        let queue = &mut self.queues[place as usize];
        let packet = queue.shorts.pop_front()?;
        queue.short -= u64::from(packet.len);
        self.shorts -= 1;
        Some(packet)
    }
    /// Takes a packet without a slot. Destinations take turns.
    pub fn pop_any(&mut self) -> Option<Packet> {
        if self.packets == 0 {
            return None;
        }
        let count = self.queues.len();
        let full = |at: &usize| !self.queues[at % count].packets.is_empty();
        let at = (self.turn..self.turn + count).find(full)? % count;
        self.turn = at + 1;
        self.pop(self.queues[at].dst)
    }
    /// Whether `packet` is part of a short flow: it is among the first `most` bytes within `span`, and no packet waits
    /// before it.
    pub fn is_short(&mut self, packet: &Packet, now: Time, span: Time, most: u64) -> bool {
        let queue = self.make(packet.dst);
        if now >= queue.renewal {
            (queue.spent, queue.renewal) = (0, now.after(span));
        }
        let spent = queue.spent + u64::from(packet.len);
        let short = spent <= most && queue.packets.is_empty();
        if short {
            queue.spent = spent;
        }
        short
    }
    /// Queues a packet of a short flow.
    pub fn push_short(&mut self, packet: Packet) {
        let queue = self.make(packet.dst);
        queue.short += u64::from(packet.len);
        queue.shorts.push_back(packet);
        self.order.push_back(self.places[packet.dst.at()] - 1);
        self.shorts += 1;
    }
    /// Whether packets of short flows wait.
    pub fn has_short(&self) -> bool {
        self.shorts > 0
    }
    /// Takes the next packet of a short flow.
    pub fn pop_short(&mut self) -> Option<Packet> {
        while let Some(place) = self.order.pop_front() {
            let packet = self.take_short(place);
            if packet.is_some() {
                return packet;
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn queues_are_like_a_list_of_packets(steps in prop::collection::vec((0u8..5, 0u32..6), 1..200)) {
            let mut queues = Queues::default();
            let (mut list, mut short): (Vec<Packet>, Vec<Packet>) = Default::default();
            let mut order: VecDeque<u32> = VecDeque::new();
            let take = |list: &mut Vec<Packet>, dst: u32| {
                list.iter().position(|other| other.dst.0 == dst).map(|at| list.remove(at))
            };
            for (seq, (step, dst)) in (0..).zip(steps) {
                let packet = Packet { dst: HostId(dst), seq, len: 100 + dst as u16, ..Packet::default() };
                match step {
                    0 | 1 => {
                        queues.push(packet);
                        list.push(packet);
                    }
                    2 => {
                        let first = take(&mut short, dst).or_else(|| take(&mut list, dst));
                        prop_assert_eq!(queues.pop(packet.dst), first);
                    }
                    3 => {
                        queues.push_short(packet);
                        short.push(packet);
                        order.push_back(dst);
                    }
                    _ => {
                        let mut expected = None;
                        while expected.is_none() && let Some(dst) = order.pop_front() {
                            expected = take(&mut short, dst);
                        }
                        prop_assert_eq!(queues.pop_short(), expected);
                    }
                }
                prop_assert_eq!(queues.held() as usize, list.len() + short.len());
                let of = |list: &[Packet]| -> u64 {
                    list.iter().filter(|p| p.dst == packet.dst).map(|p| u64::from(p.len)).sum()
                };
                prop_assert_eq!(queues.bytes(packet.dst), of(&list) + of(&short));
                let waiting = queues.waiting().find(|(host, _)| *host == packet.dst);
                prop_assert_eq!(waiting.map_or(0, |(_, bytes)| bytes), of(&list));
            }
            while queues.pop_short().is_some() {}
            let mut left: Vec<u32> = std::iter::from_fn(|| queues.pop_any()).map(|p| p.seq).collect();
            left.sort_unstable();
            prop_assert_eq!(left, list.iter().map(|p| p.seq).collect::<Vec<_>>());
        }
    }
}
