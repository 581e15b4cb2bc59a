//! Tests of routes: comparison with a simple reference, even spreading, path numbers, and failures.

use super::*;

use crate::id::{HostId, NodeId, PortId};
use crate::time::Time;
use crate::topology::{
    Down, End, FatTreeSpec, Graph, GraphLink, GraphSpec, LeafSpineSpec, NodeKind, StarSpec,
    TopologySpec, TreeSpec, Wire, Wiring,
};
use crate::units::Rate;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

fn fat_tree(k: u32) -> Graph {
    TopologySpec::FatTree(FatTreeSpec::new(k)).build().unwrap()
}

fn routes(graph: &Graph, mode: RoutingSpec) -> Routes {
    Routes::build(graph, mode, &Down::default(), 1)
}

fn hosts(graph: &Graph) -> impl Iterator<Item = HostId> + Clone + use<> {
    (0..graph.hosts.len() as u32).map(HostId)
}

/// Hops from `src` to every node that can be reached, computed from the list of links.
fn distances(graph: &Graph, down: &Down, src: NodeId) -> BTreeMap<NodeId, usize> {
    let alive = |node| !down.nodes.contains(&node);
    let mut seen = BTreeMap::from([(src, 0)]);
    let mut queue = VecDeque::from([src]);
    while let Some(node) = queue.pop_front() {
        let forwards = node == src || graph.nodes[node.at()].kind == NodeKind::Switch;
        for (at, link) in graph.links.iter().enumerate() {
            let [a, b] = link.ends().map(|end| end.node);
            let far = if a == node { b } else { a };
            let usable = forwards && (a == node || b == node) && !down.links.contains(&at);
            if usable && alive(node) && alive(far) && !seen.contains_key(&far) {
                seen.insert(far, seen[&node] + 1);
                queue.push_back(far);
            }
        }
    }
    seen
}

/// At every switch, exactly the ports on shortest paths lead to a host.
fn check_choices(graph: &Graph, down: &Down) {
    let (routes, wiring) = (Routes::build(graph, RoutingSpec::Ecmp, down, 7), graph.wiring());
    for dst in hosts(graph) {
        let to = graph.hosts[dst.at()];
        let reference = distances(graph, down, to);
        let forwards = |node: NodeId| node == to || graph.nodes[node.at()].kind == NodeKind::Switch;
        for at in (0..graph.nodes.len() as u32).map(NodeId).filter(|at| *at != to && forwards(*at))
        {
            let nearer = |(_, wire): &(PortId, &Wire)| {
                let far = reference.get(&wire.far.node).filter(|_| forwards(wire.far.node));
                far.is_some_and(|far| reference.get(&at) == Some(&(far + 1)))
                    && !down.links.contains(&wire.link)
            };
            let ports = (0..).map(PortId).zip(wiring.of(at)).filter(nearer);
            let expected: Vec<PortId> = ports.map(|(port, _)| port).collect();
            assert_eq!(routes.choices(at, dst).iter().collect::<Vec<_>>(), expected, "{at:?}");
        }
    }
}

/// Every two hosts have a path exactly if the reference has one. It has the same length, and uses nothing that is down.
fn check_all_pairs(graph: &Graph, mode: RoutingSpec, down: &Down, entropy: u16) {
    let (routes, wiring) = (Routes::build(graph, mode, down, 7), graph.wiring());
    for src in hosts(graph) {
        let reference = distances(graph, down, graph.hosts[src.at()]);
        for dst in hosts(graph).filter(|&dst| dst != src) {
            let path = routes.path(&wiring, src, dst, entropy);
            let expected = reference.get(&graph.hosts[dst.at()]).copied();
            assert_eq!(path.as_ref().map(Vec::len), expected, "{src:?} to {dst:?}");
            check_hops(&wiring, down, &path.unwrap_or_default());
        }
    }
}

fn check_hops(wiring: &Wiring, down: &Down, path: &[End]) {
    let mut visited = BTreeSet::new();
    for hop in path {
        let wire = wiring.of(hop.node)[hop.port.at()];
        assert!(visited.insert(hop.node), "{path:?} has a loop");
        assert!(
            !down.links.contains(&wire.link) && !down.nodes.contains(&wire.far.node),
            "{path:?}"
        );
    }
}

