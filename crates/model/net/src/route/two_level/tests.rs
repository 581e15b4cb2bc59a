//! The paper's tables and its example; all pairs have paths without loops, spread evenly; the ternary memory.

use super::*;
use crate::id::{HostId, PortId};
use crate::route::{Routes, RoutingSpec};
use crate::topology::{Down, FatTreeSpec, Graph, StarSpec, TopologySpec};
use core::net::Ipv4Addr;
use proptest::prelude::*;
use std::collections::BTreeMap;

fn fat_tree(k: u32, oversubscription: u32) -> (Graph, Plan) {
    let spec = TopologySpec::FatTree(FatTreeSpec { oversubscription, ..FatTreeSpec::new(k) });
    (spec.build().unwrap(), Plan::of(&spec).unwrap())
}

fn at(text: &str) -> Ipv4Addr {
    text.parse().unwrap()
}

#[test]
fn figure_3_3() {
    let plan = Plan::new(4, 2).unwrap();
    let place = Place::Aggregation { pod: 2, at: 0 };
    assert_eq!(plan.switch(place), at("10.2.2.1"));
    let table = plan.table(place);
    let expected = "  10.2.0.0/24        port 0
  10.2.1.0/24        port 1
  0.0.0.0/0          by suffix:
    0.0.0.2/8        port 2
    0.0.0.3/8        port 3
";
    assert_eq!(table.to_string(), expected);
    // The figure's caption, then section 3.1.4 on Figure 3.4.
    let ports = ["10.2.1.2", "10.3.0.3", "10.2.0.3", "10.3.1.2"].map(|to| table.lookup(at(to)));
    assert_eq!(ports, [1, 3, 0, 2].map(|port| Some(PortId(port))));
    assert_eq!(table.sizes(), Sizes { prefixes: 3, suffixes: 2, tcam: 4 });
}

#[test]
fn other_tables_of_a_four_port_tree() {
    let plan = Plan::new(4, 2).unwrap();
    let edge = plan.table(Place::Edge { pod: 0, at: 1 });
    let expected = "  10.0.1.0/24        switched
  0.0.0.0/0          by suffix:
    0.0.0.2/8        port 3
    0.0.0.3/8        port 2
";
    assert_eq!(edge.to_string(), expected);
    assert_eq!(edge.forward(at("10.0.1.3")), Some(PortId(1)));
    assert_eq!(edge.forward(at("10.0.1.1")), None, "the switch itself");
    let core = plan.table(Place::Core { group: 1, at: 0 });
    assert_eq!(plan.switch(Place::Core { group: 1, at: 0 }), at("10.4.2.1"));
    assert!(core.to_string().starts_with("  10.0.0.0/16        port 0\n"));
    assert_eq!(core.lookup(at("10.4.1.1")), None);
}

/// The switches on the path from `src` to `dst`, each with the port by which the packet leaves.
fn walk(plan: &Plan, src: HostId, dst: HostId) -> Vec<(Place, PortId)> {
    let edge = src.0 / plan.hosts_per_edge();
    let mut place = Place::Edge { pod: edge / plan.half(), at: edge % plan.half() };
    let mut path = Vec::new();
    loop {
        let port = plan.table(place).forward(plan.host(dst)).expect("a path");
        path.push((place, port));
        assert!(path.len() <= 5, "{path:?}");
        let Some(next) = plan.behind(place, port.0.into()) else { return path };
        place = next;
    }
}

#[test]
fn the_routing_example() {
    let plan = Plan::new(4, 2).unwrap();
    let [src, dst] = [HostId(2), HostId(9)];
    assert_eq!([src, dst].map(|host| plan.host(host)), [at("10.0.1.2"), at("10.2.0.3")]);
    let path = walk(&plan, src, dst);
    let ports: Vec<u16> = path.iter().map(|(_, port)| port.0).collect();
    assert_eq!(ports, [2, 3, 2, 0, 1]);
    let addresses: Vec<Ipv4Addr> = path.iter().map(|(place, _)| plan.switch(*place)).collect();
    // The paper calls the core switch at port 3 of 10.0.2.1 10.4.1.1. Counted from the left it is the second of its
    // row.
    assert_eq!(addresses, ["10.0.1.1", "10.0.2.1", "10.4.1.2", "10.2.2.1", "10.2.0.1"].map(at));
    // Packets from its neighbour to the neighbour of the destination leave by the other switch.
    assert_eq!(walk(&plan, HostId(3), HostId(8))[1].0, Place::Aggregation { pod: 0, at: 1 });
}

/// Checks all switches of `plan`: their nodes are those of the graph, and their tables give the same ports as routes.
fn tables_are_routes(graph: &Graph, plan: &Plan) -> Vec<Vec<Option<PortId>>> {
    let routes = Routes::build(graph, RoutingSpec::TwoLevel, &Down::default(), 1);
    let hosts = || (0..plan.hosts()).map(HostId);
    let of = |place| {
        let (node, table) = (plan.node(place), plan.table(place));
        assert_eq!(graph.nodes[node.at()].name, plan.name(place));
        let ports: Vec<_> = hosts().map(|dst| table.forward(plan.host(dst))).collect();
        hosts().zip(&ports).for_each(|(dst, port)| {
            let wanted = routes.next(node, dst, dst.0 as u16 ^ 77);
            assert_eq!(*port, wanted, "{place:?} to {dst:?}");
        });
        ports
    };
    plan.places().map(of).collect()
}

