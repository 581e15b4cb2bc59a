use super::*;
use crate::engine::Options;
use crate::parallel::Watch;
use slotline_net::id::{HostId, NodeId};
use slotline_net::node::Change;
use slotline_net::node::host::{Plan, Spread};
use slotline_net::route::classifier::ClassifierSpec;
use slotline_net::route::{Routes, RoutingSpec};
use slotline_net::scheme::{Control, Decision, FlowCount, News, PerFlow};
use slotline_net::time::Time;
use slotline_net::topology::{Down, FatTreeSpec, Graph, StarSpec, TopologySpec};
use slotline_net::transport::TransportSpec;
use slotline_net::transport::congestion::AlgorithmKind;
use slotline_net::transport::lone_flow_time;
use slotline_net::units::Rate;
use slotline_net::workload::{Carrier, ConnHandle, Start, Step, TrafficBuilder, When};
use std::sync::Arc;

mod account;

const SEED: u64 = 3;

fn network(graph: Graph, traffic: TrafficBuilder) -> FlowNetwork {
    let transport = TransportSpec::of(AlgorithmKind::NewReno).build().expect("a transport");
    let traffic = traffic.finish().expect("traffic");
    let plan = Plan::new(traffic, transport, Spread::PerFlow, graph.host_keys(), SEED);
    let routes = Routes::build(&graph, RoutingSpec::Ecmp, &Down::default(), SEED);
    FlowNetwork {
        plan: Arc::new(plan.expect("a plan")),
        routes: Arc::new(routes),
        timeline: vec![],
        sampled: vec![],
        interval: Time::ZERO,
        model: Model::FAIR,
        weights: [1.0; 8],
        store_and_forward: true,
        classifier: None,
        scheduler: None,
        seed: SEED,
        graph,
    }
}

fn star(hosts: u32) -> Graph {
    TopologySpec::Star(StarSpec::new(hosts)).build().expect("a star")
}

fn tcp(out: &mut TrafficBuilder, src: u32, dst: u32) -> ConnHandle {
    out.connect(HostId(src), HostId(dst), Carrier::Tcp, 0).expect("two hosts")
}

fn simulated(network: FlowNetwork) -> FlowOutcome {
    let options = Options { threads: 1, end: Time::s(10), completions: u64::MAX };
    run(network, options, &Watch::default())
}

fn seconds(time: Time) -> f64 {
    time.as_secs_f64()
}

#[test]
fn a_lone_flow_takes_what_its_packets_take() {
    for bytes in [1_000_000u64, 100_000_000] {
        let mut traffic = TrafficBuilder::new(3);
        let conn = tcp(&mut traffic, 0, 1);
        traffic.flow(conn, bytes, Start::At(Time::ms(1)), None, 0).expect("a flow");
        let network = network(star(3), traffic);
        let wiring = network.graph.wiring();
        let lane = |from: NodeId| wiring.of(from)[0].lane;
        let (there, back) = (lane(network.graph.hosts[0]), lane(network.graph.hosts[1]));
        let ideal = lone_flow_time(bytes, &network.plan.transport, &[there, back], &[back, there]);
        let took = simulated(network).flows[0].finished.since(Time::ms(1));
        assert!((seconds(took) / seconds(ideal) - 1.0).abs() < 1e-3, "{took}, alone {ideal}");
    }
}

#[test]
fn flows_share_and_free_what_they_leave() {
    // Two flows into one host; the shorter ends first, then the other has the link alone.
    let mut traffic = TrafficBuilder::new(3);
    for (src, bytes) in [(0, 10_000_000u64), (1, 30_000_000)] {
        let conn = tcp(&mut traffic, src, 2);
        traffic.flow(conn, bytes, Start::At(Time::ZERO), None, 0).expect("a flow");
    }
    let outcome = simulated(network(star(3), traffic));
    let at = |flow: usize| seconds(outcome.flows[flow].finished);
    let wire = |bytes: f64| bytes * 8.0 / 1e10 * 1538.0 / 1460.0;
    assert!((at(0) / wire(20e6) - 1.0).abs() < 1e-3, "{}", at(0));
    assert!((at(1) / wire(40e6) - 1.0).abs() < 1e-3, "{}", at(1));
    assert_eq!(outcome.completed, 2);
    assert!(outcome.volume.holds() && outcome.volume.delivered > 40_000_000);
    let into_host: u64 = outcome.ports.iter().flatten().copied().max().expect("ports");
    assert!((into_host as f64 / outcome.volume.sent - 1.0).abs() < 1e-9);
}