fn fabrics() -> impl Strategy<Value = TopologySpec> {
    let star = (1..9u32, 1..4u32)
        .prop_map(|(hosts, nics)| TopologySpec::Star(StarSpec { nics, ..StarSpec::new(hosts) }));
    let tree = (1..4u32, 1..4u32, proptest::option::of(1..4u32), 1..3u32).prop_map(
        |(racks, hosts, rows, nics)| {
            TopologySpec::Tree(TreeSpec { rows, nics, ..TreeSpec::new(racks, hosts) })
        },
    );
    let fat_tree = (1..3u32, 1..3u32, 1..4u32).prop_map(|(half, oversubscription, nics)| {
        TopologySpec::FatTree(FatTreeSpec { oversubscription, nics, ..FatTreeSpec::new(2 * half) })
    });
    let leaf_spine = (1..5u32, 1..4u32, 1..4u32, 1..3u32, 1..4u32).prop_map(
        |(l, s, h, uplinks_per_spine, nics)| {
            TopologySpec::LeafSpine(LeafSpineSpec {
                uplinks_per_spine,
                nics,
                ..LeafSpineSpec::new(l, s, h)
            })
        },
    );
    prop_oneof![star, tree, fat_tree, leaf_spine, graphs()]
}

/// Any connected network of switches. Each switch is linked to an earlier one, and there are additional links, some of
/// them parallel. Hosts have up to three links.
fn graphs() -> impl Strategy<Value = TopologySpec> {
    use proptest::collection::vec;
    use proptest::sample::Index;
    let parents = vec(any::<Index>(), 0..12);
    let more = vec((any::<Index>(), any::<Index>()), 0..12);
    let hosts = vec(vec(any::<Index>(), 1..4), 1..8);
    (parents, more, hosts).prop_map(|(parents, more, hosts)| {
        let count = parents.len() + 1;
        let link =
            |a: String, b: usize| GraphLink { a, b: format!("s{b}"), ..GraphLink::default() };
        let tree = parents.iter().enumerate().map(|(at, up)| (at + 1, up.index(at + 1)));
        let more = more.iter().map(|(a, b)| (a.index(count), b.index(count)));
        let between = tree.chain(more).filter(|(a, b)| a != b);
        let mut links: Vec<GraphLink> = between.map(|(a, b)| link(format!("s{a}"), b)).collect();
        for (host, homes) in hosts.iter().enumerate() {
            links.extend(homes.iter().map(|home| link(format!("h{host}"), home.index(count))));
        }
        TopologySpec::Graph(GraphSpec {
            hosts: (0..hosts.len()).map(|host| format!("h{host}")).collect(),
            switches: (0..count).map(|switch| format!("s{switch}")).collect(),
            rate: Some(Rate(1_000_000_000)),
            delay: Some(Time::us(1)),
            link: links,
            ..GraphSpec::default()
        })
    })
}

