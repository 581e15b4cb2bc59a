//! The packets of a batch in the order of slots, as path selection needs them.

use crate::allocation::{BATCH, Grant};

const SLOTS: usize = BATCH as usize;
/// If grants have several slots, they are divided this many slots at a time, without a question whether there are as many.
const FEW: usize = 4;
/// The packets that are written to a slot at a time.
const GROUP: usize = 8;
/// From this number of slots of a grant on average, grants are divided a block at a time.
const WIDE: usize = 5;

/// Source and destination of each packet of a batch, by slot. All slots are in one list, so that a packet is written
/// without a question whether there is room.
#[derive(Clone, Debug)]
pub struct BySlot {
    /// The most packets of a slot.
    room: usize,
    /// `room` places for each slot, with a group of places behind them, and a group for packets of no slot.
    packets: Box<[(u16, u16)]>,
    /// By slot, the index behind its last packet; at the end, that of the places for packets of no slot.
    ends: [usize; SLOTS + 1],
    /// The slots of a grant in the last batch, on average.
    width: usize,
}

impl BySlot {
    /// An empty batch of this number of endpoints, each of which sends at most one packet in a slot.
    pub fn new(endpoints: usize) -> BySlot {
        let begin = |slot| slot * (endpoints + GROUP);
        let packets = vec![(0, 0); begin(SLOTS) + GROUP].into();
        BySlot { room: endpoints, packets, ends: std::array::from_fn(begin), width: 1 }
    }
    /// Replaces the packets by those of `grants`. Those of a slot have the order of the grants.
    ///
    /// # Panics
    /// A slot has more packets than there are endpoints.
    pub fn sort(&mut self, grants: impl IntoIterator<Item = Grant>) {
        let (room, grants) = (self.room, grants.into_iter());
        let count = grants.size_hint().0;
        self.ends = std::array::from_fn(|slot| self.begin(slot));
        let slots = Slots { packets: &mut self.packets, ends: &mut self.ends };
        match self.width {
            WIDE.. => slots.add_blocks(grants),
            2.. => slots.add_each::<FEW>(grants),
            _ => slots.add_each::<1>(grants),
        }
        let counts = (0..SLOTS).map(|slot| self.ends[slot] - self.begin(slot));
        let (packets, most) =
            counts.fold((0, 0), |(sum, most), count| (sum + count, most.max(count)));
        assert!(most <= room, "a slot has more packets than the {room} endpoints can send");
        self.width = packets / count.max(1);
    }
    /// The index of the first packet of a slot.
    const fn begin(&self, slot: usize) -> usize {
        slot * (self.room + GROUP)
    }
    /// The packets of a slot.
    pub fn slot(&self, slot: usize) -> &[(u16, u16)] {
        &self.packets[self.begin(slot)..self.ends[slot]]
    }
    /// The packets of each slot in turn.
    pub fn slots(&self) -> impl Iterator<Item = &[(u16, u16)]> {
        (0..SLOTS).map(|slot| self.slot(slot))
    }
}

/// The lists of all slots while they are written.
struct Slots<'a> {
    packets: &'a mut [(u16, u16)],
    ends: &'a mut [usize; SLOTS + 1],
}

impl Slots<'_> {
    /// Adds the packets of one grant after another, for `AT_A_TIME` slots at a time.
    fn add_each<const AT_A_TIME: usize>(mut self, grants: impl Iterator<Item = Grant>) {
        let spare = self.ends[SLOTS];
        grants.for_each(|Grant { src, dst, mut slots }| {
            while slots != 0 {
                for _ in 0..AT_A_TIME {
                    self.add(slots, (src, dst));
                    slots &= slots.wrapping_sub(1);
                }
                self.ends[SLOTS] = spare;
            }
        });
    }
    /// Adds a packet to the lowest of these slots. If there is none, it is written where no slot's packets are.
    #[inline(always)]
    fn add(&mut self, slots: u64, packet: (u16, u16)) {
        let slot = (slots.trailing_zeros() as usize).min(SLOTS);
        let end = self.ends[slot];
        if let Some(place) = self.packets.get_mut(end) {
            *place = packet;
        }
        self.ends[slot] = end + 1;
    }
    /// Adds the packets of as many grants at a time as a batch has slots.
    fn add_blocks(mut self, grants: impl Iterator<Item = Grant>) {
        let (mut packets, mut slots, mut count) = ([0; SLOTS], [0; SLOTS], 0);
        grants.for_each(|grant| {
            packets[count] = u32::from(grant.dst) << 16 | u32::from(grant.src);
            slots[count] = grant.slots;
            count = (count + 1) % SLOTS;
            if count == 0 {
                self.add_block(&packets, slots);
            }
        });
        slots[count..].fill(0);
        self.add_block(&packets, slots);
    }
    /// Adds these packets, each of which is for several slots. What is written behind a slot's last one has no meaning.
    #[inline(never)]
    fn add_block(&mut self, packets: &[u32; SLOTS], slots: [u64; SLOTS]) {
        for (mut which, end) in transposed(slots).into_iter().zip(&mut *self.ends) {
            let mut at = *end;
            *end += which.count_ones() as usize;
            while which != 0 {
                let places = self.packets.get_mut(at..).and_then(<[_]>::first_chunk_mut::<GROUP>);
                let Some(places) = places else { break };
                for place in places {
                    let packet = packets[which.trailing_zeros() as usize % SLOTS];
                    *place = (packet as u16, (packet >> 16) as u16);
                    which &= which.wrapping_sub(1);
                }
                at += GROUP;
            }
        }
    }
}

