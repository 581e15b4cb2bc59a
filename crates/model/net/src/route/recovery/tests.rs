//! Convergence after failures, against reachability over shortest paths; times; repair.

use super::*;
use crate::id::{HostId, NodeId, PortId};
use crate::rng::Stream;
use crate::route::{Routes, RoutingSpec};
use crate::time::Time;
use crate::topology::{
    Down, FatTreeSpec, Graph, LeafSpineSpec, NodeKind, TopologySpec, TreeSpec, Wiring,
};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

const END: Time = Time::ms(60_000);

fn fat_tree(k: u32) -> Graph {
    TopologySpec::FatTree(FatTreeSpec::new(k)).build().unwrap()
}

fn fail(links: &[usize], at: Time) -> Vec<LinkChange> {
    links.iter().map(|&link| LinkChange { at, link, up: false }).collect()
}

fn timeline(graph: &Graph, changes: &[LinkChange]) -> Timeline {
    simulate(graph, &RecoverySpec::default(), changes, END, 3)
}

fn routes(graph: &Graph, mode: RoutingSpec, avoid: &Avoid) -> Routes {
    Routes::build_avoiding(graph, mode, &Down::default(), avoid, 1)
}

fn switch_links(graph: &Graph) -> Vec<usize> {
    let is_switch = |node: NodeId| graph.nodes[node.at()].kind == NodeKind::Switch;
    let inner = |link: &usize| graph.links[*link].ends().iter().all(|end| is_switch(end.node));
    (0..graph.links.len()).filter(inner).collect()
}

/// Whether a packet arrives. The test fails if its path has a loop.
fn arrives(
    graph: &Graph,
    wiring: &Wiring,
    routes: &Routes,
    (src, dst): (HostId, HostId),
    broken: &BTreeSet<usize>,
    entropy: u16,
) -> bool {
    let mut node = graph.hosts[src.at()];
    for _ in 0..=6 {
        if node == graph.hosts[dst.at()] {
            return true;
        }
        let Some(port) = routes.next(node, dst, entropy) else { return false };
        let wire = wiring.of(node)[port.at()];
        if broken.contains(&wire.link) {
            return false;
        }
        node = wire.far.node;
    }
    panic!("the path from {src:?} to {dst:?} has a loop");
}

/// One host of each switch with hosts. The results also hold for the other hosts of the switch.
fn one_each(graph: &Graph) -> Vec<HostId> {
    let mut known = BTreeMap::new();
    for link in &graph.links {
        for (a, b) in [(link.a, link.b), (link.b, link.a)] {
            if let Some(host) = graph.hosts.iter().position(|node| *node == a.node) {
                known.entry(b.node).or_insert(HostId(host as u32));
            }
        }
    }
    known.into_values().collect()
}

/// Hosts that can be reached over shortest paths of the whole network that avoid failures. All these paths are
/// followed.
fn reachable(
    graph: &Graph,
    wiring: &Wiring,
    src: HostId,
    dst: HostId,
    broken: &BTreeSet<usize>,
) -> bool {
    let whole = routes(graph, RoutingSpec::Ecmp, &Avoid::default());
    let (mut seen, mut open) = (BTreeSet::new(), vec![graph.hosts[src.at()]]);
    while let Some(node) = open.pop() {
        if node == graph.hosts[dst.at()] {
            return true;
        }
        let next = whole.choices(node, dst).iter().map(|port| wiring.of(node)[port.at()]);
        let near = next.filter(|wire| !broken.contains(&wire.link)).map(|wire| wire.far.node);
        open.extend(near.filter(|far| seen.insert(*far)));
    }
    false
}

/// After convergence, every two hosts with a remaining shortest path are connected, in all modes.
fn check(graph: &Graph, links: &[usize], pairs: impl Fn(HostId, HostId) -> bool) {
    let broken: BTreeSet<usize> = links.iter().copied().collect();
    let timeline = timeline(graph, &fail(links, Time::ms(5)));
    let (wiring, hosts) = (graph.wiring(), one_each(graph));
    let last = timeline.steps.last().map(|step| step.avoid.clone()).unwrap_or_default();
    let modes = [RoutingSpec::Ecmp, RoutingSpec::TwoLevel, RoutingSpec::Pinned];
    let tables = modes.map(|mode| routes(graph, mode, &last));
    for &src in &hosts {
        for &dst in hosts.iter().filter(|dst| **dst != src) {
            let there = pairs(src, dst);
            for (routes, entropy) in tables.iter().zip([11, 0, 3]) {
                let arrived = arrives(graph, &wiring, routes, (src, dst), &broken, entropy);
                assert_eq!(arrived, there, "{src:?} to {dst:?} without {links:?}");
            }
        }
    }
}

