//! Eight FIFOs under strict priority, each of which can be paused.

use crate::frame::{CLASSES, Kind, Packet};
use std::collections::VecDeque;

/// The packets waiting for one port of a switch or of a host's network card. For a switch, `T` also names the port of
/// arrival. Class 7 goes first; a paused class waits.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct ClassQueues<T = Packet> {
    /// Classes with waiting packets, as a bit mask.
    waiting: u8,
    paused: u8,
    by_class: bool,
    bytes: [u64; CLASSES],
    fifos: [VecDeque<T>; CLASSES],
}

impl AsRef<Packet> for Packet {
    fn as_ref(&self) -> &Packet {
        self
    }
}

impl<T: AsRef<Packet>> ClassQueues<T> {
    /// One queue per class.
    pub fn strict() -> ClassQueues<T> {
        ClassQueues {
            fifos: [const { VecDeque::new() }; CLASSES],
            bytes: [0; CLASSES],
            waiting: 0,
            paused: 0,
            by_class: true,
        }
    }

    /// A single FIFO, queue 0, for packets of all classes.
    pub fn fifo() -> ClassQueues<T> {
        ClassQueues { by_class: false, ..ClassQueues::strict() }
    }

    /// The queue that `packet` belongs to.
    #[inline]
    pub fn queue_of(&self, packet: &Packet) -> usize {
        self.queue_of_class(packet.class)
    }

    /// The queue of the packets of a class.
    #[inline]
    pub fn queue_of_class(&self, class: u8) -> usize {
        if self.by_class { usize::from(class) } else { 0 }
    }

    /// Puts a packet at the end of its queue.
    pub fn push(&mut self, item: T) {
        let queue = self.queue_of(item.as_ref());
        self.bytes[queue] += u64::from(item.as_ref().len);
        self.waiting |= 1 << queue;
        self.fifos[queue].push_back(item);
    }

    /// Takes the first packet of the highest class that has one and is not paused.
    pub fn pop(&mut self) -> Option<T> {
        let queue = (self.waiting & !self.paused).checked_ilog2()? as usize;
        let item = self.fifos[queue].pop_front()?;
        self.bytes[queue] -= u64::from(item.as_ref().len);
        if self.fifos[queue].is_empty() {
            self.waiting &= !(1 << queue);
        }
        Some(item)
    }

    /// Takes the first packet of a class, if it has one and is not paused.
    pub fn pop_class(&mut self, class: u8) -> Option<T> {
        let others = self.paused | !(1 << class);
        let before = std::mem::replace(&mut self.paused, others);
        let item = self.pop();
        self.paused = before;
        item
    }

    /// Whether no packet waits.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.waiting == 0
    }

    /// Whether `queue` is stopped.
    #[inline]
    pub fn is_paused(&self, queue: usize) -> bool {
        self.paused >> queue & 1 == 1
    }

    /// Stops the queues in `mask` until [`ClassQueues::resume`].
    pub fn pause(&mut self, mask: u8) {
        self.paused |= mask;
    }

    /// Lets the queues in `mask` send again.
    pub fn resume(&mut self, mask: u8) {
        self.paused &= !mask;
    }

    /// Carries out a pause frame. Other packets have no effect.
    pub fn obey(&mut self, frame: &Packet) {
        if frame.kind == Kind::Pause {
            self.pause(frame.seq as u8);
            self.resume((frame.seq >> 8) as u8);
        }
    }

    /// All packets, in order within each queue.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.fifos.iter().flatten()
    }

    /// Bytes in one queue.
    pub fn bytes_of(&self, queue: usize) -> u64 {
        self.bytes[queue]
    }

    /// Bytes in all queues.
    pub fn bytes(&self) -> u64 {
        self.bytes.iter().sum()
    }

    /// Packets in all queues.
    pub fn packets(&self) -> u64 {
        self.fifos.iter().map(|fifo| fifo.len() as u64).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn packet(class: u8, seq: u32) -> Packet {
        Packet { class, seq, len: 100, ..Packet::default() }
    }

    proptest! {
        /// Compared with a simple reference: the first packet of the highest class that is not paused.
        #[test]
        fn strict_priority_and_fifo_within_a_class(
            steps in prop::collection::vec((0u8..4, 0u8..8), 0..200)
        ) {
            let mut queues = ClassQueues::strict();
            let mut reference: Vec<Packet> = Vec::new();
            let mut paused = 0u8;
            for (seq, (action, class)) in steps.into_iter().enumerate() {
                match action {
                    0 | 1 => {
                        queues.push(packet(class, seq as u32));
                        reference.push(packet(class, seq as u32));
                    }
                    2 => {
                        let (stop, go) = (1u8 << class, 1u8 << (7 - class));
                        let seq = u32::from(stop) | u32::from(go) << 8;
                        queues.obey(&Packet { seq, kind: Kind::Pause, ..Packet::default() });
                        paused = (paused | stop) & !go;
                    }
                    _ => {
                        let first = (0..8u8).rev().filter(|c| paused >> c & 1 == 0).find_map(|c| {
                            reference.iter().position(|p| p.class == c)
                        });
                        prop_assert_eq!(queues.pop(), first.map(|at| reference.remove(at)));
                    }
                }
                prop_assert_eq!(queues.packets(), reference.len() as u64);
                prop_assert_eq!(queues.bytes(), 100 * reference.len() as u64);
            }
        }
    }

    #[test]
    fn a_fifo_ignores_classes() {
        let mut queues = ClassQueues::fifo();
        for (seq, class) in [3, 7, 0].into_iter().enumerate() {
            queues.push(packet(class, seq as u32));
        }
        let order: Vec<u32> = std::iter::from_fn(|| queues.pop()).map(|p| p.seq).collect();
        assert_eq!(order, [0, 1, 2]);
    }
}
