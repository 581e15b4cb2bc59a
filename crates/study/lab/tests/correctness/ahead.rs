//! The engine decides departures from switches when packets arrive, and from hosts when transports pass packets to the card, where
//! they are certain. The results are those of nodes that are asked for each packet.

use crate::common::assemble_open;
use proptest::prelude::*;
use slotline_lab::build::Assembly;
use slotline_net::frame::Packet;
use slotline_net::id::PortId;
use slotline_net::node::switch::Switch;
use slotline_net::node::{Change, Counters, Cx, Node, PacketAccount};
use slotline_net::time::Time;
use slotline_sim::{Crossing, Network, Options, Outcome, Place, Watch, run};

/// A switch that the engine does not know, so that it is asked for each packet.
pub struct Asked(pub Box<dyn Node>);

impl Node for Asked {
    fn start(&mut self, cx: &mut Cx<'_>) {
        self.0.start(cx);
    }
    fn receive(&mut self, port: PortId, packet: Packet, cx: &mut Cx<'_>) {
        self.0.receive(port, packet, cx);
    }
    fn transmit(&mut self, port: PortId, cx: &mut Cx<'_>) -> Option<Packet> {
        self.0.transmit(port, cx)
    }
    fn expire(&mut self, token: u32, cx: &mut Cx<'_>) {
        self.0.expire(token, cx);
    }
    fn change(&mut self, change: &Change, cx: &mut Cx<'_>) {
        self.0.change(change, cx);
    }
    fn account(&self) -> PacketAccount {
        self.0.account()
    }
    fn add_counters(&self, counters: &mut Counters) {
        self.0.add_counters(counters);
    }
    fn queued(&self, port: PortId) -> u64 {
        self.0.queued(port)
    }
}

/// Lets the engine ask all nodes of some types, and all hosts, for each packet. Returns the number of the nodes.
pub fn ask_all(network: &mut Network, of_type: impl Fn(&dyn Node) -> bool) -> usize {
    // In a run that captures a port, hosts select each packet.
    network.follow.ports.push((network.graph.hosts[0], PortId(0)));
    let mut count = 0;
    for place in &mut network.places {
        *place = match std::mem::replace(place, Place::Switch) {
            Place::Node(node) if of_type(&*node) => {
                count += 1;
                Place::Node(Box::new(Asked(node)))
            }
            other => other,
        };
    }
    count
}

/// The switch at one place.
fn switch(place: &Place) -> Option<&Switch> {
    let Place::Node(node) = place else { return None };
    node.downcast_ref::<Switch>().or_else(|| node.downcast_ref::<Asked>()?.0.downcast_ref())
}

/// What a run shows of its switches, in addition to its digest.
fn accounts(outcome: &Outcome) -> Vec<String> {
    let of = |(place, ports): (&Place, &Vec<_>)| {
        let switch = switch(place)?;
        let stats: Vec<_> = (0..ports.len()).map(|at| switch.stats(PortId(at as u16))).collect();
        Some(format!("{:?} {stats:?}", switch.account()))
    };
    outcome.places.iter().zip(&outcome.ports).filter_map(of).collect()
}