#[test]
fn flows_of_a_connection_follow_each_other() {
    let mut traffic = TrafficBuilder::new(2);
    let conn = tcp(&mut traffic, 0, 1);
    for _ in 0..3 {
        traffic.flow(conn, 1_460_000, Start::At(Time::ZERO), None, 0).expect("a flow");
    }
    let outcome = simulated(network(star(2), traffic));
    let at: Vec<f64> = outcome.flows.iter().map(|flow| seconds(flow.finished)).collect();
    let each = 1_538_000.0 * 8.0 / 1e10;
    assert!((at[1] - at[0] - each).abs() < 1e-9 && (at[2] - at[1] - each).abs() < 1e-9, "{at:?}");
}

#[test]
fn triggers_steps_and_think_times() {
    // A request is answered after work on a processor that another step occupies; the next request
    // follows when the answer is acknowledged, a think time later.
    let mut traffic = TrafficBuilder::new(2);
    let (there, back) = (tcp(&mut traffic, 0, 1), tcp(&mut traffic, 1, 0));
    let asked = traffic.trigger(HostId(1), 1);
    let worked = traffic.trigger(HostId(1), 1);
    let acked = traffic.trigger(HostId(1), 1);
    let step =
        |start, work, then| Step { host: HostId(1), start, work, cpu: Some(0), begun: None, then };
    traffic.step(step(Start::At(Time::ZERO), Time::ms(2), None)).expect("a step");
    let after = |trigger, delay| Start::After { trigger, delay };
    traffic.step(step(after(asked, Time::ZERO), Time::ms(1), Some(worked))).expect("a step");
    traffic.flow(there, 100, Start::At(Time::ZERO), Some((asked, When::Received)), 0).expect("ask");
    let answer = after(worked, Time::us(5));
    traffic.flow(back, 1460, answer, Some((acked, When::Acked)), 0).expect("answer");
    traffic.flow(back, 1460, after(acked, Time::ms(1)), None, 0).expect("more");
    let outcome = simulated(network(star(2), traffic));
    let starts: Vec<Time> = outcome.flows.iter().map(|flow| flow.started).collect();
    assert_eq!(starts[..2], [Time::ZERO, Time::us(3_005)]);
    let there_and_back = 2 * (1_538 * 800 + 1_000_000) + 2 * (84 * 800 + 1_000_000);
    assert_eq!(starts[2], Time::us(4_005).after(Time::ps(there_and_back)));
}

#[test]
fn datagrams_keep_their_pace_and_their_silence() {
    let mut traffic = TrafficBuilder::new(2);
    let carrier = Carrier::Udp {
        rate: Rate(1_000_000_000),
        message: 1_472,
        on: Time::ms(1),
        off: Time::ms(3),
        poisson: false,
    };
    let conn = traffic.connect(HostId(0), HostId(1), carrier, 0).expect("two hosts");
    traffic.flow(conn, 1_472 * 1_000, Start::At(Time::ZERO), None, 0).expect("a flow");
    let outcome = simulated(network(star(2), traffic));
    // 12.3 ms of sending in pieces of 1 ms: twelve whole cycles before the last piece.
    let sending = 1_538.0 * 1_000.0 * 8.0 / 1e9;
    let expected = 12.0 * 4e-3 + (sending - 12e-3);
    let took = seconds(outcome.flows[0].finished);
    assert!((took - expected).abs() < 1e-5, "{took}, not {expected}");
}

