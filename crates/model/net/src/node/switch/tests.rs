//! The switch under a small driver with a queue of events and ports that are busy or free.

use super::*;
use crate::aqm::red::Red;
use crate::aqm::spec::{EcnSpec, PfcSpec, Policy, RedSpec, SharedSpec};
use crate::aqm::{Verdict, queue_stream};
use crate::frame::{CE, ECT};
use crate::id::HostId;
use crate::node::class_queues::ClassQueues;
use crate::node::pool::Pool;
use crate::node::{Collected, Effects};
use crate::route::RoutingSpec;
use crate::time::Time;
use crate::topology::{Down, End, Graph, Link, NodeInfo, NodeKind};
use crate::units::{Bytes, Rate};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

const MTU: u64 = 1500;
const SEED: u64 = 5;
const GBPS: u64 = 1_000_000_000;

enum Event {
    Arrive(End, Packet),
    Free(End),
    Wake(NodeId, u32),
    Change(NodeId, Change),
}

struct World {
    nodes: Vec<Box<dyn Node>>,
    wiring: Wiring,
    agenda: BTreeMap<(Time, u64), Event>,
    count: u64,
    busy: BTreeSet<(NodeId, PortId)>,
    effects: Effects,
    asked: Collected,
}

impl World {
    fn new(graph: &Graph, nodes: Vec<Box<dyn Node>>) -> World {
        let (agenda, busy, effects) = (BTreeMap::new(), BTreeSet::new(), Effects::default());
        let asked = Collected::default();
        World { wiring: graph.wiring(), nodes, agenda, count: 0, busy, effects, asked }
    }

    fn schedule(&mut self, at: Time, event: Event) {
        self.count += 1;
        self.agenda.insert((at, self.count), event);
    }

    fn run(&mut self) {
        for node in 0..self.nodes.len() {
            self.drive(NodeId(node as u32), Time::ZERO, |node, cx| node.start(cx));
        }
        while let Some(((now, _), event)) = self.agenda.pop_first() {
            match event {
                Event::Arrive(end, packet) => {
                    self.drive(end.node, now, |node, cx| node.receive(end.port, packet, cx));
                }
                Event::Free(end) => {
                    self.busy.remove(&(end.node, end.port));
                    self.pull(end.node, end.port, now);
                }
                Event::Wake(node, token) => {
                    self.drive(node, now, |node, cx| node.expire(token, cx))
                }
                Event::Change(node, change) => {
                    self.drive(node, now, |node, cx| node.change(&change, cx));
                }
            }
        }
    }

