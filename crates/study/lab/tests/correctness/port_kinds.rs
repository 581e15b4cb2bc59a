//! The engine's own FIFO ports and those of general switches, which are asked for each packet: both give the same results where
//! both are possible.

use crate::ahead::recorded;
use crate::common::{assemble, drain, results};
use crate::ports::{DELAY, SLOW, SWITCH, at_switch, datagram, funnel, pull, seen};
use proptest::prelude::*;
use slotline_net::aqm::queue_stream;
use slotline_net::aqm::spec::{CodelSpec, EcnSpec, Policy, QueueSpec};
use slotline_net::frame::{CE, ECT, Packet};
use slotline_net::id::{NodeId, PortId};
use slotline_net::node::switch::{Switch, SwitchConfig, SwitchPort};
use slotline_net::node::{DropReason, Node as _};
use slotline_net::time::Time;
use slotline_net::units::{Bytes, Rate};
use slotline_sim::{Network, Outcome, Place, Queue};
use std::sync::Arc;

/// Replaces the engine's own switches by general ones, which are asked for each packet.
fn generalise(network: &mut Network, queue: &QueueSpec, mtu: u64, seed: u64) {
    let wiring = network.graph.wiring();
    for at in 0..network.places.len() {
        if !matches!(network.places[at], Place::Switch) {
            continue;
        }
        let node = NodeId(at as u32);
        let config = SwitchConfig {
            node,
            routes: Arc::clone(&network.routes),
            queue: queue.clone(),
            ports: SwitchPort::all_of(&wiring, node),
            mtu,
            seed,
            classifier: None,
            senders: network.senders.clone(),
            reserve: None,
        };
        network.places[at] = Place::Node(Box::new(Switch::new(config)));
        pull(network, at);
    }
}

/// Packets, bytes, drops and marks of a port; and its longest queue.
type Totals = ([u64; 5], u64);

/// The totals of every port of a switch of either kind.
fn totals(outcome: &Outcome) -> Vec<Totals> {
    let port = |at: usize, port: usize| {
        let own = &outcome.ports[at][port];
        let fast = ([own.packets, own.bytes, own.full, own.early, own.marks], own.peak);
        let Place::Node(place) = &outcome.places[at] else { return fast };
        let Some(switch) = place.downcast_ref::<Switch>() else { return fast };
        let stats = switch.stats(PortId(port as u16));
        let sum = |of: fn(&slotline_net::node::egress::ClassStats) -> u64| {
            stats.classes.iter().map(of).sum::<u64>()
        };
        let (full, early) = (
            sum(|class| class.drops[DropReason::Full as usize]),
            sum(|class| class.drops[DropReason::Early as usize]),
        );
        ([own.packets, own.bytes, full, early, sum(|class| class.marks)], stats.max_backlog)
    };
    let nodes = outcome.ports.iter().enumerate();
    nodes.flat_map(|(at, ports)| (0..ports.len()).map(move |n| port(at, n))).collect()
}

/// The packets that switches made.
fn notices(outcome: &Outcome) -> u64 {
    let by_host = |place: &Place| match place {
        Place::Host(host) => host.account().created,
        _ => 0,
    };
    outcome.conservation.created - outcome.places.iter().map(by_host).sum::<u64>()
}

/// A busy fat-tree whose switches have this queue.
fn busy(queue: &str, transport: &str) -> String {
    format!(
        r#"
        name = "ports"
        end = {{ at = "1s" }}
        [fabric]
        kind = "fat-tree"
        k = 4
        [[workload]]
        kind = "poisson"
        load = 0.8
        sizes = "hadoop"
        until = "1ms"
        [[workload]]
        kind = "incast"
        receiver = 3
        block = "300KB"
        [[workload]]
        kind = "udp"
        senders = "2"
        receivers = "7-8"
        rate = "6Gbps"
        poisson = true
        until = "2ms"
        [[scheme]]
        name = "queue"
        queue = {queue}
        transport = {{ kind = "{transport}", min-rto = "2ms" }}
        "#
    )
}

/// What a run shows with the engine's own switches, and with general ones. Packets of every third connection are recorded.
fn fast_and_general(text: &str) -> (Outcome, Outcome) {
    let assembly = || {
        let mut assembly = assemble(text, 1);
        let conns = assembly.plan.traffic.conns.len() as u32;
        assembly.network.follow.conns = (0..conns).step_by(3).collect();
        assembly
    };
    let (fast, mut general) = (assembly(), assembly());
    let spec = crate::common::load(text).scenario.scheme[0].queue.clone();
    let largest = general.plan.transport.data_len(general.plan.transport.mss());
    generalise(&mut general.network, &spec, largest.into(), 1);
    (drain(fast.network, 1), drain(general.network, 1))
}

