//! The flow table and the node of the scheduler, without a network.

use super::*;
use crate::counters;
use crate::wire::{Body, Message};
use crate::{HederaSpec, PlacementKind};
use proptest::prelude::*;
use slotline_net::frame::{Kind, Packet};
use slotline_net::id::{ConnId, HostId, PortId};
use slotline_net::node::agent::Agent;
use slotline_net::node::{Change, Collected, Cx, Effects, Node};
use slotline_net::route::{Routes, RoutingSpec};
use slotline_net::scheme::{Control, Decision, Map, News, Plan};
use slotline_net::time::Time;
use slotline_net::topology::{Down, FatTreeSpec, Graph, TopologySpec};
use slotline_net::units::Rate;
use std::sync::Arc;

const POLL: Time = Time::ms(10);

fn spec() -> HederaSpec {
    HederaSpec {
        placement: PlacementKind::FirstFit,
        poll: POLL,
        gather: Time::us(100),
        computing: Time::us(200),
        install: Time::us(300),
        ..HederaSpec::default()
    }
}

/// The agent of host 2, which sends on connections 10 to 13. The scheduler is host 16.
fn edge() -> EdgeAgent {
    EdgeAgent::new(table(HostId(2)), HostId(16))
}
fn table(host: HostId) -> TableConfig {
    TableConfig {
        host,
        options: spec().build().unwrap(),
        line: Rate(1_000_000_000),
        conns: 10..14,
        destinations: vec![HostId(4), HostId(5), HostId(6), HostId(7)],
    }
}
fn data(conn: u32) -> Packet {
    Packet { dst: HostId(4), flow: conn, len: 1_500, entropy: 77, ..Packet::default() }
}

/// Sends `count` packets of a connection at `now`. Returns the path of the last one.
fn send(agent: &mut EdgeAgent, effects: &mut Effects, conn: u32, count: usize, now: Time) -> u16 {
    let mut cx = Cx::new(now, effects);
    let mut path = 0;
    for _ in 0..count {
        agent.enqueue(data(conn), &mut cx);
        path = agent.dequeue(&mut cx).unwrap().entropy;
    }
    path
}

/// The messages of the agent at a poll.
fn poll(agent: &mut EdgeAgent, effects: &mut Effects, now: Time) -> Option<Body> {
    let mut cx = Cx::new(now, effects);
    agent.expire(super::POLL, &mut cx);
    let packet = agent.dequeue(&mut cx)?;
    Some(Message::parse(&cx.detach(&packet)).unwrap().body)
}

#[test]
fn large_flows_are_reported_and_take_their_path_until_it_expires() {
    let (mut agent, mut effects) = (edge(), Effects::default());
    // A tenth of what the link carries in a poll is 125 kB: 84 packets are more, 83 are less.
    assert_eq!(send(&mut agent, &mut effects, 11, 84, Time::ms(1)), 77);
    send(&mut agent, &mut effects, 12, 83, Time::ms(1));
    let Some(Body::Flows { span, flows, .. }) = poll(&mut agent, &mut effects, POLL) else {
        panic!("nothing reported")
    };
    assert_eq!((span, flows.len()), (POLL, 1));
    assert_eq!((flows[0].conn, flows[0].dst, flows[0].bytes), (ConnId(11), HostId(5), 126_000));

    let paths = Message { host: HostId(2), seq: 1, body: Body::Paths(vec![(ConnId(11), 3)]) };
    agent.control(&paths.emit(), &mut Cx::new(Time::ms(11), &mut effects));
    assert_eq!(send(&mut agent, &mut effects, 11, 1, Time::ms(11)), 77, "not installed yet");
    let installed = Time::ms(11).after(Time::us(300));
    agent.expire(INSTALL, &mut Cx::new(installed, &mut effects));
    assert_eq!(send(&mut agent, &mut effects, 11, 1, installed), 3);
    assert_eq!(send(&mut agent, &mut effects, 12, 1, installed), 77, "others keep their hash");

    // A flow with a path is reported however little it sends. Then an empty report follows once.
    let Some(Body::Flows { flows, .. }) = poll(&mut agent, &mut effects, Time::ms(20)) else {
        panic!("nothing reported")
    };
    assert_eq!(flows.len(), 1);
    let Some(Body::Flows { flows, .. }) = poll(&mut agent, &mut effects, Time::ms(30)) else {
        panic!("nothing reported")
    };
    assert!(flows.is_empty());
    assert_eq!(poll(&mut agent, &mut effects, Time::ms(40)), None);
    // Without the scheduler, hashes decide again after three polls.
    let last = installed.after(Time::ms(30));
    assert_eq!(send(&mut agent, &mut effects, 11, 1, last.since(Time::ps(1))), 3);
    assert_eq!(send(&mut agent, &mut effects, 11, 1, last), 77);
}