/// A matrix of bits with rows and columns exchanged: bit `i` of word `k` becomes bit `k` of word `i`. In each step,
/// blocks of half the size are exchanged.
#[inline(always)]
fn transposed(mut rows: [u64; SLOTS]) -> [u64; SLOTS] {
    let (mut step, mut mask) = (SLOTS / 2, u64::MAX >> (SLOTS / 2));
    while step > 0 {
        for rows in rows.chunks_exact_mut(2 * step) {
            let (upper, lower) = rows.split_at_mut(step);
            for (a, b) in upper.iter_mut().zip(lower) {
                let differs = (*a >> step ^ *b) & mask;
                *b ^= differs;
                *a ^= differs << step;
            }
        }
        step /= 2;
        mask ^= mask << step;
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const ENDPOINTS: u16 = 40;

    /// Grants of one slot, of some slots, or of many.
    fn grants() -> impl Strategy<Value = Vec<Grant>> {
        let slots = |mask: fn(u64, u64) -> u64| {
            (any::<u64>(), any::<u64>()).prop_map(move |(a, b)| mask(a, b))
        };
        let one = slots(|a, _| 1 << (a % 64));
        let some = slots(|a, b| a & b & b.rotate_left(9) & a.rotate_left(30));
        let many = slots(|a, b| a & b);
        let list = |slots| prop::collection::vec((0..ENDPOINTS, 0..ENDPOINTS, slots), 0..300);
        // Each source sends once in a slot: later grants lose what earlier ones have.
        prop_oneof![list(one.boxed()), list(some.boxed()), list(many.boxed())].prop_map(|all| {
            let mut busy = [0; ENDPOINTS as usize];
            let grant = |(src, dst, slots)| {
                let slots = slots & !busy[usize::from(src)];
                busy[usize::from(src)] |= slots;
                Grant { src, dst, slots }
            };
            all.into_iter().map(grant).filter(|grant| grant.slots != 0).collect()
        })
    }

    proptest! {
        /// The way in which grants are divided depends on the batch before.
        #[test]
        fn each_slot_has_the_packets_of_its_grants(
            batches in prop::collection::vec(grants(), 1..6), rows: [[u64; 8]; 8]
        ) {
            let mut sorted = BySlot::new(ENDPOINTS.into());
            for grants in batches {
                sorted.sort(grants.iter().copied());
                for (slot, packets) in sorted.slots().enumerate() {
                    let granted = grants.iter().filter(|grant| grant.slots >> slot & 1 == 1);
                    let expected: Vec<_> = granted.map(|grant| (grant.src, grant.dst)).collect();
                    prop_assert_eq!(packets, &expected);
                }
            }
            let rows: [u64; SLOTS] = rows.concat().try_into().unwrap();
            let columns = transposed(rows);
            for (i, k) in (0..SLOTS).flat_map(|i| (0..SLOTS).map(move |k| (i, k))) {
                prop_assert_eq!(rows[k] >> i & 1, columns[i] >> k & 1);
            }
        }
    }

    #[test]
    #[should_panic(expected = "more packets than the 2 endpoints can send")]
    fn an_invalid_schedule_is_refused() {
        let grant = |src, dst| Grant { src, dst, slots: 1 << 63 };
        BySlot::new(2).sort([grant(0, 1), grant(1, 0), grant(0, 1)]);
    }
}
