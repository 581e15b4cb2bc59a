//! XCo's controller and coordinators, real hosts and a real switch, once in simulated time and once by the wall clock
//! over UDP. The nodes cannot distinguish the two.

use slotline_net::aqm::spec::QueueSpec;
use slotline_net::frame::{Kind, Packet};
use slotline_net::id::{ConnId, FlowId, HostId, NodeId, PortId};
use slotline_net::node::host::{Egress, Host, HostConfig, Plan, Spread};
use slotline_net::node::notify::Senders;
use slotline_net::node::station::Loss;
use slotline_net::node::switch::{Switch, SwitchConfig, SwitchPort};
use slotline_net::node::{Cx, Node, PacketAccount};
use slotline_net::route::{Routes, RoutingSpec};
use slotline_net::scheme::Network as Known;
use slotline_net::time::Time;
use slotline_net::topology::{Down, Graph, NodeKind, StarSpec, TopologySpec};
use slotline_net::transport::TransportSpec;
use slotline_net::transport::congestion::AlgorithmKind;
use slotline_net::units::{Bytes, Rate};
use slotline_net::workload::{Carrier, Conn, Flow, Machines, Role, Start, Traffic};
use slotline_sim::{Options, Place, Queue, Watch};
use slotline_xco::node::controller::Controller;
use slotline_xco::spec::XcoSpec;
use std::sync::Arc;
use std::time::Duration;

const SENDERS: u32 = 3;
const RECEIVER: HostId = HostId(3);
const CONTROLLER: HostId = HostId(4);
const RATE: Rate = Rate(20_000_000);
const SLICE: Time = Time::ms(20);
const GUARD: Time = Time::ms(4);
/// How long a run by the wall clock takes.
const SPAN: Duration = Duration::from_millis(800);
/// A machine that wakes up later is busy with something else: slices overlap.
const LATE: Time = GUARD;

/// Forwards everything to a host, and notes when datagrams leave it.
struct Tap {
    host: Host,
    left: Vec<Time>,
}

impl Node for Tap {
    fn start(&mut self, cx: &mut Cx<'_>) {
        self.host.start(cx);
    }
    fn receive(&mut self, port: PortId, packet: Packet, cx: &mut Cx<'_>) {
        self.host.receive(port, packet, cx);
    }
    fn transmit(&mut self, port: PortId, cx: &mut Cx<'_>) -> Option<Packet> {
        let packet = self.host.transmit(port, cx);
        self.left.extend(packet.filter(|packet| packet.kind == Kind::Datagram).map(|_| cx.now));
        packet
    }
    fn expire(&mut self, token: u32, cx: &mut Cx<'_>) {
        self.host.expire(token, cx);
    }
    fn account(&self) -> PacketAccount {
        self.host.account()
    }
}

/// Three hosts that send all they can to a fourth, and a controller.
struct Setup {
    graph: Graph,
    routes: Arc<Routes>,
    nodes: Vec<Box<dyn Node>>,
}

fn traffic() -> Traffic {
    let carrier = Carrier::Udp {
        rate: RATE,
        message: 1_000,
        on: Time::s(1),
        off: Time::ZERO,
        poisson: false,
    };
    let conn = |src| Conn {
        src: HostId(src),
        dst: RECEIVER,
        carrier,
        class: 0,
        machines: Machines::default(),
        first: FlowId(src),
        count: 1,
        key: u64::from(src),
    };
    let flow = |conn| Flow {
        conn: ConnId(conn),
        bytes: 1 << 30,
        start: Start::At(Time::ms(1)),
        then: None,
        also: None,
        group: 0,
        role: Role::Alone,
    };
    Traffic {
        conns: (0..SENDERS).map(conn).collect(),
        flows: (0..SENDERS).map(flow).collect(),
        ..Traffic::default()
    }
}

fn setup() -> Setup {
    let star = StarSpec { rate: RATE, ..StarSpec::new(CONTROLLER.0 + 1) };
    let graph = TopologySpec::Star(star).build().unwrap();
    let routes = Arc::new(Routes::build(&graph, RoutingSpec::Shortest, &Down::default(), 1));
    let transport = TransportSpec::of(AlgorithmKind::NewReno).build().unwrap();
    let plan = Plan::new(traffic(), transport, Spread::PerPair, graph.host_keys(), 1).unwrap();
    let plan = Arc::new(plan);
    let spec = XcoSpec { slice: SLICE, guard: GUARD, small_flow: Bytes(0), ..XcoSpec::default() };
    let xco = spec.build().unwrap();
    let host = |id: HostId| {
        let egress = Egress::Agent(Box::new(xco.coordinator(id, CONTROLLER)), Loss::default());
        let config = HostConfig {
            id,
            node: graph.hosts[id.at()],
            plan: Arc::clone(&plan),
            routes: Arc::clone(&routes),
            rates: vec![RATE],
            egress,
            priorities: false,
            news: None,
            seed: 1,
        };
        Box::new(Tap { host: Host::new(config), left: Vec::new() })
    };
    let switch = |node: NodeId| {
        let config = SwitchConfig {
            node,
            routes: Arc::clone(&routes),
            queue: QueueSpec::default(),
            ports: SwitchPort::all_of(&graph.wiring(), node),
            mtu: 1_538,
            seed: 1,
            classifier: None,
            senders: Senders::default(),
            reserve: None,
        };
        Box::new(Switch::new(config))
    };
    let hosts = graph.hosts.len() as u32;
    let links =
        move |src: HostId, dst: HostId, out: &mut Vec<u32>| out.extend([src.0, hosts + dst.0]);
    let known = Known::new(hosts as usize, vec![RATE; 2 * hosts as usize], links);
    let mut controller = Some(xco.controller(CONTROLLER, known));
    let node = |node: usize| -> Box<dyn Node> {
        let id = graph.hosts.iter().position(|host| host.at() == node);
        match id.map(|id| HostId(id as u32)) {
            None => switch(NodeId(node as u32)),
            Some(CONTROLLER) => Box::new(controller.take().expect("one controller")),
            Some(id) => host(id),
        }
    };
    let nodes = (0..graph.nodes.len()).map(node).collect();
    Setup { graph, routes, nodes }
}