#[test]
fn other_messages_and_packets_do_nothing() {
    let (mut agent, mut effects) = (edge(), Effects::default());
    let strange = [(HostId(3), ConnId(11)), (HostId(2), ConnId(9)), (HostId(2), ConnId(14))];
    for (host, conn) in strange {
        let message = Message { host, seq: 1, body: Body::Paths(vec![(conn, 3)]) };
        agent.control(&message.emit(), &mut Cx::new(Time::ZERO, &mut effects));
    }
    agent.expire(INSTALL, &mut Cx::new(Time::ms(1), &mut effects));
    for conn in 10..14 {
        assert_eq!(send(&mut agent, &mut effects, conn, 1, Time::ms(1)), 77);
    }
    let ack = Packet { kind: Kind::Ack, ..data(11) };
    let mut cx = Cx::new(Time::ms(2), &mut effects);
    agent.enqueue(ack, &mut cx);
    assert_eq!(agent.dequeue(&mut cx), Some(ack));
}

/// A control that records reports and gives all flows path 7.
#[derive(Default)]
struct Seven(Vec<(HostId, ConnId, HostId)>);

impl Control for Seven {
    fn observe(&mut self, news: &News<'_>, _now: Time) {
        if let News::Flows { host, flows, .. } = *news {
            self.0.retain(|(src, ..)| *src != host);
            self.0.extend(flows.iter().map(|flow| (host, flow.conn, flow.dst)));
        }
    }
    fn decide(&mut self, _now: Time, plan: &mut Plan) -> Option<Time> {
        let path = |&(src, conn, dst): &(HostId, ConnId, HostId)| Decision::Path {
            src,
            conn,
            dst,
            path: 7,
        };
        plan.extend(self.0.iter().map(path));
        None
    }
}

fn fat_tree() -> (Graph, Map) {
    let graph = TopologySpec::FatTree(FatTreeSpec::new(4)).build().unwrap();
    let routes = Arc::new(Routes::build(&graph, RoutingSpec::Pinned, &Down::default(), 1));
    let (nodes, hosts) = (graph.nodes.len(), graph.hosts.len());
    let map = Map::new(nodes, hosts, &graph.wiring(), &routes, 1);
    (graph, map)
}

fn scheduler() -> SchedulerNode {
    let (_, map) = fat_tree();
    SchedulerNode::new(HostId(16), spec().build().unwrap(), Box::<Seven>::default(), map)
}

fn report(flows: u32, part: u16, parts: u16) -> Message {
    let flow =
        |conn| slotline_net::scheme::FlowCount { conn: ConnId(conn), dst: HostId(9), bytes: 1 };
    let flows = (0..flows).map(|at| flow(u32::from(part) * 1_000 + at)).collect();
    let body = Body::Flows { report: 5, part, parts, span: POLL, flows };
    Message { host: HostId(2), seq: 1, body }
}

fn hear(node: &mut SchedulerNode, effects: &mut Effects, message: &Message, now: Time) {
    let mut cx = Cx::new(now, effects);
    let packet = cx.attach((HostId(2), HostId(16)), message.emit(), 38, 7);
    node.receive(PortId(0), packet, &mut cx);
}