/// A fat-tree whose flows have three classes, under `queue`, and whose hosts' cards have room for `room` bytes. A link fails and a rate changes.
fn scenario(
    queue: &str,
    (transport, room): (&str, u32),
    classes: [u8; 3],
    changes: bool,
) -> String {
    let [many, burst, datagrams] = classes;
    let changes = if changes {
        r#"
        [[event]]
        at = "300us"
        kind = "link-down"
        link = "edge0.0-agg0.0"
        reroute-after = "50us"
        [[event]]
        at = "900us"
        kind = "link-up"
        link = "edge0.0-agg0.0"
        [[event]]
        at = "500us"
        kind = "rate"
        link = "edge0.1-h3"
        rate = "3Gbps"
        "#
    } else {
        ""
    };
    format!(
        r#"
        name = "ahead"
        end = {{ at = "3ms", when = "time" }}
        measure = {{ why = false, ideal = false, sample = "7us" }}
        [fabric]
        kind = "fat-tree"
        k = 4
        [[workload]]
        kind = "poisson"
        load = 0.5
        sizes = "hadoop"
        until = "1ms"
        class = {many}
        [[workload]]
        kind = "incast"
        receiver = 3
        block = "300KB"
        class = {burst}
        [[workload]]
        kind = "udp"
        senders = "2"
        receivers = "7-8"
        rate = "4Gbps"
        poisson = true
        until = "2ms"
        class = {datagrams}
        {changes}
        [[scheme]]
        name = "queue"
        queue = {queue}
        transport = {{ kind = "{transport}", min-rto = "2ms", tsq-limit = "{room}B" }}
        "#
    )
}