/// All hosts of a fat-tree send to others of another pod.
fn permutation(k: u32) -> (Graph, TrafficBuilder) {
    let graph = TopologySpec::FatTree(FatTreeSpec::new(k)).build().expect("a fat-tree");
    let hosts = graph.hosts.len() as u32;
    let mut traffic = TrafficBuilder::new(hosts);
    for src in 0..hosts {
        let conn = tcp(&mut traffic, src, (src + hosts / k + 1) % hosts);
        let bytes = 1_000_000 + u64::from(src) * 10_000;
        traffic
            .flow(conn, bytes, Start::At(Time::us(u64::from(src % 7))), None, 0)
            .expect("a flow");
    }
    (graph, traffic)
}

#[test]
fn the_same_run_ends_the_same() {
    let digest = || {
        let (graph, traffic) = permutation(4);
        simulated(network(graph, traffic)).digest
    };
    assert_eq!(digest(), digest());
}

#[test]
fn samples_add_up_to_what_ports_carried() {
    let (graph, traffic) = permutation(4);
    let mut network = network(graph, traffic);
    network.sampled = vec![(network.graph.hosts[0], slotline_net::id::PortId(0))];
    network.interval = Time::us(100);
    let at = network.graph.hosts[0].at();
    let outcome = simulated(network);
    let samples = outcome.samples.rows_of(0);
    let last = samples.last().expect("samples");
    assert!(samples.len() > 5 && samples.is_sorted_by_key(|sample| (sample.t_ps, sample.tx_bytes)));
    assert_eq!(last.tx_bytes, outcome.ports[at][0]);
}

fn across_a_fat_tree() -> FlowNetwork {
    let graph = TopologySpec::FatTree(FatTreeSpec::new(4)).build().expect("a fat-tree");
    let mut traffic = TrafficBuilder::new(16);
    let conn = tcp(&mut traffic, 0, 15);
    traffic.flow(conn, 10_000_000, Start::At(Time::ZERO), None, 0).expect("a flow");
    network(graph, traffic)
}

#[test]
fn a_link_that_fails_stops_its_flows_until_routes_follow() {
    let before = simulated(across_a_fat_tree()).flows[0].finished;
    let mut network = across_a_fat_tree();
    let wiring = network.graph.wiring();
    let path = network.routes.path(&wiring, HostId(0), HostId(15), network.plan.entropy(0));
    let failed = path.expect("a path")[1];
    let wire = wiring.of(failed.node)[failed.port.at()];
    let down = Down { links: [wire.link].into(), ..Down::default() };
    let routes = Arc::new(Routes::build(&network.graph, RoutingSpec::Ecmp, &down, SEED));
    network.timeline = vec![
        (Time::ms(2), failed.node, Change::Down(failed.port)),
        (Time::ms(2), wire.far.node, Change::Down(wire.far.port)),
        (Time::ms(5), NodeId(0), Change::Routes(routes)),
    ];
    let after = simulated(network).flows[0].finished;
    let late = seconds(after) - seconds(before);
    assert!((late - 3e-3).abs() < 1e-9, "{late}");
}

#[test]
fn saw_teeth_take_longer_than_fair_shares() {
    let with = |model| {
        let (graph, traffic) = permutation(4);
        let outcome = simulated(FlowNetwork { model, ..network(graph, traffic) });
        assert_eq!(outcome.completed, 16);
        outcome.flows.iter().map(|flow| seconds(flow.finished)).sum::<f64>()
    };
    let tick = Time::us(100);
    let (fair, teeth) =
        (with(Model::FAIR), with(Model::Aimd(AimdOptions { tick, increase: 15e6 })));
    assert!(teeth > fair && teeth < 5.0 * fair, "{teeth}, {fair}");
}

/// Moves large flows of host 1 to the last of their paths, and records the reports.
struct LastPath {
    reported: Arc<std::sync::Mutex<Vec<(Time, HostId, u64)>>>,
    wanted: Vec<Decision>,
}

