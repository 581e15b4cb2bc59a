//! Pending events, bucketed by time window.
//!
//! A window is shorter than the least time in which one node can affect another (the *lookahead*),
//! so all events of a window are known when it begins, except those that a node schedules for itself.
//! Events of near windows are stored in chunks of one slab, which are reused last-in first-out to stay
//! in the cache. Events far ahead (mostly time-outs) are stored in an ordered map until they are near.

use slotline_net::frame::Packet;
use std::collections::BTreeMap;
use std::iter::Rev;
use std::ops::Range;

/// An event: a packet arrives at a port, or (if `to` is a node's own slot) an event of that node is due.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub(crate) struct Entry {
    /// The time, in picoseconds.
    pub time: u64,
    /// The place: the port index over all nodes in the low 24 bits, and the link epoch in the high 8.
    pub to: u32,
    /// The packet that arrives. For a node's own events, `flow` is the code and `seq` the token.
    pub packet: Packet,
}

const CHUNK_BITS: u32 = 5;
const CHUNK: usize = 1 << CHUNK_BITS;
const RING_BITS: u32 = 10;
const RING: usize = 1 << RING_BITS;
/// The number of windows, with the present one, whose events keep their positions until they are taken.
pub(crate) const NEAR: u64 = RING as u64;
const NONE: u32 = u32::MAX;
const FAR: usize = usize::MAX;

#[derive(Clone, Copy)]
struct Bucket {
    /// The chunk being filled. Each chunk is linked to the one before.
    last: u32,
    len: u32,
}

/// The division of time into windows. No window is longer than the lookahead.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Windows {
    length: u64,
    /// 2⁶⁴ divided by the length of a window, rounded up. A multiplication by it replaces a division.
    per_ps: u64,
    /// By how much the product of both exceeds 2⁶⁴.
    excess: u64,
}

impl Windows {
    /// Windows of at most `length` picoseconds.
    pub fn new(length: u64) -> Windows {
        let length = length.max(2);
        let per_ps = u64::MAX / length + 1;
        Windows { length, per_ps, excess: length.wrapping_mul(per_ps) }
    }
    /// The window that contains `time`.
    #[inline]
    pub fn of(self, time: u64) -> u64 {
        ((u128::from(time) * u128::from(self.per_ps)) >> 64) as u64
    }
    /// The first instant of `window`. Early windows have the full length, and so have nearly all later ones, so that a
    /// division is hardly ever needed.
    #[inline]
    pub fn start(self, window: u64) -> u64 {
        let early = u128::from(window) * u128::from(self.excess);
        let early = match early < u128::from(self.per_ps) {
            true => 0,
            false => early / u128::from(self.per_ps),
        };
        (u128::from(window) * u128::from(self.length) - early) as u64
    }
}

pub(crate) struct Calendar {
    windows: Windows,
    base: u64,
    ring: Box<[Bucket; RING]>,
    occupied: [u64; RING / 64],
    /// By window / [`RING`]: the first window that has events, and all events.
    far: BTreeMap<u64, (u64, Vec<Entry>)>,
    /// The first window in `far`, or the highest number.
    first_far: u64,
    slab: Vec<Entry>,
    before: Vec<u32>,
    free: Vec<u32>,
}

impl Calendar {
    pub fn new(windows: Windows) -> Calendar {
        Calendar {
            windows,
            base: 0,
            ring: Box::new([Bucket { last: NONE, len: 0 }; RING]),
            occupied: [0; RING / 64],
            far: BTreeMap::new(),
            first_far: u64::MAX,
            slab: Vec::new(),
            before: Vec::new(),
            free: Vec::new(),
        }
    }

    /// Adds an event. The packet is copied directly to its place. A copy on the stack would stall on store
    /// forwarding. Returns the position of the event, if it [is near](Calendar::is_near).
    #[inline]
    pub fn push(&mut self, time: u64, to: u32, packet: &Packet) -> u32 {
        let at = self.place(time);
        match self.slab.get_mut(at) {
            Some(slot) => {
                (slot.time, slot.to) = (time, to);
                slot.packet = *packet;
            }
            None => self.push_far(Entry { time, to, packet: *packet }),
        }
        at as u32
    }

