//! Links of different rates. An endpoint whose link is `k` times as fast as the slowest sends and receives
//! `k` packets per timeslot.
//!
//! Such an endpoint is split into `k` *lanes*, which are endpoints of an [`Allocator`]. A matching of lanes
//! is a schedule in which no link carries more than it can. The demand of a pair is divided among pairs of
//! lanes in turn, so that in one slot a pair can use as many lanes as the slower end has. Demand that still waits
//! gets the slots in which any lanes of both ends are free, so that the schedule is maximal.

use super::bits::lowest;
use super::{Allocator, BATCH, Demand, DemandError, Grant, MOST_ENDPOINTS, Policy, first_slots};

/// An allocator for endpoints of different rates.
#[derive(Clone, Debug)]
pub struct Lanes {
    allocator: Allocator,
    /// The first lane of each endpoint; the last element is the number of lanes.
    first: Vec<u32>,
    /// The endpoint of each lane.
    owner: Vec<u16>,
    /// The next lane of each endpoint: as a source and as a destination.
    next: Vec<[u16; 2]>,
    /// Working memory: the demand of pairs of lanes that still wait.
    waiting: Vec<Demand>,
    room: Room,
}

impl Lanes {
    /// Makes an allocator for endpoints that send and receive these numbers of packets per timeslot.
    ///
    /// # Errors
    /// An endpoint has no lane, there are too few or too many lanes, or the quantum is out of range.
    pub fn new(rates: &[u16], policy: Policy) -> Result<Lanes, DemandError> {
        if let Some(endpoint) = rates.iter().position(|&lanes| lanes == 0) {
            return Err(DemandError::NoLane(endpoint));
        }
        let lanes: usize = rates.iter().map(|&lanes| usize::from(lanes)).sum();
        if rates.len() > MOST_ENDPOINTS {
            return Err(DemandError::Endpoints(rates.len()));
        }
        let allocator = Allocator::new(lanes, policy)?;
        let mut first = vec![0];
        let mut owner = Vec::with_capacity(lanes);
        for (endpoint, &lanes) in rates.iter().enumerate() {
            owner.extend(std::iter::repeat_n(endpoint as u16, lanes.into()));
            first.push(owner.len() as u32);
        }
        let next = vec![[0, 0]; rates.len()];
        let room = Room::new(rates);
        Ok(Lanes { allocator, first, owner, next, waiting: Vec::new(), room })
    }
    /// Sets the size of a batch to `slots` timeslots, from 1 to 64.
    #[must_use]
    pub fn with_batch(self, slots: u32) -> Lanes {
        let room = Room { batch: first_slots(slots), ..self.room };
        Lanes { allocator: self.allocator.with_batch(slots), room, ..self }
    }
    /// Serves pairs in strict turns ([`Allocator::with_strict_turns`]).
    #[must_use]
    pub fn with_strict_turns(self, strict: bool) -> Lanes {
        Lanes { allocator: self.allocator.with_strict_turns(strict), ..self }
    }
    fn rate(&self, endpoint: u16) -> u32 {
        self.first[usize::from(endpoint) + 1] - self.first[usize::from(endpoint)]
    }
    /// Adds `packets` packets to the demand from `src` to `dst`. They are divided among as many pairs of
    /// lanes as the faster end has lanes.
    ///
    /// # Errors
    /// The endpoints do not exist or are the same, or the sum cannot be counted. In the last case, a part may
    /// have been added.
    pub fn add_demand(&mut self, src: u16, dst: u16, packets: u32) -> Result<(), DemandError> {
        let endpoints = self.next.len();
        if let Some(&endpoint) = [src, dst].iter().find(|&&e| usize::from(e) >= endpoints) {
            return Err(DemandError::Unknown { endpoint, endpoints });
        }
        if src == dst {
            return Err(DemandError::Itself(src));
        }
        let parts = self.rate(src).max(self.rate(dst));
        for part in 0..parts.min(packets) {
            let slots = packets / parts + u32::from(part < packets % parts);
            let (from, to) = (self.next_lane(src, 0), self.next_lane(dst, 1));
            self.allocator.add_demand(from, to, slots)?;
        }
        Ok(())
    }
    /// Returns the lanes of an endpoint in turn, one per call.
    fn next_lane(&mut self, endpoint: u16, side: usize) -> u16 {
        let rate = self.rate(endpoint) as u16;
        let next = &mut self.next[usize::from(endpoint)][side];
        let lane = self.first[usize::from(endpoint)] as u16 + *next;
        *next = (*next + 1) % rate;
        lane
    }
    /// The packets that pairs of endpoints wait for: source, destination, number. A pair may occur several times.
    pub fn backlog(&self) -> impl Iterator<Item = (u16, u16, u64)> {
        let owner = |lane: u16| self.owner[usize::from(lane)];
        self.allocator.backlog().map(move |(src, dst, slots)| (owner(src), owner(dst), slots))
    }
    /// Allocates the next 64 timeslots and appends grants to pairs of endpoints to `out`. A pair may have the
    /// same slot several times.
    pub fn allocate_batch(&mut self, out: &mut Vec<Grant>) {
        let (owner, before) = (&self.owner, out.len());
        let owner = |lane: u16| owner[usize::from(lane)];
        out.extend(self.allocator.next_batch().map(|grant| Grant {
            src: owner(grant.src),
            dst: owner(grant.dst),
            slots: grant.slots,
        }));
        self.room.reset(&out[before..]);
        self.allocator.take_waiting(&mut self.waiting);
        for demand in &mut self.waiting {
            let (src, dst) = (owner(demand.src), owner(demand.dst));
            demand.slots = self.room.fill(src, dst, demand.slots, out);
        }
        self.waiting.retain(|demand| demand.slots > 0);
        let put_back = self.allocator.put_first(&self.waiting);
        debug_assert!(put_back.is_ok(), "the demand waited there before");
        self.waiting.clear();
    }
}

