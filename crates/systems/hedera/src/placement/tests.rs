//! Tests that compare placements with brute force, with each other, and with reference values.

use super::*;
use proptest::prelude::*;
use slotline_net::rng::Stream;
use slotline_net::route::{Routes, RoutingSpec};
use slotline_net::scheme::Map;
use slotline_net::topology::{Down, FatTreeSpec, Graph, LeafSpineSpec, TopologySpec};
use std::collections::BTreeSet;
use std::sync::Arc;

fn network(graph: &Graph, down: &Down) -> slotline_net::scheme::Network {
    let routes = Arc::new(Routes::build(graph, RoutingSpec::Pinned, down, 1));
    Map::new(graph.nodes.len(), graph.hosts.len(), &graph.wiring(), &routes, 1).network()
}

fn graph(spec: TopologySpec) -> Graph {
    spec.build().unwrap()
}

fn fat_tree(k: u32) -> Graph {
    graph(TopologySpec::FatTree(FatTreeSpec::new(k)))
}

fn permutation(hosts: u32, seed: u64) -> Vec<Flow> {
    let mut order: Vec<u32> = (0..hosts).collect();
    let mut stream = Stream::named(seed, "permutation", 0);
    // No host sends to itself.
    while (0..).zip(&order).any(|(src, dst)| src == *dst) {
        stream.shuffle(&mut order);
    }
    (0..).zip(order).map(|(src, dst)| Flow::new(src, dst, 1.0)).collect()
}

/// Mean share of full bisection, in percent, over bijections.
fn quality(k: u32, runs: u64, place: impl Fn(&mut Fabric, &mut Vec<Flow>, u64)) -> f64 {
    let hosts = k * k * k / 4;
    let mut fabric = Fabric::fat_tree(k);
    let run = |seed| {
        let mut flows = permutation(hosts, seed);
        place(&mut fabric, &mut flows, seed);
        let hash = |at: usize| slotline_net::rng::mix64(seed << 32 | at as u64) as u16;
        max_min(&fabric, &flows, hash).iter().sum::<f64>() / f64::from(hosts) * 100.0
    };
    (1..=runs).map(run).sum::<f64>() / runs as f64
}

fn annealed(iterations: u32, c: f64) -> impl Fn(&mut Fabric, &mut Vec<Flow>, u64) {
    move |fabric, flows, seed| {
        let mut stream = Stream::named(seed, "annealing", 0);
        Annealing::new(fabric).place(fabric, flows, iterations, c, &mut stream);
    }
}

/// The reference values are means of a naive implementation, so results may differ by chance.
#[test]
fn quality_is_that_of_the_reference() {
    let first = |fabric: &mut Fabric, flows: &mut Vec<Flow>, _| {
        first_fit(fabric, flows);
    };
    for (k, ecmp, fit, annealing) in [
        (4, 59.3, 88.2, [(1_000, 0.5, 99.6), (10_000, 0.5, 100.0)]),
        (8, 47.0, 81.4, [(1_000, 1_000.0, 86.5), (10_000, 1_000.0, 95.9)]),
    ] {
        let near = |ours: f64, reference: f64| (ours - reference).abs() < 3.0;
        let ours = quality(k, 40, |_, _, _| ());
        assert!(near(ours, ecmp), "k = {k}: {ours} by hash");
        let ours = quality(k, 40, first);
        assert!(ours > fit - 3.0, "k = {k}: {ours} by first fit");
        for (iterations, c, reference) in annealing {
            let ours = quality(k, 40, annealed(iterations, c));
            assert!(ours > reference - 3.0, "k = {k}: {ours} by {iterations} iterations");
        }
        let ours = quality(k, 10, |fabric, flows, _| assert_eq!(best(fabric, flows), 0));
        assert_eq!(ours, 100.0);
    }
}

/// The least excess of all choices of paths.
fn brute_force(fabric: &mut Fabric, flows: &[Flow]) -> i64 {
    fabric.prepare(flows);
    let choices: Vec<u32> = flows.iter().map(|flow| fabric.choices(flow).max(1)).collect();
    let all: u32 = choices.iter().product();
    let excess = |mut code: u32| {
        let mut flows = flows.to_vec();
        for (flow, choices) in flows.iter_mut().zip(&choices) {
            flow.path = Some((code % choices) as u16);
            code /= choices;
        }
        first_fit(fabric, &mut flows).excess()
    };
    (0..all).map(excess).min().unwrap()
}