#[test]
fn any_single_failure_is_routed_around() {
    for k in [4, 6] {
        let graph = fat_tree(k);
        for link in switch_links(&graph) {
            check(&graph, &[link], |_, _| true);
        }
    }
    let graph = fat_tree(16);
    let (links, mut stream) = (switch_links(&graph), Stream::named(1, "test", 0));
    for _ in 0..2 {
        let link = links[stream.below(links.len() as u64) as usize];
        check(&graph, &[link], |_, _| true);
    }
}

#[test]
fn any_failed_switch_is_routed_around() {
    let graph = fat_tree(4);
    for (at, node) in graph.nodes.iter().enumerate().filter(|(_, n)| n.kind == NodeKind::Switch) {
        let of = |link: &usize| graph.links[*link].ends().iter().any(|end| end.node.at() == at);
        let links: Vec<usize> = switch_links(&graph).into_iter().filter(of).collect();
        // The hosts of a failed edge switch have no other switch.
        let cut = |host: HostId| {
            node.tier == 1 && graph.nodes[at].pod == host.0 / 4 && {
                let edge: u32 = node.name.split('.').nth(1).unwrap().parse().unwrap();
                host.0 % 4 / 2 == edge
            }
        };
        check(&graph, &links, |src, dst| !cut(src) && !cut(dst));
    }
}

fn fabrics() -> impl Strategy<Value = Graph> {
    let tree = TreeSpec { rows: Some(2), ..TreeSpec::new(2, 1) };
    proptest::sample::select(vec![
        fat_tree(4),
        fat_tree(6),
        TopologySpec::LeafSpine(LeafSpineSpec {
            uplinks_per_spine: 2,
            ..LeafSpineSpec::new(4, 3, 1)
        })
        .build()
        .unwrap(),
        TopologySpec::Tree(tree).build().unwrap(),
    ])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn whatever_shortest_paths_are_left_are_found(
        graph in fabrics(),
        chosen in proptest::collection::vec(any::<proptest::sample::Index>(), 0..6),
    ) {
        let inner = switch_links(&graph);
        let links: BTreeSet<usize> = chosen.iter().map(|at| *at.get(&inner)).collect();
        let wiring = graph.wiring();
        let list: Vec<usize> = links.iter().copied().collect();
        check(&graph, &list, |src, dst| reachable(&graph, &wiring, src, dst, &links));
    }

    #[test]
    fn what_returns_is_used_again(
        graph in fabrics(),
        flaps in proptest::collection::vec(
            (any::<proptest::sample::Index>(), 0..400u64, 1..400u64), 1..8,
        ),
    ) {
        let inner = switch_links(&graph);
        let mut changes: Vec<LinkChange> = flaps.iter().flat_map(|(at, from, span)| {
            let link = *at.get(&inner);
            [(*from, false), (from + span, true)]
                .map(|(ms, up)| LinkChange { at: Time::ms(ms), link, up })
        }).collect();
        // The failures may overlap, but in the end everything works.
        changes.extend(inner.iter().map(|&link| LinkChange { at: Time::ms(1_000), link, up: true }));
        changes.sort_by_key(|change| change.at);
        let timeline = timeline(&graph, &changes);
        if let Some(last) = timeline.steps.last() {
            prop_assert_eq!(&last.avoid, &Avoid::default(), "after {:?}", last.at);
            prop_assert!(last.at < Time::ms(1_000 + 2 * 1_000 + 1_000));
        }
        prop_assert!(timeline.steps.is_sorted_by_key(|step| step.at));
        // Packets may be lost on the way to this state, but their paths never have loops.
        let (wiring, hosts) = (graph.wiring(), one_each(&graph));
        for step in timeline.steps.iter().step_by(3) {
            let routes = routes(&graph, RoutingSpec::Ecmp, &step.avoid);
            for &dst in &hosts {
                arrives(&graph, &wiring, &routes, (hosts[0], dst), &BTreeSet::new(), 9);
            }
        }
    }
}