/// The packets that endpoints can still send and receive in each slot of a batch.
#[derive(Clone, Debug)]
struct Room {
    rates: Vec<u16>,
    /// The slots of a batch.
    batch: u64,
    /// By endpoint, as a source and as a destination: packets that are left in each slot, and the slots in which
    /// any is left.
    left: Vec<[[u16; BATCH as usize]; 2]>,
    free: Vec<[u64; 2]>,
}

impl Room {
    fn new(rates: &[u16]) -> Room {
        Room { rates: rates.into(), batch: u64::MAX, left: Vec::new(), free: Vec::new() }
    }
    /// Sets the room to that of an empty batch, less `grants`.
    fn reset(&mut self, grants: &[Grant]) {
        self.left.clear();
        self.left.extend(self.rates.iter().map(|&rate| [[rate; BATCH as usize]; 2]));
        self.free.clear();
        self.free.resize(self.rates.len(), [self.batch; 2]);
        grants.iter().for_each(|grant| self.take(*grant));
    }
    fn take(&mut self, grant: Grant) {
        for (endpoint, side) in [(grant.src, 0), (grant.dst, 1)] {
            let at = usize::from(endpoint);
            let mut slots = grant.slots;
            while slots != 0 {
                let left = &mut self.left[at][side][slots.trailing_zeros() as usize];
                *left -= 1;
                if *left == 0 {
                    self.free[at][side] &= !(slots & slots.wrapping_neg());
                }
                slots &= slots - 1;
            }
        }
    }
    /// Grants as many of `wanted` packets as both ends have room for, the first slots first. Returns how many are left.
    fn fill(&mut self, src: u16, dst: u16, mut wanted: u32, out: &mut Vec<Grant>) -> u32 {
        loop {
            let free = self.free[usize::from(src)][0] & self.free[usize::from(dst)][1];
            let (slots, count) = lowest(free, wanted.min(BATCH));
            if slots == 0 {
                return wanted;
            }
            let grant = Grant { src, dst, slots };
            self.take(grant);
            out.push(grant);
            wanted -= count;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::BATCH;
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn batch(lanes: &mut Lanes) -> Vec<Grant> {
        let mut grants = Vec::new();
        lanes.allocate_batch(&mut grants);
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

    proptest! {
        /// In no slot does an endpoint carry more than its rate, and no pair waits while both its ends have room.
        /// All demand is served exactly.
        #[test]
        fn no_link_carries_more_than_its_rate(
            rates in prop::collection::vec(1u16..12, 2..10),
            demands in prop::collection::vec((0usize..10, 1usize..10, 0u32..300), 0..60),
            quantum in 1u32..20,
        ) {
            let mut lanes = Lanes::new(&rates, Policy::MaxMin { quantum }).unwrap();
            let (n, mut book) = (rates.len(), BTreeMap::<(u16, u16), u64>::new());
            for (src, step, packets) in demands {
                let (src, dst) = ((src % n) as u16, ((src + step % (n - 1).max(1) + 1) % n) as u16);
                if src != dst && packets > 0 {
                    lanes.add_demand(src, dst, packets).unwrap();
                    *book.entry((src, dst)).or_default() += u64::from(packets);
                }
            }
            while !book.is_empty() {
                let grants = batch(&mut lanes);
                prop_assert!(!grants.is_empty());
                for (slot, sent) in (0..BATCH).flat_map(|slot| [(slot, true), (slot, false)]) {
                    for (endpoint, packets) in carried(&grants, slot, sent) {
                        prop_assert!(packets <= rates[usize::from(endpoint)]);
                    }
                }
                for grant in &grants {
                    let left = book.get_mut(&(grant.src, grant.dst)).unwrap();
                    *left = left.checked_sub(grant.slots.count_ones().into()).unwrap();
                }
                book.retain(|_, left| *left > 0);
                for slot in 0..BATCH {
                    let (sent, received) = (carried(&grants, slot, true), carried(&grants, slot, false));
                    let used = |all: &BTreeMap<u16, u16>, e: u16| all.get(&e).copied().unwrap_or(0);
                    for &(src, dst) in book.keys() {
                        let full = used(&sent, src) == rates[usize::from(src)]
                            || used(&received, dst) == rates[usize::from(dst)];
                        prop_assert!(full, "{src} and {dst} have room in slot {slot}");
                    }
                }
                let mut waits = BTreeMap::<(u16, u16), u64>::new();
                for (src, dst, packets) in lanes.backlog() {
                    *waits.entry((src, dst)).or_default() += packets;
                }
                prop_assert_eq!(&waits, &book);
            }
        }
    }

    /// A fast sender serves slow receivers at the same time, and one fast receiver at its full rate.
    #[test]
    fn a_fast_sender_is_used_wholly() {
        let mut lanes = Lanes::new(&[10, 1, 1, 1, 10], Policy::MaxMin { quantum: 1 }).unwrap();
        (1..4).for_each(|dst| lanes.add_demand(0, dst, 64).unwrap());
        let slots = |grants: &[Grant]| grants.iter().map(|g| g.slots.count_ones()).sum::<u32>();
        assert_eq!(slots(&batch(&mut lanes)), 3 * 64, "three receivers at once");
        let mut lanes = Lanes::new(&[10, 1, 1, 1, 10], Policy::MaxMin { quantum: 1 }).unwrap();
        lanes.add_demand(0, 4, 640).unwrap();
        assert_eq!(slots(&batch(&mut lanes)), 640);
    }

    #[test]
    fn what_cannot_be_served_is_refused() {
        let policy = Policy::MaxMin { quantum: 1 };
        assert_eq!(Lanes::new(&[1, 0], policy).unwrap_err(), DemandError::NoLane(1));
        let many = Lanes::new(&[40_000, 40_000], policy);
        assert_eq!(many.unwrap_err(), DemandError::Endpoints(80_000));
        let mut lanes = Lanes::new(&[2, 2], policy).unwrap();
        assert_eq!(lanes.add_demand(1, 1, 1), Err(DemandError::Itself(1)));
        let unknown = DemandError::Unknown { endpoint: 2, endpoints: 2 };
        assert_eq!(lanes.add_demand(0, 2, 1), Err(unknown));
    }
}