impl Control for LastPath {
    fn observe(&mut self, news: &News<'_>, now: Time) {
        let News::Flows { host, span, flows } = *news else { return };
        assert_eq!(span, Time::ms(1));
        let bytes = flows.iter().map(|flow| flow.bytes).sum();
        self.reported.lock().expect("one thread").push((now, host, bytes));
        let path = |flow: &FlowCount| Decision::Path {
            src: host,
            conn: flow.conn,
            dst: flow.dst,
            path: 3,
        };
        self.wanted.extend(flows.iter().filter(|_| host == HostId(1)).map(path));
    }
    fn decide(&mut self, _now: Time, plan: &mut slotline_net::scheme::Plan) -> Option<Time> {
        plan.append(&mut self.wanted);
        None
    }
}

#[test]
fn a_scheme_parts_flows_that_share_a_path() {
    // Two hosts of a switch send to another pod, both on path 0. Each has half a link, until one of them is
    // moved to path 3, after the times for a poll, for computing and for installing.
    let mut traffic = TrafficBuilder::new(16);
    for (src, dst) in [(0, 14), (1, 15)] {
        let conn = tcp(&mut traffic, src, dst);
        traffic.flow(conn, 10_000_000, Start::At(Time::ZERO), None, 0).expect("a flow");
    }
    let graph = TopologySpec::FatTree(FatTreeSpec::new(4)).build().expect("a fat-tree");
    let reported = Arc::default();
    let scheduler = PerFlow {
        control: Box::new(LastPath { reported: Arc::clone(&reported), wanted: vec![] }),
        poll: Time::ms(1),
        threshold: 0.1,
        computing: Time::us(200),
        install: Time::us(300),
    };
    let mut network = network(graph, traffic);
    let Plan { traffic, transport, .. } = Arc::try_unwrap(network.plan).expect("the only one");
    let plan = Plan::new(traffic, transport, Spread::Pinned, network.graph.host_keys(), SEED);
    network.plan = Arc::new(plan.expect("a plan"));
    let routes = Routes::build(&network.graph, RoutingSpec::Pinned, &Down::default(), SEED);
    (network.routes, network.scheduler) = (Arc::new(routes), Some(scheduler));
    let outcome = simulated(network);
    let wire = 10e6 * 8.0 / 1e10 * 1538.0 / 1460.0;
    let took = seconds(outcome.flows[1].finished);
    assert!((took - (wire + 0.75e-3)).abs() < 2e-5, "{took}, not {}", wire + 0.75e-3);
    let reported = reported.lock().expect("one thread");
    let first = reported[0];
    assert_eq!((first.0, first.1), (Time::ms(1), HostId(0)));
    assert!((first.2 as f64 - 625_000.0).abs() < 2.0, "half of 1.25 MB, not {}", first.2);
    // When both flows are done, their hosts are reported once more, without flows.
    assert_eq!(reported.iter().filter(|(.., bytes)| *bytes == 0).count(), 2, "{reported:?}");
    assert!(
        outcome.counts.contains(&(slotline_net::scheme::counters::FLOW_DECISIONS, 9)),
        "{:?}",
        outcome.counts
    );
}

/// A network with `graph`, `traffic` and another method of choosing paths.
fn with(graph: Graph, traffic: TrafficBuilder, spread: Spread) -> FlowNetwork {
    let mut network = network(graph, traffic);
    let Plan { traffic, transport, .. } = Arc::try_unwrap(network.plan).expect("the only one");
    let plan = Plan::new(traffic, transport, spread, network.graph.host_keys(), SEED);
    network.plan = Arc::new(plan.expect("a plan"));
    network
}

