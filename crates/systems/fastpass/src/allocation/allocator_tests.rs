use super::*;
use crate::allocation::first_slots;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

/// The demands of pairs before one batch.
type Demands = Vec<(u16, u16, u32)>;
/// The slots that pairs wait for.
type Book = BTreeMap<(u16, u16), u64>;

fn policies() -> impl Strategy<Value = Policy> {
    let quantum = prop_oneof![Just(1), Just(4), 1u32..=64];
    prop_oneof![
        4 => quantum.prop_map(|quantum| Policy::MaxMin { quantum }),
        1 => Just(Policy::ShortestFirst)
    ]
}

/// Demands of up to four batches among few or many endpoints.
fn demands() -> impl Strategy<Value = (u16, Vec<Demands>)> {
    (2u16..40).prop_flat_map(|n| {
        let demand = (0..n, 1..n, 0u32..90).prop_map(move |(s, d, k)| (s, (s + d) % n, k));
        (Just(n), prop::collection::vec(prop::collection::vec(demand, 0..150), 1..5))
    })
}

/// The reference check: subtracts the grants from the demand, slot by slot. Fails if an endpoint has two grants
/// in a slot, or a pair more slots than its demand.
fn check(grants: &[Grant], book: &mut Book) {
    for slot in 0..BATCH {
        let (mut sources, mut destinations) = (BTreeSet::new(), BTreeSet::new());
        for grant in grants.iter().filter(|grant| grant.slots >> slot & 1 == 1) {
            assert!(sources.insert(grant.src), "source {} twice in slot {slot}", grant.src);
            assert!(destinations.insert(grant.dst), "destination {} twice", grant.dst);
            let left = book.get_mut(&(grant.src, grant.dst)).expect("the pair has demand");
            *left = left.checked_sub(1).expect("the grant is within the demand");
        }
    }
    book.retain(|_, left| *left > 0);
}

/// In each slot of the batch, each pair that still waits has a busy source or destination.
fn check_maximal(grants: &[Grant], left: &Book, size: u32) {
    for &(src, dst) in left.keys() {
        let ends = grants.iter().filter(|grant| grant.src == src || grant.dst == dst);
        let busy = ends.fold(0, |busy, grant| busy | grant.slots);
        assert_eq!(busy, first_slots(size), "{src} to {dst} could have had a slot");
    }
}

proptest! {
    #[test]
    fn schedules_are_valid_maximal_and_conserve_demand(
        policy in policies(), (n, batches) in demands(), size in prop_oneof![Just(BATCH), 1..=BATCH], strict: bool
    ) {
        let allocator = Allocator::new(n.into(), policy).unwrap().with_batch(size);
        let mut allocator = allocator.with_strict_turns(strict);
        let mut book = Book::new();
        for batch in batches {
            for (src, dst, slots) in batch {
                allocator.add_demand(src, dst, slots).unwrap();
                if slots > 0 {
                    *book.entry((src, dst)).or_default() += u64::from(slots);
                }
            }
            let mut grants = Vec::new();
            allocator.allocate_batch(&mut grants);
            check(&grants, &mut book);
            check_maximal(&grants, &book, size);
            prop_assert!(grants.iter().all(|grant| grant.slots & !first_slots(size) == 0));
            let left: Book = allocator.backlog().map(|(s, d, k)| ((s, d), k)).collect();
            prop_assert_eq!(&left, &book);
            prop_assert_eq!(allocator.active_pairs(), book.len());
            prop_assert!(allocator.counts_are_right());
        }
    }
}

