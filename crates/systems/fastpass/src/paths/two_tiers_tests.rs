use super::*;
use crate::{Allocator, BySlot, Policy};
use proptest::prelude::*;
use slotline_net::rng::Stream;
use std::collections::BTreeMap;

/// A random matching of hosts, given as racks. Each host sends with this probability.
fn matching(seed: u64, racks: u16, hosts: u16, load: f64) -> Vec<(u16, u16)> {
    let mut stream = Stream::named(seed, "matching", 0);
    let mut to: Vec<u16> = (0..racks * hosts).collect();
    stream.shuffle(&mut to);
    let pairs = (0..racks * hosts).zip(to).filter(|_| stream.unit() < load);
    pairs.map(|(src, dst)| (src / hosts, dst / hosts)).collect()
}

/// The reference check: no link carries more than `room`, and no link in `failed` carries anything. Returns
/// the number of packets that are not placed.
fn check(packets: &[(u16, u16)], out: &[Choice], room: u16, failed: &[(u16, u16)]) -> usize {
    assert_eq!(packets.len(), out.len());
    let mut links: BTreeMap<(&str, u16, u16), u16> = BTreeMap::new();
    let mut unplaced = 0;
    for (&(src, dst), &choice) in packets.iter().zip(out) {
        assert_eq!(src == dst, choice == Choice::Local, "{src} {dst} {choice:?}");
        match choice {
            Choice::Over(path) => {
                *links.entry(("up", src, path)).or_default() += 1;
                *links.entry(("down", dst, path)).or_default() += 1;
                assert!(!failed.contains(&(src, path)) && !failed.contains(&(dst, path)));
            }
            Choice::Unplaced => unplaced += 1,
            Choice::Local => {}
        }
    }
    assert!(links.values().all(|&carried| carried <= room), "{links:?}");
    unplaced
}

proptest! {
    /// In 32 racks of 32 hosts, at any load, every packet is placed.
    #[test]
    fn every_matching_fits(seed: u64, load in 0.05f64..1.1, which in 0usize..5) {
        let (paths, room) = [(4, 8), (32, 1), (64, 1), (8, 4), (100, 1)][which];
        let packets = matching(seed, 32, 32, load);
        let mut selector = PathSelector::new(32, paths, room).unwrap();
        let mut out = Vec::new();
        selector.select(&packets, &mut out).unwrap();
        prop_assert_eq!(check(&packets, &out, room, &[]), 0);
        // Earlier selections do not matter.
        let first = out.clone();
        selector.select(&matching(seed ^ 1, 32, 32, 1.0), &mut out).unwrap();
        selector.select(&packets, &mut out).unwrap();
        prop_assert_eq!(first, out);
    }

    /// Failed paths carry nothing. The others suffice as long as no rack has more packets.
    #[test]
    fn failed_paths_are_left_out(seed: u64, load in 0.3f64..1.0, dead in 1u16..8) {
        let packets = matching(seed, 8, 16, load);
        let mut selector = PathSelector::new(8, 16, 1).unwrap();
        (0..dead).for_each(|path| selector.set_path(path, false).unwrap());
        let mut out = Vec::new();
        selector.select(&packets, &mut out).unwrap();
        let failed: Vec<_> = (0..8).flat_map(|r| (0..dead).map(move |p| (r, p))).collect();
        let unplaced = check(&packets, &out, 1, &failed);
        let between = || packets.iter().filter(|(src, dst)| src != dst);
        let busiest = (0..8)
            .flat_map(|r| {
                let from = between().filter(|p| p.0 == r).count();
                [from, between().filter(|p| p.1 == r).count()]
            })
            .max()
            .unwrap();
        prop_assert!(unplaced == 0 || busiest > usize::from(16 - dead));
        (0..dead).for_each(|path| selector.set_path(path, true).unwrap());
        selector.select(&packets, &mut out).unwrap();
        prop_assert_eq!(check(&packets, &out, 1, &[]), 0);
    }

    /// When single links fail, what is placed is valid, and no unplaced packet has a free path.
    #[test]
    fn failed_links_are_left_out(seed: u64, failed in prop::collection::vec((0u16..8, 0u16..8), 0..20)) {
        let packets = matching(seed, 8, 8, 0.9);
        let mut selector = PathSelector::new(8, 8, 1).unwrap();
        failed.iter().for_each(|&(rack, path)| selector.set_link(rack, path, false).unwrap());
        let mut out = Vec::new();
        selector.select(&packets, &mut out).unwrap();
        check(&packets, &out, 1, &failed);
        for (&(src, dst), _) in packets.iter().zip(&out).filter(|p| *p.1 == Choice::Unplaced) {
            let free = |path| {
                let taken = packets.iter().zip(&out).any(|(ends, &choice)| {
                    choice == Choice::Over(path) && (ends.0 == src || ends.1 == dst)
                });
                !taken && !failed.contains(&(src, path)) && !failed.contains(&(dst, path))
            };
            prop_assert!(!(0..8).any(free), "{src} to {dst} has a free path");
        }
    }
}

/// Without enough room, as many packets as fit are placed.
#[test]
fn too_many_packets_are_not_placed() {
    let mut selector = PathSelector::new(2, 4, 1).unwrap();
    let mut out = Vec::new();
    selector.select(&[(0, 1); 6], &mut out).unwrap();
    assert_eq!(check(&[(0, 1); 6], &out, 1, &[]), 2);
}

#[test]
fn what_does_not_exist_is_refused() {
    for (paths, room) in [(0, 1), (1, 0), (4_097, 1), (65_535, 65_535)] {
        let made = PathSelector::new(2, paths, room);
        assert_eq!(made.unwrap_err(), PathError::Paths { paths, room });
    }
    let mut selector = PathSelector::new(2, 4, 1).unwrap();
    let rack = PathError::Rack { rack: 2, racks: 2 };
    assert_eq!(selector.select(&[(0, 2)], &mut Vec::new()), Err(rack));
    assert_eq!(selector.set_link(2, 0, false), Err(rack));
    assert_eq!(selector.set_path(4, false), Err(PathError::Path { path: 4, paths: 4 }));
}

/// The selector can place what the allocator grants.
#[test]
fn grants_of_a_batch_get_paths() {
    let mut allocator = Allocator::new(64, Policy::MaxMin { quantum: 1 }).unwrap();
    for (src, dst) in (0..64).flat_map(|s| (0..64).map(move |d| (s, d))).filter(|(s, d)| s != d) {
        allocator.add_demand(src, dst, 5).unwrap();
    }
    let mut slots = BySlot::new(64);
    slots.sort(allocator.next_batch());
    let mut selector = PathSelector::new(8, 8, 1).unwrap();
    for slot in slots.slots() {
        assert!(slot.len() > 48, "{} packets in a slot", slot.len());
        let packets: Vec<_> = slot.iter().map(|&(src, dst)| (src / 8, dst / 8)).collect();
        let mut out = Vec::new();
        selector.select(&packets, &mut out).unwrap();
        assert_eq!(check(&packets, &out, 1, &[]), 0);
    }
}
