//! The packets of a port that are in the calendar, and whose departures are not reported to their switch yet.

use slotline_net::node::egress::Leaving;
use slotline_net::time::Time;

/// A packet in the calendar.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Ahead {
    /// When its first bit leaves, ps. One less if it did not wait: at the time of its arrival, it is not here any more.
    pub start: u64,
    /// Its place in the calendar.
    pub position: u32,
    pub leaving: Leaving,
}

/// Packets that have begun to leave.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Started {
    pub packets: u32,
    pub bytes: u64,
    /// The bytes of the longest.
    pub longest: u16,
}

impl Started {
    #[inline(always)]
    pub fn add(&mut self, len: u16) {
        self.packets += 1;
        self.bytes += u64::from(len);
        self.longest = self.longest.max(len);
    }
}

/// The number of places of a queue that has been used. The fewer there are, the more often departures have to be reported.
const LEAST: usize = 16;

/// The packets of a port, in the order in which they start. Their memory is a ring whose length is a power of two.
#[derive(Clone, Default, Debug)]
pub(crate) struct AheadQueue {
    ring: Box<[Ahead]>,
    first: u32,
    len: u32,
}

impl AheadQueue {
    /// The place in the ring that is so many places after the first.
    #[inline(always)]
    fn place(&self, after: u32) -> usize {
        (self.first.wrapping_add(after) as usize) & self.ring.len().wrapping_sub(1)
    }

    #[inline]
    pub fn front(&self) -> Option<&Ahead> {
        if self.len == 0 { None } else { self.ring.get(self.place(0)) }
    }

    /// Adds a packet, if there is room without more memory. Returns whether there was.
    #[inline(always)]
    pub fn push(&mut self, ahead: &Ahead) -> bool {
        let place = self.place(self.len);
        let has_room = (self.len as usize) < self.ring.len();
        if has_room && let Some(slot) = self.ring.get_mut(place) {
            // Field by field: a copy of the whole would wait until all of them are in memory.
            slot.start = ahead.start;
            slot.position = ahead.position;
            let Leaving { len, class, ect, from, since } = ahead.leaving;
            slot.leaving = Leaving { len, class, ect, from, since };
            self.len += 1;
            return true;
        }
        false
    }

    /// Adds a packet, with more memory if there is no room.
    #[inline]
    pub fn push_with_memory(&mut self, ahead: &Ahead) {
        if !self.push(ahead) {
            self.grow();
            self.push(ahead);
        }
    }

    /// Makes room for as many packets again.
    #[cold]
    fn grow(&mut self) {
        let mut ring: Vec<Ahead> = self.iter().copied().collect();
        ring.resize((2 * self.ring.len()).max(LEAST), Ahead::default());
        (self.ring, self.first) = (ring.into(), 0);
    }

    /// All packets.
    #[inline]
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Ahead> {
        (0..self.len).filter_map(|after| self.ring.get(self.place(after)))
    }

    /// Bytes behind the n-th packet that had arrived by `until`, counted up to the first packet above `enough`.
    pub fn behind(&self, nth: u32, until: Time, enough: u64) -> u64 {
        let packets = (nth + 1..self.len).filter_map(|after| self.ring.get(self.place(after)));
        let mut bytes = 0;
        for ahead in packets.take_while(|ahead| ahead.leaving.since <= until) {
            bytes += u64::from(ahead.leaving.len);
            if bytes > enough {
                break;
            }
        }
        bytes
    }

    /// The packets that start before `until`.
    #[inline]
    pub fn started(&self, until: u64) -> impl Iterator<Item = &Ahead> {
        self.iter().take_while(move |ahead| ahead.start < until)
    }

    pub fn clear(&mut self) {
        self.len = 0;
    }

    /// Removes the first `count` packets.
    #[inline]
    pub fn remove(&mut self, count: u32) {
        self.first = self.place(count) as u32;
        self.len -= count;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    proptest! {
        /// Compared with a sum over all packets, up to the limit.
        #[test]
        fn what_is_behind_has_arrived(
            lens in prop::collection::vec(1u16..2_000, 1..60),
            (gone, nth, until, enough) in (0u32..20, 0u32..60, 0u64..80, 0u64..9_000),
        ) {
            let mut queue = AheadQueue::default();
            for (since, len) in (0..).zip(&lens) {
                let leaving = Leaving { len: *len, since: Time::ps(since), ..Leaving::default() };
                queue.push_with_memory(&Ahead { leaving, ..Ahead::default() });
            }
            let gone = gone.min(lens.len() as u32 - 1);
            queue.remove(gone);
            let later = (0u64..).zip(&lens).skip((gone + nth) as usize + 1);
            let all: u64 = later.filter(|(since, _)| *since <= until).map(|(_, len)| u64::from(*len)).sum();
            let found = queue.behind(nth, Time::ps(until), enough);
            prop_assert!(found == all || (found > enough && found < all), "{} {}", found, all);
        }

        /// Compared with a queue of the standard library.
        #[test]
        fn packets_leave_in_order(steps in prop::collection::vec((0u8..4, 0u32..6), 0..200)) {
            let (mut queue, mut reference) = (AheadQueue::default(), VecDeque::new());
            for (start, (action, count)) in (0..).zip(steps) {
                if action > 0 {
                    let ahead = Ahead { start, ..Ahead::default() };
                    queue.push_with_memory(&ahead);
                    reference.push_back(start);
                } else {
                    let count = count.min(reference.len() as u32);
                    let until = reference.get(count as usize).copied().unwrap_or(u64::MAX);
                    prop_assert_eq!(queue.started(until).count(), count as usize);
                    queue.remove(count);
                    reference.drain(..count as usize);
                }
                prop_assert_eq!(queue.front().map(|ahead| ahead.start), reference.front().copied());
                prop_assert!(queue.iter().map(|ahead| ahead.start).eq(reference.iter().copied()));
            }
        }
    }
}