proptest! {
    /// Two allocators with alternating batches exchange what is left. The grants are valid, and nothing is
    /// lost.
    #[test]
    fn two_allocators_exchange_what_is_left(
        policy in policies(), (n, batches) in demands()
    ) {
        let mut both = [0, 1].map(|_| Allocator::new(n.into(), policy).unwrap());
        let mut book = Book::new();
        for (at, (src, dst, slots)) in batches.into_iter().flatten().enumerate() {
            both[at % 2].add_demand(src, dst, slots).unwrap();
            if slots > 0 {
                *book.entry((src, dst)).or_default() += u64::from(slots);
            }
        }
        for batch in 0.. {
            for allocator in &mut both {
                let mut grants = Vec::new();
                allocator.allocate_batch(&mut grants);
                check(&grants, &mut book);
            }
            let mut left = [Vec::new(), Vec::new()];
            for (allocator, left) in both.iter_mut().zip(&mut left) {
                allocator.take_waiting(left);
                prop_assert_eq!(allocator.active_pairs(), 0);
            }
            for (allocator, left) in both.iter_mut().zip(left.iter().rev()) {
                allocator.put_first(left).unwrap();
            }
            let mut waits = Book::new();
            for (src, dst, slots) in both.iter().flat_map(Allocator::backlog) {
                *waits.entry((src, dst)).or_default() += slots;
            }
            prop_assert_eq!(&waits, &book);
            if book.is_empty() {
                break;
            }
            prop_assert!(batch < 2_000, "demand is served in the end");
        }
    }
}

/// The reference: one batch, computed by plain visits to a list of the pairs.
fn one_after_another(n: u16, pairs: &Demands, quantum: u32) -> Vec<Grant> {
    let crowded = pairs.len() / usize::from(n);
    let mut at = BTreeMap::<(bool, u16), u32>::new();
    let ends = |&(src, dst, _): &(u16, u16, u32)| [(true, src), (false, dst)];
    pairs.iter().flat_map(ends).for_each(|end| *at.entry(end).or_default() += 1);
    let first = |at: &BTreeMap<(bool, u16), u32>, pair| match (quantum, crowded) {
        (BATCH, _) => BATCH,
        (_, ..16) => {
            let [src, dst] = ends(pair).map(|end| at[&end].min(63));
            (BATCH / src.max(dst)).max(quantum)
        }
        (1, ..32) => 2,
        _ => quantum,
    };
    let mut busy = BTreeMap::<(bool, u16), u64>::new();
    let mut got = vec![0u64; pairs.len()];
    for round in 0..=BATCH {
        for (pair, got) in pairs.iter().zip(&mut got) {
            let (src, dst, demand) = *pair;
            let most = if round == 0 { first(&at, pair) } else { quantum };
            for _ in 0..most.min(demand - got.count_ones()) {
                let taken = |end: &_| busy.get(end).copied().unwrap_or(0);
                let free = !(taken(&(true, src)) | taken(&(false, dst)));
                let slot = free & free.wrapping_neg();
                *got |= slot;
                *busy.entry((true, src)).or_default() |= slot;
                *busy.entry((false, dst)).or_default() |= slot;
            }
            // A pair that gets all at once does not count for later pairs.
            if round == 0 && got.count_ones() == demand {
                ends(pair).into_iter().for_each(|end| *at.entry(end).or_default() -= 1);
            }
        }
    }
    let grants = pairs.iter().zip(got).map(|(&(src, dst, _), slots)| Grant { src, dst, slots });
    grants.filter(|grant| grant.slots != 0).collect()
}

proptest! {
    /// Lists and chunks of 64 pairs change nothing: each pair gets the same slots as in plain visits one
    /// after another.
    #[test]
    fn a_batch_is_that_of_plain_visits(
        n in 2u16..40, quantum in prop_oneof![Just(1), Just(4), Just(64), 1u32..=64],
        density in 0.0f64..1.0, seed: u64,
    ) {
        let mut stream = slotline_net::rng::Stream::named(seed, "pairs", 0);
        let all = (0..n).flat_map(|s| (0..n).map(move |d| (s, d))).filter(|(s, d)| s != d);
        let mut pairs: Vec<_> = all.filter(|_| stream.unit() < density).collect();
        stream.shuffle(&mut pairs);
        let pairs: Demands =
            pairs.into_iter().map(|(s, d)| (s, d, 1 + stream.below(30) as u32)).collect();
        let mut allocator = Allocator::new(n.into(), Policy::MaxMin { quantum }).unwrap();
        pairs.iter().for_each(|&(s, d, slots)| allocator.add_demand(s, d, slots).unwrap());
        let mut grants = Vec::new();
        allocator.allocate_batch(&mut grants);
        let mut plain = one_after_another(n, &pairs, quantum);
        for grants in [&mut grants, &mut plain] {
            grants.sort_unstable_by_key(|grant| (grant.src, grant.dst));
        }
        prop_assert_eq!(grants, plain);
    }
}

