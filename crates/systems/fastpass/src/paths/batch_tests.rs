use super::*;
use crate::allocation::{Allocator, Policy};
use crate::paths::Tiers;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

/// A topology, and a function from source rack, destination rack and path to the links of the path.
type Links = Box<dyn Fn(u16, u16, u32) -> Vec<u32>>;

/// 4 spines above 4 racks. The link up from rack `r` to spine `s` is `2 (4 r + s)`. The link down has the next number.
fn two_tiers() -> (Topology, Links) {
    let links: Links = Box::new(|src, dst, path| {
        vec![2 * (4 * u32::from(src) + path), 2 * (4 * u32::from(dst) + path) + 1]
    });
    (Topology::TwoTiers(PathSelector::new(4, 4, 1).unwrap()), links)
}

/// Two pods of two edge switches with four hosts, four aggregation switches, and two cores above each.
fn fat_tree() -> (Topology, Links) {
    let tiers = Tiers { pods: 2, edges: 2, aggregations: 4, cores: 2, edge_room: 1, core_room: 1 };
    let links: Links = Box::new(|src, dst, path| {
        let edge = |edge: u16, index: u32| 2 * (4 * u32::from(edge) + index);
        if src / 2 == dst / 2 {
            return vec![edge(src, path), edge(dst, path) + 1];
        }
        let core = |pod: u16| 100 + 2 * (8 * u32::from(pod) + path);
        vec![edge(src, path / 2), core(src / 2), core(dst / 2) + 1, edge(dst, path / 2) + 1]
    });
    (Topology::FatTree(FatTree::new(tiers).unwrap(), 2), links)
}

/// A ring of four racks with two parallel links in each direction. Both directions are candidates.
fn ring() -> (Topology, Links) {
    let route = |src: u32, dst: u32, path: u32| -> Vec<u32> {
        let (clockwise, parallel) = (path < 2, path % 2);
        let hops = if clockwise { (dst + 4 - src) % 4 } else { (src + 4 - dst) % 4 };
        let from = |hop: u32| if clockwise { (src + hop) % 4 } else { (src + 4 - hop) % 4 };
        (0..hops).map(|hop| 4 * from(hop) + 2 * u32::from(clockwise) + parallel).collect()
    };
    let pairs = (0..4).flat_map(|src| (0..4).map(move |dst| (src, dst)));
    let candidates = pairs.map(|(s, d)| (0..4).map(|path| route(s, d, path)).collect()).collect();
    let links = RouteSelector::new(&[1; 16]).unwrap();
    let topology = Topology::Any { links, racks: 4, candidates };
    (topology, Box::new(move |src, dst, path| route(src.into(), dst.into(), path)))
}

proptest! {
    /// Each granted slot is placed once or left over, and no link is used twice in a slot. Trees of full
    /// bandwidth leave nothing over.
    #[test]
    fn each_slot_is_placed_once_or_left_over(
        which in 0usize..3,
        demands in prop::collection::vec((0u16..16, 1u16..16, 1u32..100), 0..120),
    ) {
        let (topology, links) = [two_tiers, fat_tree, ring][which]();
        let mut selector = Selector::new(topology, (0..16).map(|host| host / 4).collect());
        let mut allocator = Allocator::new(16, Policy::MaxMin { quantum: 1 }).unwrap();
        for (src, step, slots) in demands {
            allocator.add_demand(src, (src + step) % 16, slots).unwrap();
        }
        for _ in 0..2 {
            let (mut grants, mut parts, mut rest) = (Vec::new(), Vec::new(), Vec::new());
            allocator.allocate_batch(&mut grants);
            selector.select(&grants, &mut parts, &mut rest).unwrap();
            let mut left: BTreeMap<(u16, u16), u64> =
                grants.iter().map(|grant| ((grant.src, grant.dst), 0)).collect();
            for grant in &grants {
                *left.get_mut(&(grant.src, grant.dst)).unwrap() |= grant.slots;
            }
            let mut used = BTreeSet::new();
            for PathGrant { grant, path } in parts {
                prop_assert_eq!(grant.src / 4 == grant.dst / 4, path.is_none());
                for slot in (0..BATCH).filter(|slot| grant.slots >> slot & 1 == 1) {
                    let over = path.map(|path| links(grant.src / 4, grant.dst / 4, path));
                    for link in over.into_iter().flatten() {
                        prop_assert!(used.insert((link, slot)), "link {} twice in {}", link, slot);
                    }
                }
                let left = left.get_mut(&(grant.src, grant.dst)).unwrap();
                prop_assert_eq!(*left & grant.slots, grant.slots);
                *left ^= grant.slots;
            }
            prop_assert!(which == 2 || rest.is_empty());
            for grant in rest {
                let left = left.get_mut(&(grant.src, grant.dst)).unwrap();
                prop_assert_eq!(*left & grant.slots, grant.slots);
                *left ^= grant.slots;
            }
            prop_assert!(left.values().all(|&slots| slots == 0));
        }
    }
}

#[test]
fn what_cannot_be_placed_is_left_over_or_refused() {
    let (topology, _) = two_tiers();
    let mut selector = Selector::new(topology, vec![0, 0, 1, 1]);
    if let Topology::TwoTiers(paths) = selector.topology() {
        (0..4).for_each(|path| paths.set_path(path, path == 2).unwrap());
    }
    let (mut parts, mut rest) = (Vec::new(), Vec::new());
    let grants = [(0, 2), (1, 3)].map(|(src, dst)| Grant { src, dst, slots: 0b11 });
    selector.select(&grants, &mut parts, &mut rest).unwrap();
    assert_eq!(parts, [PathGrant { grant: grants[0], path: Some(2) }]);
    assert_eq!(rest, [grants[1]]);
    let missing = Grant { src: 0, dst: 4, slots: 1 };
    let error = SelectError::Endpoint { endpoint: 4, endpoints: 4 };
    assert_eq!(selector.select(&[grants[0], missing], &mut parts, &mut rest), Err(error));
    assert_eq!((parts.len(), rest.len()), (1, 1));
}