fn few_flows(hosts: u32) -> impl Strategy<Value = Vec<Flow>> {
    let flow = (0..hosts, 0..hosts, 1u32..=6)
        .prop_map(|(src, dst, sixths)| Flow::new(src, dst, f64::from(sixths) / 6.0));
    prop::collection::vec(flow, 1..6)
}

fn pairs(flows: &[Flow]) -> Vec<(HostId, HostId)> {
    flows.iter().map(|flow| (flow.src, flow.dst)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// Paths by arithmetic are those of the routes, in fat-trees and leaf-spine fabrics.
    #[test]
    fn regular_fabrics_are_recognised(
        spec in prop::sample::select(vec![
            TopologySpec::FatTree(FatTreeSpec::new(4)),
            TopologySpec::FatTree(FatTreeSpec { oversubscription: 3, ..FatTreeSpec::new(6) }),
            TopologySpec::LeafSpine(LeafSpineSpec::new(4, 3, 5)),
        ]),
        ends: (prop::sample::Index, prop::sample::Index),
        path: u16,
    ) {
        let graph = graph(spec);
        let network = network(&graph, &Down::default());
        let fabric = Fabric::new(&network);
        prop_assert!(fabric.is_regular());
        let [src, dst] = [ends.0, ends.1].map(|end| end.index(graph.hosts.len()) as u32);
        let flow = Flow::new(src, dst, 1.0);
        let paths = network.path_count(flow.src, flow.dst);
        let choices = fabric.choices(&flow);
        prop_assert_eq!(paths.max(1), choices.max(1));
        // There are as many wires as links between switches.
        let (mut wires, mut links) = (Vec::new(), Vec::new());
        fabric.wires(&flow, path, &mut wires);
        network.numbered_path(flow.src, flow.dst, path, &mut links);
        prop_assert_eq!(wires.len(), links.len().saturating_sub(2));
    }

    /// Two flows share a wire exactly if their paths share a link.
    #[test]
    fn wires_are_shared_where_links_are(
        k in prop::sample::select(vec![4u32, 6]),
        ends in prop::collection::vec((any::<prop::sample::Index>(), any::<u16>()), 4),
    ) {
        let graph = fat_tree(k);
        let network = network(&graph, &Down::default());
        let fabric = Fabric::new(&network);
        let host = |at: usize| ends[at].0.index(graph.hosts.len()) as u32;
        let both = [(host(0), host(1), ends[0].1), (host(2), host(3), ends[2].1)].map(|(src, dst, path)| {
            let flow = Flow::new(src, dst, 1.0);
            let (mut wires, mut links) = (Vec::new(), Vec::new());
            fabric.wires(&flow, path, &mut wires);
            network.numbered_path(flow.src, flow.dst, path, &mut links);
            let inner = links.len().saturating_sub(1).max(1);
            (wires.into_iter().collect::<BTreeSet<_>>(), links.get(1..inner).unwrap_or(&[]).to_vec())
        });
        let [(a, x), (b, y)] = both;
        let y: BTreeSet<u32> = y.into_iter().collect();
        prop_assert_eq!(a.intersection(&b).count(), x.iter().filter(|link| y.contains(link)).count());
    }

    /// No placement is better than the integer optimum, and the best placement reaches it.
    #[test]
    fn nothing_is_better_than_the_optimum(flows in few_flows(16), down: Option<prop::sample::Index>) {
        let graph = fat_tree(4);
        let links = down.map(|index| index.index(graph.links.len())).into_iter().collect();
        let network = network(&graph, &Down { links, ..Down::default() });
        let mut fabric = Fabric::new(&network);
        prop_assert!(fabric.is_regular() || down.is_some());
        // Demands are within the limits of NICs, so that these do not add excess.
        let mut estimator = Estimator::default();
        let demands = estimator.demands(fabric.send(), fabric.receive(), &pairs(&flows)).to_vec();
        let mut flows = flows;
        flows.iter_mut().zip(demands).for_each(|(flow, demand)| flow.demand = demand);
        let optimum = brute_force(&mut fabric, &flows);
        let mut placed = flows.clone();
        prop_assert_eq!(best(&mut fabric, &mut placed), optimum);
        let mut stream = Stream::named(1, "test", 0);
        let mut placed = flows.clone();
        let found = anneal_per_flow(&mut fabric, &mut placed, 2_000, 0.5, &mut stream);
        prop_assert_eq!(found, first_fit(&mut fabric, &mut placed).excess());
        prop_assert!(found >= optimum);
        let mut placed = flows.clone();
        let found = Annealing::new(&fabric).place(&mut fabric, &mut placed, 500, 0.5, &mut stream);
        prop_assert_eq!(found, first_fit(&mut fabric, &mut placed).excess());
        prop_assert!(found >= optimum);
    }

    /// Rates overload no wire, and no flow can get more unless a flow with less loses some.
    #[test]
    fn rates_are_max_min_fair(flows in few_flows(16), paths in prop::collection::vec(any::<u16>(), 6)) {
        let fabric = Fabric::fat_tree(4);
        let rates = max_min(&fabric, &flows, |at| paths[at]);
        let wires: Vec<Vec<u32>> = flows.iter().zip(&paths).map(|(flow, &path)| {
            let mut out = Vec::new();
            fabric.wires(flow, path, &mut out);
            out
        }).collect();
        let on = |wire: u32| (0..flows.len()).filter(|&f| wires[f].contains(&wire)).collect::<Vec<_>>();
        for (at, flow) in flows.iter().enumerate() {
            let satisfied = rates[at] > flow.demand - 1e-9;
            prop_assert!(rates[at] < flow.demand + 1e-9);
            let limited = |&wire: &u32| {
                let sum: f64 = on(wire).iter().map(|&f| rates[f]).sum();
                sum > 1.0 - 1e-9 && on(wire).iter().all(|&f| rates[f] < rates[at] + 1e-9)
            };
            prop_assert!(satisfied || wires[at].iter().any(limited));
        }
    }
}

#[test]
fn first_fit_keeps_what_it_has_placed_and_reserves_nothing_for_the_rest() {
    let mut fabric = Fabric::fat_tree(4);
    let mut flows = vec![Flow::new(0, 4, 1.0), Flow::new(1, 5, 1.0)];
    first_fit(&mut fabric, &mut flows);
    assert_eq!([flows[0].path, flows[1].path], [Some(0), Some(1)]);
    flows.push(Flow { path: Some(0), ..Flow::new(0, 8, 1.0) });
    flows.push(Flow::new(1, 9, 0.5));
    let load = first_fit(&mut fabric, &mut flows);
    assert_eq!(flows[2].path, Some(0), "a placed flow keeps its path");
    assert_eq!(flows[3].path, None, "both uplinks are full");
    assert_eq!(load.excess(), 2 * i64::from(UNIT), "two links have one flow too many");
}

/// Three thirds fit on a link, and so do ten tenths.
#[test]
fn parts_of_a_link_fit() {
    for parts in [3u32, 7, 10] {
        let mut fabric = Fabric::fat_tree(4);
        // All flows go from one host to one host in another pod.
        let mut flows: Vec<Flow> =
            (0..parts).map(|_| Flow::new(0, 4, 1.0 / f64::from(parts))).collect();
        first_fit(&mut fabric, &mut flows);
        assert!(flows.iter().all(|flow| flow.path == Some(0)), "{parts}");
    }
}

/// The map is stored: if nothing changes and no wire is overloaded, all flows keep their paths.
#[test]
fn annealing_continues_with_its_map() {
    let mut fabric = Fabric::fat_tree(8);
    let mut map = Annealing::new(&fabric);
    let mut stream = Stream::named(3, "test", 0);
    let mut flows = permutation(128, 3);
    let mut before = i64::MAX;
    for _ in 0..30 {
        let excess = map.place(&mut fabric, &mut flows, 2_000, 1_000.0, &mut stream);
        assert!(excess <= before);
        before = excess;
        assert_eq!(first_fit(&mut fabric, &mut flows.clone()).excess(), excess);
    }
    let paths: Vec<_> = flows.iter().map(|flow| flow.path).collect();
    if before == 0 {
        map.place(&mut fabric, &mut flows, 2_000, 1_000.0, &mut stream);
        assert_eq!(paths, flows.iter().map(|flow| flow.path).collect::<Vec<_>>());
    }
    // Without iterations, nothing is divided by a temperature of zero.
    map.place(&mut fabric, &mut flows, 0, 1_000.0, &mut stream);
}

/// The first map gives the hosts of an edge switch different aggregation switches, and those of a pod
/// different cores.
#[test]
fn the_first_map_is_transposed() {
    let fabric = Fabric::fat_tree(8);
    let map = Annealing::new(&fabric);
    for pod in 0..8 {
        let cores: BTreeSet<u16> = (pod * 16..(pod + 1) * 16).map(|h| map.number(h)).collect();
        assert_eq!(cores, (0..16).collect());
        for edge in 0..4 {
            let first = pod * 16 + edge * 4;
            let aggs: BTreeSet<u16> = (first..first + 4).map(|h| map.number(h) % 4).collect();
            assert_eq!(aggs.len(), 4);
        }
    }
}

/// On patterns of the thesis with 16 and 128 hosts, the best placement carries at least as much as the others.
#[test]
fn the_best_is_at_least_as_good() {
    for k in [4u32, 8] {
        let hosts = k * k * k / 4;
        for seed in 0..30 {
            let mut stream = Stream::named(seed, "patterns", 0);
            let count = 1 + stream.below(2);
            let ends = |src: u32, stream: &mut Stream| match seed % 3 {
                0 => (src, (src + 1 + seed as u32) % hosts),
                1 => (src, stream.below(hosts.into()) as u32),
                _ => (src, stream.below(u64::from(hosts) / 2) as u32),
            };
            let ends: Vec<(u32, u32)> = (0..hosts)
                .flat_map(|src| (0..count).map(move |_| src))
                .map(|src| ends(src, &mut stream))
                .filter(|(src, dst)| src != dst)
                .collect();
            let (fabric, mut own) = (Fabric::fat_tree(k), Fabric::fat_tree(k));
            let ids: Vec<_> = ends.iter().map(|&(s, d)| (HostId(s), HostId(d))).collect();
            let mut estimator = Estimator::default();
            let demands = estimator.demands(fabric.send(), fabric.receive(), &ids);
            let flows: Vec<Flow> = ends
                .iter()
                .zip(demands)
                .map(|(&(src, dst), &demand)| Flow::new(src, dst, demand))
                .collect();
            let rate = |flows: &[Flow]| max_min(&fabric, flows, |_| 0).iter().sum::<f64>();
            let (mut a, mut b, mut c) = (flows.clone(), flows.clone(), flows);
            first_fit(&mut own, &mut a);
            Annealing::new(&own).place(&mut own, &mut b, 20_000, 0.5, &mut stream);
            best(&mut own, &mut c);
            let [fit, annealed, best] = [&a, &b, &c].map(|flows| rate(flows));
            assert!(
                best > fit - 0.01 && best > annealed - 0.01,
                "{k} {seed}: {best} {fit} {annealed}"
            );
        }
    }
}

/// A failed link makes a fabric irregular, and its flows take other paths.
#[test]
fn failed_links_are_avoided() {
    let graph = fat_tree(4);
    for name in ["edge0.0-agg0.1", "agg1.0-core1"] {
        let link = graph.link_named(name).unwrap();
        let down = Down { links: [link].into(), ..Down::default() };
        let mut fabric = Fabric::new(&network(&graph, &down));
        assert!(!fabric.is_regular());
        let mut flows: Vec<Flow> = (0..4).map(|src| Flow::new(src, 4 + src, 1.0)).collect();
        let excess = best(&mut fabric, &mut flows);
        assert_eq!(excess, brute_force(&mut fabric, &flows), "{name}");
    }
}
