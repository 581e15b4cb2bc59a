//! Networks that are given node by node. A fabric of another kind that is written out gives the same graph, and an
//! invalid network is refused with the key of the error.

use super::*;
use crate::error::SpecError;
use proptest::prelude::*;

/// `graph`, written out node by node.
fn spelled_out(graph: &Graph) -> GraphSpec {
    let of = |kind| {
        let nodes = graph.nodes.iter().filter(move |node| node.kind == kind);
        nodes.map(|node| node.name.clone()).collect()
    };
    let link = |link: &Link| GraphLink {
        a: graph.nodes[link.a.node.at()].name.clone(),
        b: graph.nodes[link.b.node.at()].name.clone(),
        rate: Some(link.ab.rate),
        delay: Some(link.ab.delay),
        reverse_rate: Some(link.ba.rate),
        reverse_delay: Some(link.ba.delay),
    };
    GraphSpec {
        hosts: of(NodeKind::Host),
        switches: of(NodeKind::Switch),
        link: graph.links.iter().map(link).collect(),
        ..GraphSpec::default()
    }
}

fn parse(text: &str) -> TopologySpec {
    toml::from_str(&format!("kind = 'graph'\n{text}")).unwrap()
}

fn build(text: &str) -> Graph {
    parse(text).build().unwrap()
}

fn refused(text: &str) -> SpecError {
    parse(text).build().unwrap_err()
}

const TWO: &str = "hosts = ['a', 'b']\nswitches = ['s', 't']\nrate = '10Gbps'\ndelay = '1us'\n\
    link = [{ a = 'a', b = 's' }, { a = 's', b = 't' }, { a = 't', b = 'b' }]";

fn plain() -> impl Strategy<Value = TopologySpec> {
    let star = (1..9u32, 1..4u32)
        .prop_map(|(hosts, nics)| TopologySpec::Star(StarSpec { nics, ..StarSpec::new(hosts) }));
    let tree = (1..4u32, 1..4u32, proptest::option::of(2..4u32))
        .prop_map(|(racks, hosts, rows)| TreeSpec { rows, ..TreeSpec::new(racks, hosts) })
        .prop_map(TopologySpec::Tree);
    let fat_tree = (1..4u32, 1..3u32, 1..3u32).prop_map(|(half, oversubscription, nics)| {
        TopologySpec::FatTree(FatTreeSpec { oversubscription, nics, ..FatTreeSpec::new(2 * half) })
    });
    let leaf_spine = (1..5u32, 1..4u32, 1..4u32, 1..4u32).prop_map(|(l, s, h, nics)| {
        TopologySpec::LeafSpine(LeafSpineSpec { nics, ..LeafSpineSpec::new(l, s, h) })
    });
    prop_oneof![star, tree, fat_tree, leaf_spine]
}

/// What is known of each node, by name.
fn places(graph: &Graph) -> Vec<(&str, NodeKind, u8, u32)> {
    let place = |n| {
        let NodeInfo { name, kind, tier, pod }: &NodeInfo = n;
        (name.as_str(), *kind, *tier, *pod)
    };
    let mut places: Vec<_> = graph.nodes.iter().map(place).collect();
    places.sort_unstable_by_key(|place| place.0);
    places
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(80))]

    #[test]
    fn a_plain_fabric_spelled_out_is_the_same(spec in plain()) {
        let graph = spec.build().unwrap();
        let again = TopologySpec::Graph(spelled_out(&graph)).build().unwrap();
        // In trees with rows, the switches of racks are numbered between hosts. Otherwise the graphs are the same.
        let rows = matches!(&spec, TopologySpec::Tree(tree) if tree.rows.is_some());
        let [text, same] = [&graph, &again].map(|graph| format!("{graph:?}"));
        prop_assert!(rows || text == same, "the numbers differ");
        prop_assert_eq!(places(&graph), places(&again));
    }
}

