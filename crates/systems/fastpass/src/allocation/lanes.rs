//! Links of different rates. An endpoint whose link is `k` times as fast as the slowest sends and receives
//! `k` packets per timeslot.
//!
//! Such an endpoint is split into `k` *lanes*, which are endpoints of an allocator. A matching of lanes
//! is a schedule in which no link carries more than it can. The demand of a pair is divided among pairs of
//! lanes in turn, so that in one slot a pair can use as many lanes as the slower end has. Demand that still waits
//! gets the slots in which any lanes of both ends are free, so that the schedule is maximal.

use super::bits::lowest;
use super::ends::Ends;
use super::entry::Entry;
use super::{BATCH, DemandError, Grant, MOST_ENDPOINTS};
use std::ops::Range;

/// The lanes of all endpoints.
#[derive(Clone, Debug)]
pub(super) struct Lanes {
    /// The first lane of each endpoint; the last element is the number of lanes.
    first: Vec<u32>,
    /// The endpoint of each lane.
    owner: Vec<u16>,
    /// The next lane of each endpoint: as a source and as a destination.
    next: Vec<[u16; 2]>,
}

impl Lanes {
    /// The lanes of endpoints that send and receive these numbers of packets per timeslot.
    ///
    /// # Errors
    /// An endpoint has no lane, or there are too many endpoints.
    pub(super) fn new(rates: &[u16]) -> Result<Lanes, DemandError> {
        if let Some(endpoint) = rates.iter().position(|&lanes| lanes == 0) {
            return Err(DemandError::NoLane(endpoint));
        }
        if rates.len() > MOST_ENDPOINTS {
            return Err(DemandError::Endpoints(rates.len()));
        }
        let (mut first, mut owner) = (vec![0], Vec::new());
        for (endpoint, &lanes) in rates.iter().enumerate() {
            owner.extend(std::iter::repeat_n(endpoint as u16, lanes.into()));
            first.push(owner.len() as u32);
        }
        Ok(Lanes { first, owner, next: vec![[0, 0]; rates.len()] })
    }
    /// The number of lanes.
    pub(super) fn count(&self) -> usize {
        self.owner.len()
    }
    fn of(&self, endpoint: u16) -> Range<usize> {
        let at = usize::from(endpoint);
        self.first[at] as usize..self.first[at + 1] as usize
    }
    /// Divides the demand of `packets` packets from `src` to `dst` among as many pairs of lanes as the faster end has
    /// lanes, and calls `add` for each.
    ///
    /// # Errors
    /// The endpoints do not exist or are the same, or the error of `add`. In the last case, a part may have been added.
    pub(super) fn divide(
        &mut self,
        (src, dst, packets): (u16, u16, u32),
        mut add: impl FnMut(u16, u16, u32) -> Result<(), DemandError>,
    ) -> Result<(), DemandError> {
        let endpoints = self.next.len();
        if let Some(&endpoint) = [src, dst].iter().find(|&&e| usize::from(e) >= endpoints) {
            return Err(DemandError::Unknown { endpoint, endpoints });
        }
        if src == dst {
            return Err(DemandError::Itself(src));
        }
        let parts = self.of(src).len().max(self.of(dst).len()) as u32;
        for part in 0..parts.min(packets) {
            let slots = packets / parts + u32::from(part < packets % parts);
            add(self.next_lane(src, 0), self.next_lane(dst, 1), slots)?;
        }
        Ok(())
    }
    /// Returns the lanes of an endpoint in turn, one per call.
    fn next_lane(&mut self, endpoint: u16, side: usize) -> u16 {
        let lanes = self.of(endpoint);
        let next = &mut self.next[usize::from(endpoint)][side];
        let lane = lanes.start as u16 + *next;
        *next = (*next + 1) % lanes.len() as u16;
        lane
    }
    /// The endpoint of a lane.
    pub(super) fn owner(&self, lane: u16) -> u16 {
        self.owner[usize::from(lane)]
    }
    /// Replaces the lanes of these grants by their endpoints.
    pub(super) fn name_owners(&self, grants: &mut [Grant]) {
        for grant in grants {
            (grant.src, grant.dst) = (self.owner(grant.src), self.owner(grant.dst));
        }
    }
    /// Grants slots in which any lanes of both ends are free to the endpoints of a pair of lanes, the first slots first.
    /// Returns the pair with the slots that it still waits for.
    pub(super) fn fill(&self, pair: Entry, ends: &mut Ends, out: &mut Vec<Grant>) -> Entry {
        let (src, dst) = (self.owner(pair.src()), self.owner(pair.dst()));
        let mut pair = pair;
        loop {
            let free = ends.any_free(0, self.of(src)) & ends.any_free(1, self.of(dst));
            let (slots, count) = lowest(free, pair.left().min(BATCH));
            if slots == 0 {
                return pair;
            }
            ends.take_any(0, self.of(src), slots);
            ends.take_any(1, self.of(dst), slots);
            out.push(Grant { src, dst, slots });
            pair = pair.less(count);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{BATCH, Partition, Partitions, Policy, first_slots};
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    /// The packets that pairs wait for.
    type Book = BTreeMap<(u16, u16), u64>;

    fn batch(partition: &mut Partition) -> Vec<Grant> {
        let mut grants = Vec::new();
        partition.allocate_alone(&mut grants);
        grants
    }

    /// Packets in one slot by endpoint: sent if `sent`, else received.
    fn carried(grants: &[Grant], slot: u32, sent: bool) -> BTreeMap<u16, u16> {
        let mut carried = BTreeMap::new();
        for grant in grants.iter().filter(|grant| grant.slots >> slot & 1 == 1) {
            *carried.entry(if sent { grant.src } else { grant.dst }).or_default() += 1;
        }
        carried
    }

    /// The reference check of a batch: no endpoint carries more than its rate in a slot, and no pair gets more than it
    /// waits for.
    fn check(grants: &[Grant], rates: &[u16], book: &mut Book) {
        for (slot, sent) in (0..BATCH).flat_map(|slot| [(slot, true), (slot, false)]) {
            let full = |(endpoint, packets)| packets > rates[usize::from(endpoint)];
            assert!(!carried(grants, slot, sent).into_iter().any(full), "slot {slot}: {grants:?}");
        }
        for grant in grants {
            let left = book.get_mut(&(grant.src, grant.dst)).expect("the pair waits");
            *left = left.checked_sub(grant.slots.count_ones().into()).expect("it waits for these");
        }
        book.retain(|_, left| *left > 0);
    }

    /// In each slot of a batch, one end of each pair that still waits has no room.
    fn check_maximal(grants: &[Grant], rates: &[u16], book: &Book, slots: u32) {
        for slot in 0..slots {
            let (sent, received) = (carried(grants, slot, true), carried(grants, slot, false));
            let full = |all: &BTreeMap<u16, u16>, e: u16| {
                all.get(&e).copied().unwrap_or(0) == rates[usize::from(e)]
            };
            for &(src, dst) in book.keys() {
                let busy = full(&sent, src) || full(&received, dst);
                assert!(busy, "{src} and {dst} have room in slot {slot}");
            }
        }
    }

    proptest! {
        /// With batches of any size and any number of partitions, no endpoint carries more than its rate, no pair waits while
        /// both its ends have room, and all demand is served exactly.
        #[test]
        fn no_link_carries_more_than_its_rate(
            rates in prop::collection::vec(1u16..12, 2..10),
            demands in prop::collection::vec((0usize..10, 1usize..10, 0u32..300, 0u32..6), 0..60),
            (quantum, strict, shortest) in (1u32..20, any::<bool>(), any::<bool>()),
            count in 1usize..5, slots in 1u32..=BATCH,
        ) {
            let policy = if shortest { Policy::ShortestFirst } else { Policy::MaxMin { quantum } };
            let partition = Partition::of_rates(&rates, policy).unwrap();
            let partition = partition.with_batch(slots).with_strict_turns(strict);
            let mut all = Partitions::of(partition, count);
            let (n, mut book) = (rates.len(), Book::new());
            let mut demands = demands.into_iter();
            loop {
                let mut more = false;
                for (src, step, packets, end) in demands.by_ref() {
                    let (src, dst) = ((src % n) as u16, ((src + step % (n - 1).max(1) + 1) % n) as u16);
                    if src != dst && packets > 0 {
                        all.add_demand(src, dst, packets).unwrap();
                        *book.entry((src, dst)).or_default() += u64::from(packets);
                    }
                    more = end == 0;
                    if more {
                        break;
                    }
                }
                if book.is_empty() && !more {
                    break;
                }
                let (before, batches) = (book.clone(), all.allocate_round());
                prop_assert!(before.is_empty() || batches.iter().any(|grants| !grants.is_empty()));
                for grants in &batches {
                    prop_assert!(grants.iter().all(|grant| grant.slots & !first_slots(slots) == 0));
                    check(grants, &rates, &mut book);
                }
                batches.iter().for_each(|grants| check_maximal(grants, &rates, &book, slots));
                let mut waits = Book::new();
                for (src, dst, packets) in all.backlog() {
                    *waits.entry((src, dst)).or_default() += packets;
                }
                prop_assert_eq!(&waits, &book);
            }
        }
    }

    /// A fast sender serves slow receivers at the same time, and one fast receiver at its full rate.
    #[test]
    fn a_fast_sender_is_used_wholly() {
        let new =
            || Partition::of_rates(&[10, 1, 1, 1, 10], Policy::MaxMin { quantum: 1 }).unwrap();
        let mut partition = new();
        (1..4).for_each(|dst| partition.add_demand(0, dst, 64).unwrap());
        let slots = |grants: &[Grant]| grants.iter().map(|g| g.slots.count_ones()).sum::<u32>();
        assert_eq!(slots(&batch(&mut partition)), 3 * 64, "three receivers at once");
        let mut partition = new();
        partition.add_demand(0, 4, 640).unwrap();
        assert_eq!(slots(&batch(&mut partition)), 640);
    }

    #[test]
    fn what_cannot_be_served_is_refused() {
        let policy = Policy::MaxMin { quantum: 1 };
        let of = |rates: &[u16]| Partition::of_rates(rates, policy);
        assert_eq!(of(&[1, 0]).unwrap_err(), DemandError::NoLane(1));
        assert_eq!(of(&[40_000, 40_000]).unwrap_err(), DemandError::Endpoints(80_000));
        let mut partition = of(&[2, 2]).unwrap();
        assert_eq!(partition.add_demand(1, 1, 1), Err(DemandError::Itself(1)));
        let unknown = DemandError::Unknown { endpoint: 2, endpoints: 2 };
        assert_eq!(partition.add_demand(0, 2, 1), Err(unknown));
    }
}
