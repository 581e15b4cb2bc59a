//! Nodes of hybrid fabrics say when packets leave, pass them on as they are, and say when a port need not ask. The results
//! are those of nodes that receive each packet and are asked for each.

use crate::ahead::{Asked, ask_all, recorded};
use crate::common::assemble;
use proptest::prelude::*;
use slotline_hybrid::node::{PacketSwitch, PanelSwitch, Tor};
use slotline_lab::build::Assembly;
use slotline_net::id::PortId;
use slotline_net::node::{Counters, Node};
use slotline_net::time::Time;
use slotline_sim::{Options, Outcome, Place, Watch, run};

/// A fabric with panels and a core, with panels alone, or with a rotor and a packet switch; and schemes for it.
const FABRICS: [(&str, &[&str]); 3] = [
    (
        "circuits = { switches = 4, rate = \"5Gbps\", delay = \"1us\", reconfiguration = \"50us\", dark = \"changed\" }\n\
         core = { switches = 2, ports = 4 }",
        &[
            "control = { kind = \"circuits\", scheduler = \"clos\" }",
            "control = { kind = \"circuits\", scheduler = \"mesh\", week = \"500us\", day = \"400us\" }",
            "control = { kind = \"circuits\", scheduler = \"clos-direct\", week = \"500us\", day = \"400us\", report-ahead = \"50us\", demand = \"adu\" }",
        ],
    ),
    (
        "circuits = { switches = 3, rate = \"10Gbps\", delay = \"2us\", reconfiguration = \"40us\", dark = \"changed\" }",
        &[
            "control = { kind = \"circuits\", scheduler = \"mesh\", week = \"400us\", day = \"300us\", demand = \"adu\" }",
            "control = \"circuits\"",
        ],
    ),
    (
        "packet = { rate = \"10Gbps\", delay = \"5us\", inner-queue = 5 }\n\
         circuits = { rate = \"40Gbps\", delay = \"10us\", reconfiguration = \"20us\" }",
        &["control = \"circuits\""],
    ),
];

const RELAYS: [&str; 3] = [
    "",
    ", relay = { hops = \"opportunistic\", packets = 30 }",
    ", relay = { hops = \"valiant\", packets = 30 }",
];

const QUEUES: [&str; 4] = [
    "{ kind = \"ecn\", threshold = \"30KB\", limit = \"150KB\" }",
    "{ kind = \"drop-tail\", limit = \"60KB\", priorities = true }",
    "{ kind = \"drop-tail\", limit = \"90KB\", shared = { total = \"200KB\", alpha = 1.0 } }",
    "{ kind = \"codel\", limit = \"90KB\", target = \"15us\", interval = \"100us\" }",
];

/// The events of a run that is disturbed.
const EVENTS: &str = r#"
[[event]]
at = "300us"
kind = "link-down"
link = "tor1-circuit0"
[[event]]
at = "900us"
kind = "link-up"
link = "tor1-circuit0"
[[event]]
at = "500us"
kind = "rate"
link = "tor0-circuit0"
rate = "3Gbps"
"#;

#[derive(Clone, Debug)]
struct Choices {
    fabric: usize,
    control: usize,
    relay: usize,
    queue: usize,
    rule: &'static str,
    packets: u32,
    size: u32,
    events: bool,
}

fn choices() -> impl Strategy<Value = Choices> {
    let rule = prop::sample::select(vec!["hold", "drain", "drop"]);
    let numbers = (0usize..FABRICS.len(), 0usize..6, 0..RELAYS.len(), 0..QUEUES.len());
    (numbers, rule, 5u32..200, 20u32..400, any::<bool>()).prop_map(
        |((fabric, control, relay, queue), rule, packets, size, events)| Choices {
            fabric,
            control,
            relay,
            queue,
            rule,
            packets,
            size,
            events,
        },
    )
}

