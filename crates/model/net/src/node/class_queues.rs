//! Eight FIFOs under strict priority, each of which can be paused.

use super::pool::Pool;
use crate::frame::{CLASSES, Kind, Packet};
use std::hint::select_unpredictable;

/// The packets waiting for one port of a switch or of a host's network card, as places in a [`Pool`]. Each method gets
/// the same pool. For a switch, the items of the pool also name the port of arrival. Class 7 goes first; a paused class
/// waits.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct ClassQueues {
    /// Classes with waiting packets, as a bit mask.
    waiting: u8,
    paused: u8,
    by_class: bool,
    queues: [Queue; CLASSES],
}

/// The packets of one class. The places are valid while there are packets.
#[derive(Clone, Copy, Default, Debug)]
struct Queue {
    bytes: u64,
    first: u32,
    last: u32,
}

impl AsRef<Packet> for Packet {
    fn as_ref(&self) -> &Packet {
        self
    }
}

impl ClassQueues {
    /// One queue per class.
    pub fn strict() -> ClassQueues {
        let queues = [Queue::default(); CLASSES];
        ClassQueues { waiting: 0, paused: 0, by_class: true, queues }
    }

    /// A single FIFO, queue 0, for packets of all classes.
    pub fn fifo() -> ClassQueues {
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
        if self.by_class { usize::from(class) & (CLASSES - 1) } else { 0 }
    }

    /// Puts a packet at the end of its queue.
    #[inline]
    pub fn push<T: AsRef<Packet>>(&mut self, item: T, pool: &mut Pool<T>) {
        let (queue, len) = (self.queue_of(item.as_ref()), item.as_ref().len);
        let place = pool.keep(item);
        let is_first = self.waiting >> queue & 1 == 0;
        let Queue { bytes, first, last } = &mut self.queues[queue];
        // Whether it is the first cannot be predicted. What follows the last one is not read, so it may follow itself.
        pool.link(select_unpredictable(is_first, place, *last), place);
        *first = select_unpredictable(is_first, place, *first);
        *last = place;
        *bytes += u64::from(len);
        self.waiting |= 1 << queue;
    }

    /// Puts a packet at the beginning of its queue.
    pub fn push_first<T: AsRef<Packet>>(&mut self, item: T, pool: &mut Pool<T>) {
        let (at, len) = (self.queue_of(item.as_ref()), item.as_ref().len);
        let place = pool.keep(item);
        let is_only = self.waiting >> at & 1 == 0;
        let queue = &mut self.queues[at];
        if is_only {
            queue.last = place;
        } else {
            pool.link(place, queue.first);
        }
        queue.first = place;
        queue.bytes += u64::from(len);
        self.waiting |= 1 << at;
    }

    /// Takes the first packet of the highest class that has one and is not paused.
    #[inline]
    pub fn pop<'a, T: AsRef<Packet>>(&mut self, pool: &'a mut Pool<T>) -> Option<&'a T> {
        let at = (self.waiting & !self.paused).checked_ilog2()? as usize;
        let queue = &mut self.queues[at];
        let (item, next) = pool.release(queue.first);
        queue.bytes -= u64::from(item.as_ref().len);
        let is_last = queue.first == queue.last;
        queue.first = next;
        self.waiting &= !(u8::from(is_last) << at);
        Some(item)
    }

    /// Requests the packet that leaves next, if no class is paused.
    #[inline(always)]
    pub fn expect<T>(&self, pool: &Pool<T>) {
        let highest = self.waiting.checked_ilog2().unwrap_or(0);
        pool.expect(self.queues[highest as usize].first);
    }

    /// Takes the first packet of a class, if it has one and is not paused.
    pub fn pop_class<'a, T>(&mut self, class: u8, pool: &'a mut Pool<T>) -> Option<&'a T>
    where
        T: AsRef<Packet>,
    {
        let others = self.paused | !(1 << class);
        let before = std::mem::replace(&mut self.paused, others);
        let item = self.pop(pool);
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
    pub fn iter<'a, T>(&self, pool: &'a Pool<T>) -> impl Iterator<Item = &'a T> {
        let waiting = self.waiting;
        let queues = self.queues.into_iter().enumerate();
        let filled = queues.filter(move |(at, _)| waiting >> at & 1 == 1);
        filled.flat_map(|(_, queue)| pool.from_to(queue.first, queue.last))
    }

    /// Bytes in one queue.
    #[inline]
    pub fn bytes_of(&self, queue: usize) -> u64 {
        self.queues[queue].bytes
    }

    /// Bytes in all queues.
    pub fn bytes(&self) -> u64 {
        self.queues.iter().map(|queue| queue.bytes).sum()
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
            steps in prop::collection::vec((0u8..5, 0u8..8), 0..200)
        ) {
            let (mut queues, mut pool) = (ClassQueues::strict(), Pool::default());
            let mut reference: Vec<Packet> = Vec::new();
            let mut paused = 0u8;
            for (seq, (action, class)) in steps.into_iter().enumerate() {
                match action {
                    0 | 1 => {
                        queues.push(packet(class, seq as u32), &mut pool);
                        reference.push(packet(class, seq as u32));
                    }
                    3 => {
                        queues.push_first(packet(class, seq as u32), &mut pool);
                        reference.insert(0, packet(class, seq as u32));
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
                        prop_assert_eq!(queues.pop(&mut pool).copied(), first.map(|at| reference.remove(at)));
                    }
                }
                prop_assert_eq!(queues.iter(&pool).count(), reference.len());
                prop_assert_eq!(pool.held(), reference.len() as u64);
                prop_assert_eq!(queues.bytes(), 100 * reference.len() as u64);
            }
        }
    }

    #[test]
    fn a_fifo_ignores_classes() {
        let (mut queues, mut pool) = (ClassQueues::fifo(), Pool::default());
        for (seq, class) in [3, 7, 0].into_iter().enumerate() {
            queues.push(packet(class, seq as u32), &mut pool);
        }
        let order: Vec<u32> =
            std::iter::from_fn(|| queues.pop(&mut pool).copied()).map(|p| p.seq).collect();
        assert_eq!(order, [0, 1, 2]);
    }
}