#[test]
fn every_pair_has_a_way_without_loops_evenly_spread() {
    for (k, oversubscription) in [(4, 1), (6, 1), (8, 1), (4, 3), (6, 2), (16, 1)] {
        let (graph, plan) = fat_tree(k, oversubscription);
        assert_eq!(graph.hosts.len() as u32, plan.hosts());
        let next = tables_are_routes(&graph, &plan);
        let places: Vec<Place> = plan.places().collect();
        let index: BTreeMap<Place, usize> = places.iter().copied().zip(0..).collect();
        let wiring = graph.wiring();
        let mut upwards: BTreeMap<(usize, PortId), u32> = BTreeMap::new();
        for src in 0..plan.hosts() {
            let edge = src / plan.hosts_per_edge();
            let home = index[&Place::Edge { pod: edge / plan.half(), at: edge % plan.half() }];
            for dst in (0..plan.hosts()).filter(|dst| *dst != src) {
                let (mut at, mut hops, mut highest) = (home, 0, 0);
                loop {
                    let port = next[at][dst as usize].expect("a path");
                    let far = wiring.of(plan.node(places[at]))[port.at()].far.node;
                    hops += 1;
                    let Some(behind) = plan.behind(places[at], port.0.into()) else {
                        assert_eq!(far, graph.hosts[dst as usize]);
                        break;
                    };
                    assert_eq!(far, plan.node(behind));
                    let tier = |place: usize| graph.nodes[plan.node(places[place]).at()].tier;
                    if tier(at) < tier(index[&behind]) {
                        assert!(highest <= tier(at), "up again after down");
                        *upwards.entry((at, port)).or_default() += 1;
                    }
                    highest = highest.max(tier(index[&behind]));
                    at = index[&behind];
                    assert!(hops <= 5);
                }
            }
        }
        // Each upward link of a tier carries as many pairs as any other of that tier.
        let mut by_tier: BTreeMap<u8, Vec<u32>> = BTreeMap::new();
        for ((at, _), pairs) in &upwards {
            by_tier.entry(graph.nodes[plan.node(places[*at]).at()].tier).or_default().push(*pairs);
        }
        assert_eq!(by_tier.len(), 2);
        for (tier, pairs) in by_tier {
            assert_eq!(
                pairs.len() as u32,
                k * plan.half() * plan.half(),
                "tier {tier}: all are used"
            );
            assert!(pairs.iter().all(|n| *n == pairs[0]), "k = {k}, tier {tier}: {pairs:?}");
        }
    }
}

#[test]
fn tables_are_linear_in_k() {
    for k in [2, 4, 48, 254] {
        let plan = Plan::new(k, k / 2).unwrap();
        for place in plan.places().step_by(1 + k as usize * 7) {
            let Sizes { prefixes, suffixes, tcam } = plan.table(place).sizes();
            let [p, s] = match place {
                Place::Edge { .. } => [1, k / 2],
                Place::Aggregation { .. } => [k / 2 + 1, k / 2],
                Place::Core { .. } => [k, 0],
            };
            assert_eq!([prefixes, suffixes], [p, s].map(|n| n as usize));
            assert!(tcam <= k as usize);
        }
    }
}

#[test]
fn what_has_no_addresses_is_refused() {
    let no = |spec: &TopologySpec| Plan::of(spec).unwrap_err().to_string();
    assert!(no(&TopologySpec::Star(StarSpec::new(4))).contains("fat-tree"));
    let two = FatTreeSpec { nics: 2, ..FatTreeSpec::new(4) };
    assert!(no(&TopologySpec::FatTree(two)).contains("2 cards"));
    let many = FatTreeSpec { oversubscription: 127, ..FatTreeSpec::new(4) };
    assert!(no(&TopologySpec::FatTree(many)).contains("254 hosts"));
    assert!(Plan::new(5, 2).unwrap_err().to_string().contains("even"));
}

fn tables() -> impl Strategy<Value = Table> {
    use proptest::collection::vec;
    // Most values have few bits set, so that entries overlap.
    let bits = || prop_oneof![0..4u32, Just(0x0a00_0000), Just(0x0a01_0002), any::<u32>()];
    let port = || (0..9u16).prop_map(PortId);
    let suffix = (bits(), 0..33u8, port())
        .prop_map(|(b, len, port)| (Suffix { address: b.into(), len }, port));
    let action =
        prop_oneof![port().prop_map(Action::Port), vec(suffix, 0..4).prop_map(Action::Suffixes),];
    let prefix = (bits(), 0..33u8, action)
        .prop_map(|(b, len, action)| (Prefix { address: b.into(), len }, action));
    vec(prefix, 0..6).prop_map(|mut prefixes| {
        // Two equal entries are not tested, because either may be used.
        let key = |p: &Prefix| (p.len, u32::from(p.address) & p.mask());
        prefixes.sort_by_key(|(p, _)| key(p));
        prefixes.dedup_by_key(|(p, _)| key(p));
        for (_, action) in &mut prefixes {
            if let Action::Suffixes(suffixes) = action {
                let key = |s: &Suffix| (s.len, u32::from(s.address) & s.mask());
                suffixes.sort_by_key(|(s, _)| key(s));
                suffixes.dedup_by_key(|(s, _)| key(s));
            }
        }
        Table { subnet: None, prefixes }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn a_ternary_memory_does_the_same(table in tables(), to in proptest::collection::vec(
        prop_oneof![0..8u32, 0x0a00_0000..0x0a00_0008u32, Just(0x0a01_0002), any::<u32>()], 20,
    )) {
        let rows = table.tcam();
        for address in to {
            let first = rows.iter().find(|row| (address ^ row.value) & row.mask == 0);
            prop_assert_eq!(first.and_then(|row| row.port), table.lookup(address.into()));
        }
    }
}
