//! Topology files are read with the meaning that their programs give them, and errors name their line.

use proptest::prelude::*;
use slotline_formats::topology::spanning_tree::SpanningTree;
use slotline_formats::topology::{
    Fabric, FabricFormat, ReadError, containerlab_writer, read, read_on_tree,
};
use slotline_net::id::HostId;
use slotline_net::route::{Routes, RoutingSpec};
use slotline_net::time::Time;
use slotline_net::topology::{
    Down, FatTreeSpec, Graph, GraphSpec, LeafSpineSpec, LinkOverride, NodeKind, StarSpec,
    TopologySpec, TreeSpec,
};
use slotline_net::units::Rate;
use std::collections::BTreeMap;

use FabricFormat::*;

const NODE_LINK: &str = include_str!("data/leaf_spine.json");
const NODE_LINK_2: &str = include_str!("data/leaf_spine_networkx2.json");
const DIRECTED: &str = include_str!("data/directed_multigraph.json");
const GRAPHML: &str = include_str!("data/leaf_spine.graphml");
const DIRECTED_GRAPHML: &str = include_str!("data/directed_multigraph.graphml");
const ABILENE: &str = include_str!("../../../../data/topologies/abilene.graphml");
const FAT_TREE: &str = include_str!("data/fat_tree_16.topo");
const LEAF_SPINE: &str = include_str!("data/leaf_spine_32.topo");
const BUNDLES: &str = include_str!("data/bundles_8.topo");
const HPCC: &str = include_str!("data/hpcc_two_cards.txt");
const CLOS: &str = include_str!("data/clos.clab.yml");

/// All files, with the options that their readers need.
fn files() -> Vec<(FabricFormat, &'static str, GraphSpec)> {
    let nothing = GraphSpec::default();
    vec![
        (NodeLink, NODE_LINK, nothing.clone()),
        (NodeLink, NODE_LINK_2, nothing.clone()),
        (NodeLink, DIRECTED, nothing.clone()),
        (Graphml, GRAPHML, nothing.clone()),
        (Graphml, DIRECTED_GRAPHML, nothing.clone()),
        (Graphml, ABILENE, routers()),
        (HtsimTopo, FAT_TREE, nothing.clone()),
        (HtsimTopo, LEAF_SPINE, nothing.clone()),
        (HtsimTopo, BUNDLES, nothing.clone()),
        (HpccTopology, HPCC, nothing),
        (Containerlab, CLOS, lab()),
    ]
}

/// Options for a map of routers: hosts are attached, and delays are not in the file.
fn routers() -> GraphSpec {
    GraphSpec {
        attach_hosts: Some(2),
        delay: Some(Time::ms(5)),
        host_rate: Some(gbps(10)),
        host_delay: Some(Time::us(1)),
        names: Some("label".into()),
        ..GraphSpec::default()
    }
}

/// Options for a lab in which most links have no rate.
fn lab() -> GraphSpec {
    GraphSpec { rate: Some(gbps(100)), delay: Some(Time::us(2)), ..GraphSpec::default() }
}

fn gbps(n: u64) -> Rate {
    Rate(n * 1_000_000_000)
}