/// How many messages the scheduler has sent, and the paths in them.
fn sent(effects: &mut Effects, now: Time) -> (usize, Vec<(ConnId, u16)>) {
    let sends = Collected::of(effects).sends;
    let messages = sends.len();
    let mut cx = Cx::new(now, effects);
    let bodies = sends.into_iter().map(|(_, packet)| {
        assert_eq!(packet.dst, HostId(2));
        Message::parse(&cx.detach(&packet)).unwrap().body
    });
    let paths = bodies.flat_map(|body| match body {
        Body::Paths(paths) => paths,
        other => panic!("{other:?} from the scheduler"),
    });
    (messages, paths.collect())
}

#[test]
fn decisions_take_their_time() {
    let (mut node, mut effects) = (scheduler(), Effects::default());
    hear(&mut node, &mut effects, &report(3, 0, 1), Time::ms(1));
    let asked = Time::ms(1).after(Time::us(100));
    assert_eq!(Collected::of(&mut effects).wakes, [(asked, 0)]);
    node.expire(0, &mut Cx::new(asked, &mut effects));
    let decided = Collected::of(&mut effects);
    assert!(decided.sends.is_empty());
    let known = asked.after(Time::us(200));
    assert_eq!(decided.wakes, [(known, 1)]);
    node.expire(1, &mut Cx::new(known, &mut effects));
    assert_eq!(sent(&mut effects, known).1, [0, 1, 2].map(|conn| (ConnId(conn), 7)));
}

/// A report counts when all its parts have arrived. Long plans are sent in several messages.
#[test]
fn reports_and_plans_have_parts() {
    let (mut node, mut effects) = (scheduler(), Effects::default());
    hear(&mut node, &mut effects, &report(73, 0, 3), Time::ms(1));
    hear(&mut node, &mut effects, &report(73, 2, 3), Time::ms(1));
    assert!(Collected::of(&mut effects).wakes.is_empty(), "part 1 is missing");
    for part in 0..3 {
        hear(&mut node, &mut effects, &report(73, part, 3), Time::ms(1));
    }
    node.expire(0, &mut Cx::new(Time::ms(2), &mut effects));
    node.expire(1, &mut Cx::new(Time::ms(3), &mut effects));
    let (messages, paths) = sent(&mut effects, Time::ms(3));
    assert_eq!((messages, paths.len()), (2, 219));
    let mut totals = slotline_net::node::Counters::default();
    node.add_counters(&mut totals);
    assert_eq!(
        [totals.get(counters::REPORTS), totals.get(counters::IGNORED_MESSAGES)],
        [Some(4), Some(1)]
    );
}

/// The first edge switch of a real fat-tree (k = 4), whose scheduler is on host 16.
fn switch(tables: Vec<TableConfig>) -> EdgeSwitch {
    let (graph, map) = fat_tree();
    let me = HostId(16 + graph.node_named("edge0.0").unwrap().0);
    let survivors = crate::Survivors::new(map.network(), Default::default());
    EdgeSwitch::new(spec().build().unwrap(), tables, (me, HostId(16)), survivors)
}

/// An order: the connection, the host if it is about all packets to one, and the path.
type Order = (u32, HostId, u16);

/// The messages that a node has sent, with their destinations, and its orders.
fn what_left(effects: &mut Effects) -> (Vec<(HostId, Body)>, Vec<Order>) {
    let sends = Collected::of(effects).sends;
    let mut cx = Cx::new(Time::ZERO, effects);
    let (mut messages, mut orders) = (Vec::new(), Vec::new());
    for (_, packet) in sends {
        match packet.kind {
            Kind::Control => {
                messages.push((packet.dst, Message::parse(&cx.detach(&packet)).unwrap().body))
            }
            _ => orders.push((packet.flow, packet.dst, packet.entropy)),
        }
    }
    (messages, orders)
}