fn modes() -> impl Strategy<Value = RoutingSpec> {
    use RoutingSpec::*;
    proptest::sample::select(vec![Shortest, Ecmp, Spray, Pinned])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn all_pairs_have_a_shortest_path(spec in fabrics(), mode in modes(), entropy: u16) {
        let graph = spec.build().unwrap();
        let routes = routes(&graph, mode);
        let reached = |dst| routes.next(graph.hosts[0], dst, entropy).is_some();
        prop_assert!(hosts(&graph).all(reached));
        check_all_pairs(&graph, mode, &Down::default(), entropy);
    }

    #[test]
    fn what_is_down_is_avoided(
        spec in fabrics(),
        mode in modes(),
        entropy: u16,
        links in proptest::collection::vec(any::<proptest::sample::Index>(), 0..8),
        node in proptest::option::of(any::<proptest::sample::Index>()),
    ) {
        let graph = spec.build().unwrap();
        let down = Down {
            links: links.iter().map(|i| i.index(graph.links.len())).collect(),
            nodes: node.iter().map(|i| NodeId(i.index(graph.nodes.len()) as u32)).collect(),
        };
        check_all_pairs(&graph, mode, &down, entropy);
        check_choices(&graph, &down);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// The numbers below the limit name every path, and without failures each path once.
    #[test]
    fn numbers_name_all_pinned_paths(
        k in proptest::sample::select(vec![4u32, 6]),
        links in proptest::collection::vec(any::<proptest::sample::Index>(), 0..4),
        ends: (proptest::sample::Index, proptest::sample::Index),
    ) {
        let (graph, last) = (fat_tree(k), k * k * k / 4);
        let wiring = graph.wiring();
        let links = links.iter().map(|i| i.index(graph.links.len())).collect();
        let down = Down { links, ..Down::default() };
        let routes = Routes::build(&graph, RoutingSpec::Pinned, &down, 1);
        let [src, dst] = [ends.0, ends.1].map(|end| HostId(end.index(last as usize) as u32));
        let named = |n: u32| -> BTreeSet<Vec<(NodeId, PortId)>> {
            (0..n)
                .filter_map(|e| routes.path(&wiring, src, dst, e as u16))
                .map(|path| path.iter().map(|h| (h.node, h.port)).collect())
                .filter(|path: &Vec<_>| !path.is_empty())
                .collect()
        };
        let numbers = routes.numbers(&wiring, src, dst);
        let all = named(1 << 10);
        prop_assert_eq!(named(numbers).len(), all.len());
        if down.links.is_empty() {
            prop_assert_eq!(numbers as usize, all.len());
        }
    }
}

/// The chi-squared statistic of `counts` for equal probabilities.
fn chi_squared(counts: &[u32]) -> f64 {
    let mean = counts.iter().sum::<u32>() as f64 / counts.len() as f64;
    counts.iter().map(|&n| (f64::from(n) - mean).powi(2) / mean).sum()
}

#[test]
fn ecmp_spreads_evenly_over_all_cores() {
    let graph = fat_tree(8);
    let (routes, wiring) = (routes(&graph, RoutingSpec::Ecmp), graph.wiring());
    for (src, dst) in [(0, 127), (17, 64), (90, 3)] {
        let mut through = BTreeMap::new();
        for entropy in 0..8000 {
            let path = routes.path(&wiring, HostId(src), HostId(dst), entropy).unwrap();
            *through.entry(path[3].node).or_insert(0) += 1;
        }
        // 16 cores. If the second choice were a function of the first, only 4 would be used.
        assert_eq!(through.len(), 16);
        let counts: Vec<u32> = through.into_values().collect();
        // 15 degrees of freedom: 37.7 is exceeded once in a thousand.
        assert!(chi_squared(&counts) < 37.7, "{counts:?}");
    }
}

#[test]
fn the_same_flow_keeps_its_path_and_the_seed_changes_it() {
    let graph = fat_tree(8);
    let wiring = graph.wiring();
    let paths = |seed| {
        let routes = Routes::build(&graph, RoutingSpec::Ecmp, &Down::default(), seed);
        (0..64).map(|e| routes.path(&wiring, HostId(0), HostId(127), e)).collect::<Vec<_>>()
    };
    assert_eq!(paths(1), paths(1));
    assert_ne!(paths(1), paths(2));
}

#[test]
fn pinned_enumerates_every_path() {
    for k in [4, 8] {
        let (graph, half) = (fat_tree(k), k as u16 / 2);
        let (routes, wiring) = (routes(&graph, RoutingSpec::Pinned), graph.wiring());
        let last = HostId(graph.hosts.len() as u32 - 1);
        let distinct = |dst, n| {
            (0..n)
                .map(|e| {
                    routes
                        .path(&wiring, HostId(0), dst, e)
                        .unwrap()
                        .iter()
                        .map(|h| (h.node, h.port))
                        .collect()
                })
                .collect::<BTreeSet<Vec<(NodeId, PortId)>>>()
                .len()
        };
        assert_eq!(distinct(last, half * half), usize::from(half * half));
        assert_eq!(distinct(HostId(u32::from(half)), half), usize::from(half));
        assert_eq!(distinct(HostId(1), 1000), 1);
    }
}

#[test]
fn pinned_enumerates_parallel_links_both_ways() {
    let spec = LeafSpineSpec { uplinks_per_spine: 2, ..LeafSpineSpec::new(3, 4, 2) };
    let graph = TopologySpec::LeafSpine(spec).build().unwrap();
    let (routes, wiring) = (routes(&graph, RoutingSpec::Pinned), graph.wiring());
    let paths: BTreeSet<Vec<PortId>> = (0..16)
        .map(|e| {
            routes.path(&wiring, HostId(0), HostId(5), e).unwrap().iter().map(|h| h.port).collect()
        })
        .collect();
    assert_eq!(paths.len(), 8 * 2);
}

#[test]
fn shortest_takes_the_lowest_port() {
    let graph = fat_tree(4);
    let routes = routes(&graph, RoutingSpec::Shortest);
    let edge = graph.node_named("edge0.0").unwrap();
    assert!((0..100).all(|e| routes.next(edge, HostId(15), e) == Some(PortId(2))));
}

#[test]
fn a_second_card_is_used_for_what_is_nearer_by_it() {
    let spec = LeafSpineSpec { nics: 2, ..LeafSpineSpec::new(4, 2, 1) };
    let graph = TopologySpec::LeafSpine(spec).build().unwrap();
    let routes = routes(&graph, RoutingSpec::Ecmp);
    // h0 is at leaf0 and leaf1, h1 at leaf1 and leaf2, h3 at leaf3 and leaf0.
    let ports = |dst| {
        (0..64).filter_map(|e| routes.next(NodeId(0), HostId(dst), e)).collect::<BTreeSet<_>>()
    };
    assert_eq!(ports(1), BTreeSet::from([PortId(1)]));
    assert_eq!(ports(3), BTreeSet::from([PortId(0)]));
    assert_eq!(ports(2), BTreeSet::from([PortId(0), PortId(1)]));
}

#[test]
fn an_attached_controller_can_be_reached_without_moving_anyone() {
    let mut graph = fat_tree(4);
    let lane = graph.links[0].ab;
    let core = graph.node_named("core2").unwrap();
    let controller = graph.attach_host("controller", core, lane);
    graph.validate().unwrap();
    check_all_pairs(&graph, RoutingSpec::Ecmp, &Down::default(), 5);
    let routes = routes(&graph, RoutingSpec::Ecmp);
    assert_eq!(controller, HostId(16));
    assert_eq!(routes.next(core, controller, 0), Some(PortId(4)));
}

#[test]
fn modes_are_plain_words() {
    for (kind, _) in crate::schema::kinds::<RoutingSpec>() {
        let text = format!("mode = \"{kind}\"\n");
        let read: BTreeMap<String, RoutingSpec> = toml::from_str(&text).unwrap();
        assert_eq!(toml::to_string(&read).unwrap(), text);
    }
}

#[test]
fn tables_of_a_large_fabric_are_small() {
    let graph = fat_tree(16);
    let sizes = routes(&graph, RoutingSpec::Ecmp).table_sizes();
    assert_eq!(sizes.groups, 128);
    // One row for all edge switches, one per pod for aggregation, one for all cores, one for all hosts.
    assert_eq!(sizes.rows, 1 + 16 + 1 + 1);
    assert!(sizes.bytes < 40_000, "{sizes:?}");
}

#[test]
fn ports_around_a_failed_one_share_its_load() {
    let graph = fat_tree(8);
    let link = graph.link_named("edge0.0-agg0.2").unwrap();
    let down = Down { links: BTreeSet::from([link]), ..Down::default() };
    let routes = Routes::build(&graph, RoutingSpec::Ecmp, &down, 1);
    let edge = graph.node_named("edge0.0").unwrap();
    let mut used = [0; 8];
    (0..6000).for_each(|e| used[routes.next(edge, HostId(127), e).unwrap().at()] += 1);
    assert_eq!(used.map(|n| n > 0), [false, false, false, false, true, true, false, true]);
    // 2 degrees of freedom: 13.8 is exceeded once in a thousand.
    assert!(chi_squared(&[used[4], used[5], used[7]]) < 13.8, "{used:?}");
}