    /// Adds an event of a node itself. Most of the packet is what was in its place before: nothing reads it.
    #[inline]
    pub fn push_own(&mut self, time: u64, to: u32, code: u32, token: u32) {
        let at = self.place(time);
        match self.slab.get_mut(at) {
            Some(slot) => {
                (slot.time, slot.to) = (time, to);
                (slot.packet.flow, slot.packet.seq) = (code, token);
            }
            None => {
                let packet = Packet { flow: code, seq: token, ..Packet::default() };
                self.push_far(Entry { time, to, packet });
            }
        }
    }

    /// Adds the event at `position` again, with another time and place and additional flags. Returns the position of
    /// the new event, if it is near.
    #[inline]
    pub fn push_again(&mut self, position: u32, time: u64, to: u32, flags: u8) -> u32 {
        let Some(at) = self.next_in_chunk(time) else {
            return self.push_again_elsewhere(position, time, to, flags);
        };
        let packet = self.slab[position as usize].packet;
        let slot = &mut self.slab[at];
        (slot.time, slot.to) = (time, to);
        slot.packet = packet;
        // Most packets get none. The usual way then writes the packet in two pieces.
        if flags != 0 {
            slot.packet.flags |= flags;
        }
        at as u32
    }

    /// [`Calendar::push_again`] for an event that is far ahead, or begins a chunk. It is called last, so that the usual
    /// way saves no registers.
    #[cold]
    #[inline(never)]
    fn push_again_elsewhere(&mut self, position: u32, time: u64, to: u32, flags: u8) -> u32 {
        let mut packet = self.slab[position as usize].packet;
        packet.flags |= flags;
        self.push(time, to, &packet)
    }

    /// The slot for an event at `time`, if it is near and in a chunk that has begun.
    #[inline(always)]
    fn next_in_chunk(&mut self, time: u64) -> Option<usize> {
        let window = self.windows.of(time);
        let bucket = &mut self.ring[window as usize & (RING - 1)];
        let within = bucket.len as usize & (CHUNK - 1);
        if within == 0 || window - self.base >= NEAR {
            return None;
        }
        bucket.len += 1;
        Some(((bucket.last as usize) << CHUNK_BITS) | within)
    }

    /// Whether an event at `time` keeps its position until it is taken.
    #[inline]
    pub fn is_near(&self, time: u64) -> bool {
        self.windows.of(time) - self.base < NEAR
    }

    /// The slot for an event at `time`, or [`FAR`] if its window is too far ahead.
    #[inline]
    fn place(&mut self, time: u64) -> usize {
        let window = self.windows.of(time);
        debug_assert!(window >= self.base, "an event in the past");
        if window - self.base >= NEAR {
            return FAR;
        }
        self.place_near(window as usize & (RING - 1))
    }

    #[cold]
    fn push_far(&mut self, entry: Entry) {
        let window = self.windows.of(entry.time);
        let (first, entries) = self.far.entry(window >> RING_BITS).or_insert((window, Vec::new()));
        *first = window.min(*first);
        self.first_far = window.min(self.first_far);
        entries.push(entry);
    }

    #[inline]
    fn place_near(&mut self, slot: usize) -> usize {
        let bucket = &mut self.ring[slot];
        let within = bucket.len as usize & (CHUNK - 1);
        bucket.len += 1;
        if within > 0 {
            return ((bucket.last as usize) << CHUNK_BITS) | within;
        }
        self.open_chunk(slot)
    }

    #[inline(never)]
    fn open_chunk(&mut self, slot: usize) -> usize {
        let last = self.chunk_after(self.ring[slot].last);
        self.ring[slot].last = last;
        self.occupied[slot / 64] |= 1 << (slot % 64);
        (last as usize) << CHUNK_BITS
    }

