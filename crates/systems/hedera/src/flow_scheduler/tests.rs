//! Reservations never overlap, are released, and move when links fail.

use super::*;
use proptest::prelude::*;
use slotline_net::route::{Routes, RoutingSpec};
use slotline_net::scheme::Map;
use slotline_net::topology::{Down, FatTreeSpec, Graph, TopologySpec};
use std::collections::BTreeSet;
use std::sync::Arc;

fn fat_tree(k: u32) -> Graph {
    TopologySpec::FatTree(FatTreeSpec::new(k)).build().unwrap()
}

fn network(graph: &Graph, down: &Down) -> Network {
    let routes = Arc::new(Routes::build(graph, RoutingSpec::Pinned, down, 1));
    Map::new(graph.nodes.len(), graph.hosts.len(), &graph.wiring(), &routes, 1).network()
}

fn scheduler(k: u32) -> FlowScheduler {
    FlowScheduler::new(network(&fat_tree(k), &Down::default()), Time::ms(500))
}

fn report(scheduler: &mut FlowScheduler, flows: &[(u32, u32, u32)], now: Time) -> Plan {
    for &(src, conn, dst) in flows {
        let flow = FlowCount { conn: ConnId(conn), dst: HostId(dst), bytes: 1_000_000 };
        let span = Time::ms(100);
        scheduler.observe(&News::Flows { host: HostId(src), span, flows: &[flow] }, now);
    }
    let mut plan = Vec::new();
    scheduler.decide(now, &mut plan);
    plan
}

fn paths(plan: &Plan) -> Vec<u16> {
    let path = |decision: &Decision| match decision {
        Decision::Path { path, .. } => *path,
        other => panic!("{other:?}"),
    };
    plan.iter().map(path).collect()
}

#[test]
fn flows_of_a_subnet_go_different_ways() {
    let mut scheduler = scheduler(4);
    let plan = report(&mut scheduler, &[(0, 0, 15), (1, 1, 13), (2, 2, 14), (3, 3, 4)], Time::ZERO);
    assert_eq!(plan.len(), 4);
    assert_eq!(paths(&plan)[0], 0);
    assert_ne!(paths(&plan)[0] % 2, paths(&plan)[1] % 2, "one edge switch, two uplinks");
    let again = report(&mut scheduler, &[(0, 0, 15)], Time::ms(100));
    assert_eq!(again, plan[..1], "it keeps its path");
}

#[test]
fn flows_of_unknown_hosts_are_ignored() {
    let mut scheduler = scheduler(4);
    let plan =
        report(&mut scheduler, &[(0, 0, 16), (99, 1, 2), (1, 2, u32::MAX), (2, 3, 9)], Time::ZERO);
    assert_eq!((plan.len(), scheduler.placed()), (1, 1));
}

#[test]
fn links_of_unreported_flows_are_released() {
    let mut scheduler = scheduler(4);
    // Both of a subnet's uplinks are taken.
    assert_eq!(report(&mut scheduler, &[(0, 0, 15), (1, 1, 13)], Time::ZERO).len(), 2);
    let third = [(1, 2, 8)];
    assert!(report(&mut scheduler, &third, Time::ms(100)).is_empty());
    let mut plan = Vec::new();
    assert_eq!(scheduler.decide(Time::ms(100), &mut plan), Some(Time::ms(500)));
    scheduler.decide(Time::ms(500), &mut plan);
    assert_eq!((scheduler.placed(), plan.len()), (0, 0));
    assert!(scheduler.reserved.iter().all(|reserved| !reserved));
    assert_eq!(report(&mut scheduler, &third, Time::ms(600)).len(), 1);
    scheduler.observe(&News::Left(HostId(1)), Time::ms(700));
    assert_eq!(scheduler.placed(), 0);
}

#[test]
fn a_failed_link_is_left() {
    let graph = fat_tree(4);
    let mut scheduler = scheduler(4);
    assert_eq!(paths(&report(&mut scheduler, &[(0, 0, 15)], Time::ZERO)), [0]);
    let link = graph.link_named("agg0.0-core0").unwrap();
    let down = Down { links: [link].into(), ..Down::default() };
    scheduler.rewire(&network(&graph, &down), Time::ms(1));
    let mut plan = Vec::new();
    scheduler.decide(Time::ms(1), &mut plan);
    let [Decision::Path { src, dst, path, .. }] = plan[..] else { panic!("{plan:?}") };
    let mut links = Vec::new();
    scheduler.network.numbered_path(src, dst, path, &mut links);
    assert_eq!(links.len(), 6);
    assert_eq!(inner(&links), scheduler.placed[&ConnId(0)].links);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// No link is reserved twice, every reservation belongs to a flow, and a flow that gets no path has a
    /// reserved link on each of its paths.
    #[test]
    fn reservations_are_exact(
        steps in proptest::collection::vec((0..16u32, 0..16u32, 0..24u32, 0..400u64), 1..60),
    ) {
        let mut scheduler = scheduler(4);
        let mut now = Time::ZERO;
        for (src, dst, conn, wait) in steps {
            now += Time::ms(wait);
            let mut plan = Vec::new();
            scheduler.decide(now, &mut plan);
            let known = scheduler.placed.get(&ConnId(conn)).map(|placed| (placed.src, placed.dst));
            if src == dst || known.is_some_and(|pair| pair != (HostId(src), HostId(dst))) {
                continue;
            }
            let got = scheduler.request(HostId(src), ConnId(conn), HostId(dst), now);
            let held: Vec<u32> = scheduler.placed.values().flat_map(|p| p.links.clone()).collect();
            let distinct: BTreeSet<u32> = held.iter().copied().collect();
            prop_assert_eq!(held.len(), distinct.len());
            let marked = (0..).zip(&scheduler.reserved).filter(|(_, on)| **on).map(|(link, _)| link);
            prop_assert_eq!(marked.collect::<BTreeSet<u32>>(), distinct.clone());
            if got.is_none() {
                for path in 0..4 {
                    let mut links = Vec::new();
                    scheduler.network.numbered_path(HostId(src), HostId(dst), path, &mut links);
                    prop_assert!(inner(&links).iter().any(|link| distinct.contains(link)));
                }
            }
        }
    }
}