/// The packets that each sender's host released, with their times, after `span`.
struct Seen {
    left: Vec<Vec<Time>>,
    directives: u64,
}

fn seen<'a>(graph: &Graph, node: impl Fn(NodeId) -> &'a dyn Node) -> Seen {
    let host = |id: u32| node(graph.hosts[id as usize]);
    let tap = |id| host(id).downcast_ref::<Tap>().expect("a tap").left.clone();
    let controller = host(CONTROLLER.0).downcast_ref::<Controller>().expect("the controller");
    Seen { left: (0..SENDERS).map(tap).collect(), directives: controller.counters().directives }
}

impl Seen {
    /// The largest deviation of a sender's share from a third, in percent of a third.
    fn unfairness(&self) -> u64 {
        let sum: u64 = self.left.iter().map(|left| left.len() as u64).sum();
        let off = |left: &Vec<Time>| (left.len() as u64 * u64::from(SENDERS)).abs_diff(sum);
        self.left.iter().map(off).max().unwrap_or(0) * 100 / sum.max(1)
    }
    /// The number of turns of one or two datagrams, which occur if windows overlap. A slice is 26 datagrams.
    fn short_turns(&self) -> usize {
        let all =
            (0..).zip(&self.left).flat_map(|(at, left)| left.iter().map(move |time| (*time, at)));
        let mut all: Vec<(Time, usize)> = all.collect();
        all.sort();
        let turns = all.chunk_by(|a, b| a.1 == b.1);
        turns.filter(|turn| turn.len() < 3).count()
    }
    fn check(&self) {
        assert!(self.left.iter().all(|left| left.len() > 50), "all progress");
        assert!(self.unfairness() <= 25, "off by {} %", self.unfairness());
        assert!(self.short_turns() <= 2, "{} short turns", self.short_turns());
        assert!(self.directives >= 20, "{} directives", self.directives);
    }
}

#[test]
fn in_simulated_time() {
    let Setup { graph, routes, nodes } = setup();
    let pulled = |node: usize| node != graph.hosts[CONTROLLER.at()].at();
    let queue = |(node, ports): (usize, u16)| {
        vec![Queue { pulled: pulled(node), ..Queue::default() }; ports.into()]
    };
    let network = slotline_sim::Network {
        queues: graph.ports().into_iter().enumerate().map(queue).collect(),
        buffers: std::collections::BTreeMap::new(),
        places: nodes.into_iter().map(Place::Node).collect(),
        graph: graph.clone(),
        routes,
        senders: Senders::default(),
        timeline: Vec::new(),
        sampled: Vec::new(),
        interval: Time::ZERO,
        follow: slotline_sim::Follow::default(),
    };
    let options = Options { threads: 1, end: Time::s(1), completions: u64::MAX };
    let outcome = slotline_sim::run(network, options, &Watch::default());
    assert!(outcome.conservation.holds());
    assert_eq!(outcome.conservation.dropped.iter().sum::<u64>(), 0);
    let node = |node: NodeId| match &outcome.places[node.at()] {
        Place::Node(node) => &**node,
        _ => panic!("not asked"),
    };
    seen(&graph, node).check();
}

/// Repeats the test if the machine was too late for slices of 20 ms, and skips it if it always is.
#[test]
fn by_the_wall_clock() {
    for _ in 0..10 {
        let Setup { graph, nodes, .. } = setup();
        assert_eq!(graph.nodes.iter().filter(|node| node.kind == NodeKind::Switch).count(), 1);
        let outcome =
            slotline_live::run(nodes, &graph, slotline_live::Options::new(SPAN), |_| false)
                .unwrap();
        assert_eq!(outcome.report.malformed, 0);
        if outcome.report.latest < LATE {
            assert_eq!(outcome.report.lost, 0);
            return seen(&graph, |node| &*outcome.nodes[node.at()]).check();
        }
    }
    eprintln!("skipped: this machine is too busy for slices of 20 ms");
}
