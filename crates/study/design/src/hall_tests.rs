//! Tests of halls: racks do not overlap, and distances are those along rows and columns.

use super::amount::Length;
use super::hall::{Block, Hall};
use super::parts::FloorSpec;
use proptest::prelude::*;
use std::collections::BTreeSet;

const FLOOR: FloorSpec = FloorSpec {
    hosts_per_rack: 48,
    rack_units: 48,
    rack_width: Length(600),
    row_depth: Length(2_400),
    riser: Length(2_000),
};

fn block(hosts: usize, network: usize) -> Block {
    Block { label: String::new(), hosts: vec![48; hosts], network }
}

#[test]
fn forty_eight_pods_make_seven_rows_with_one_seat_free() {
    let hall = Hall::of(vec![block(12, 2); 48], None, &FLOOR);
    let rows: BTreeSet<u64> = hall.blocks.iter().map(|block| block.y).collect();
    let columns: BTreeSet<u64> = hall.blocks.iter().map(|block| block.x).collect();
    assert_eq!((rows.len(), columns.len()), (7, 7));
    // The switches of a pod are side by side, in the middle of their row.
    let first = &hall.racks[..2];
    assert_eq!((first[0].y, first[0].x.abs_diff(first[1].x)), (first[1].y, 600));
}

#[test]
fn the_core_has_the_seat_in_the_middle() {
    let mut blocks = vec![block(9, 1); 8];
    blocks.push(block(0, 4));
    let hall = Hall::of(blocks, Some(8), &FLOOR);
    let core = hall.blocks[8].centre;
    assert!(core.0.abs_diff(hall.width / 2) < 1_000 && core.1.abs_diff(hall.depth / 2) < 1_500);
}

proptest! {
    #[test]
    fn racks_do_not_overlap_and_ways_are_symmetric(
        sizes in prop::collection::vec((0usize..30, 0usize..4), 1..12),
        central in any::<bool>(),
    ) {
        let blocks: Vec<Block> = sizes.iter().map(|&(hosts, network)| block(hosts, network)).collect();
        let racks: usize = sizes.iter().map(|(hosts, network)| hosts + network).sum();
        let hall = Hall::of(blocks, central.then_some(sizes.len() - 1), &FLOOR);
        let places: BTreeSet<(u64, u64)> = hall.racks.iter().map(|rack| (rack.x, rack.y)).collect();
        prop_assert_eq!((places.len(), hall.racks.len()), (racks, racks));
        for one in &hall.racks {
            prop_assert!(one.x + 600 <= hall.width && one.y + 2_400 <= hall.depth);
            let near = |other: &&super::hall::Rack| {
                one.x.abs_diff(other.x) < 600 && one.y.abs_diff(other.y) < 2_400
            };
            prop_assert_eq!(hall.racks.iter().filter(near).count(), 1);
        }
        for (at, (hosts, _)) in sizes.iter().enumerate() {
            prop_assert_eq!(hall.host_racks(at).len(), *hosts);
            for other in 0..sizes.len() {
                prop_assert_eq!(hall.between(at, other), hall.between(other, at));
            }
            for rack in hall.host_racks(at) {
                prop_assert!(hall.to_centre(rack) >= Length(4_000));
            }
        }
    }
}