#[test]
fn a_permutation_that_is_spread_fills_all_hosts() {
    let (graph, traffic) = permutation(4);
    let network = with(graph, traffic, Spread::PerPacket);
    let plan = Arc::clone(&network.plan);
    let core = |at| network.graph.node_named(&format!("core{at}")).expect("a core switch").at();
    let cores: Vec<usize> = (0..4).map(core).collect();
    let outcome = simulated(network);
    for (at, flow) in (0..).zip(&outcome.flows) {
        // Each flow is alone on its hosts' links, and no flow is limited elsewhere. A path has six links of 1 us.
        let (wire, last) = plan.wire_bytes(at);
        let alone = (wire + 5 * last) as f64 * 8.0 / 1e10 + 6e-6;
        let took = seconds(flow.finished) - seconds(flow.started);
        assert!((took - alone).abs() < 1e-8, "flow {at}: {took}, not {alone}");
    }
    // Every core switch carries the same number of bytes. Their sum is what hosts have sent.
    let sent: Vec<u64> = cores.iter().map(|core| outcome.ports[*core].iter().sum()).collect();
    assert!(sent.iter().all(|bytes| bytes.abs_diff(sent[0]) < 8), "{sent:?}");
    assert!((sent.iter().sum::<u64>() as f64 / outcome.volume.sent - 1.0).abs() < 1e-6);
}

#[test]
fn a_flow_that_is_spread_waits_for_routes_around_a_link() {
    let sprayed = || {
        let FlowNetwork { graph, .. } = across_a_fat_tree();
        let mut traffic = TrafficBuilder::new(16);
        let conn = tcp(&mut traffic, 0, 15);
        traffic.flow(conn, 10_000_000, Start::At(Time::ZERO), None, 0).expect("a flow");
        with(graph, traffic, Spread::PerPacket)
    };
    let before = simulated(sprayed());
    let mut network = sprayed();
    let wiring = network.graph.wiring();
    let link = network.graph.link_named("agg0.0-core0").expect("a link");
    let ends = network.graph.links[link].ends();
    let named = |name| network.graph.node_named(name).expect("a switch");
    let [agg, core] = ["agg0.0", "core1"].map(named);
    let down = Down { links: [link].into(), ..Down::default() };
    let routes = Arc::new(Routes::build(&network.graph, RoutingSpec::Spray, &down, SEED));
    network.timeline = vec![(Time::ms(5), NodeId(0), Change::Routes(routes))];
    let fails = |end: &slotline_net::topology::End| (Time::ms(2), end.node, Change::Down(end.port));
    network.timeline.extend(ends.iter().map(fails));
    let after = simulated(network);
    let late = seconds(after.flows[0].finished) - seconds(before.flows[0].finished);
    assert!((late - 3e-3).abs() < 1e-9, "{late}");
    // The link carried a quarter of what was sent before, and nothing afterwards.
    let end = ends.iter().find(|end| end.node == agg).expect("an end");
    let (early, bytes) = (2e-3 * 1.25e9 / 4.0, after.ports[end.node.at()][end.port.at()]);
    assert!((bytes as f64 - early).abs() < 2.0, "{bytes}, not {early}");
    // The other link of that switch has taken its half of the rest.
    let other = wiring.of(agg).iter().position(|wire| wire.far.node == core).expect("a link");
    let rest = after.volume.sent - 4.0 * early;
    let bytes = after.ports[end.node.at()][other] as f64;
    assert!((bytes - (early + rest / 2.0)).abs() < 2.0, "{bytes}");
}

#[test]
fn saw_teeth_of_spread_flows_fill_links_that_hashes_do_not() {
    let with_model = |spread| {
        let (graph, traffic) = permutation(4);
        let model = Model::Aimd(AimdOptions { tick: Time::us(100), increase: 15e6 });
        let outcome = simulated(FlowNetwork { model, ..with(graph, traffic, spread) });
        assert_eq!(outcome.completed, 16);
        outcome.flows.iter().map(|flow| seconds(flow.finished)).sum::<f64>()
    };
    let (hashed, spread) = (with_model(Spread::PerFlow), with_model(Spread::PerPacket));
    assert!(spread < hashed, "{spread}, {hashed}");
}

