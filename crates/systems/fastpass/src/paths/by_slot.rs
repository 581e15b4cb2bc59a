//! The packets of a batch in the order of slots, as path selection needs them.

use crate::allocation::{BATCH, Grant};

const SLOTS: usize = BATCH as usize;

/// Source and destination of each packet of a batch, by slot. All slots are in one list, so that a packet is written
/// without a question whether there is room.
#[derive(Clone, Debug)]
pub struct BySlot {
    /// The most packets of a slot.
    room: usize,
    /// `room` places for each slot.
    packets: Box<[(u16, u16)]>,
    /// By slot, the index behind its last packet.
    ends: [usize; SLOTS],
}

impl BySlot {
    /// An empty batch of this number of endpoints, each of which sends at most one packet in a slot.
    pub fn new(endpoints: usize) -> BySlot {
        let packets = vec![(0, 0); SLOTS * endpoints].into();
        BySlot { room: endpoints, packets, ends: std::array::from_fn(|slot| slot * endpoints) }
    }
    /// Replaces the packets by those of `grants`. Those of a slot have the order of the grants.
    ///
    /// # Panics
    /// A slot has more packets than there are endpoints.
    pub fn sort(&mut self, grants: impl IntoIterator<Item = Grant>) {
        let BySlot { room, packets, ends } = self;
        *ends = std::array::from_fn(|slot| slot * *room);
        grants.into_iter().for_each(|Grant { src, dst, mut slots }| {
            while slots != 0 {
                let end = &mut ends[slots.trailing_zeros() as usize];
                if let Some(packet) = packets.get_mut(*end) {
                    *packet = (src, dst);
                }
                *end += 1;
                slots &= slots - 1;
            }
        });
        let fits = (0..SLOTS).all(|slot| ends[slot] <= (slot + 1) * *room);
        assert!(fits, "a slot has more packets than the {room} endpoints can send");
    }
    /// The packets of a slot.
    pub fn slot(&self, slot: usize) -> &[(u16, u16)] {
        &self.packets[slot * self.room..self.ends[slot]]
    }
    /// The packets of each slot in turn.
    pub fn slots(&self) -> impl Iterator<Item = &[(u16, u16)]> {
        (0..SLOTS).map(|slot| self.slot(slot))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn grants() -> impl Strategy<Value = Vec<Grant>> {
        let grant = (0u16..9, 0u16..9, any::<u64>(), any::<u64>());
        // Each source sends once in a slot: later grants lose what earlier ones have.
        prop::collection::vec(grant, 0..40).prop_map(|all| {
            let mut busy = [0; 9];
            let grant = |(src, dst, a, b): (u16, u16, u64, u64)| {
                let slots = a & b & !busy[usize::from(src)];
                busy[usize::from(src)] |= slots;
                Grant { src, dst, slots }
            };
            all.into_iter().map(grant).collect()
        })
    }

    proptest! {
        #[test]
        fn each_slot_has_the_packets_of_its_grants(one in grants(), other in grants()) {
            let mut sorted = BySlot::new(9);
            for grants in [one, other] {
                sorted.sort(grants.iter().copied());
                for (slot, packets) in sorted.slots().enumerate() {
                    let granted = grants.iter().filter(|grant| grant.slots >> slot & 1 == 1);
                    let expected: Vec<_> = granted.map(|grant| (grant.src, grant.dst)).collect();
                    prop_assert_eq!(packets, &expected);
                }
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