    fn drive(&mut self, node: NodeId, now: Time, what: impl FnOnce(&mut dyn Node, &mut Cx<'_>)) {
        what(self.nodes[node.at()].as_mut(), &mut Cx::new(now, &mut self.effects));
        self.effects.drain(&mut self.asked);
        for (at, token) in std::mem::take(&mut self.asked.wakes) {
            self.schedule(at, Event::Wake(node, token));
        }
        for port in std::mem::take(&mut self.asked.kicks) {
            self.pull(node, port, now);
        }
    }

    fn pull(&mut self, node: NodeId, port: PortId, now: Time) {
        // The port is busy from now on, because a node may kick it during this call.
        if !self.busy.insert((node, port)) {
            return;
        }
        let mut sent = None;
        self.drive(node, now, |node, cx| sent = node.transmit(port, cx));
        let Some(packet) = sent else {
            self.busy.remove(&(node, port));
            return;
        };
        let Wire { far, lane, .. } = self.wiring.of(node)[port.at()];
        let left = now + lane.rate.time_for(Bytes(u64::from(packet.len)));
        self.schedule(left, Event::Free(End { node, port }));
        self.schedule(left + lane.delay, Event::Arrive(far, packet));
    }

    fn node<T: Node>(&self, node: u32) -> &T {
        self.nodes[node as usize].downcast_ref().unwrap()
    }

    fn dropped(&self) -> u64 {
        self.asked.dropped.iter().sum()
    }

    /// Whether every packet is consumed, dropped or held. `extra` packets come from the test.
    fn is_conserved(&self, extra: u64) -> bool {
        let sum = |part: fn(PacketAccount) -> u64| {
            self.nodes.iter().map(|n| part(n.account())).sum::<u64>()
        };
        extra + sum(|c| c.created) == sum(|c| c.consumed) + sum(|c| c.held) + self.dropped()
    }
}

/// Sends the packets of its script by priority, obeys pauses, and records the packets that arrive.
#[derive(Default)]
struct Host {
    script: Vec<(Time, Packet)>,
    queues: Option<ClassQueues>,
    pool: Pool<Packet>,
    got: Vec<(Time, Packet)>,
    account: PacketAccount,
}

impl Host {
    fn boxed(script: Vec<(Time, Packet)>) -> Box<dyn Node> {
        Box::new(Host { script, queues: Some(ClassQueues::strict()), ..Host::default() })
    }
}

impl Node for Host {
    fn start(&mut self, cx: &mut Cx<'_>) {
        for (token, (at, _)) in self.script.iter().enumerate() {
            cx.wake(*at, token as u32);
        }
    }
    fn receive(&mut self, port: PortId, packet: Packet, cx: &mut Cx<'_>) {
        self.account.consumed += 1;
        if packet.kind == Kind::Pause {
            self.queues.as_mut().unwrap().obey(&packet);
            cx.kick(port);
        } else {
            self.got.push((cx.now, packet));
        }
    }
    fn transmit(&mut self, _port: PortId, _cx: &mut Cx<'_>) -> Option<Packet> {
        self.queues.as_mut().unwrap().pop(&mut self.pool).copied()
    }
    fn expire(&mut self, token: u32, cx: &mut Cx<'_>) {
        let packet = self.script[token as usize].1;
        self.queues.as_mut().unwrap().push(packet, &mut self.pool);
        self.account.created += 1;
        cx.kick(PortId(0));
    }
    fn account(&self) -> PacketAccount {
        PacketAccount { held: self.pool.held(), ..self.account }
    }
}

fn lane(gbps: u64, delay: Time) -> LinkParams {
    LinkParams { rate: Rate(gbps * GBPS), delay }
}

/// Hosts are nodes `0..hosts`, and switches follow. The ports of a node are numbered in the order of its `lines`.
fn graph(hosts: u32, switches: u32, lines: &[(u32, u32, LinkParams, LinkParams)]) -> Graph {
    let info = |n: u32| NodeInfo {
        name: format!("n{n}"),
        kind: if n < hosts { NodeKind::Host } else { NodeKind::Switch },
        tier: u8::from(n >= hosts),
        pod: 0,
    };
    let mut next = BTreeMap::new();
    let mut end = |node: u32| {
        let port = next.entry(node).or_insert(0u16);
        *port += 1;
        End { node: NodeId(node), port: PortId(*port - 1) }
    };
    let links = lines.iter().map(|&(a, b, ab, ba)| Link { a: end(a), b: end(b), ab, ba }).collect();
    let nodes = (0..hosts + switches).map(info).collect();
    Graph { nodes, links, hosts: (0..hosts).map(NodeId).collect() }
}

fn switch(graph: &Graph, node: u32, queue: &QueueSpec) -> Switch {
    Switch::new(SwitchConfig {
        node: NodeId(node),
        routes: Arc::new(routes(graph)),
        queue: queue.clone(),
        ports: SwitchPort::all_of(&graph.wiring(), NodeId(node)),
        mtu: MTU,
        seed: SEED,
        classifier: None,
        senders: Senders::default(),
        reserve: None,
    })
}

/// `hosts` hosts with equal links on one switch: port n leads to host n.
fn star(hosts: u32, lane: LinkParams) -> Graph {
    let lines: Vec<_> = (0..hosts).map(|host| (host, hosts, lane, lane)).collect();
    graph(hosts, 1, &lines)
}

fn routes(graph: &Graph) -> Routes {
    Routes::build(graph, RoutingSpec::Shortest, &Down::default(), SEED)
}

fn packet(dst: u32, class: u8, seq: u32, len: u16) -> Packet {
    Packet { dst: HostId(dst), class, seq, len, flags: ECT, ..Packet::default() }
}

fn queue(policy: Policy, limit: u64) -> QueueSpec {
    QueueSpec { policy, limit: Bytes(limit), ..QueueSpec::default() }
}

// ---- the same as the fast port ----

/// A FIFO port that knows only when it is free.
fn reference(
    arrivals: &[(Time, Packet)],
    spec: &QueueSpec,
    lane: LinkParams,
    port: u64,
) -> Vec<(Time, Packet)> {
    let pace = lane.rate.inverse_rate();
    let rng = queue_stream(SEED, port, 0);
    let mut red = match spec.policy {
        Policy::Red(red) => Some(Red::new(red, pace, MTU, rng)),
        _ => None,
    };
    let mut free_at = Time::ZERO;
    let mut out = Vec::new();
    for &(now, mut packet) in arrivals {
        let backlog = free_at.since(now);
        let (len, ect) = (u64::from(packet.len), packet.has(ECT));
        let verdict = match (&mut red, &spec.policy) {
            (Some(red), _) => {
                let idle_since = (free_at <= now).then_some(free_at);
                red.arrive(pace.bytes_in(backlog), idle_since, len, ect, now)
            }
            (None, Policy::Ecn(EcnSpec { threshold, .. }))
                if ect && backlog > pace.time_for(threshold.0) =>
            {
                Verdict::Mark
            }
            _ => Verdict::Pass,
        };
        let fits = backlog + pace.time_for(len) <= pace.time_for(spec.limit.0);
        if verdict == Verdict::Drop || !fits {
            continue;
        }
        if verdict == Verdict::Mark {
            packet.flags |= CE;
        }
        free_at = free_at.max(now) + pace.time_for(len);
        out.push((free_at + lane.delay, packet));
    }
    out
}

fn policy() -> impl Strategy<Value = Policy> {
    let (min, max) = (Bytes(2_000), Bytes(9_000));
    let red = RedSpec { min, max, max_p: 0.3, weight: 0.2, gentle: true, ecn: true };
    prop_oneof![
        Just(Policy::default()),
        (0u64..15_000)
            .prop_map(|k| Policy::Ecn(EcnSpec { threshold: Bytes(k), drop_non_ect: false })),
        any::<bool>().prop_map(move |ecn| Policy::Red(RedSpec { ecn, ..red })),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn a_plain_queue_equals_the_fifo_port(
        steps in prop::collection::vec((0u64..2_000, 64u16..=1500, any::<bool>()), 1..300),
        policy in policy(),
        limit in 3_000u64..20_000,
        gbps in 1u64..=12,
    ) {
        let lane = lane(gbps, Time::us(1));
        let (graph, spec) = (star(2, lane), queue(policy, limit));
        let mut now = Time::ZERO;
        let mut arrivals = Vec::new();
        for (seq, (gap, len, ect)) in steps.into_iter().enumerate() {
            // With multiples of 400 ns, arrivals coincide with departures and with each other.
            now += Time::ns(gap / 400 * 400);
            let flags = if ect { ECT } else { 0 };
            arrivals.push((now, Packet { flags, ..packet(0, 0, seq as u32, len / 100 * 100 + 50) }));
        }
        let nodes = vec![Host::boxed(vec![]), Host::boxed(vec![]), Box::new(switch(&graph, 2, &spec))];
        let mut world = World::new(&graph, nodes);
        for &(at, packet) in &arrivals {
            world.schedule(at, Event::Arrive(End { node: NodeId(2), port: PortId(1) }, packet));
        }
        world.run();
        let port = graph.wiring().of(NodeId(2))[0].key;
        prop_assert_eq!(&world.node::<Host>(0).got, &reference(&arrivals, &spec, lane, port));
        prop_assert!(world.is_conserved(arrivals.len() as u64));
        let stats = world.node::<Switch>(2).stats(PortId(0));
        prop_assert!(stats.max_backlog <= limit);
        prop_assert_eq!(stats.classes[0].drops.iter().sum::<u64>(), world.dropped());
        prop_assert_eq!(stats.classes[0].packets + world.dropped(), arrivals.len() as u64);
    }
}

// ---- order, conservation, rate ----

/// Queues of every kind, with small buffers.
fn any_queue() -> impl Strategy<Value = QueueSpec> {
    let shared = prop::option::of((5_000u64..60_000, 0.1f64..8.0));
    (policy(), 3_000u64..40_000, any::<bool>(), shared, any::<bool>()).prop_map(
        |(policy, limit, priorities, shared, lossless)| QueueSpec {
            policy,
            limit: Bytes(limit),
            priorities,
            shared: shared.map(|(total, alpha)| SharedSpec { total: Bytes(total), alpha }),
            pfc: (priorities && lossless).then(|| pfc(2_000, vec![3, 5])),
        },
    )
}

fn pfc(xoff: u64, classes: Vec<u8>) -> PfcSpec {
    PfcSpec { xoff: Bytes(xoff), xon: Bytes(xoff / 2), headroom: None, classes }
}

/// Per host: (gap in ns, destination, class, length).
type Script = Vec<(u64, u32, u8, u16)>;

fn scripts(hosts: usize) -> impl Strategy<Value = Vec<Script>> {
    let step = (0u64..1_500, 0..hosts as u32, 0u8..8, 64u16..=1500);
    prop::collection::vec(prop::collection::vec(step, 0..60), hosts)
}

fn play(source: u32, script: &Script) -> Vec<(Time, Packet)> {
    let mut now = Time::ZERO;
    let steps = script.iter().enumerate();
    let send = |(seq, &(gap, dst, class, len)): (usize, &(u64, u32, u8, u16))| {
        now += Time::ns(gap);
        (now, Packet { flow: source, ..packet(dst, class, seq as u32, len) })
    };
    steps.map(send).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn packets_keep_their_order_and_number_and_links_their_rate(
        spec in any_queue(),
        scripts in scripts(4),
        down in prop::option::of((0u64..40, 1u64..20)),
    ) {
        let lane = lane(10, Time::ns(500));
        let graph = star(4, lane);
        let mut nodes: Vec<Box<dyn Node>> =
            scripts.iter().zip(0..).map(|(script, host)| Host::boxed(play(host, script))).collect();
        nodes.push(Box::new(switch(&graph, 4, &spec)));
        let mut world = World::new(&graph, nodes);
        if let Some((at, span)) = down {
            let (fail, heal) = (Change::Down(PortId(0)), Change::Up(PortId(0)));
            world.schedule(Time::us(at), Event::Change(NodeId(4), fail));
            world.schedule(Time::us(at + span), Event::Change(NodeId(4), heal));
        }
        world.run();
        prop_assert!(world.is_conserved(0));
        prop_assert_eq!(world.nodes[4].account().held, 0, "a queue is stuck");
        let waiting = world.node::<Switch>(4).buffer.map_or(0, |buffer| buffer.waiting());
        prop_assert_eq!(waiting, 0);
        for host in 0..4 {
            let mut last = BTreeMap::new();
            let mut line_free = Time::ZERO;
            for &(at, packet) in &world.node::<Host>(host).got {
                let before = last.insert((packet.flow, packet.class), packet.seq);
                prop_assert!(before < Some(packet.seq), "another packet of its flow and class overtook it");
                let begun = at - lane.delay - lane.rate.time_for(Bytes(u64::from(packet.len)));
                prop_assert!(begun >= line_free, "above the rate of the link");
                line_free = at - lane.delay;
            }
        }
    }

    #[test]
    fn the_highest_class_goes_first(classes in prop::collection::vec(0u8..8, 1..40)) {
        let spec = QueueSpec { priorities: true, ..QueueSpec::default() };
        let graph = star(2, lane(10, Time::ZERO));
        let nodes = vec![Host::boxed(vec![]), Host::boxed(vec![]), Box::new(switch(&graph, 2, &spec))];
        let mut world = World::new(&graph, nodes);
        let mut sent: Vec<Packet> =
            classes.iter().zip(0..).map(|(&class, seq)| packet(0, class, seq, 1500)).collect();
        for &packet in &sent {
            world.schedule(Time::ns(1), Event::Arrive(End { node: NodeId(2), port: PortId(1) }, packet));
        }
        world.run();
        // The first packet found the port free; the others waited.
        sent[1..].sort_by_key(|packet| std::cmp::Reverse(packet.class));
        let got: Vec<Packet> = world.node::<Host>(0).got.iter().map(|&(_, packet)| packet).collect();
        prop_assert_eq!(got, sent);
    }

    #[test]
    fn the_shared_buffer_follows_a_naive_count(
        steps in prop::collection::vec((0u32..4, 0u8..8, 64u16..=1500), 1..400),
        total in 3_000u64..60_000,
        alpha in 0.1f64..10.0,
    ) {
        let total = Bytes(total);
        let spec = QueueSpec {
            shared: Some(SharedSpec { total, alpha }),
            limit: total,
            priorities: true,
            ..QueueSpec::default()
        };
        let mut switch = switch(&star(3, lane(10, Time::ZERO)), 3, &spec);
        let mut effects = Effects::default();
        let mut held: Vec<Packet> = Vec::new();
        for (step, (port, class, len)) in steps.into_iter().enumerate() {
            // The times are so far apart that no packet is in transmission.
            let cx = &mut Cx::new(Time::ms(step as u64), &mut effects);
            if port == 3 {
                let port = u32::from(class % 3);
                let sent = switch.transmit(PortId(port as u16), cx);
                prop_assert_eq!(sent.is_some(), held.iter().any(|p| p.dst == HostId(port)));
                held.retain(|p| Some(*p) != sent);
                continue;
            }
            let packet = packet(port, class, step as u32, len);
            let bytes = |same: &dyn Fn(&Packet) -> bool| {
                held.iter().filter(|p| same(p)).map(|p| u64::from(p.len)).sum::<u64>()
            };
            let free = total.0 - bytes(&|_| true);
            let queue = bytes(&|p| (p.dst, p.class) == (packet.dst, class)) + u64::from(len);
            if queue as f64 <= alpha * free as f64 && u64::from(len) <= free {
                held.push(packet);
            }
            switch.receive(PortId(0), packet, cx);
            prop_assert_eq!(switch.account().held, held.len() as u64);
        }
    }
}

// ---- marks ----

#[test]
fn with_classes_each_queue_is_marked_for_its_own_backlog() {
    let spec = QueueSpec {
        priorities: true,
        ..queue(Policy::Ecn(EcnSpec { threshold: Bytes(6_000), drop_non_ect: false }), 150_000)
    };
    let mut switch = switch(&star(2, lane(10, Time::ZERO)), 2, &spec);
    let mut effects = Effects::default();
    let cx = &mut Cx::new(Time::ZERO, &mut effects);
    for seq in 0..8 {
        switch.receive(PortId(1), packet(0, 7, seq, 1500), cx);
    }
    switch.receive(PortId(1), packet(0, 2, 8, 1500), cx);
    switch.receive(PortId(1), Packet { flags: 0, ..packet(0, 7, 9, 1500) }, cx);
    let sent = std::iter::from_fn(|| switch.transmit(PortId(0), cx));
    let marked: Vec<u32> = sent.filter(|p| p.has(CE)).map(|p| p.seq).collect();
    assert_eq!(marked, [5, 6, 7], "packets 0 to 4 find at most 6000 bytes");
    let classes = switch.stats(PortId(0)).classes;
    assert_eq!((classes[7].marks, classes[7].max_backlog), (3, 9 * 1500));
    assert_eq!((classes[2].marks, classes[2].max_backlog), (0, 1500));
}

// ---- lossless ----

#[derive(Clone, Debug)]
struct Incast {
    senders: Vec<(LinkParams, LinkParams)>,
    middle: (LinkParams, LinkParams),
    receiver: (LinkParams, LinkParams),
    shared: u64,
    xoff: u64,
    lens: Vec<u16>,
}

impl Incast {
    /// Host 0 receives behind switch B, and the others send from behind switch A. Class 3 is lossless, and class 0 is
    /// not.
    fn run(&self, headroom: Option<Bytes>) -> World {
        let hosts = self.senders.len() as u32 + 1;
        let (a, b) = (hosts, hosts + 1);
        let mut lines = vec![(0, b, self.receiver.0, self.receiver.1)];
        lines.push((a, b, self.middle.0, self.middle.1));
        lines.extend(self.senders.iter().zip(1..).map(|(lanes, h)| (h, a, lanes.0, lanes.1)));
        let graph = graph(hosts, 2, &lines);
        let shared = SharedSpec { total: Bytes(self.shared), alpha: 0.5 };
        let spec = QueueSpec {
            shared: Some(shared),
            limit: shared.total,
            priorities: true,
            pfc: Some(PfcSpec { headroom, ..pfc(self.xoff, vec![3]) }),
            ..QueueSpec::default()
        };
        let send = |host: u32| {
            let packets = self.lens.iter().zip(0..).flat_map(move |(&len, seq)| {
                [3, 0].map(|class| Packet { flow: host, ..packet(0, class, seq, len) })
            });
            packets.map(|packet| (Time::ns(u64::from(host)), packet)).collect()
        };
        let mut nodes = vec![Host::boxed(vec![])];
        nodes.extend((1..hosts).map(|host| Host::boxed(send(host))));
        nodes.push(Box::new(switch(&graph, a, &spec)));
        nodes.push(Box::new(switch(&graph, b, &spec)));
        let mut world = World::new(&graph, nodes);
        world.run();
        world
    }

    fn lossless_lost(&self, world: &World) -> usize {
        let sent = self.senders.len() * self.lens.len();
        sent - world.node::<Host>(0).got.iter().filter(|(_, packet)| packet.class == 3).count()
    }

    fn pauses(&self, world: &World, switch: u32, ports: u16) -> u64 {
        let switch = world.node::<Switch>(self.senders.len() as u32 + 1 + switch);
        (0..ports).map(|port| switch.stats(PortId(port)).pauses_sent).sum()
    }
}

fn lanes() -> impl Strategy<Value = (LinkParams, LinkParams)> {
    let lane = || (1u64..=40, 0u64..8_000).prop_map(|(gbps, ns)| lane(gbps, Time::ns(ns)));
    (lane(), lane())
}

fn incast() -> impl Strategy<Value = Incast> {
    let senders = prop::collection::vec(lanes(), 1..8);
    let lens = prop::collection::vec(prop_oneof![Just(1500u16), 64u16..=1500], 1..80);
    let sizes = (0u64..60_000, 0u64..30_000);
    (senders, lanes(), lanes(), sizes, lens).prop_map(
        |(senders, middle, receiver, (shared, xoff), lens)| {
            let receiver = (receiver.0, LinkParams { rate: Rate(GBPS), ..receiver.1 });
            Incast { senders, middle, receiver, shared, xoff, lens }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn lossless_classes_never_drop_with_computed_headroom(incast in incast()) {
        let world = incast.run(None);
        prop_assert_eq!(incast.lossless_lost(&world), 0);
        prop_assert!(world.is_conserved(0));
        prop_assert!(world.nodes.iter().all(|node| node.account().held == 0), "a queue is stuck");
    }
}

fn heavy_incast() -> Incast {
    let equal = (lane(10, Time::us(2)), lane(10, Time::us(2)));
    Incast {
        senders: vec![equal; 8],
        middle: equal,
        receiver: equal,
        shared: 20_000,
        xoff: 6_000,
        lens: vec![1500; 100],
    }
}

#[test]
fn the_switches_of_an_incast_do_pause() {
    let incast = heavy_incast();
    let world = incast.run(None);
    assert_eq!(incast.lossless_lost(&world), 0);
    assert!(incast.pauses(&world, 0, 9) > 8, "switch A pauses the senders");
    let slow = Incast { receiver: (lane(10, Time::us(2)), lane(1, Time::us(2))), ..heavy_incast() };
    let world = slow.run(None);
    assert!(slow.pauses(&world, 1, 2) > 0, "switch B pauses switch A");
    assert_eq!(slow.lossless_lost(&world), 0);
    let a = world.node::<Switch>(9);
    assert_eq!(a.stats(PortId(0)).pauses_received, slow.pauses(&world, 1, 2));
}

#[test]
fn with_too_little_headroom_lossless_classes_drop() {
    let incast = heavy_incast();
    let lanes = incast.middle;
    let half = Bytes(headroom(lanes.0, lanes.1, MTU) / 2);
    for headroom in [Bytes(0), half] {
        let world = incast.run(Some(headroom));
        assert!(incast.lossless_lost(&world) > 0, "{headroom} should not suffice");
        assert!(world.is_conserved(0));
    }
}

// ---- changes ----

#[test]
fn a_failed_link_loses_its_queue_and_takes_nothing_until_it_is_back() {
    let spec =
        QueueSpec { priorities: true, pfc: Some(pfc(2_000, vec![3])), ..QueueSpec::default() };
    let mut switch = switch(&star(2, lane(10, Time::ZERO)), 2, &spec);
    let mut effects = Effects::default();
    let cx = &mut Cx::new(Time::ZERO, &mut effects);
    for seq in 0..3 {
        switch.receive(PortId(1), packet(0, 3, seq, 1500), cx);
    }
    assert_eq!(switch.transmit(PortId(1), cx).map(|p| p.seq), Some(0x0008), "paused");
    switch.change(&Change::Down(PortId(0)), cx);
    switch.receive(PortId(1), packet(0, 3, 3, 1500), cx);
    assert_eq!((switch.queued(PortId(0)), switch.transmit(PortId(0), cx)), (0, None));
    assert_eq!(switch.transmit(PortId(1), cx).map(|p| p.seq), Some(0x0800), "resumed");
    switch.change(&Change::Up(PortId(0)), cx);
    switch.receive(PortId(1), packet(0, 3, 4, 1500), cx);
    assert_eq!(switch.transmit(PortId(0), cx).map(|p| p.seq), Some(0x0800), "its state");
    assert_eq!(switch.transmit(PortId(0), cx).map(|p| p.seq), Some(4));
    assert_eq!(Collected::of(&mut effects).dropped[DropReason::LinkDown as usize], 4);
}

#[test]
fn limits_keep_their_bytes_when_the_rate_changes() {
    let spec = queue(Policy::default(), 6_000);
    let mut switch = switch(&star(2, lane(10, Time::ZERO)), 2, &spec);
    let mut effects = Effects::default();
    let cx = &mut Cx::new(Time::ZERO, &mut effects);
    switch.receive(PortId(1), packet(0, 0, 0, 1500), cx);
    switch.receive(PortId(1), packet(0, 0, 1, 1500), cx);
    switch.change(&Change::Rate(PortId(0), Rate(GBPS)), cx);
    for seq in 2..6 {
        switch.receive(PortId(1), packet(0, 0, seq, 1500), cx);
    }
    assert_eq!(switch.queued(PortId(0)), 6_000);
    assert_eq!(switch.stats(PortId(0)).max_backlog, 6_000);
    assert!(switch.transmit(PortId(0), cx).is_some());
    let cx = &mut Cx::new(Time::us(12), &mut effects);
    switch.receive(PortId(1), packet(0, 0, 6, 1500), cx);
    assert_eq!(switch.queued(PortId(0)), 6_000, "the first packet took 12 us");
}

#[test]
fn without_a_route_a_packet_is_dropped() {
    let lane = lane(10, Time::ZERO);
    let unconnected = graph(3, 1, &[(0, 3, lane, lane), (1, 3, lane, lane)]);
    let mut switch = switch(&unconnected, 3, &QueueSpec::default());
    let mut effects = Effects::default();
    switch.receive(PortId(1), packet(2, 0, 0, 1500), &mut Cx::new(Time::ZERO, &mut effects));
    assert_eq!(Collected::of(&mut effects).dropped[DropReason::NoRoute as usize], 1);
}