/// A switch reports a port that fails, the scheduler tells all switches, and these move their packets at once.
#[test]
fn broken_links_are_avoided_until_they_work_again() {
    let (graph, map) = fat_tree();
    let (mut scheduler, mut effects) = (scheduler(), Effects::default());
    let link = &graph.links[graph.link_named("agg1.0-core0").unwrap()];
    let lower = if graph.nodes[link.a.node.at()].name == "agg1.0" { link.a } else { link.b };
    let number = |name: &str| HostId(16 + graph.node_named(name).unwrap().0);
    let tell = |node: &mut SchedulerNode, effects: &mut Effects, from: HostId, ports: Vec<u32>| {
        let message = Message { host: from, seq: 1, body: Body::Ports(ports) };
        let mut cx = Cx::new(Time::ms(1), effects);
        let packet = cx.attach((from, HostId(16)), message.emit(), 38, 7);
        node.receive(PortId(0), packet, &mut cx);
        what_left(effects).0
    };
    let [agg, edge] = ["agg1.0", "edge0.0"].map(number);
    for switch in [agg, edge] {
        assert!(tell(&mut scheduler, &mut effects, switch, vec![]).is_empty(), "all links work");
    }
    let broken = map.cable(lower).unwrap();
    let body = Body::Broken(std::collections::BTreeSet::from(broken).into_iter().collect());
    let told = tell(&mut scheduler, &mut effects, agg, vec![lower.port.0.into()]);
    assert_eq!(told, [edge, agg].map(|switch| (switch, body.clone())));
    assert_eq!(tell(&mut scheduler, &mut effects, edge, vec![]), [(edge, body.clone())]);
    // Port 99 does not exist, and number 3 belongs to a host.
    for (from, ports) in [(edge, vec![99]), (HostId(3), vec![])] {
        assert!(tell(&mut scheduler, &mut effects, from, ports).is_empty());
    }

    let late = TableConfig { conns: 0..0, destinations: Vec::new(), ..table(HostId(0)) };
    let mut node = switch(vec![late]);
    let hear = |node: &mut EdgeSwitch, effects: &mut Effects, host: HostId, body: Body, ms: u64| {
        let bytes = Message { host, seq: 1, body }.emit();
        let mut cx = Cx::new(Time::ms(ms), effects);
        let packet = cx.attach((HostId(16), host), bytes, 38, 7);
        node.receive(PortId(0), packet, &mut cx);
    };
    // Connections 1 and 2 to pod 1 have paths 0 and 1, connection 3 to pod 2 has path 0.
    for (conn, dst) in [(1, 4), (2, 5), (3, 8)] {
        let packet = Packet { dst: HostId(dst), kind: Kind::Datagram, ..data(conn) };
        node.receive(PortId(1), packet, &mut Cx::new(Time::ZERO, &mut effects));
    }
    let paths = [(1, 0), (2, 1), (3, 0)].map(|(conn, path)| (ConnId(conn), path));
    hear(&mut node, &mut effects, HostId(0), Body::Paths(paths.into()), 1);
    node.expire(INSTALL, &mut Cx::new(Time::ms(2), &mut effects));
    assert_eq!(what_left(&mut effects).1.len(), 3);
    hear(&mut node, &mut effects, edge, body, 3);
    let (mut links, network) = (Vec::new(), map.network());
    let mut avoids = |dst: HostId, path: u16| {
        network.numbered_path(HostId(0), dst, path, &mut links);
        !links.iter().any(|link| broken.contains(link))
    };
    assert!(!avoids(HostId(4), 0) && avoids(HostId(4), 1) && avoids(HostId(8), 0));
    let (_, orders) = what_left(&mut effects);
    let (of_hosts, of_conns): (Vec<_>, Vec<_>) =
        orders.into_iter().partition(|order| order.0 == ANY);
    assert_eq!(of_conns.len(), 1, "{of_conns:?}");
    assert!(of_conns[0].0 == 1 && avoids(HostId(4), of_conns[0].2), "{of_conns:?}");
    // All packets to pod 1 are told to avoid the link.
    let hosts: Vec<u32> = of_hosts.iter().map(|order| order.1.0).collect();
    assert_eq!(hosts, [4, 5, 6, 7]);
    assert!(of_hosts.iter().all(|order| avoids(order.1, order.2)), "{of_hosts:?}");
    hear(&mut node, &mut effects, edge, Body::Broken(Vec::new()), 4);
    let (_, orders) = what_left(&mut effects);
    assert_eq!(orders.iter().map(|order| order.2).collect::<Vec<_>>(), [SPREAD; 4]);
    // The link works again, and the scheduler says so to all switches.
    let told = tell(&mut scheduler, &mut effects, agg, vec![]);
    assert_eq!(told, [edge, agg].map(|switch| (switch, Body::Broken(Vec::new()))));
}

