use super::*;
use proptest::prelude::*;
use slotline_net::units::Rate;

/// Every pair has its source's link and shares link 8 with those of the same parity of src + dst; after
/// a change of routes, with those of the other parity.
fn network(changed: u32, capacity: u64) -> Network {
    Network::new(6, vec![Rate(capacity); 10], move |src, dst, out| path(changed, src, dst, out))
}
fn path(changed: u32, src: HostId, dst: HostId, out: &mut Vec<u32>) {
    if changed == 0 || src.0 != dst.0 + 1 {
        out.extend([src.0, 8 + (src.0 + dst.0 + changed) % 2]);
    }
}

/// A report: the source, and the number of flows by destination.
type Report = (u32, std::collections::BTreeMap<u32, u32>);

proptest! {
    /// After any reports, each link's contenders are exactly the pairs whose path has it, with their
    /// flows, even if routes have changed.
    #[test]
    fn contention_groups_follow_the_reports(
        reports in prop::collection::vec((0u32..6, prop::collection::btree_map(0u32..8, 1u32..4, 0..6)), 1..30),
        change_at in 0usize..30,
    ) {
        let mut demand = Demand::new(network(0, 10), Vec::new(), Affects::All);
        let mut model: Vec<Vec<(HostId, u32)>> = vec![Vec::new(); 6];
        let (mut changed, mut capacity) = (0, 10);
        for (at, (src, reported)) in reports.into_iter().enumerate() {
            if at == change_at {
                (changed, capacity) = (1, 20);
                demand.rewire(&network(1, 20));
            }
            report(&mut demand, &mut model, (src, reported));
            for link in 0..10u32 {
                let mut got: Vec<_> = demand.links[link as usize].contenders.iter()
                    .map(|c| (demand.pair(c.id).src, demand.pair(c.id).dst)).collect();
                got.sort();
                prop_assert!(demand.links[link as usize].contenders.iter()
                    .all(|c| demand.pair(c.id).src == c.src));
                let (mut want, mut flows) = (Vec::new(), 0);
                for (s, group) in model.iter().enumerate() {
                    for &(d, weight) in group {
                        let (s, mut links) = (HostId(s as u32), Vec::new());
                        path(changed, s, d, &mut links);
                        if links.contains(&link) {
                            want.push((s, d));
                            flows += u64::from(weight);
                        }
                    }
                }
                want.sort();
                prop_assert_eq!(&got, &want);
                prop_assert_eq!(demand.links[link as usize].offered, want.len() as u64 * capacity);
                prop_assert_eq!(demand.links[link as usize].flows, flows);
            }
        }
    }
}

fn report(demand: &mut Demand, model: &mut [Vec<(HostId, u32)>], (src, reported): Report) {
    let src = HostId(src);
    let destinations: Vec<HostId> = reported.keys().copied().map(HostId).collect();
    let flows: Vec<u32> = reported.values().copied().collect();
    let Changes { gone, new } = demand.compare(src, &destinations, &flows);
    gone.into_iter().for_each(|id| demand.remove(id));
    new.into_iter().for_each(|(dst, flows)| demand.add(src, dst, flows, 0, Time::ZERO));
    let own = destinations.into_iter().zip(flows);
    model[src.at()] = own.filter(|(d, _)| *d != src && d.0 < 6).collect();
}
