//! Fabrics have the expected sizes, names and rates. Invalid settings are refused with a reason.

use super::*;
use crate::error::SpecError;
use crate::schema::kinds;
use proptest::prelude::*;

fn parse(text: &str) -> TopologySpec {
    toml::from_str(text).unwrap()
}

fn build(text: &str) -> Graph {
    parse(text).build().unwrap()
}

fn refused(text: &str) -> SpecError {
    parse(text).build().unwrap_err()
}

fn lane(graph: &Graph, from: &str, to: &str) -> LinkParams {
    let (link, flipped) = graph.links_named(&format!("{from}-{to}"))[0];
    if flipped { graph.links[link].ba } else { graph.links[link].ab }
}

fn gbps(n: u64) -> Rate {
    Rate(n * 1_000_000_000)
}

#[test]
fn a_fat_tree_has_the_published_counts() {
    for k in [2, 4, 6, 8, 16] {
        let graph = TopologySpec::FatTree(FatTreeSpec::new(k)).build().unwrap();
        let k = k as usize;
        assert_eq!(graph.hosts.len(), k.pow(3) / 4);
        assert_eq!(graph.nodes.len() - graph.hosts.len(), 5 * k * k / 4);
        assert_eq!(graph.links.len(), 3 * k.pow(3) / 4);
        for (node, ports) in graph.nodes.iter().zip(graph.ports()) {
            let expected = if node.kind == NodeKind::Host { 1 } else { k };
            assert_eq!(usize::from(ports), expected, "{}", node.name);
        }
    }
}

#[test]
fn nodes_are_numbered_pod_by_pod() {
    for text in [
        "kind = 'fat-tree'\nk = 6",
        "kind = 'leaf-spine'\nleaves = 5\nspines = 3\nhosts-per-leaf = 4",
        "kind = 'tree'\nracks = 3\nhosts-per-rack = 2\nrows = 4",
    ] {
        let graph = build(text);
        assert!(graph.nodes.windows(2).all(|pair| pair[0].pod <= pair[1].pod), "{text}");
        for (at, host) in graph.hosts.iter().enumerate() {
            assert_eq!(graph.nodes[host.at()].name, format!("h{at}"));
        }
    }
}

#[test]
fn tree_uplinks_follow_from_oversubscription() {
    let graph = build(
        "kind = 'tree'\nhosts-per-rack = 8\nracks = 4\nrows = 2\nrack-oversubscription = 4.0\nrow-oversubscription = 1.6",
    );
    assert_eq!(graph.hosts.len(), 64);
    assert_eq!(lane(&graph, "tor1.3", "row1").rate, gbps(20));
    assert_eq!(lane(&graph, "row0", "core").rate, gbps(50));
    let flat =
        build("kind = 'tree'\nhosts-per-rack = 8\nracks = 2\nrack-uplink = '40Gbps'\nnics = 2");
    assert_eq!(lane(&flat, "core", "tor1").rate, gbps(40));
    assert_eq!(flat.links_named("h9-tor1").len(), 2);
    let full = build("kind = 'tree'\nhosts-per-rack = 8\nracks = 2\nnics = 2");
    assert_eq!(lane(&full, "tor0", "core").rate, gbps(160));
}

#[test]
fn overrides_reach_one_direction_or_both() {
    let graph = build(
        "kind = 'leaf-spine'\nleaves = 2\nspines = 2\nhosts-per-leaf = 1\nuplinks-per-spine = 2\n\
         overrides = [{ link = 'spine0-leaf1', rate = '1Gbps', reverse-rate = '2Gbps' },\n\
         { link = 'leaf0-spine1#1', delay = '7us' }, { link = 'h0-leaf0', reverse-delay = '3us' }]",
    );
    for (link, flipped) in graph.links_named("leaf1-spine0") {
        assert!(!flipped);
        assert_eq!((graph.links[link].ab.rate, graph.links[link].ba.rate), (gbps(2), gbps(1)));
    }
    let delays: Vec<Time> = graph
        .links_named("leaf0-spine1")
        .iter()
        .map(|&(link, _)| graph.links[link].ba.delay)
        .collect();
    assert_eq!(delays, [Time::us(1), Time::us(7)]);
    assert_eq!(lane(&graph, "h0", "leaf0").delay, Time::us(1));
    assert_eq!(lane(&graph, "leaf0", "h0").delay, Time::us(3));
}