/// The reference of several batches in which each visit takes all free slots that a pair waits for.
#[derive(Default)]
struct Queue {
    /// Pairs in the order of service, and the slots that they wait for.
    waiting: Demands,
    /// What these pairs have requested since they began to wait.
    more: Book,
}

impl Queue {
    fn request(&mut self, (src, dst, slots): (u16, u16, u32)) {
        match self.waiting.iter().any(|pair| (pair.0, pair.1) == (src, dst)) {
            true => *self.more.entry((src, dst)).or_default() += u64::from(slots),
            false => self.waiting.push((src, dst, slots)),
        }
    }
    fn batch(&mut self) -> Vec<Grant> {
        let (mut free, mut grants) = (BTreeMap::<(bool, u16), u64>::new(), Vec::new());
        let mut pairs = std::mem::take(&mut self.waiting);
        while !pairs.is_empty() {
            let (mut rest, mut again) = (Vec::new(), Vec::new());
            for (src, dst, left) in std::mem::take(&mut pairs) {
                let ends = [(true, src), (false, dst)];
                let of = |end| free.get(&end).copied().unwrap_or(u64::MAX);
                let slots = super::lowest(of(ends[0]) & of(ends[1]), left.min(BATCH)).0;
                ends.into_iter().for_each(|end| *free.entry(end).or_insert(u64::MAX) ^= slots);
                let left = left - slots.count_ones();
                grants.extend((slots != 0).then_some(Grant { src, dst, slots }));
                match (left, slots) {
                    (0, _) => again
                        .extend(self.more.remove(&(src, dst)).map(|more| (src, dst, more as u32))),
                    (_, 0) => self.waiting.push((src, dst, left)),
                    _ => rest.push((src, dst, left)),
                }
            }
            self.waiting.append(&mut rest);
            pairs = again;
        }
        grants
    }
}

proptest! {
    /// The order of service is that of plain visits to one queue, also in later batches, in which pairs leave from the middle
    /// of the queue.
    #[test]
    fn many_batches_are_those_of_plain_visits(n in 2u16..30, few in 1u64..400, seed: u64) {
        let mut stream = slotline_net::rng::Stream::named(seed, "pairs", 0);
        let mut allocator = Allocator::new(n.into(), Policy::MaxMin { quantum: BATCH }).unwrap();
        let mut queue = Queue::default();
        for _ in 0..12 {
            let mut asked = BTreeSet::new();
            for _ in 0..stream.below(few) {
                let (src, step) = (stream.below(n.into()) as u16, stream.below(u64::from(n) - 1) as u16);
                let demand = (src, (src + 1 + step) % n, 1 + stream.below(40) as u32);
                if asked.insert((demand.0, demand.1)) {
                    allocator.add_demand(demand.0, demand.1, demand.2).unwrap();
                    queue.request(demand);
                }
            }
            let mut grants = [allocator.next_batch().collect(), queue.batch()];
            grants.iter_mut().for_each(|grants| grants.sort_by_key(|grant| (grant.src, grant.dst, grant.slots)));
            prop_assert_eq!(&grants[0], &grants[1]);
            let backlog: Demands =
                allocator.waiting[0].iter().map(|pair| (pair.src(), pair.dst(), pair.left())).collect();
            prop_assert_eq!(backlog, &queue.waiting[..]);
        }
    }
}

/// Pairs are not counted while there are many, and are counted again afterwards.
#[test]
fn pairs_are_counted_again_after_a_crowd() {
    let mut allocator = Allocator::new(20, Policy::MaxMin { quantum: 4 }).unwrap();
    for (src, step) in (0..20u16).flat_map(|src| (1..20).map(move |step| (src, step))) {
        allocator.add_demand(src, (src + step) % 20, 4 * u32::from(step)).unwrap();
    }
    let mut counted = Vec::new();
    while allocator.active_pairs() > 0 {
        allocator.next_batch().for_each(drop);
        counted.push(allocator.ends.counts());
        assert!(allocator.counts_are_right());
    }
    assert_eq!((counted[0], counted.last()), (false, Some(&true)), "{counted:?}");
}