/// Switches whose links fail are called in another way. What waits at a port when its link fails is neither in the shared buffer
/// any more, nor among the packets on which a discipline decides.
#[test]
fn a_port_forgets_what_a_failed_link_loses() {
    for (queue, why) in [
        (
            r#"{ kind = "drop-tail", limit = "40KB", shared = { total = "50KB", alpha = 0.8 } }"#,
            DropReason::Full,
        ),
        (
            r#"{ kind = "codel", limit = "90KB", target = "15us", interval = "60us" }"#,
            DropReason::Early,
        ),
        (r#"{ kind = "qcn", limit = "40KB", equilibrium = "10KB" }"#, DropReason::Full),
    ] {
        let text = busy(queue, "newreno")
            + r#"
            [[event]]
            at = "300us"
            kind = "link-down"
            link = "edge0.1-h3"
            [[event]]
            at = "1200us"
            kind = "link-up"
            link = "edge0.1-h3"
            "#;
        let (fast, general) = fast_and_general(&text);
        assert_eq!(results(&fast), results(&general), "{queue}");
        assert_eq!(fast.conservation, general.conservation, "{queue}");
        let lost = |why: DropReason| fast.conservation.dropped[why as usize];
        assert!(lost(DropReason::LinkDown) > 0 && lost(why) > 0, "{queue}: too easy");
    }
}

#[test]
fn the_general_switch_does_what_the_fast_one_does() {
    for (queue, transport) in [
        (r#"{ kind = "drop-tail", limit = "30KB" }"#, "newreno"),
        (r#"{ kind = "drop-tail", limit = "100KB" }"#, "cubic"),
        (r#"{ kind = "ecn", limit = "100KB", threshold = "20KB" }"#, "dctcp"),
        (
            r#"{ kind = "ecn", limit = "100KB", threshold = "20KB", drop-non-ect = true }"#,
            "newreno",
        ),
        (r#"{ kind = "red", limit = "100KB", weight = 0.1 }"#, "newreno"),
        (r#"{ kind = "red", limit = "100KB", weight = 0.1, ecn = true }"#, "dctcp"),
        (
            r#"{ kind = "pie", limit = "100KB", target = "20us", update = "20us", burst = "0s" }"#,
            "cubic",
        ),
        (
            r#"{ kind = "pie", target = "20us", update = "20us", burst = "0s", ecn = true }"#,
            "dctcp",
        ),
        (r#"{ kind = "avq", limit = "100KB", size = "50KB", gain = 15.0 }"#, "newreno"),
        (
            r#"{ kind = "drop-tail", limit = "40KB", shared = { total = "60KB", alpha = 0.7 } }"#,
            "newreno",
        ),
        (
            r#"{ kind = "ecn", threshold = "20KB", shared.total = "70KB", priorities = true }"#,
            "dctcp",
        ),
        (
            r#"{ kind = "red", weight = 0.1, ecn = true, shared.total = "80KB", priorities = true }"#,
            "dctcp",
        ),
        (r#"{ kind = "avq", limit = "100KB", size = "50KB", gain = 15.0, ecn = true }"#, "dctcp"),
        (r#"{ kind = "codel", limit = "90KB", target = "15us", interval = "100us" }"#, "newreno"),
        (r#"{ kind = "codel", limit = "60KB", target = "8us", interval = "30us" }"#, "cubic"),
        (
            r#"{ kind = "codel", limit = "60KB", target = "8us", interval = "30us", ecn = true }"#,
            "dctcp",
        ),
        (
            r#"{ kind = "codel", target = "10us", interval = "50us", shared = { total = "80KB", alpha = 0.8 } }"#,
            "newreno",
        ),
        (r#"{ kind = "qcn", limit = "60KB", equilibrium = "20KB" }"#, "newreno"),
        (r#"{ kind = "qcn", equilibrium = "15KB", shared.total = "70KB" }"#, "cubic"),
    ] {
        let (fast, general) = fast_and_general(&busy(queue, transport));
        assert_eq!(results(&fast), results(&general), "{queue}");
        assert_eq!(fast.conservation, general.conservation, "{queue}");
        assert!(recorded(&fast) == recorded(&general), "{queue}");
        assert!(fast.conservation.dropped.iter().sum::<u64>() > 0, "{queue}: too easy");
        assert_eq!(notices(&fast) > 0, queue.contains("qcn"), "{queue}");
        let on_two_threads = drain(assemble(&busy(queue, transport), 1).network, 2);
        assert_eq!(on_two_threads.digest, fast.digest, "{queue}");
        for (ours, theirs) in totals(&fast).iter().zip(totals(&general)) {
            assert_eq!(ours.0, theirs.0, "{queue}");
            assert!(ours.1.abs_diff(theirs.1) <= 1, "{queue}: {ours:?} {theirs:?}");
        }
    }
}

/// Datagrams for host 1: the time since the one before, the length, and whether it can be marked, of each.
fn train(packets: Vec<(u64, u16, bool)>) -> Vec<(Time, Packet)> {
    let mut time = Time::ZERO;
    let packet = |((gap, len, ect), seq): ((u64, u16, bool), u32)| {
        time += Time::ps(gap);
        let flags = if ect { ECT } else { 0 };
        (time, Packet { flags, ..datagram(0, seq, 1, len) })
    };
    packets.into_iter().zip(0..).map(packet).collect()
}

/// The packets that a queue of `limit` bytes passes, as computed from its definition: when each arrives at the far end,
/// and whether it is marked.
fn textbook(packets: &[(Time, Packet)], limit: u64, mark: u64) -> Vec<(Time, u32, bool)> {
    let mut free = 0;
    let mut out = Vec::new();
    for (at, (_, packet)) in at_switch(packets).into_iter().zip(packets) {
        let (at, len) = (at.as_ps(), u64::from(packet.len));
        let start = free.max(at);
        if start - at + len * SLOW > limit * SLOW {
            continue;
        }
        free = start + len * SLOW;
        let marked = start - at > mark * SLOW && packet.has(ECT);
        out.push((Time::ps(free) + DELAY, packet.seq, marked));
    }
    out
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]
    /// Departure, loss and mark of every packet, at the fast port and at the general port.
    #[test]
    fn a_fifo_follows_the_textbook(
        packets in prop::collection::vec((0..2_000_000u64, 64..9_000u16, any::<bool>()), 1..300),
        limit in 9_000..60_000u64,
        share in 0.0..1.0,
    ) {
        let mark = (limit as f64 * share) as u64;
        let packets = train(packets);
        let expected = textbook(&packets, limit, mark);
        for general in [false, true] {
            let mut network = funnel(packets.clone());
            let (limit, threshold) = (Bytes(limit), Bytes(mark));
            let queue =
                Queue { limit: Some(limit), mark: Some(threshold), ..Queue::default() };
            network.queues[SWITCH].fill(queue);
            if general {
                let spec = QueueSpec {
                    policy: Policy::Ecn(EcnSpec { threshold, drop_non_ect: false }),
                    limit,
                    ..QueueSpec::default()
                };
                generalise(&mut network, &spec, 9_000, 1);
            }
            let outcome = drain(network, 1);
            let got = seen(&outcome, 1).iter();
            let got: Vec<_> = got.map(|a| (a.at, a.packet.seq, a.packet.has(CE))).collect();
            prop_assert_eq!(&got, &expected, "general: {}", general);
            prop_assert!(outcome.conservation.holds());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    /// Departure, loss and mark of every packet under CoDel, at the engine's own port and at the general port.
    #[test]
    fn codel_decides_alike_at_both_ports(
        packets in prop::collection::vec((0..1_600_000u64, 64..1_500u16, any::<bool>()), 1..800),
        (target, times, ecn) in (500u64..20_000, 2u64..12, any::<bool>()),
        limit in 9_000..90_000u64,
    ) {
        let (target, interval) = (Time::ns(target), Time::ns(target * times));
        let policy = Policy::Codel(CodelSpec { target, interval, ecn });
        let spec = QueueSpec { policy, limit: Bytes(limit), ..QueueSpec::default() };
        let packets = train(packets);
        let outcome = |general: bool| {
            let mut network = funnel(packets.clone());
            let marker = spec.marker(Rate(10_000_000_000).inverse_rate(), 1_500, queue_stream(1, 1, 0));
            let (limit, marker) = (Some(spec.limit), Some(marker));
            let queue = Queue { limit, marker, largest: 1_500, ..Queue::default() };
            network.queues[SWITCH].fill(queue);
            if general {
                generalise(&mut network, &spec, 1_500, 1);
            }
            drain(network, 1)
        };
        let (own, general) = (outcome(false), outcome(true));
        prop_assert!(own.conservation.holds());
        prop_assert_eq!(&own.conservation, &general.conservation);
        let got = |outcome: &Outcome| -> Vec<_> {
            let seen = seen(outcome, 1).iter();
            seen.map(|a| (a.at, a.packet.seq, a.packet.has(CE))).collect()
        };
        prop_assert_eq!(got(&own), got(&general));
    }
}