#[test]
fn what_cannot_be_built_is_explained() {
    for (text, key, words) in [
        ("kind = 'fat-tree'\nk = 5", "k", "4 or 6"),
        ("kind = 'fat-tree'\nk = 0", "k", "from 2 to 64"),
        ("kind = 'fat-tree'\nk = 4294967295", "k", "from 2 to 64"),
        ("kind = 'fat-tree'\nk = 64\noversubscription = 500", "oversubscription", "262144"),
        ("kind = 'star'\nhosts = 0", "hosts", "from 1 to"),
        (
            "kind = 'graph'\nattach-hosts = 2\nhost-rate = '1Gbps'\nhost-delay = '1us'\noverrides = [{ link = 'a-b' }]",
            "overrides",
            "neither hosts nor links",
        ),
        ("kind = 'star'\nhosts = 4\nrate = '0bps'", "rate", "above zero"),
        ("kind = 'star'\nhosts = 40000\nnics = 2", "kind", "80000 ports"),
        ("kind = 'tree'\nracks = 65535\nrows = 65535\nhosts-per-rack = 65535", "racks", "links"),
        (
            "kind = 'leaf-spine'\nleaves = 65535\nspines = 65535\nhosts-per-leaf = 1",
            "leaves",
            "links",
        ),
        (
            "kind = 'tree'\nracks = 2\nhosts-per-rack = 2\nrow-uplink = '1Gbps'",
            "row-uplink",
            "no rows",
        ),
        (
            "kind = 'tree'\nracks = 2\nhosts-per-rack = 2\nrack-oversubscription = 0.0",
            "rack-oversubscription",
            "above zero",
        ),
        (
            "kind = 'tree'\nracks = 2\nhosts-per-rack = 2\nrack-oversubscription = nan",
            "rack-oversubscription",
            "above zero",
        ),
        (
            "kind = 'tree'\nracks = 2\nhosts-per-rack = 2\nrack-uplink = '1Gbps'\nrack-oversubscription = 2.0",
            "rack-oversubscription",
            "leave one out",
        ),
        ("kind = 'star'\nhosts = 4\noverrides = [{ link = 'h4-s0' }]", "overrides", "`s0-h0`"),
        ("kind = 'star'\nhosts = 4\noverrides = [{ link = 'h3-s0#1' }]", "overrides", "`h3-s0`"),
        (
            "kind = 'star'\nhosts = 4\noverrides = [{ link = 'h3-s0', rate = '0bps' }]",
            "overrides",
            "above zero",
        ),
    ] {
        let error = refused(text);
        assert_eq!(error.key, key, "{text}: {error}");
        assert!(error.to_string().contains(words), "{text}: {error}");
    }
}

#[test]
fn specs_say_what_they_take_and_survive_a_round_trip() {
    let error = toml::from_str::<TopologySpec>("kind = 'ring'").unwrap_err().to_string();
    assert!(kinds::<TopologySpec>().iter().all(|(kind, _)| error.contains(kind)), "{error}");
    let error = toml::from_str::<TopologySpec>("kind = 'fat-tree'\nk = 4\nhost = 3").unwrap_err();
    assert!(error.to_string().contains("host-rate"), "{error}");
    for text in [
        "kind = 'star'\nhosts = 3\noverrides = [{ link = 'h0-s0', delay = '2us' }]",
        "kind = 'tree'\nhosts-per-rack = 2\nracks = 2\nrack-oversubscription = 2.5",
        "kind = 'fat-tree'\nk = 4\nhost-rate = '1Gbps'",
        "kind = 'leaf-spine'\nleaves = 2\nspines = 2\nhosts-per-leaf = 1",
        "kind = 'graph'\nhosts = ['a']\nswitches = ['s']\nhost-rate = '1Gbps'\n[[link]]\na = 'a'\nb = 's'",
    ] {
        let spec = parse(text);
        assert_eq!(parse(&toml::to_string(&spec).unwrap()), spec);
    }
    assert_eq!(parse("kind = 'fat-tree'\nk = 4"), TopologySpec::FatTree(FatTreeSpec::new(4)));
    assert_eq!(parse("kind = 'star'\nhosts = 4"), TopologySpec::Star(StarSpec::new(4)));
}

#[test]
fn a_broken_graph_is_not_a_network() {
    let good = build("kind = 'fat-tree'\nk = 4");
    let broken = |change: &dyn Fn(&mut Graph)| {
        let mut graph = good.clone();
        change(&mut graph);
        graph.validate().unwrap_err().to_string()
    };
    let second = |g: &mut Graph| g.nodes[1].name = "h0".into();
    assert!(broken(&second).contains("two nodes are named `h0`"));
    assert!(broken(&|g| g.links = g.links.split_off(1)).contains("`h0` has no link"));
    assert!(broken(&|g| g.links[0].b = g.links[0].a).contains("its own node"));
    assert!(broken(&|g| g.links[3].a.port = PortId(1)).contains("port 1 of `h3`"));
    assert!(broken(&|g| g.links[0].b.port = PortId(1)).contains("`edge0.0`"));
    assert!(broken(&|g| g.links[0].ab.rate = Rate(0)).contains("rate of zero"));
    assert!(broken(&|g| g.links[0].b.node = g.hosts[1]).contains("two hosts"));
    assert!(broken(&|g| g.links[0].b.node = NodeId(99)).contains("does not exist"));
    assert!(broken(&|g| g.hosts.truncate(3)).contains("every host"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn wiring_is_the_links_seen_from_both_ends(half in 1..4u32, nics in 1..4u32, oversubscription in 1..3u32) {
        let spec = FatTreeSpec { nics, oversubscription, ..FatTreeSpec::new(2 * half) };
        let graph = TopologySpec::FatTree(spec).build().unwrap();
        let wiring = graph.wiring();
        for (at, link) in graph.links.iter().enumerate() {
            let wire = |end: End| wiring.of(end.node)[end.port.at()];
            let (there, back) = (wire(link.a), wire(link.b));
            prop_assert_eq!(there, Wire { link: at, far: link.b, lane: link.ab, key: there.key });
            prop_assert_eq!(back, Wire { link: at, far: link.a, lane: link.ba, key: back.key });
        }
        let ends: usize = (0..graph.nodes.len()).map(|n| wiring.of(NodeId(n as u32)).len()).sum();
        prop_assert_eq!(ends, 2 * graph.links.len());
        prop_assert!(graph.hosts.iter().all(|&host| wiring.of(host).len() == nics as usize));
    }
}