/// All pairs always have demand: each gets a slot within the bound, and long-term shares are equal.
#[test]
fn nobody_starves() {
    for (n, quantum) in [(20u16, 1), (100, 1), (40, 4), (24, 64)] {
        let mut allocator = Allocator::new(n.into(), Policy::MaxMin { quantum }).unwrap();
        for (src, dst) in (0..n).flat_map(|s| (0..n).map(move |d| (s, d))).filter(|(s, d)| s != d) {
            allocator.add_demand(src, dst, 1_000_000).unwrap();
        }
        let bound = ((2 * u32::from(n) - 4) * quantum).div_ceil(BATCH) + 1;
        let (mut last, mut got) = (Book::new(), Book::new());
        for batch in 1..=200u64 {
            let mut grants = Vec::new();
            allocator.allocate_batch(&mut grants);
            for grant in grants {
                let waited = batch - last.insert((grant.src, grant.dst), batch).unwrap_or(0);
                assert!(waited <= bound.into(), "{grant:?} of {n} waited {waited} batches");
                *got.entry((grant.src, grant.dst)).or_default() +=
                    u64::from(grant.slots.count_ones());
            }
        }
        assert_eq!(got.len(), usize::from(n) * usize::from(n - 1));
        let (least, most) = (got.values().min().unwrap(), got.values().max().unwrap());
        assert!(most - least <= most / 2, "{n} endpoints, quantum {quantum}: {least} to {most}");
    }
}

/// Ninety senders to one receiver are each within one slot of their share.
#[test]
fn senders_to_one_receiver_share_it_equally() {
    let mut allocator = Allocator::new(91, Policy::MaxMin { quantum: 1 }).unwrap();
    (1..91).for_each(|src| allocator.add_demand(src, 0, 1_000).unwrap());
    let mut got = [0; 91];
    for _ in 0..45 {
        let mut grants = Vec::new();
        allocator.allocate_batch(&mut grants);
        grants.iter().for_each(|g| got[usize::from(g.src)] += g.slots.count_ones());
    }
    assert!(got[1..].iter().all(|got| (31..=33).contains(got)), "{got:?}");
}

#[test]
fn the_shortest_comes_first() {
    let mut allocator = Allocator::new(3, Policy::ShortestFirst).unwrap();
    allocator.add_demand(1, 0, 70).unwrap();
    allocator.add_demand(2, 0, 3).unwrap();
    let mut grants = Vec::new();
    allocator.allocate_batch(&mut grants);
    assert_eq!(grants[0], Grant { src: 2, dst: 0, slots: 0b111 });
    assert_eq!(grants[1], Grant { src: 1, dst: 0, slots: !0b111 });
}

/// With 65,536 endpoints, memory grows with the pairs that wait, not with all possible pairs.
#[test]
fn memory_grows_with_active_pairs() {
    let bytes = |endpoints: usize, pairs: u32| {
        let mut allocator = Allocator::new(endpoints, Policy::MaxMin { quantum: 1 }).unwrap();
        for i in 0..pairs {
            let (src, dst) = (i.wrapping_mul(40_503) as u16, (i * 7 + i / 9_000) as u16);
            if src != dst {
                allocator.add_demand(src, dst, 10).unwrap();
            }
        }
        let mut grants = Vec::new();
        (0..3).for_each(|_| allocator.allocate_batch(&mut grants));
        allocator.bytes()
    };
    // Two words and two numbers for each endpoint, whatever the demand.
    let fixed = bytes(MOST_ENDPOINTS, 0);
    assert!(fixed < 4 << 20, "{fixed} bytes without demand");
    for pairs in [1_000, 10_000, 100_000] {
        let more = bytes(MOST_ENDPOINTS, pairs) - fixed;
        assert!(more < 200 * pairs as usize, "{more} bytes for {pairs} pairs");
    }
    // The largest table of bits and bytes.
    assert!(bytes(4_096, 0) < 24 << 20);
}