/// The switches that change their tables when a link fails, by name, and when.
fn notified(graph: &Graph, link: &str) -> Vec<(String, Time)> {
    let link = graph.link_named(link).unwrap();
    let timeline = timeline(graph, &fail(&[link], Time::ms(100)));
    let mut first: BTreeMap<String, Time> = BTreeMap::new();
    for step in &timeline.steps {
        for node in &step.nodes {
            first.entry(graph.nodes[node.at()].name.clone()).or_insert(step.at);
        }
    }
    first.into_iter().collect()
}

#[test]
fn an_edge_link_is_known_where_it_has_to_be() {
    let notified = notified(&fat_tree(4), "edge0.0-agg0.1");
    let names: Vec<&str> = notified.iter().map(|(name, _)| name.as_str()).collect();
    // Both ends; the other edge switch of the pod; the cores above; the aggregation switches of these cores; and their
    // edge switches, because these aggregation switches have no other path.
    let expected = [
        "agg0.1", "agg1.1", "agg2.1", "agg3.1", "core2", "core3", "edge0.0", "edge0.1", "edge1.0",
        "edge1.1", "edge2.0", "edge2.1", "edge3.0", "edge3.1",
    ];
    assert_eq!(names, expected);
    let at = |name: &str| notified.iter().find(|(n, _)| n == name).unwrap().1;
    // Three hello packets of 10 ms are missing, so the failure is detected after 20 to 30 ms.
    for end in ["agg0.1", "edge0.0"] {
        let detected = at(end) - Time::us(100) - Time::ms(100);
        assert!((Time::ms(20)..=Time::ms(30) + Time::us(2)).contains(&detected), "{detected}");
    }
    // Each further switch adds one hop: 1 us of delay, 70 bytes at 10 Gbit/s, and 100 us of processing.
    let hop = Time::us(101) + Time::ps(56_000);
    assert_eq!(at("core2") - at("agg0.1"), hop);
    assert_eq!(at("edge0.1") - at("agg0.1"), hop);
    assert_eq!(at("agg1.1") - at("core2"), hop);
    assert_eq!(at("edge3.0") - at("agg3.1"), hop);
}

#[test]
fn a_core_link_is_known_where_it_has_to_be() {
    let notified = notified(&fat_tree(4), "agg0.1-core2");
    let names: Vec<&str> = notified.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["agg0.1", "agg1.1", "agg2.1", "agg3.1", "core2"]);
}

#[test]
fn a_blink_is_not_noticed() {
    let graph = fat_tree(4);
    let link = graph.link_named("edge0.0-agg0.1").unwrap();
    let blink =
        [(100, false), (115, true)].map(|(ms, up)| LinkChange { at: Time::ms(ms), link, up });
    assert_eq!(timeline(&graph, &blink), Timeline::default());
}

#[test]
fn a_session_comes_up_in_three_steps() {
    let (mut a, mut b) = (Session::UP, Session::UP);
    a.expire();
    assert!(!a.is_up() && a.state() == State::Down);
    b.receive(a.state());
    assert_eq!(b.state(), State::Down, "the other end has gone down");
    b.receive(a.state());
    assert_eq!(b.state(), State::Init);
    a.receive(b.state());
    assert_eq!(a.state(), State::Up);
    b.receive(a.state());
    a.receive(b.state());
    assert!(a.is_up() && b.is_up());
}

#[test]
fn a_port_out_of_use_is_no_choice() {
    let graph = fat_tree(8);
    let mut avoid = Avoid::default();
    let [edge, far] = ["edge0.0", "edge3.1"].map(|name| graph.node_named(name).unwrap());
    let tagged = BTreeSet::from([(PortId(6), far)]);
    avoid.set(edge, NodeAvoid { down: BTreeSet::from([PortId(4)]), tagged });
    let routes = routes(&graph, RoutingSpec::Ecmp, &avoid);
    let ports = |dst| routes.choices(edge, HostId(dst)).iter().map(|p| p.0).collect::<Vec<_>>();
    assert_eq!(ports(16 * 3 + 4), [5, 7], "a host of edge3.1");
    assert_eq!(ports(16 * 3), [5, 6, 7]);
    assert!(routes.choices(edge, HostId(16 * 3)).contains(PortId(6)));
    assert!(!routes.choices(edge, HostId(16 * 3 + 4)).contains(PortId(6)));
}