#[test]
fn rates_and_delays_come_from_the_nearest_place() {
    let graph = build(
        "hosts = ['a', 'b']\nswitches = ['s', 't']\nrate = '40Gbps'\ndelay = '2us'\nhost-rate = '10Gbps'\n\
         host-delay = '500ns'\n\
         link = [{ a = 'a', b = 's' }, { a = 't', b = 'b', rate = '1Gbps', reverse-delay = '9us' },\n\
         { a = 's', b = 't' }, { a = 't', b = 's', rate = '3Gbps', reverse-rate = '4Gbps' }]\n\
         overrides = [{ link = 's-t#0', delay = '7us' }]",
    );
    let gbps = |n: u64| Rate(n * 1_000_000_000);
    let lanes: Vec<_> = graph.links.iter().map(|l| (l.ab.rate, l.ba.rate)).collect();
    assert_eq!(
        lanes,
        [(gbps(10), gbps(10)), (gbps(1), gbps(1)), (gbps(40), gbps(40)), (gbps(3), gbps(4))]
    );
    let delays: Vec<_> = graph.links.iter().map(|l| (l.ab.delay, l.ba.delay)).collect();
    let (host, usual, long) = (Time::ns(500), Time::us(2), Time::us(7));
    assert_eq!(delays, [(host, host), (host, Time::us(9)), (long, long), (usual, usual)]);
}

#[test]
fn hosts_can_be_attached_to_every_switch() {
    let graph = build(
        "attach-hosts = 2\nswitches = ['x', 'y']\nhost-rate = '1Gbps'\nrate = '10Gbps'\ndelay = '1ms'\n\
         host-delay = '1us'\nlink = [{ a = 'x', b = 'y' }]",
    );
    let names: Vec<&str> = graph.nodes.iter().map(|node| node.name.as_str()).collect();
    assert_eq!(names, ["x.h0", "x.h1", "x", "y.h0", "y.h1", "y"]);
    let lane = LinkParams { rate: Rate(1_000_000_000), delay: Time::us(1) };
    assert!(graph.links[..4].iter().all(|link| link.ab == lane && link.ba == lane));
    let places: Vec<_> =
        graph.links[..4].iter().map(|link| (link.a.node.0, link.b.node.0)).collect();
    assert_eq!(places, [(0, 2), (1, 2), (3, 5), (4, 5)]);
    assert_eq!([0, 1, 3, 4].map(|host: usize| graph.nodes[host].pod), [0, 0, 1, 1]);
}

#[test]
fn hosts_keep_their_order_and_switches_follow_them() {
    // Two planes: every host has one switch in each plane. The plane of its first link gives the pod.
    let graph = build(
        "hosts = ['c', 'a', 'b']\nswitches = ['top', 'p1', 'p0', 'q']\nrate = '1Gbps'\ndelay = '1us'\n\
         link = [{ a = 'a', b = 'p0' }, { a = 'b', b = 'p0' }, { a = 'c', b = 'p1' }, { a = 'q', b = 'a' },\n\
         { a = 'q', b = 'b' }, { a = 'q', b = 'c' }, { a = 'p0', b = 'top' }, { a = 'top', b = 'p1' }]",
    );
    let nodes: Vec<_> = graph.nodes.iter().map(|n| (n.name.as_str(), n.tier, n.pod)).collect();
    let expected = [
        ("c", 0, 0),
        ("p1", 1, 0),
        ("a", 0, 1),
        ("b", 0, 1),
        ("p0", 1, 1),
        ("q", 1, NO_POD),
        ("top", 2, NO_POD),
    ];
    assert_eq!(nodes, expected);
}

#[test]
fn names_may_have_dashes() {
    let text = TWO.replace("'s'", "'leaf-1'").replace("'t'", "'leaf-1-b'");
    let graph = build(&text);
    assert_eq!(graph.links_named("leaf-1-leaf-1-b"), [(1, false)]);
    assert_eq!(graph.links_named("leaf-1-b-leaf-1"), [(1, true)]);
    assert_eq!(graph.links_named("b-leaf-1-b"), [(2, true)]);
    let error = refused(
        "hosts = ['x-y', 'x', 'z']\nswitches = ['z-s', 'y-z-s']\nrate = '1Gbps'\ndelay = '1us'\n\
         link = [{ a = 'x-y', b = 'z-s' }, { a = 'x', b = 'y-z-s' }]",
    );
    assert_eq!(error.key, "link[1].a");
    assert!(error.message.contains("`x-y-z-s`"), "{error}");
}

