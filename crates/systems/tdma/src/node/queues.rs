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
    /// Packets of short flows, which are before the others, whether they leave by slot or not.
    shorts: VecDeque<Packet>,
    /// Bytes in `shorts`.
    short: u64,
    /// What was short since the last renewal, which ends at `renewal`.
    spent: u64,
    renewal: Time,
}

/// The queues of one host. A destination gets its queue with its first packet.
#[derive(Default)]
pub(super) struct Queues {
    /// Index into `queues` plus one, by destination; zero: none yet.
    places: Vec<u32>,
    queues: Vec<Queue>,
    /// Places of `queues` in the order in which short flows' packets came. Some of these may have left by
    /// slot since.
    order: VecDeque<u32>,
    shorts: u64,
    packets: u64,
    /// Where packets that need no slots are looked for first.
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
    /// Packets that wait, short flows' included.
    pub fn held(&self) -> u64 {
        self.packets + self.shorts
    }
    /// Whether packets wait for slots.
    pub fn any(&self) -> bool {
        self.packets > 0
    }
    /// Bytes that wait for `dst`, whether in need of a slot or not.
    pub fn bytes(&self, dst: HostId) -> u64 {
        self.get(dst).map_or(0, |queue| queue.bytes + queue.short)
    }
    /// Bytes that wait for slots, by destination.
    pub fn waiting(&self) -> impl Iterator<Item = (HostId, u64)> {
        let full = self.queues.iter().filter(|queue| queue.bytes > 0);
        full.map(|queue| (queue.dst, queue.bytes))
    }
    /// Length of the next packet for `dst`.
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
    /// Takes the next packet for `dst`: short flows' first, so that none overtakes another.
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
    /// Takes a packet without any slot; destinations take turns.
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
    /// Whether `packet` is part of a short flow: of the first `most` bytes within `span`, with none
    /// waiting before it.
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
    /// Queues a short flow's packet.
    pub fn push_short(&mut self, packet: Packet) {
        let queue = self.make(packet.dst);
        queue.short += u64::from(packet.len);
        queue.shorts.push_back(packet);
        self.order.push_back(self.places[packet.dst.at()] - 1);
        self.shorts += 1;
    }
    /// Whether short flows' packets wait.
    pub fn has_short(&self) -> bool {
        self.shorts > 0
    }
    /// Takes the next short flow's packet.
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
