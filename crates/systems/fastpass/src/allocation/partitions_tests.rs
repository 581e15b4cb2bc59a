use super::*;
use crate::Allocator;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

/// The demands of pairs before one round.
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

/// Demands of up to four rounds among few or many endpoints.
fn demands() -> impl Strategy<Value = (u16, Vec<Demands>)> {
    (2u16..30).prop_flat_map(|n| {
        let demand = (0..n, 1..n, 0u32..300).prop_map(move |(s, d, k)| (s, (s + d) % n, k));
        (Just(n), prop::collection::vec(prop::collection::vec(demand, 0..150), 1..5))
    })
}

/// The reference check: subtracts the grants from the demand, slot by slot. Fails if an endpoint has two grants
/// in a slot, or a pair more slots than its demand.
fn check(grants: &[Grant], book: &mut Book) {
    for slot in 0..64 {
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

/// In each slot, each of these pairs has a busy source or destination.
fn check_maximal(grants: &[Grant], left: &Book) {
    for &(src, dst) in left.keys() {
        let ends = grants.iter().filter(|grant| grant.src == src || grant.dst == dst);
        let busy = ends.fold(0, |busy, grant| busy | grant.slots);
        assert_eq!(busy, u64::MAX, "{src} to {dst} could have had a slot");
    }
}

fn backlog(partitions: &Partitions) -> Book {
    partitions.backlog().map(|(s, d, k)| ((s, d), k)).collect()
}

fn add(partitions: &mut Partitions, book: &mut Book, demands: &Demands) {
    for &(src, dst, slots) in demands.iter().filter(|demand| demand.2 > 0) {
        partitions.add_demand(src, dst, slots).unwrap();
        *book.entry((src, dst)).or_default() += u64::from(slots);
    }
}

proptest! {
    /// A pair that waits after a round waited in each of its batches and could have used none of their free
    /// slots.
    #[test]
    fn rounds_are_valid_maximal_and_conserve_demand(
        policy in policies(), count in 1usize..6, (n, rounds) in demands()
    ) {
        let mut partitions = Partitions::new(count, n.into(), policy).unwrap();
        let mut book = Book::new();
        for demands in rounds {
            add(&mut partitions, &mut book, &demands);
            let batches = partitions.allocate_round();
            prop_assert_eq!(batches.len(), count);
            batches.iter().for_each(|grants| check(grants, &mut book));
            batches.iter().for_each(|grants| check_maximal(grants, &book));
            prop_assert_eq!(&backlog(&partitions), &book);
        }
        // All demand is granted in the end.
        while !book.is_empty() {
            let before = book.values().sum::<u64>();
            partitions.allocate_round().iter().for_each(|grants| check(grants, &mut book));
            prop_assert!(book.values().sum::<u64>() < before);
        }
        prop_assert!(backlog(&partitions).is_empty());
    }

    /// With one partition, the result is that of an allocator.
    #[test]
    fn one_partition_is_an_allocator(policy in policies(), (n, rounds) in demands()) {
        let mut partitions = Partitions::new(1, n.into(), policy).unwrap();
        let mut alone = Allocator::new(n.into(), policy).unwrap();
        for demands in rounds {
            for (src, dst, slots) in demands {
                partitions.add_demand(src, dst, slots).unwrap();
                alone.add_demand(src, dst, slots).unwrap();
            }
            let mut grants = Vec::new();
            alone.allocate_batch(&mut grants);
            prop_assert_eq!(partitions.allocate_round(), [grants]);
        }
    }

    #[test]
    fn a_pair_has_one_partition(src: u16, dst: u16, partitions in 1usize..20) {
        prop_assert!(partition_of(src, dst, partitions) < partitions);
    }
}

/// Pairs are spread evenly, whatever their pattern.
#[test]
fn partitions_have_equal_shares() {
    for partitions in [2, 3, 4, 8] {
        let patterns: [Vec<(u16, u16)>; 5] = [
            (0..64).flat_map(|s| (0..64).map(move |d| (s, d))).collect(),
            (0..4_096).map(|s| (s, s + 1)).collect(),
            (0..4_096).map(|s| (s, s ^ 32)).collect(),
            (0..4_096).map(|s| (s, 7)).collect(),
            (0..4_096).map(|d| (7, d)).collect(),
        ];
        for pairs in patterns {
            let mut shares = vec![0.0; partitions];
            pairs.iter().for_each(|&(s, d)| shares[partition_of(s, d, partitions)] += 1.0);
            let even = pairs.len() as f64 / partitions as f64;
            assert!(
                shares.iter().all(|s| (s / even - 1.0f64).abs() < 0.1),
                "{shares:?} of {partitions}"
            );
        }
    }
}

/// All pairs always have demand: each gets a slot within the bound, and long-term shares are similar.
#[test]
fn nobody_starves() {
    for (n, quantum, count) in [(20u16, 1, 2), (60, 1, 3), (40, 4, 2), (24, 64, 4)] {
        let policy = Policy::MaxMin { quantum };
        let mut partitions = Partitions::new(count, n.into(), policy).unwrap();
        for (src, dst) in (0..n).flat_map(|s| (0..n).map(move |d| (s, d))).filter(|(s, d)| s != d) {
            partitions.add_demand(src, dst, 1_000_000).unwrap();
        }
        let bound = ((2 * u32::from(n) - 4) * quantum).div_ceil(64) + 1;
        let (mut last, mut got) = (Book::new(), Book::new());
        for round in 1..=200u64 {
            for grant in partitions.allocate_round().iter().flatten() {
                let waited = round - last.insert((grant.src, grant.dst), round).unwrap_or(0);
                assert!(waited <= bound.into(), "{grant:?} of {n} waited {waited} rounds");
                *got.entry((grant.src, grant.dst)).or_default() +=
                    u64::from(grant.slots.count_ones());
            }
        }
        assert_eq!(got.len(), usize::from(n) * usize::from(n - 1));
        let (least, most) = (got.values().min().unwrap(), got.values().max().unwrap());
        assert!(2 * *most < 5 * *least, "{n} endpoints, quantum {quantum}: {least} to {most}");
    }
}

/// The senders to one receiver are spread unevenly over the sets. No sender gets much more than another, because
/// the first phase leaves each its share.
#[test]
fn sets_of_different_sizes_get_equal_shares() {
    for (partitions, in_first, others) in [(2, 1, 9), (2, 3, 7), (2, 2, 30), (3, 3, 7)] {
        let mut all = Partitions::new(partitions, 400, Policy::MaxMin { quantum: 1 }).unwrap();
        let of = |first: bool| {
            (1..400).filter(move |&src| (partition_of(src, 0, partitions) == 0) == first)
        };
        let senders: Vec<u16> = of(true).take(in_first).chain(of(false).take(others)).collect();
        senders.iter().for_each(|&src| all.add_demand(src, 0, 1_000_000).unwrap());
        let mut got = BTreeMap::new();
        for grant in (0..60).flat_map(|_| all.allocate_round()).flatten() {
            *got.entry(grant.src).or_default() += u64::from(grant.slots.count_ones());
        }
        let (least, most) = (*got.values().min().unwrap(), *got.values().max().unwrap());
        assert_eq!(got.values().sum::<u64>(), 60 * 64 * partitions as u64);
        assert!(
            most * 2 <= least * 3,
            "{partitions} partitions, {in_first} and {others}: {least} to {most}"
        );
    }
}