/// Ports that change at the same time are in one report.
#[test]
fn a_switch_reports_its_ports_when_they_change_and_at_polls() {
    let (mut node, mut effects) = (switch(Vec::new()), Effects::default());
    node.start(&mut Cx::new(Time::ms(7), &mut effects));
    for change in [Change::Down(PortId(3)), Change::Down(PortId(2)), Change::Down(PortId(3))] {
        node.change(&change, &mut Cx::new(Time::ms(7), &mut effects));
    }
    let wakes = Collected::of(&mut effects).wakes;
    assert_eq!(wakes.iter().filter(|(at, _)| *at == Time::ms(7)).count(), 3);
    for token in [PORTS, super::POLL] {
        node.expire(token, &mut Cx::new(Time::ms(7), &mut effects));
        let (messages, _) = what_left(&mut effects);
        assert_eq!(messages, [(HostId(16), Body::Ports(vec![2, 3]))]);
    }
    node.change(&Change::Up(PortId(3)), &mut Cx::new(Time::ms(8), &mut effects));
    node.expire(PORTS, &mut Cx::new(Time::ms(8), &mut effects));
    assert_eq!(what_left(&mut effects).0, [(HostId(16), Body::Ports(vec![2]))]);
}

/// A real switch with hosts 2 and 3, whose connections are not known before.
#[test]
fn a_switch_reports_what_its_kernel_counted_and_orders_paths() {
    let late = |host| TableConfig { conns: 0..0, destinations: Vec::new(), ..table(host) };
    let tables = vec![late(HostId(2)), late(HostId(3))];
    let mut node = switch(tables);
    let mut effects = Effects::default();
    let start = Time::s(7);
    node.start(&mut Cx::new(start, &mut effects));
    let count = |node: &mut EdgeSwitch, effects: &mut Effects, port, conn, dst, bytes: u64| {
        for len in [60_000; 3].into_iter().take((bytes / 60_000) as usize) {
            let packet = Packet { dst, flow: conn, len, kind: Kind::Datagram, ..data(conn) };
            node.receive(PortId(port), packet, &mut Cx::new(start, effects));
        }
    };
    // A tenth of what a link carries in a poll is 125 kB.
    count(&mut node, &mut effects, 1, 4, HostId(9), 180_000);
    count(&mut node, &mut effects, 2, 4, HostId(8), 120_000);
    count(&mut node, &mut effects, 2, 5, HostId(8), 180_000);
    Collected::of(&mut effects);
    let polled = start.after(POLL);
    node.expire(super::POLL, &mut Cx::new(polled, &mut effects));
    let sends = Collected::of(&mut effects).sends;
    let mut cx = Cx::new(polled, &mut effects);
    assert_eq!(sends.len(), 3, "its ports, and a report for each host");
    let reports = sends.into_iter().skip(1).map(|(port, packet)| {
        assert_eq!((port, packet.dst), (PortId(0), HostId(16)));
        let message = Message::parse(&cx.detach(&packet)).unwrap();
        assert_eq!(packet.flow, message.host.0, "the source is the host of the flows");
        match message.body {
            Body::Flows { span, flows, .. } => (message.host, span, flows),
            other => panic!("{other:?} from a switch"),
        }
    });
    let reports: Vec<_> = reports.collect();
    let flow =
        |conn, dst| slotline_net::scheme::FlowCount { conn: ConnId(conn), dst, bytes: 180_000 };
    assert_eq!(reports[0], (HostId(2), POLL, vec![flow(4, HostId(9))]));
    assert_eq!(reports[1], (HostId(3), POLL, vec![flow(5, HostId(8))]));
    assert_eq!(reports.len(), 2);
    // Host 4 is not at this switch, and nothing is known of connection 9.
    for (host, conn) in [(2, 4), (4, 4), (3, 9)] {
        let body = Body::Paths(vec![(ConnId(conn), 3)]);
        let bytes = Message { host: HostId(host), seq: 1, body }.emit();
        let mut cx = Cx::new(polled, &mut effects);
        let packet = cx.attach((HostId(16), HostId(host)), bytes, 38, 7);
        node.receive(PortId(0), packet, &mut cx);
    }
    let wakes = Collected::of(&mut effects).wakes;
    let installed = polled.after(Time::us(300));
    assert_eq!(wakes, [(installed, INSTALL); 2]);
    node.expire(INSTALL, &mut Cx::new(installed, &mut effects));
    let orders = Collected::of(&mut effects).sends;
    let order = |(_, packet): &(PortId, Packet)| (packet.kind, packet.flow, packet.entropy);
    assert_eq!(orders.iter().map(order).collect::<Vec<_>>(), [(Kind::Datagram, 4, 3)]);
    assert_eq!(node.account().created, 4);
}