/// The same demands give the same slots. The pairs of the first and the last of 65,536 endpoints are served.
#[test]
fn the_largest_network_is_served() {
    let run = || {
        let mut allocator = Allocator::new(MOST_ENDPOINTS, Policy::MaxMin { quantum: 1 }).unwrap();
        let ends = (0..5_000u32).map(|i| (i.wrapping_mul(40_503) as u16, (i * 7) as u16));
        for (src, dst) in ends.filter(|(s, d)| s != d).chain([(u16::MAX, 0), (0, u16::MAX)]) {
            allocator.add_demand(src, dst, 10).unwrap();
        }
        let mut grants = Vec::new();
        allocator.allocate_batch(&mut grants);
        grants
    };
    assert!(run().iter().any(|g| (g.src, g.dst, g.slots.count_ones()) == (u16::MAX, 0, 10)));
    assert_eq!(run(), run());
}

#[test]
fn what_cannot_be_served_is_refused() {
    let policy = Policy::MaxMin { quantum: 1 };
    assert_eq!(Allocator::new(1, policy).unwrap_err(), DemandError::Endpoints(1));
    assert_eq!(Allocator::new(65_537, policy).unwrap_err(), DemandError::Endpoints(65_537));
    for quantum in [0, 65] {
        let made = Allocator::new(4, Policy::MaxMin { quantum });
        assert_eq!(made.unwrap_err(), DemandError::Quantum(quantum));
    }
    let mut allocator = Allocator::new(4, policy).unwrap();
    let unknown = DemandError::Unknown { endpoint: 4, endpoints: 4 };
    assert_eq!(allocator.add_demand(1, 4, 1), Err(unknown));
    assert_eq!(allocator.add_demand(4, 1, 1), Err(unknown));
    assert_eq!(allocator.add_demand(2, 2, 1), Err(DemandError::Itself(2)));
    assert_eq!(allocator.add_demand(1, 2, u32::MAX), Ok(()));
    assert_eq!(allocator.add_demand(1, 2, u32::MAX), Ok(()));
    assert_eq!(allocator.add_demand(1, 2, 1), Err(DemandError::TooMuch { src: 1, dst: 2 }));
    assert_eq!(allocator.active_pairs(), 1);
}

impl Allocator {
    /// Whether the counts at each end, if they are used, are those of the waiting pairs.
    fn counts_are_right(&self) -> bool {
        let mut loads = vec![0; self.endpoints];
        for entry in self.waiting.iter().flatten().chain(&self.requests) {
            loads[usize::from(entry.src())] += 1 << 32;
            loads[usize::from(entry.dst())] += 1;
        }
        !self.ends.counts() || self.ends.loads(self.endpoints).eq(loads)
    }
    /// Memory in bytes.
    fn bytes(&self) -> usize {
        let entries: usize = self.waiting.iter().map(Vec::capacity).sum();
        let words = 2 * MOST_ENDPOINTS * (8 + 4);
        words + self.active.bytes() + entries * size_of::<Entry>() + self.served.bytes()
    }
}

/// Four sources wait for a whole batch to one destination. In strict turns each gets a quantum at a time.
#[test]
fn strict_turns_give_a_quantum_each_time() {
    for quantum in [1, 3] {
        let allocator = Allocator::new(6, Policy::MaxMin { quantum }).unwrap();
        let mut allocator = allocator.with_strict_turns(true);
        for (src, dst) in [(0, 4), (1, 4), (2, 4), (3, 4)] {
            allocator.add_demand(src, dst, 64).unwrap();
        }
        let grants: Vec<Grant> = allocator.next_batch().collect();
        let counts: Vec<u32> = grants.iter().map(|grant| grant.slots.count_ones()).collect();
        assert!(counts.iter().all(|count| count.abs_diff(16) < quantum), "{counts:?}");
        // The turns alternate: no pair has two neighbouring quanta.
        let first = grants.iter().find(|grant| grant.src == 0).unwrap().slots;
        assert_eq!(first & ((1 << (4 * quantum)) - 1), (1 << quantum) - 1);
    }
}