const QUEUES: [(&str, &str); 11] = [
    (r#"{ kind = "drop-tail", limit = "60KB", priorities = true }"#, "newreno"),
    (
        r#"{ kind = "ecn", limit = "90KB", threshold = "20KB", priorities = true, shared = { total = "100KB", alpha = 1.0 } }"#,
        "dctcp",
    ),
    (
        r#"{ kind = "drop-tail", priorities = true, shared = { total = "60KB", alpha = 0.5 } }"#,
        "cubic",
    ),
    (
        r#"{ kind = "drop-tail", limit = "150KB", priorities = true, pfc = { xoff = "9KB", xon = "6KB" } }"#,
        "newreno",
    ),
    (
        r#"{ kind = "ecn", threshold = "20KB", priorities = true, shared = { total = "200KB", alpha = 2.0 }, pfc = { xoff = "12KB", xon = "9KB", classes = [0, 3] } }"#,
        "dctcp",
    ),
    (
        r#"{ kind = "codel", limit = "90KB", target = "15us", interval = "100us", priorities = true }"#,
        "newreno",
    ),
    (
        r#"{ kind = "codel", limit = "60KB", target = "8us", interval = "30us", ecn = true, priorities = true }"#,
        "dctcp",
    ),
    (
        r#"{ kind = "codel", target = "10us", interval = "50us", priorities = true, shared = { total = "100KB", alpha = 1.0 } }"#,
        "newreno",
    ),
    (
        r#"{ kind = "pie", limit = "90KB", target = "20us", update = "20us", burst = "50us", priorities = true }"#,
        "newreno",
    ),
    (r#"{ kind = "avq", limit = "60KB", priorities = true }"#, "newreno"),
    (r#"{ kind = "qcn", limit = "90KB", equilibrium = "15KB", priorities = true }"#, "newreno"),
];

/// Runs the scenario until `end`. Switches are asked for each packet if `asked`. Packets of every third connection are
/// recorded if the seed is odd.
fn outcome(text: &str, seed: u64, asked: bool, threads: usize, end: Time) -> Outcome {
    let Assembly { mut network, plan, .. } = assemble_open(text, seed);
    if seed % 2 == 1 {
        network.follow.conns = (0..plan.traffic.conns.len() as u32).step_by(3).collect();
    }
    if asked {
        assert_eq!(ask_all(&mut network, |node| node.is::<Switch>()), 20, "{text}");
    }
    run(network, Options { threads, end, completions: u64::MAX }, &Watch::default())
}

/// The recorded crossings, by connection, in order of arrival.
pub fn recorded(outcome: &Outcome) -> Vec<(u32, Crossing)> {
    let of = |conn| outcome.journal.crossings(conn).into_iter().map(move |it| (conn, it));
    let mut all: Vec<(u32, Crossing)> = (0..1_000).flat_map(of).collect();
    all.sort_unstable_by_key(|(conn, it)| (*conn, it.arrive, it.port()));
    all
}

/// Fails unless a run that decides ahead shows what a run shows whose nodes are asked for each packet.
fn compare(text: &str, seed: u64, threads: usize, end: u64) -> Result<(), TestCaseError> {
    let end = Time::ps(end * 1_000);
    let (ours, asked) =
        (outcome(text, seed, false, threads, end), outcome(text, seed, true, 1, end));
    prop_assert_eq!(ours.conservation, asked.conservation, "{}", text);
    prop_assert_eq!(&ours.samples, &asked.samples, "{}", text);
    prop_assert_eq!(&ours.ports, &asked.ports, "{}", text);
    prop_assert_eq!(accounts(&ours), accounts(&asked), "{}", text);
    prop_assert_eq!(ours.digest, asked.digest, "{}", text);
    prop_assert!(
        seed.is_multiple_of(2) || end < Time::ms(1) || recorded(&ours).len() > 100,
        "{}",
        text
    );
    prop_assert!(recorded(&ours) == recorded(&asked), "{}", text);
    Ok(())
}

/// A fat-tree under Fastpass, whose messages have a share of each port before packets.
fn messages(load: f64, share: f64) -> String {
    let queue = r#"{ kind = "drop-tail", limit = "60KB" }"#;
    let text = scenario(queue, ("newreno", 64_000), [0; 3], false);
    let text = text.replace("load = 0.5", &format!("load = {load}"));
    let control = format!("control = {{ kind = \"fastpass\", reserve = {share} }}");
    format!("{text}{control}\n")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn what_is_certain_may_be_decided_ahead(
        queue in 0..QUEUES.len(),
        classes in prop_oneof![Just([0u8; 3]), any::<[u8; 3]>().prop_map(|all| all.map(|class| class % 4))],
        room in prop_oneof![Just(64_000u32), 1u32..10_000],
        seed in 1u64..1_000,
        threads in 1usize..3,
        changes: bool,
        end in 100_000u64..3_000_000,
    ) {
        let (queue, transport) = QUEUES[queue];
        let text = scenario(queue, (transport, room), classes, changes);
        compare(&text, seed, threads, end)?;
    }

    #[test]
    fn messages_may_be_decided_ahead(
        load in 0.05f64..0.9,
        share in 0.01f64..0.5,
        seed in 1u64..1_000,
        threads in 1usize..3,
        end in 100_000u64..2_000_000,
    ) {
        compare(&messages(load, share), seed, threads, end)?;
    }

    /// Priorities, packets of one class, and no pause frames.
    #[test]
    fn hosts_may_decide_ahead(
        queue in prop::sample::select(vec![QUEUES[0], QUEUES[1], QUEUES[9]]),
        class in 0u8..8,
        room in prop_oneof![Just(64_000u32), 1u32..10_000],
        seed in 1u64..1_000,
        threads in 1usize..3,
        end in 100_000u64..3_000_000,
    ) {
        let text = scenario(queue.0, (queue.1, room), [class; 3], false);
        compare(&text, seed, threads, end)?;
    }
}

/// Events for each hop with this queue, of ports that decide ahead or at once, and of ports that are always asked.
fn events(queue: (&str, &str)) -> (f64, f64) {
    let text = scenario(queue.0, (queue.1, 64_000), [0; 3], false);
    let events = |asked| {
        let done = outcome(&text, 1, asked, 1, Time::ms(3));
        done.events as f64 / done.packet_hops as f64
    };
    (events(false), events(true))
}

/// Packets of one class need one event for each hop, and timers need some.
#[test]
fn one_class_needs_fewer_events() {
    let (ours, asked) = events(QUEUES[1]);
    assert!(ours < 1.3 && asked > 1.7, "{ours} {asked}");
}

/// With pause frames this holds for packets that find a free port.
#[test]
fn packets_that_find_a_free_port_need_fewer_events() {
    let (ours, asked) = events(QUEUES[3]);
    assert!(ours < 1.5 && asked > 1.6, "{ours} {asked}");
}