/// Nobody reports for another host.
#[test]
fn a_report_counts_only_from_its_host() {
    let (mut node, mut effects) = (scheduler(), Effects::default());
    let mut cx = Cx::new(Time::ms(1), &mut effects);
    let packet = cx.attach((HostId(3), HostId(16)), report(1, 0, 1).emit(), 38, 7);
    node.receive(PortId(0), packet, &mut cx);
    assert!(Collected::of(&mut effects).wakes.is_empty());
}

proptest! {
    /// Any input in any order is handled, and all packets are accounted for.
    #[test]
    fn anything_can_happen(steps in prop::collection::vec((0u8..6, any::<u16>(), 0u64..9_000), 0..60)) {
        let (mut agent, mut node, mut effects) = (edge(), scheduler(), Effects::default());
        let (mut now, mut waiting) = (Time::ZERO, 0u64);
        for (step, value, us) in steps {
            now = now.after(Time::us(us));
            let before = agent.account();
            let conn = 8 + u32::from(value % 8);
            match step {
                0 => agent.enqueue(data(conn), &mut Cx::new(now, &mut effects)),
                1 => {
                    let mut cx = Cx::new(now, &mut effects);
                    let taken = agent.dequeue(&mut cx);
                    if let Some(packet) = taken.filter(|packet| packet.kind == Kind::Control) {
                        let bytes = cx.detach(&packet);
                        prop_assert!(Message::parse(&bytes).is_ok());
                    }
                }
                2 => agent.expire(super::POLL, &mut Cx::new(now, &mut effects)),
                3 => agent.expire(INSTALL, &mut Cx::new(now, &mut effects)),
                4 => {
                    let body = Body::Paths(vec![(ConnId(conn), value)]);
                    let message = Message { host: HostId(2), seq: value.into(), body };
                    agent.control(&message.emit(), &mut Cx::new(now, &mut effects));
                }
                _ => {
                    let message = report(u32::from(value % 92), value % 3, 3);
                    hear(&mut node, &mut effects, &message, now);
                    node.expire(u32::from(value % 2), &mut Cx::new(now, &mut effects));
                }
            }
            let after = agent.account();
            waiting += u64::from(step == 0) + after.created - before.created;
            waiting -= u64::from(step == 1 && before.held > 0);
            prop_assert_eq!(after.held, waiting);
        }
    }
}