    fn chunk_after(&mut self, before: u32) -> u32 {
        let chunk = self.free.pop().unwrap_or_else(|| {
            self.before.push(NONE);
            self.slab.resize(self.slab.len() + CHUNK, Entry::default());
            self.before.len() as u32 - 1
        });
        self.before[chunk as usize] = before;
        chunk
    }

    /// The first window with an event; the highest number if there is none. The calendar does not advance to it.
    #[inline]
    pub fn peek(&self) -> u64 {
        let start = self.base as usize & (RING - 1);
        let near = self.occupied[start / 64] >> (start % 64);
        let near = match near {
            0 => self.first_beyond(start),
            _ => self.base + u64::from(near.trailing_zeros()),
        };
        near.min(self.first_far)
    }

    /// The first near window whose slot is not in the rest of the word of slot `start`, which is the present one.
    #[inline(never)]
    fn first_beyond(&self, start: usize) -> u64 {
        const WORDS: usize = RING / 64;
        for word in start / 64 + 1..=start / 64 + WORDS {
            let bits = self.occupied[word % WORDS];
            if bits != 0 {
                let slot = word * 64 + bits.trailing_zeros() as usize;
                return self.base + (slot - start) as u64;
            }
        }
        u64::MAX
    }

    /// Advances to `window`. No event may be pending before it.
    #[inline]
    pub fn advance(&mut self, window: u64) {
        self.base = window;
        if self.first_far >> RING_BITS <= window >> RING_BITS {
            self.approach(window);
        }
    }

    /// Moves the events that are near now to their windows.
    #[cold]
    fn approach(&mut self, window: u64) {
        while let Some(first) = self.far.first_entry() {
            if *first.key() > window >> RING_BITS {
                break;
            }
            for entry in first.remove().1 {
                let at = self.place_near(self.windows.of(entry.time) as usize & (RING - 1));
                self.slab[at] = entry;
            }
        }
        let far = self.far.first_key_value();
        self.first_far = far.map_or(u64::MAX, |(_, (window, _))| *window);
    }

    /// Takes the entries of the current window. [`Self::give_back`] must be called next.
    #[inline]
    pub fn take(&mut self) -> Taken {
        let slot = self.base as usize & (RING - 1);
        let Bucket { last, len } =
            std::mem::replace(&mut self.ring[slot], Bucket { last: NONE, len: 0 });
        self.occupied[slot / 64] &= !(1 << (slot % 64));
        Taken { last, len }
    }

    /// The positions of entries that were taken, latest first: one range, in reverse, for each chunk.
    #[inline]
    pub fn positions(&self, taken: &Taken) -> impl Iterator<Item = Rev<Range<u32>>> {
        let (mut chunk, mut in_chunk) =
            (taken.last, (taken.len.wrapping_sub(1) & (CHUNK as u32 - 1)) + 1);
        std::iter::from_fn(move || {
            if chunk == NONE {
                return None;
            }
            let start = chunk << CHUNK_BITS;
            let positions = start..start + std::mem::replace(&mut in_chunk, CHUNK as u32);
            chunk = self.before[chunk as usize];
            Some(positions.rev())
        })
    }

    /// All positions are below this number.
    pub fn capacity(&self) -> usize {
        self.slab.len()
    }

    #[inline]
    pub fn get(&self, position: u32) -> &Entry {
        &self.slab[position as usize]
    }

    #[inline]
    pub fn get_mut(&mut self, position: u32) -> &mut Entry {
        &mut self.slab[position as usize]
    }

    /// Frees the chunks of a taken window.
    #[inline]
    pub fn give_back(&mut self, taken: Taken) {
        let mut chunk = taken.last;
        while chunk != NONE {
            self.free.push(chunk);
            chunk = self.before[chunk as usize];
        }
    }