fn scenario(choices: &Choices) -> String {
    let (fabric, controls) = FABRICS[choices.fabric];
    let Choices { rule, packets, size, .. } = choices;
    let control = controls[choices.control % controls.len()];
    // Packets are relayed where racks have queues by destination, and circuits alone.
    let relay = if choices.fabric == 1 { RELAYS[choices.relay] } else { "" };
    let queue = if choices.fabric == 0 { QUEUES[choices.queue] } else { QUEUES[0] };
    let transport = if queue == QUEUES[0] { "dctcp" } else { "newreno" };
    let routing = if choices.fabric == 0 { "routing = \"spray\"" } else { "" };
    let events = if choices.events { EVENTS } else { "" };
    format!(
        r#"
        name = "ahead"
        end = {{ at = "3ms", when = "time" }}
        measure = {{ why = false, ideal = false, sample = "7us" }}
        [fabric]
        kind = "hybrid"
        racks = 4
        hosts-per-rack = 3
        host-rate = "10Gbps"
        host-delay = "1us"
        {fabric}
        [[workload]]
        kind = "shuffle"
        size = "{size}KB"
        [[workload]]
        kind = "udp"
        senders = "2"
        receivers = "7-8"
        rate = "2Gbps"
        poisson = true
        until = "2ms"
        {events}
        [[scheme]]
        name = "circuits"
        queue = {queue}
        {routing}
        voq = {{ packets = {packets}, at-night = "{rule}"{relay} }}
        transport = {{ kind = "{transport}", mtu = "1500B", min-rto = "1ms" }}
        {control}
        "#
    )
}

fn outcome(text: &str, seed: u64, asked: bool, threads: usize, end: Time) -> Outcome {
    let Assembly { mut network, plan, .. } = assemble(text, seed);
    if seed % 2 == 1 {
        network.follow.conns = (0..plan.traffic.conns.len() as u32).step_by(3).collect();
    }
    if asked {
        let of_fabric = |node: &dyn Node| {
            node.is::<PanelSwitch>() || node.is::<Tor>() || node.is::<PacketSwitch>()
        };
        assert!(ask_all(&mut network, of_fabric) >= 4, "{text}");
    }
    run(network, Options { threads, end, completions: u64::MAX }, &Watch::default())
}

/// What a run shows of its nodes, in addition to its digest.
fn accounts(outcome: &Outcome) -> Vec<String> {
    let of = |(place, ports): (&Place, &Vec<_>)| {
        let Place::Node(node) = place else { return None };
        let node: &dyn Node = node.downcast_ref::<Asked>().map_or(&**node, |asked| &*asked.0);
        let mut counters = Counters::default();
        node.add_counters(&mut counters);
        let panel = node.downcast_ref::<PanelSwitch>();
        let racks = node.downcast_ref::<Tor>().map(|tor| tor.racks());
        let racks = racks.or_else(|| panel?.racks()).map_or(0, |(_, racks)| racks as usize);
        let by_rack = |rack| match (panel, node.downcast_ref::<Tor>()) {
            (Some(panel), _) => format!("{:?}", panel.stats(rack)),
            (None, Some(tor)) => format!("{:?}", tor.stats(rack)),
            _ => String::new(),
        };
        let by_rack: Vec<String> = (0..racks).map(by_rack).collect();
        let by_port = |at| panel.map(|panel| panel.switch().stats(PortId(at as u16)));
        let by_port: Vec<_> = (0..ports.len()).map(by_port).collect();
        Some(format!("{:?} {counters:?} {by_rack:?} {by_port:?}", node.account()))
    };
    outcome.places.iter().zip(&outcome.ports).filter_map(of).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn nodes_of_fabrics_may_be_asked_less(
        choices in choices(), seed in 1u64..1_000, threads in 1usize..3, end in 100_000u64..3_000_000
    ) {
        let (text, end) = (scenario(&choices), Time::ps(end * 1_000));
        let (ours, asked) = (outcome(&text, seed, false, threads, end), outcome(&text, seed, true, 1, end));
        prop_assert_eq!(ours.conservation, asked.conservation, "{}", text);
        prop_assert_eq!(&ours.samples, &asked.samples, "{}", text);
        prop_assert_eq!(&ours.ports, &asked.ports, "{}", text);
        prop_assert_eq!(accounts(&ours), accounts(&asked), "{}", text);
        prop_assert_eq!(ours.digest, asked.digest, "{}", text);
        prop_assert!(recorded(&ours) == recorded(&asked), "{}", text);
    }
}

/// Behind panels, packets need one event for each hop, except around days.
#[test]
fn behind_panels_a_hop_needs_one_event() {
    let choices = Choices {
        fabric: 0,
        control: 2,
        relay: 0,
        queue: 0,
        rule: "hold",
        packets: 100,
        size: 200,
        events: false,
    };
    let text = scenario(&choices);
    let events = |asked| {
        let done = outcome(&text, 1, asked, 1, Time::ms(3));
        done.events as f64 / done.packet_hops as f64
    };
    let (ours, asked) = (events(false), events(true));
    assert!(ours < 1.2 && asked > 1.4, "{ours} {asked}");
}