#[test]
fn what_is_no_network_is_explained_at_its_place() {
    for (old, new, key, words) in [
        ("hosts = ['a', 'b']\n", "", "hosts", "attach-hosts = 1"),
        ("hosts = ['a', 'b']", "hosts = ['a', 'b']\nattach-hosts = 1", "attach-hosts", "leave one"),
        ("hosts = ['a', 'b']", "attach-hosts = 0", "attach-hosts", "from 1 to"),
        ("hosts = ['a', 'b']", "attach-hosts = 65535", "link[0].a", "`a`"),
        ("'b']", "'a']", "hosts[1]", "two nodes are named `a`"),
        ("'t']", "'a']", "switches[1]", "two nodes are named `a`"),
        ("'t']", "'t', '']", "switches[2]", "empty"),
        ("'t']", "'t', ' u']", "switches[2]", "blank"),
        ("'t']", "'t', 'u#1']", "switches[2]", "`a-b#1`"),
        ("'t']", "'t', \"u\\n\"]", "switches[2]", "blank"),
        ("'t']", "'t', \"u\\tv\"]", "switches[2]", "control character"),
        ("'t']", "'t', 'controller']", "switches[2]", "scheduler"),
        ("'t']", "'t', 'u']", "switches[2]", "no links lead from switch `u`"),
        ("'b']", "'b', 'c']", "hosts[2]", "host `c` has no link"),
        ("b = 't' }", "b = 'u' }", "link[1].b", "`u`, which is neither"),
        ("a = 's', b = 't'", "a = 's', b = 's'", "link[1].b", "its own node"),
        ("a = 's', b = 't'", "a = 'a', b = 'b'", "link[1].b", "joins two hosts"),
        ("{ a = 's', b = 't' }, ", "", "hosts[1]", "host `b` cannot be reached from host `a`"),
        ("rate = '10Gbps'", "", "link[0].rate", "has no rate"),
        ("delay = '1us'", "", "link[0].delay", "has no delay"),
        ("rate = '10Gbps'", "host-rate = '1Gbps'", "link[1].rate", "has no rate"),
        ("rate = '10Gbps'", "rate = '0bps'", "rate", "above zero"),
        ("b = 't' }", "b = 't', rate = '0bps' }", "link[1].rate", "above zero"),
        ("b = 't' }", "b = 't', reverse-rate = '0bps' }", "link[1].reverse-rate", "above zero"),
        ("rate = '10Gbps'", "rate = '10Gbps'\nfile = 'x.json'", "file", "read first"),
        ("rate = '10Gbps'", "rate = '10Gbps'\nformat = 'graphml'", "format", "none is given"),
        ("rate = '10Gbps'", "rate = '10Gbps'\nnames = 'label'", "names", "none is given"),
        ("rate = '10Gbps'", "rate = '10Gbps'\nhost-kinds = ['x']", "host-kinds", "none is given"),
    ] {
        assert!(TWO.contains(old), "{old}");
        let error = refused(&TWO.replacen(old, new, 1));
        assert_eq!(error.key, key, "{new}: {error}");
        assert!(error.message.contains(words), "{new}: {error}");
    }
    let many = format!("attach-hosts = 65535\nswitches = {:?}", ["a", "b", "c", "d", "e", "f"]);
    assert!(refused(&many).message.contains("at most 262144"));
    let none = refused("attach-hosts = 1\nswitches = ['a']\nlink = []");
    assert!(none.key == "attach-hosts" && none.message.contains("host-rate"), "{none}");
}

#[test]
fn pairs_may_meet_in_different_parts() {
    // No switch is linked to another, but each pair of hosts has one in common.
    let text = "hosts = ['a', 'b', 'c']\nswitches = ['x', 'y', 'z']\nrate = '1Gbps'\ndelay = '1us'\n\
        link = [{ a = 'a', b = 'x' }, { a = 'a', b = 'z' }, { a = 'b', b = 'x' }, { a = 'b', b = 'y' },\n\
        { a = 'c', b = 'y' }, { a = 'c', b = 'z' }]";
    build(text);
    let error = refused(&text.replace("{ a = 'c', b = 'z' }", "{ a = 'c', b = 'y' }"));
    assert!(error.message.contains("host `c` cannot be reached from host `a`"), "{error}");
}