    /// All entries not yet taken, for the final count.
    pub fn pending(&mut self) -> Vec<Entry> {
        let mut all: Vec<Entry> =
            std::mem::take(&mut self.far).into_values().flat_map(|(_, e)| e).collect();
        self.first_far = u64::MAX;
        for ahead in 0..RING as u64 {
            self.base += u64::from(ahead > 0);
            let taken = self.take();
            all.extend(self.positions(&taken).flatten().map(|p| *self.get(p)));
            self.give_back(taken);
        }
        all
    }
}

/// A window's chunks between [`Calendar::take`] and [`Calendar::give_back`].
#[must_use]
pub(crate) struct Taken {
    /// The last chunk.
    last: u32,
    /// The number of entries.
    pub len: u32,
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Compared with a sorted list: windows come in order and have exactly their entries.
        #[test]
        fn windows_come_in_order(times in proptest::collection::vec(0u64..5_000_000, 1..400), delays in proptest::collection::vec(1u64..3_000_000, 1..50)) {
            let windows = Windows::new(600);
            let mut calendar = Calendar::new(windows);
            let mut reference = BTreeMap::<u64, Vec<u64>>::new();
            let add = |calendar: &mut Calendar, reference: &mut BTreeMap<u64, Vec<u64>>, time: u64| {
                calendar.push(time, 0, &Packet::default());
                reference.entry(windows.of(time)).or_default().push(time);
            };
            times.iter().for_each(|&t| add(&mut calendar, &mut reference, t));
            let mut extra = delays.iter();
            while calendar.peek() < u64::MAX {
                let window = calendar.peek();
                prop_assert_eq!(Some(window), reference.keys().next().copied());
                calendar.advance(window);
                let taken = calendar.take();
                let positions = calendar.positions(&taken).flatten();
                let mut got: Vec<u64> = positions.map(|p| calendar.get(p).time).collect();
                prop_assert_eq!(got.len(), taken.len as usize);
                if let Some(delay) = extra.next() {
                    add(&mut calendar, &mut reference, windows.start(window + 1) + delay);
                }
                calendar.give_back(taken);
                got.sort_unstable();
                let mut expected = reference.remove(&window).unwrap_or_default();
                expected.sort_unstable();
                prop_assert_eq!(got, expected);
            }
            prop_assert!(reference.is_empty());
        }

        /// An event that is added again differs only in its time, place and flags, however far ahead it is.
        #[test]
        fn what_is_sent_on_keeps_its_marks(delay in 1u64..3_000_000, before in 0u8..4, added in 0u8..4) {
            let windows = Windows::new(600);
            let mut calendar = Calendar::new(windows);
            let packet = Packet { seq: 7, flags: before, ..Packet::default() };
            calendar.push(0, 0, &packet);
            let first = |calendar: &Calendar, taken: &Taken| {
                calendar.positions(taken).flatten().next().expect("an event")
            };
            let taken = calendar.take();
            let time = windows.start(1) + delay;
            calendar.push_again(first(&calendar, &taken), time, 5, added);
            calendar.give_back(taken);
            calendar.advance(windows.of(time));
            let taken = calendar.take();
            let entry = calendar.get(first(&calendar, &taken));
            prop_assert_eq!((entry.time, entry.to), (time, 5));
            prop_assert_eq!((entry.packet.seq, entry.packet.flags), (7, before | added));
            calendar.give_back(taken);
        }

        /// A window starts where the one before ends, and is no longer than requested.
        #[test]
        fn windows_tile_time(length in 2u64..3_000_000, window in prop_oneof![0u64..1_000_000, 0u64..6_000_000_000_000]) {
            let windows = Windows::new(length);
            let (start, end) = (windows.start(window), windows.start(window + 1));
            prop_assert!(end > start && end - start <= length);
            prop_assert_eq!(windows.of(start), window);
            let exact = (u128::from(window) << 64).div_ceil(u128::from(windows.per_ps));
            prop_assert_eq!(u128::from(start), exact);
            prop_assert_eq!(windows.of(end - 1), window);
        }
    }
}