fn good(format: FabricFormat, text: &str, asked: &GraphSpec) -> Fabric {
    read(format, text, asked).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn graph(format: FabricFormat, text: &str, asked: &GraphSpec) -> Graph {
    TopologySpec::Graph(good(format, text, asked).spec).build().unwrap()
}

/// The links of a graph, without numbers of nodes and ports.
fn edges(graph: &Graph) -> Vec<String> {
    let name = |at: usize| graph.nodes[at].name.as_str();
    let mut edges: Vec<String> = (graph.links.iter())
        .map(|l| {
            let (a, b) = (name(l.a.node.at()), name(l.b.node.at()));
            let there = format!("{a}>{b} {} {}", l.ab.rate, l.ab.delay);
            let back = format!("{b}>{a} {} {}", l.ba.rate, l.ba.delay);
            if a < b { format!("{there}, {back}") } else { format!("{back}, {there}") }
        })
        .collect();
    edges.sort();
    edges
}

fn count(graph: &Graph) -> (usize, usize, usize) {
    (graph.hosts.len(), graph.nodes.len() - graph.hosts.len(), graph.links.len())
}

#[test]
fn node_link_json_of_both_networkx_versions_is_the_same() {
    let new = good(NodeLink, NODE_LINK, &GraphSpec::default());
    assert_eq!(new, good(NodeLink, NODE_LINK_2, &GraphSpec::default()));
    assert!(new.unread.is_empty(), "{:?}", new.unread);
    let graph = graph(NodeLink, NODE_LINK, &GraphSpec::default());
    assert_eq!(count(&graph), (4, 4, 8));
    assert_eq!(edges(&graph)[0], "h0>leaf0 10Gbps 1us, leaf0>h0 10Gbps 1us");
    assert!(
        edges(&graph).contains(&"leaf1>spine0 40Gbps 1500ns, spine0>leaf1 40Gbps 1500ns".into())
    );
}

#[test]
fn graphml_says_what_json_says() {
    let nothing = GraphSpec::default();
    let json = graph(NodeLink, NODE_LINK, &nothing);
    assert_eq!(edges(&json), edges(&graph(Graphml, GRAPHML, &nothing)));
    let directed = graph(NodeLink, DIRECTED, &nothing);
    assert_eq!(edges(&directed), edges(&graph(Graphml, DIRECTED_GRAPHML, &nothing)));
    assert_eq!(
        edges(&directed),
        [
            "0>2 1Gbps 500ns, 2>0 1Gbps 500ns",
            "1>3 500Mbps 500ns, 3>1 1Gbps 500ns",
            "2>3 200Mbps 2500ns, 3>2 100Mbps 2500ns",
            "2>3 400Mbps 2us, 3>2 300Mbps 2us",
        ]
    );
}

#[test]
fn a_map_of_routers_gets_hosts() {
    let fabric = good(Graphml, ABILENE, &routers());
    assert_eq!(fabric.unread, ["attribute `Internal` of nodes", "attribute `LinkLabel` of links"]);
    let graph = TopologySpec::Graph(fabric.spec).build().unwrap();
    assert_eq!(count(&graph), (22, 11, 14 + 22));
    let (link, _) = graph.links_named("Kansas City-Denver")[0];
    assert_eq!(
        (graph.links[link].ab.rate, graph.links[link].ab.delay),
        (Rate(9_953_280_000), Time::ms(5))
    );
    let (link, _) = graph.links_named("Denver.h1-Denver")[0];
    assert_eq!((graph.links[link].ab.rate, graph.links[link].ab.delay), (gbps(10), Time::us(1)));
}

#[test]
fn hosts_can_be_named_from_outside() {
    let asked = GraphSpec {
        hosts: vec!["3".into(), "0".into()],
        delay: Some(Time::ms(1)),
        ..GraphSpec::default()
    };
    // Seattle and New York, each between two others.
    let graph = graph(Graphml, ABILENE, &asked);
    let names: Vec<&str> =
        graph.hosts.iter().map(|at| graph.nodes[at.at()].name.as_str()).collect();
    assert_eq!(names, ["3", "0"]);
    assert_eq!(count(&graph), (2, 9, 14));
}

#[test]
fn htsim_fat_trees_are_the_plain_ones() {
    let nothing = GraphSpec::default();
    let spec = FatTreeSpec { rate: gbps(100), ..FatTreeSpec::new(4) };
    let plain = TopologySpec::FatTree(spec).build().unwrap();
    let read = graph(HtsimTopo, FAT_TREE, &nothing);
    assert_eq!(count(&plain), count(&read));
    let shape =
        |graph: &Graph| -> Vec<_> { graph.nodes.iter().map(|n| (n.kind, n.tier, n.pod)).collect() };
    assert_eq!(shape(&plain), shape(&read), "the same numbers");
    // htsim's aggregation switch a of a pod is linked to cores a, a + 2, …
    let near = |name: &str| -> Vec<String> {
        let at = read.node_named(name).unwrap();
        let wires = read.wiring();
        wires.of(at).iter().map(|w| read.nodes[w.far.node.at()].name.clone()).collect()
    };
    assert_eq!(near("agg2"), ["tor2", "tor3", "core0", "core2"]);
    assert_eq!(near("agg5"), ["tor4", "tor5", "core1", "core3"]);
    assert_eq!(near("core3"), ["agg1", "agg3", "agg5", "agg7"]);
}

#[test]
fn htsim_switches_delay_what_enters_them() {
    let graph = graph(HtsimTopo, LEAF_SPINE, &GraphSpec::default());
    assert_eq!(count(&graph), (32, 4 + 2, 32 + 8));
    let edges = edges(&graph);
    assert!(edges.contains(&"h9>tor1 100Gbps 1300ns, tor1>h9 100Gbps 1us".into()), "{edges:?}");
    assert!(edges.contains(&"agg1>tor3 100Gbps 2300ns, tor3>agg1 100Gbps 2500ns".into()));
}

#[test]
fn htsim_bundles_are_parallel_links() {
    let graph = graph(HtsimTopo, BUNDLES, &GraphSpec::default());
    assert_eq!(count(&graph), (8, 4 + 4 + 4, 8 + 8 + 16));
    assert_eq!(graph.links_named("agg3-core1").len(), 2);
    assert_eq!(graph.links_named("agg3-core2").len(), 0);
    let rates: BTreeMap<String, usize> = graph.links.iter().fold(BTreeMap::new(), |mut n, link| {
        *n.entry(link.ab.rate.to_string()).or_default() += 1;
        n
    });
    assert_eq!(rates, BTreeMap::from([("100Gbps".into(), 16), ("200Gbps".into(), 16)]));
}

#[test]
fn hpcc_files_have_hosts_with_several_cards() {
    let fabric = good(HpccTopology, HPCC, &GraphSpec::default());
    assert_eq!(fabric.unread, ["text after the last link, from line 13 on"]);
    let fewer = good(HpccTopology, &HPCC.replace("8 3 9", "8 3 8"), &GraphSpec::default());
    assert_eq!(fewer.spec.link.len(), 8);
    assert_eq!(fewer.unread, ["1 links more than the first line counts, from line 11 on"]);
    assert_eq!(fabric.spec.hosts, ["h0", "h1", "h2", "h3", "h4"]);
    let graph = TopologySpec::Graph(fabric.spec).build().unwrap();
    assert_eq!(count(&graph), (5, 3, 9));
    assert_eq!(graph.links_named("s6-s7").len(), 2);
    assert!(edges(&graph).contains(&"h4>s6 25Gbps 1us, s6>h4 25Gbps 1us".into()));
}

#[test]
fn labs_have_hosts_by_kind() {
    let fabric = good(Containerlab, CLOS, &lab());
    assert_eq!(fabric.unread, ["`mtu` of links", "`type` of nodes"]);
    let graph = TopologySpec::Graph(fabric.spec).build().unwrap();
    assert_eq!(count(&graph), (2, 3, 4));
    assert_eq!(
        edges(&graph),
        [
            "client1>leaf1 25Gbps 1us, leaf1>client1 25Gbps 1us",
            "client2>leaf2 25Gbps 1us, leaf2>client2 10Gbps 1us",
            "leaf1>spine1 100Gbps 2us, spine1>leaf1 100Gbps 2us",
            "leaf2>spine1 100Gbps 2us, spine1>leaf2 100Gbps 2us",
        ]
    );
    let others = GraphSpec { host_kinds: Some(vec!["nokia_srlinux".into()]), ..lab() };
    let error = read(Containerlab, CLOS, &others).unwrap_err().to_string();
    assert!(error.contains("joins two hosts"), "{error}");
    let none = GraphSpec { host_kinds: Some(vec![]), attach_hosts: Some(3), ..lab() };
    assert_eq!(count(&graph_of(&none)), (15, 5, 19));
}

fn graph_of(asked: &GraphSpec) -> Graph {
    graph(Containerlab, CLOS, asked)
}

fn fabrics() -> impl Strategy<Value = TopologySpec> {
    let star = (1..6u32, 1..3u32)
        .prop_map(|(hosts, nics)| TopologySpec::Star(StarSpec { nics, ..StarSpec::new(hosts) }));
    let tree = (1..4u32, 1..4u32).prop_map(|(r, h)| TopologySpec::Tree(TreeSpec::new(r, h)));
    let fat_tree = (1..3u32).prop_map(|half| TopologySpec::FatTree(FatTreeSpec::new(2 * half)));
    let leaf_spine =
        (1..4u32, 1..4u32, 1..4u32, 1..3u64, 1..900_000u64).prop_map(|(l, s, h, r, d)| {
            let link = "leaf0-spine0".to_string();
            let (rate, delay) = (Some(gbps(r)), Some(Time::ps(d)));
            let overrides =
                vec![LinkOverride { link, reverse_rate: rate, delay, ..LinkOverride::default() }];
            TopologySpec::LeafSpine(LeafSpineSpec { overrides, ..LeafSpineSpec::new(l, s, h) })
        });
    prop_oneof![star, tree, fat_tree, leaf_spine]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn an_exported_lab_comes_back_as_it_was(spec in fabrics()) {
        let graph = spec.build().unwrap();
        let text = containerlab_writer::write("lab", "alpine:3", &graph).unwrap();
        let again = good(Containerlab, &text, &GraphSpec::default());
        prop_assert!(again.unread == ["`exec` of nodes"]);
        let again = TopologySpec::Graph(again.spec).build().unwrap();
        let [before, after] = [&graph, &again].map(|graph| format!("{graph:?}"));
        prop_assert_eq!(before, after);
    }
}

#[test]
fn an_exported_lab_reads_well() {
    let star =
        StarSpec { rate: Rate(2_500_000_000), delay: Time::ps(1_500_700), ..StarSpec::new(2) };
    let graph = TopologySpec::Star(star).build().unwrap();
    let text = containerlab_writer::write("incast", "alpine:3", &graph).unwrap();
    assert_eq!(text, include_str!("golden/star.clab.yml"), "got:\n{text}");
    let named = |name: &str| containerlab_writer::write(name, "alpine:3", &graph).unwrap_err();
    assert!(named("my lab").contains("`my lab`"));
    assert!(containerlab_writer::write("lab", "", &graph).is_err());
    let routers = self::graph(Graphml, ABILENE, &routers());
    let error = containerlab_writer::write("lab", "alpine:3", &routers).unwrap_err();
    assert!(error.contains("`New York"), "{error}");
}

/// A title, a file and its format, a part of the file, and the text that replaces it.
const FAULTS: &[(&str, FabricFormat, &str, &str, &str)] = &[
    ("a comma too many", NodeLink, NODE_LINK, "\"directed\": false,", "\"directed\": false,,"),
    ("cut off", NodeLink, NODE_LINK, "\"edges\": [", ""),
    ("no direction", NodeLink, NODE_LINK, "\"directed\": false,\n", ""),
    ("another key at the top", NodeLink, NODE_LINK, "\"graph\": {}", "\"adjacency\": {}"),
    ("no role", NodeLink, NODE_LINK, "\"role\": \"switch\",\n", ""),
    ("another role", NodeLink, NODE_LINK, "\"role\": \"switch\"", "\"role\": \"router\""),
    (
        "an end without a node",
        NodeLink,
        NODE_LINK,
        "\"source\": \"leaf0\"",
        "\"source\": \"leaf9\"",
    ),
    ("no end", NodeLink, NODE_LINK, "\"source\": \"leaf0\",\n", ""),
    ("a rate without a unit", NodeLink, NODE_LINK, "\"rate\": \"10Gbps\"", "\"rate\": 10"),
    (
        "a rate twice",
        NodeLink,
        NODE_LINK,
        "\"rate_gbps\": 40",
        "\"rate_gbps\": 40, \"capacity\": \"40Gbps\"",
    ),
    ("no delay", NodeLink, NODE_LINK, "\"delay_us\": 1,\n", ""),
    ("a negative rate", NodeLink, NODE_LINK, "\"rate_gbps\": 40", "\"rate_gbps\": -40"),
    ("a rate of zero", NodeLink, NODE_LINK, "\"rate_gbps\": 40", "\"rate_gbps\": 0"),
    ("a node twice", NodeLink, NODE_LINK, "\"id\": \"h1\"", "\"id\": \"h0\""),
    (
        "two hosts linked",
        NodeLink,
        NODE_LINK,
        "\"target\": \"h0\"",
        "\"target\": \"h0\"}, {\"source\": \"h1\", \"target\": \"h0\"",
    ),
    ("one way only", NodeLink, DIRECTED, "\"source\": 1,", "\"source\": 2,"),
    (
        "parallel links in a simple graph",
        NodeLink,
        NODE_LINK,
        "\"target\": \"spine1\"",
        "\"target\": \"spine0\"",
    ),
    ("an end tag missing", Graphml, GRAPHML, "</node>", ""),
    ("not GraphML", Graphml, GRAPHML, "<graphml ", "<html "),
    ("no direction", Graphml, GRAPHML, " edgedefault=\"undirected\"", ""),
    ("an unknown key", Graphml, GRAPHML, "<data key=\"d0\">", "<data key=\"d9\">"),
    ("an unknown element", Graphml, GRAPHML, "<node id=\"h3\">", "<hyperedge/><node id=\"h3\">"),
    ("no role", Graphml, GRAPHML, "<data key=\"d0\">switch</data>", ""),
    ("an invalid rate", Graphml, GRAPHML, "10Gbps", "fast"),
    ("an end without a node", Graphml, GRAPHML, "target=\"spine1\"", "target=\"spine7\""),
    (
        "a node without links",
        Graphml,
        GRAPHML,
        "<node id=\"h3\">",
        "<node id=\"h4\"><data key=\"d0\">host</data></node><node id=\"h3\">",
    ),
    ("no rate", Graphml, ABILENE, "<data key=\"d2\">9953280000.0</data>", ""),
    ("no number", HtsimTopo, FAT_TREE, "Nodes 16", "Nodes many"),
    ("a key without a value", HtsimTopo, FAT_TREE, "Podsize 4", "Podsize"),
    ("an unknown key", HtsimTopo, FAT_TREE, "Radix_Up 2", "Radix_Upp 2"),
    ("a queue", HtsimTopo, FAT_TREE, "Radix_Up 2", "Radix_Up 2\nQueue_Up 100"),
    ("a missing tier", HtsimTopo, FAT_TREE, "Tiers 3", "Tiers 2"),
    ("pods that do not fit", HtsimTopo, FAT_TREE, "Podsize 4", "Podsize 5"),
    (
        "a radix that does not fit",
        HtsimTopo,
        FAT_TREE,
        "Radix_Up 2\n",
        "Radix_Up 4\nOversubscribed 0\n",
    ),
    ("a bundle that does not fit", HtsimTopo, BUNDLES, "Bundle 2", "Bundle 1"),
    ("far too many hosts", HtsimTopo, FAT_TREE, "Nodes 16", "Nodes 4000000000"),
    ("a key twice", HtsimTopo, FAT_TREE, "Radix_Up 2", "Radix_Up 2\nradix_up 2"),
    ("no latency", HtsimTopo, LEAF_SPINE, "Downlink_Latency_ns 1000\n", ""),
    ("packet losses", HpccTopology, HPCC, "100Gbps 1000ns 0.000000", "100Gbps 1000ns 0.001"),
    ("a rate without a unit", HpccTopology, HPCC, "0 5 25Gbps", "0 5 25"),
    ("a delay without a unit", HpccTopology, HPCC, "0 5 25Gbps 1000ns", "0 5 25Gbps 1000"),
    ("an unknown node", HpccTopology, HPCC, "0 5 25Gbps", "0 8 25Gbps"),
    ("fewer links than announced", HpccTopology, HPCC, "8 3 9", "8 3 10"),
    ("a switch missing", HpccTopology, HPCC, "5 6 7\n", "5 6\n"),
    ("not a topology", HpccTopology, HPCC, "8 3 9", "nodes switches links"),
    ("bad indentation", Containerlab, CLOS, "    leaf2:\n", "   leaf2:\n"),
    ("no topology", Containerlab, CLOS, "topology:", "topologie:"),
    ("an unknown part", Containerlab, CLOS, "  kinds:", "  kind:"),
    ("no kind", Containerlab, CLOS, "client2: {kind: linux}", "client2:"),
    ("an end without a node", Containerlab, CLOS, "client2:eth1", "client9:eth1"),
    ("three ends", Containerlab, CLOS, "\"spine1:e1-1\"]", "\"spine1:e1-1\", \"spine1:e1-9\"]"),
    ("an interface twice", Containerlab, CLOS, "spine1:e1-2", "spine1:e1-1"),
    ("an end without an interface", Containerlab, CLOS, "client2:eth1", "client2"),
    ("an invalid rate", Containerlab, CLOS, "rate: 25Gbps,", "rate: 25G,"),
    ("a link of another type", Containerlab, CLOS, "type: veth", "type: tunnel"),
    (
        "two linux containers linked",
        Containerlab,
        CLOS,
        "{node: leaf1, interface: e1-10}\n      labels: {rate: 25Gbps, delay: 1us}\n    - endpoints: [client2:eth1,",
        "{node: client2, interface: eth9}\n    - endpoints: [leaf1:e1-9,",
    ),
    (
        "an unknown network",
        Containerlab,
        CLOS,
        "client1: {kind: linux}",
        "client1: {network-mode: a:b}",
    ),
    ("an anchor", Containerlab, CLOS, "labels: {rate", "labels: &x {rate"),
];

#[test]
fn faults_have_lines_and_say_what_would_be_right() {
    let mut messages = String::new();
    for (title, format, text, old, new) in FAULTS {
        assert!(text.contains(old), "{title}: {old}");
        let broken = text.replacen(old, new, 1);
        let (_, _, asked) = files().into_iter().find(|(_, file, _)| file == text).unwrap();
        let error = read(*format, &broken, &asked).map(|_| ()).expect_err(title);
        let ReadError::File(error) = error else { panic!("{title}: {error}") };
        let lines = broken.lines().count();
        assert!((1..=lines + 1).contains(&error.line), "{title}: line {} of {lines}", error.line);
        messages += &format!("## {format:?}: {title}\n{error}\n\n");
    }
    assert_eq!(messages, include_str!("golden/topology_faults.txt"), "got:\n{messages}");
}

#[test]
fn what_is_asked_for_must_go_with_the_file() {
    let some = || Some(gbps(1));
    for (format, text, asked, key) in [
        (HtsimTopo, FAT_TREE, GraphSpec { rate: some(), ..GraphSpec::default() }, "rate"),
        (
            HpccTopology,
            HPCC,
            GraphSpec { attach_hosts: Some(1), ..GraphSpec::default() },
            "attach-hosts",
        ),
        (
            NodeLink,
            NODE_LINK,
            GraphSpec { host_kinds: Some(vec![]), ..GraphSpec::default() },
            "host-kinds",
        ),
        (Containerlab, CLOS, GraphSpec { names: Some("x".into()), ..lab() }, "names"),
        (
            NodeLink,
            NODE_LINK,
            GraphSpec { switches: vec!["x".into()], ..GraphSpec::default() },
            "switches",
        ),
        (
            NodeLink,
            NODE_LINK,
            GraphSpec { hosts: vec!["x".into()], ..GraphSpec::default() },
            "hosts",
        ),
        (Graphml, ABILENE, GraphSpec { hosts: vec!["0".into()], ..routers() }, "attach-hosts"),
        (Graphml, ABILENE, GraphSpec { host_rate: None, ..routers() }, "attach-hosts"),
    ] {
        match read(format, text, &asked) {
            Err(ReadError::Asked(error)) => assert_eq!(error.key, key, "{error}"),
            other => panic!("{key}: {other:?}"),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Every broken file is read, or refused with a line.
    #[test]
    fn broken_files_are_refused_with_a_line(
        which: prop::sample::Index,
        cuts in prop::collection::vec((any::<prop::sample::Index>(), 0..40usize, "\\PC{0,6}"), 1..4),
        truncate: bool,
    ) {
        let all = files();
        let (format, text, asked) = &all[which.index(all.len())];
        let mut broken: Vec<char> = text.chars().collect();
        for (at, length, inserted) in cuts {
            let start = at.index(broken.len() + 1);
            let end = if truncate { broken.len() } else { (start + length).min(broken.len()) };
            broken.splice(start..end, inserted.chars());
        }
        let broken: String = broken.into_iter().collect();
        match read(*format, &broken, asked) {
            Ok(fabric) => {
                let built = TopologySpec::Graph(fabric.spec).build();
                prop_assert!(built.is_ok(), "read, but {}", built.unwrap_err());
            }
            Err(ReadError::File(error)) => {
                let lines = broken.split('\n').count();
                prop_assert!((1..=lines).contains(&error.line), "line {} of {lines}", error.line);
                prop_assert!(!error.message.is_empty());
            }
            Err(ReadError::Asked(error)) => prop_assert!(!error.key.is_empty()),
        }
    }
}

#[test]
fn every_switch_and_host_has_its_kind() {
    for (format, text, asked) in files() {
        let fabric = good(format, text, &asked);
        let graph = TopologySpec::Graph(fabric.spec.clone()).build().unwrap();
        let switches = graph.nodes.iter().filter(|node| node.kind == NodeKind::Switch).count();
        assert_eq!(switches, fabric.spec.switches.len());
        let again: TopologySpec =
            toml::from_str(&toml::to_string(&TopologySpec::Graph(fabric.spec)).unwrap()).unwrap();
        assert_eq!(format!("{graph:?}"), format!("{:?}", again.build().unwrap()));
    }
}

/// Names of hosts and switches, the number of links, and what was not read, of a lab with these nodes and links.
fn small_lab(
    nodes: &str,
    links: &[&str],
    asked: &GraphSpec,
) -> (Vec<String>, Vec<String>, usize, String) {
    let links: String = links.iter().map(|ends| format!("    - endpoints: [{ends}]\n")).collect();
    let text = format!("name: lab\ntopology:\n  nodes:\n{nodes}  links:\n{links}");
    let read = good(Containerlab, &text, asked);
    (
        read.spec.hosts,
        read.spec.switches,
        read.spec.link.len(),
        [read.unread, read.assumed].concat().join("; "),
    )
}

#[test]
fn linux_routers_are_switches() {
    let nodes = "    r1: {kind: linux}\n    r2: {kind: linux}\n    a: {kind: linux}\n    b: {kind: linux}\n";
    let links = ["\"r1:1\", \"r2:1\"", "\"r1:2\", \"a:1\"", "\"b:1\", \"r2:2\""];
    let (hosts, switches, count, unread) = small_lab(nodes, &links, &lab());
    assert_eq!((hosts, switches, count), (names(&["a", "b"]), names(&["r1", "r2"]), 3));
    assert!(unread.contains("`r1` is a switch: it links a host to other nodes"), "{unread}");
}

#[test]
fn labs_without_hosts_get_one_at_every_node() {
    let nodes =
        "    r1: {kind: nokia_srlinux}\n    r2: {kind: arista_ceos}\n    c: {kind: k8s-kind}\n";
    let links = ["\"r1:1\", \"r2:1\"", "\"r1:2\", \"mgmt-net:x\""];
    let (hosts, switches, count, unread) = small_lab(nodes, &links, &lab());
    assert_eq!((hosts, switches, count), (vec![], names(&["r1", "r2"]), 1));
    assert!(
        unread.contains("one is linked to every node; ")
            || unread.contains("node `c`, which has no links")
                && unread.contains("links to `mgmt-net`"),
        "{unread}"
    );
    let read = good(
        Containerlab,
        &format!("topology:\n  nodes:\n{nodes}  links:\n    - endpoints: [{}]\n", links[0]),
        &lab(),
    );
    assert_eq!(read.spec.attach_hosts, Some(1));
}

#[test]
fn containers_beside_a_node_belong_to_it() {
    let nodes = "    a: {kind: nokia_srsim}\n    card1: {kind: nokia_srsim, network-mode: \"container:a\"}\n    \
        card2: {kind: nokia_srsim, network-mode: \"container:card1\"}\n    away: {network-mode: host}\n";
    let links = ["\"card1:1\", \"card2:1\"", "\"card2:2\", \"host:x\"", "\"a:1\", \"host:y\""];
    let (hosts, switches, count, unread) = small_lab(nodes, &links, &lab());
    assert_eq!((hosts, switches, count), (names(&["host"]), names(&["a"]), 2));
    for part in [
        "`card2` and `card1` are one node",
        "links of node `a` to itself",
        "node `away`, which has",
    ] {
        assert!(unread.contains(part), "{unread}");
    }
}

#[test]
fn hosts_are_named_by_patterns() {
    let nodes =
        "    pc2: {kind: x}\n    leaf: {kind: x}\n    pc1: {kind: x}\n    nas-a: {kind: x}\n";
    let links = ["\"leaf:1\", \"pc1:1\"", "\"leaf:2\", \"pc2:1\"", "\"leaf:3\", \"nas-a:1\""];
    let hosts =
        |list: &[&str]| small_lab(nodes, &links, &GraphSpec { hosts: names(list), ..lab() }).0;
    assert_eq!(hosts(&["pc1", "pc*", "n*-*a"]), names(&["pc1", "pc2", "nas-a"]));
    assert_eq!(hosts(&["*pc*", "nas*"]), names(&["pc2", "pc1", "nas-a"]));
    let asked = GraphSpec { hosts: names(&["server*"]), ..lab() };
    let refused = read(Containerlab, CLOS, &asked).unwrap_err().to_string();
    assert!(
        refused.contains("`hosts` names `server*`, but nodes of this file are called `client1`"),
        "{refused}"
    );
}

fn names(list: &[&str]) -> Vec<String> {
    list.iter().map(ToString::to_string).collect()
}

const TRIANGLE: &str = include_str!("data/triangle.clab.yml");
const BRIDGES: &str = include_str!("data/triangle_bridges.json");

fn on_tree(bridges: &str) -> Result<Fabric, ReadError> {
    let asked = GraphSpec {
        rate: Some(Rate(1_000_000_000)),
        delay: Some(Time::us(1)),
        ..GraphSpec::default()
    };
    read_on_tree(TRIANGLE, &asked, &SpanningTree::parse(bridges).unwrap())
}

/// The three bridges keep two of their three links. Packets between the others pass a third switch.
#[test]
fn a_network_of_bridges_is_its_spanning_tree() {
    let read = on_tree(BRIDGES).unwrap();
    let names: Vec<(&str, &str)> =
        read.spec.link.iter().map(|link| (link.a.as_str(), link.b.as_str())).collect();
    assert_eq!(names, [("s2", "s3"), ("s3", "s1"), ("h1", "s1"), ("h2", "s2"), ("h3", "s3")]);
    let blocked = "the link of `s1` and `s2`, which the spanning tree blocks";
    assert!(read.unread.iter().any(|what| what == blocked), "{:?}", read.unread);
    let graph = TopologySpec::Graph(read.spec).build().unwrap();
    let routes = Routes::build(&graph, RoutingSpec::Ecmp, &Down::default(), 1);
    let path = routes.path(&graph.wiring(), HostId(0), HostId(1), 0).unwrap();
    assert_eq!(path.len(), 4, "from h1 by s1, s3 and s2");
}

/// What switches of Cisco and Arista show of the same triangle gives the same network.
#[test]
fn shown_trees_give_the_same_network() {
    let bridges = on_tree(BRIDGES).unwrap().spec;
    for shown in [include_str!("data/triangle_shown.txt"), include_str!("data/triangle_eos.json")] {
        assert_eq!(on_tree(shown).unwrap().spec, bridges);
    }
}

#[test]
fn what_is_no_tree_is_refused() {
    let error = |bridges: &str| on_tree(bridges).unwrap_err().to_string();
    let all = error(&BRIDGES.replace("blocking", "forwarding"));
    assert!(all.contains("closes a circle"), "{all}");
    let other = error(&BRIDGES.replace("\"s3\"", "\"s4\""));
    assert!(other.contains("switch `s3` is not in the spanning-tree file"), "{other}");
    let port = error(&BRIDGES.replace("eth2", "eth7"));
    assert!(port.contains("has no port `s2:eth2`"), "{port}");
}