/// The time that two large flows of hosts of one switch take to another pod. A small flow of the second connection
/// ends `pause` before they begin.
fn after_a_pause(pause: Time, entropies: impl Fn(&mut TrafficBuilder) -> [ConnHandle; 2]) -> f64 {
    let mut traffic = TrafficBuilder::new(16);
    let [one, other] = entropies(&mut traffic);
    let begin = Time::ms(10);
    let start = Time::ps(begin.as_ps() - pause.as_ps());
    traffic.flow(other, 1_000, Start::At(start), None, 0).expect("a flow");
    for conn in [one, other] {
        traffic.flow(conn, 10_000_000, Start::At(begin), None, 0).expect("a flow");
    }
    let graph = TopologySpec::FatTree(FatTreeSpec::new(4)).build().expect("a fat-tree");
    let outcome = simulated(with(graph, traffic, Spread::PerBurst(Time::us(500))));
    let last = outcome.flows.iter().map(|flow| flow.finished).max().expect("flows");
    seconds(last) - seconds(begin)
}

#[test]
fn a_pause_puts_a_connection_on_another_path() {
    // Some connections share a path with another by their first hash. On separate paths, they take half the time.
    let alone = 10e6 * 8.0 / 1e10 * 1538.0 / 1460.0;
    let time_of = |many: u32, pause: Time| {
        after_a_pause(pause, |traffic| {
            let one = tcp(traffic, 0, 14);
            (1..many).for_each(|_| _ = tcp(traffic, 1, 15));
            [one, tcp(traffic, 1, 15)]
        })
    };
    let short = Time::us(300);
    let meets = |many: &u32| time_of(*many, short) > 1.9 * alone;
    let meeting: Vec<u32> = (1..40).filter(meets).collect();
    assert!(meeting.len() > 5, "{meeting:?}");
    let parted = meeting.iter().filter(|many| time_of(**many, Time::ms(1)) < 1.1 * alone).count();
    // A new hash selects another path in at least half of all cases.
    assert!(parted * 4 > meeting.len(), "{parted} of {}", meeting.len());
}

#[test]
fn switches_that_classify_part_flows_and_move_them() {
    let run = |conns: &[(u32, u32)], sizes: &[u64], classifier| {
        let mut traffic = TrafficBuilder::new(16);
        for (&(src, dst), &bytes) in conns.iter().zip(sizes) {
            let conn = tcp(&mut traffic, src, dst);
            traffic.flow(conn, bytes, Start::At(Time::ZERO), None, 0).expect("a flow");
        }
        let graph = TopologySpec::FatTree(FatTreeSpec::new(4)).build().expect("a fat-tree");
        let classifier = Some(classifier);
        simulated(FlowNetwork { classifier, ..network(graph, traffic) })
    };
    let spec = |period, moves| ClassifierSpec { period, moves };
    // New flows take the least loaded port, so that two hosts of a switch have a path each.
    let outcome = run(&[(0, 12), (1, 14)], &[10_000_000; 2], spec(Time::s(1), 3));
    let alone = 10e6 * 8.0 / 1e10 * 1538.0 / 1460.0;
    for flow in &outcome.flows {
        assert!((seconds(flow.finished) - alone).abs() < 2e-5, "{}", seconds(flow.finished));
    }
    // Two large flows of one switch are put on the same uplink, because small flows start between them. One of
    // them is moved when the small ones are done.
    let conns = [(0, 12), (0, 13), (1, 14), (1, 15)];
    let sizes = [10_000_000, 100_000, 10_000_000, 100_000];
    let still = run(&conns, &sizes, spec(Time::ms(1), 0));
    let moved = run(&conns, &sizes, spec(Time::ms(1), 3));
    let graph = TopologySpec::FatTree(FatTreeSpec::new(4)).build().expect("a fat-tree");
    let edge = graph.node_named("edge0.0").expect("a switch");
    let uplinks = |outcome: &FlowOutcome| {
        let edge = &outcome.ports[edge.at()];
        edge[2].abs_diff(edge[3])
    };
    assert!(uplinks(&still) > 15_000_000, "{}", uplinks(&still));
    assert!(uplinks(&moved) < 5_000_000, "{}", uplinks(&moved));
    assert_eq!(moved.completed, 4);
}
