//! Laws that hold in every run, whatever the scenario.

use crate::common::{assemble, node};
use crate::nodes::{Arrival, Tap, wrap_hosts};
use proptest::prelude::*;
use slotline_lab::build::Assembly;
use slotline_net::frame::{Kind, Packet, RETRANSMITTED};
use slotline_net::id::{NodeId, PortId};
use slotline_net::node::host::Host;
use slotline_net::node::switch::Switch;
use slotline_net::time::Time;
use slotline_net::topology::Wiring;
use slotline_scenario::Scenario;
use slotline_sim::{Options, Outcome, Place, Watch, run};
use std::collections::BTreeMap;
use std::path::Path;

/// A random small scenario; not every combination is one.
#[derive(Clone, Debug)]
struct Case {
    fabric: String,
    workloads: Vec<String>,
    routing: &'static str,
    queue: Queue,
    transport: String,
    control: &'static str,
    seed: u64,
}

#[derive(Clone, Debug)]
struct Queue {
    kind: &'static str,
    limit: u64,
    classes: &'static str,
    shared: bool,
}

/// The marking threshold of [`Queue`]s of kind `ecn`.
const THRESHOLD: u64 = 10_000;

impl Queue {
    fn text(&self) -> String {
        let Queue { kind, limit, classes, shared } = self;
        let kind = match *kind {
            "ecn" => format!(r#"kind = "ecn", threshold = "{THRESHOLD}B""#),
            "red" => r#"kind = "red", min = "5KB", max = "10KB", weight = 0.1"#.into(),
            "red-ecn" => {
                r#"kind = "red", min = "5KB", max = "10KB", weight = 0.1, ecn = true"#.into()
            }
            _ => r#"kind = "drop-tail""#.into(),
        };
        let shared = if *shared { r#", shared = { total = "400KB", alpha = 0.5 }"# } else { "" };
        format!(r#"{{ {kind}, limit = "{limit}B"{classes}{shared} }}"#)
    }
    fn is_lossless(&self) -> bool {
        self.classes.contains("pfc")
    }
    fn marks(&self) -> bool {
        matches!(self.kind, "ecn" | "red-ecn")
    }
}

impl Case {
    fn text(&self) -> String {
        let Case { fabric, workloads, routing, queue, transport, control, .. } = self;
        let workloads = workloads.join("\n[[workload]]\n");
        format!(
            "name = \"case\"\nend = {{ at = \"100s\" }}\n[fabric]\n{fabric}\n[[workload]]\n{workloads}\n\
             [[scheme]]\nname = \"scheme\"\nrouting = \"{routing}\"\nqueue = {}\n\
             transport = {transport}\ncontrol = {control}\n",
            queue.text()
        )
    }
    fn is_valid(&self) -> bool {
        let schedulable = self.control.contains("none") || !self.fabric.contains("nics = 2");
        schedulable && Scenario::parse(Path::new("case.toml"), self.text()).is_ok()
    }
    /// Whether packets of a connection stay on one path.
    fn keeps_order(&self) -> bool {
        self.routing != "spray"
    }
}

fn fabric() -> impl Strategy<Value = String> {
    let star = (4..9u32, prop::sample::select(vec!["1Gbps", "10Gbps", "25Gbps"])).prop_map(
        |(hosts, rate)| {
            format!(
                "kind = \"star\"\nhosts = {hosts}\noverrides = [{{ link = \"h0-s0\", rate = \"{rate}\" }}]"
            )
        },
    );
    let tree = (2..4u32, 1..3u32, 1..4u32).prop_map(|(racks, hosts, over)| {
        format!(
            "kind = \"tree\"\nracks = {racks}\nhosts-per-rack = {}\nrack-oversubscription = {over}.0",
            hosts + 1
        )
    });
    let leaf_spine = (2..4u32, 1..4u32, 2..4u32, 1..3u32).prop_map(|(leaves, spines, hosts, nics)| {
        format!(
            "kind = \"leaf-spine\"\nleaves = {leaves}\nspines = {spines}\nhosts-per-leaf = {hosts}\n\
             nics = {nics}\nuplink-rate = \"40Gbps\""
        )
    });
    let fat_tree = Just("kind = \"fat-tree\"\nk = 4\nhost-rate = \"5Gbps\"".to_string());
    prop_oneof![star, tree, leaf_spine, fat_tree]
}

fn workload() -> impl Strategy<Value = String> {
    let kind = prop::sample::select(vec![
        "kind = \"stride\"\nby = 2\nrepeats = 2\n",
        "kind = \"staggered\"\nrepeats = 2\n",
        "kind = \"random\"\nrepeats = 2\n",
        "kind = \"random-bijective\"\nredraw = false\nrepeats = 2\n",
        "kind = \"hot-spot\"\nrepeats = 2\n",
        "kind = \"shuffle\"\norder = \"simultaneous\"\n",
        "kind = \"shuffle\"\nconcurrency = 2\n",
        "kind = \"ring\"\nrepeats = 3\n",
        "kind = \"bulk\"\nsenders = 2\nconnections = 3\n",
        "kind = \"incast\"\nblocks = 3\nrequest = \"100B\"\nblock = \"200KB\"\n#",
        "kind = \"incast\"\nsplit = false\nblock = \"30KB\"\n#",
        "kind = \"request-response\"\nrequests = 2\noutstanding = 2\n#",
        "kind = \"request-response\"\ninterval = \"20us\"\nrequests = 3\n#",
        "kind = \"poisson\"\nload = 0.7\nflows = 30\nsizes = \"20KB\"\nuntil = \"5ms\"\n#",
        "kind = \"poisson\"\nload = 0.3\nflows = 20\nsizes = \"googlerpc\"\nuntil = \"5ms\"\npersistent = true\n#",
        "kind = \"udp\"\nsenders = 2\nuntil = \"200us\"\n#",
        "kind = \"udp\"\nrate = \"2Gbps\"\npoisson = true\nmessage = \"4KB\"\nuntil = \"500us\"\n#",
        "kind = \"udp\"\nrate = \"8Gbps\"\non = \"20us\"\noff = \"30us\"\nuntil = \"300us\"\n#",
    ]);
    (kind, 1..60_000u64, 0..8u8, 0..50u64).prop_map(|(kind, size, class, start)| {
        format!("{kind}size = \"{size}B\"\nclass = {class}\nstart = \"{start}us\"")
    })
}

fn queue() -> impl Strategy<Value = Queue> {
    let kind = prop::sample::select(vec!["drop-tail", "ecn", "red", "red-ecn"]);
    let classes = prop::sample::select(vec![
        "",
        "",
        ", priorities = true",
        r#", priorities = true, pfc = { xoff = "12KB", xon = "9KB" }"#,
    ]);
    (kind, 12_000..200_000u64, classes, any::<bool>())
        .prop_map(|(kind, limit, classes, shared)| Queue { kind, limit, classes, shared })
}

fn transport() -> impl Strategy<Value = String> {
    let kind = prop::sample::select(vec!["newreno", "cubic", "dctcp", "fixed"]);
    let options = prop::sample::select(vec![
        "",
        r#", delayed-ack = "40us""#,
        r#", mtu = "9000B""#,
        r#", framing = "0B", initial-window = 2"#,
        r#", max-window = "20KB", tsq-limit = "3KB""#,
    ]);
    (kind, options)
        .prop_map(|(kind, options)| format!(r#"{{ kind = "{kind}", min-rto = "1ms"{options} }}"#))
}

fn case() -> impl Strategy<Value = Case> {
    let routing = prop::sample::select(vec!["ecmp", "shortest", "spray", "pinned"]);
    let control = prop::sample::select(vec![
        r#"{ kind = "none" }"#,
        r#"{ kind = "none" }"#,
        r#"{ kind = "xco", slice = "100us", hysteresis = "5us" }"#,
        r#"{ kind = "xco", slice = "50us", work-conserving = false, small-flow = "0B" }"#,
        r#"{ kind = "xco", slice = "100us", mode = "rate-limit" }"#,
    ]);
    let workloads = prop::collection::vec(workload(), 1..3);
    (fabric(), workloads, routing, queue(), transport(), control, 0..1_000u64)
        .prop_map(|(fabric, workloads, routing, queue, transport, control, seed)| Case {
            fabric,
            workloads,
            routing,
            queue,
            transport,
            control,
            seed,
        })
        .prop_filter("not a scenario", Case::is_valid)
}

/// A run with all its hosts tapped.
struct Run {
    outcome: Outcome,
    wiring: Wiring,
    flows: u64,
    hosts: Vec<usize>,
}

impl Run {
    fn of(text: &str, seed: u64) -> Run {
        let Assembly { mut network, wiring, flows, .. } = assemble(text, seed);
        wrap_hosts(&mut network, Tap::on);
        let nodes = network.places.iter().enumerate();
        let hosts = nodes.filter(|(_, place)| is_tap(place)).map(|(at, _)| at).collect();
        let options = Options { threads: 1, end: Time::s(100), completions: flows };
        Run { outcome: run(network, options, &Watch::default()), wiring, flows, hosts }
    }

    /// What arrived at each host, by host.
    fn seen(&self) -> impl Iterator<Item = (usize, &[Arrival])> {
        self.hosts.iter().map(|&at| (at, &node::<Tap<Host>>(&self.outcome, at).seen[..]))
    }

    /// Longest backlog and number of marks of each port of each switch.
    fn switch_ports(&self) -> Vec<(u64, u64)> {
        let mut out = Vec::new();
        for (place, ports) in self.outcome.places.iter().zip(&self.outcome.ports) {
            match place {
                Place::Switch => out.extend(ports.iter().map(|p| (p.peak, p.marks))),
                Place::Node(node) => {
                    let Some(switch) = node.downcast_ref::<Switch>() else { continue };
                    for port in 0..ports.len() as u16 {
                        let stats = switch.stats(PortId(port));
                        let marks = stats.classes.iter().map(|class| class.marks).sum();
                        out.push((stats.max_backlog, marks));
                    }
                }
                Place::Host(_) => {}
            }
        }
        out
    }
}

fn is_tap(place: &Place) -> bool {
    matches!(place, Place::Node(node) if node.is::<Tap<Host>>())
}

/// Two packets of a link are at least as far apart as the second takes to send.
fn no_link_exceeds_its_rate(run: &Run) -> Result<(), TestCaseError> {
    for (host, seen) in run.seen() {
        let mut last: BTreeMap<PortId, Time> = BTreeMap::new();
        for Arrival { at, port, packet } in seen {
            let far = run.wiring.of(NodeId(host as u32))[port.at()].far;
            let rate = run.wiring.of(far.node)[far.port.at()].lane.rate;
            let least = rate.inverse_rate().time_for(packet.len.into());
            let since = at.since(last.insert(*port, *at).unwrap_or(Time::ZERO));
            prop_assert!(since >= least, "{packet:?} came {since} after the one before");
        }
    }
    let reached = run.outcome.reached.after(Time::us(3));
    for (at, ports) in run.outcome.ports.iter().enumerate() {
        for (wire, port) in run.wiring.of(NodeId(at as u32)).iter().zip(ports) {
            let pace = wire.lane.rate.inverse_rate();
            let budget = pace.bytes_in(reached) + port.peak;
            prop_assert!(port.bytes <= budget, "node {at}: {port:?} in {reached}");
        }
    }
    Ok(())
}

/// New data of a connection, its datagrams and its acknowledgements come in the order of sending.
fn flows_keep_their_order(run: &Run) -> Result<(), TestCaseError> {
    for (_, seen) in run.seen() {
        let mut last: BTreeMap<(u32, bool), Packet> = BTreeMap::new();
        let ordered = |packet: &Packet| match packet.kind {
            Kind::Data => !packet.has(RETRANSMITTED),
            kind => matches!(kind, Kind::Ack | Kind::Datagram),
        };
        for packet in seen.iter().map(|arrival| arrival.packet).filter(ordered) {
            let ack = packet.kind == Kind::Ack;
            if let Some(before) = last.insert((packet.flow, ack), packet) {
                let fine = before.seq < packet.seq || (ack && before.seq == packet.seq);
                prop_assert!(fine, "{before:?} came before {packet:?}");
            }
        }
    }
    Ok(())
}

fn queues_keep_their_limits(run: &Run, queue: &Queue) -> Result<(), TestCaseError> {
    for (peak, marks) in run.switch_ports() {
        prop_assert!(queue.is_lossless() || peak <= queue.limit, "{peak} B in {queue:?}");
        prop_assert!(queue.marks() || marks == 0, "{marks} marks by {queue:?}");
        if queue.kind == "ecn" {
            prop_assert!(marks == 0 || peak > THRESHOLD, "{marks} marks below {THRESHOLD}: {peak}");
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]
    #[test]
    fn hold_in_random_scenarios(case in case()) {
        let run = Run::of(&case.text(), case.seed);
        let conservation = run.outcome.conservation;
        prop_assert!(conservation.holds(), "{conservation:?}");
        prop_assert_eq!(run.outcome.completed, run.flows, "unfinished flows");
        let unexpected = conservation.dropped[2..].iter().sum::<u64>();
        prop_assert_eq!(unexpected, 0, "{:?}", conservation);
        no_link_exceeds_its_rate(&run)?;
        if case.keeps_order() {
            flows_keep_their_order(&run)?;
        }
        queues_keep_their_limits(&run, &case.queue)?;
        if case.queue.is_lossless() {
            prop_assert_eq!(conservation.dropped, [0; 7]);
        }
    }
}

/// Many at full speed to one, over one switch and over several: nothing is dropped, though what is sent
/// in the first microseconds would overflow any buffer.
#[test]
fn lossless_fabrics_drop_nothing() {
    let fabrics = [
        "kind = \"star\"\nhosts = 17",
        "kind = \"fat-tree\"\nk = 6",
        "kind = \"leaf-spine\"\nleaves = 3\nspines = 2\nhosts-per-leaf = 8\nuplink-rate = \"25Gbps\"",
    ];
    let workloads = [
        "kind = \"incast\"\nsenders = 16\nsplit = false\nblock = \"300KB\"",
        "kind = \"udp\"\nsenders = \"1-16\"\nreceivers = \"0\"\nuntil = \"300us\"",
    ];
    let queues = [
        r#"{ priorities = true, pfc = {} }"#,
        r#"{ priorities = true, limit = "50KB", pfc = { xoff = "10KB", xon = "5KB" } }"#,
        r#"{ priorities = true, shared = { total = "1MB" }, pfc = {} }"#,
    ];
    for (fabric, workload) in fabrics.iter().flat_map(|f| workloads.map(|w| (f, w))) {
        for queue in queues {
            let text = format!(
                "name = \"lossless\"\nend = {{ at = \"1s\" }}\n[fabric]\n{fabric}\n[[workload]]\n{workload}\n\
                 [[scheme]]\nname = \"pfc\"\ntransport = \"newreno\"\nqueue = {queue}\n"
            );
            let run = Run::of(&text, 1);
            let pauses = run.seen().flat_map(|(_, seen)| seen);
            let pauses = pauses.filter(|a| a.packet.kind == Kind::Pause).count();
            assert_eq!(run.outcome.conservation.dropped, [0; 7], "{text}");
            assert!(run.outcome.conservation.holds() && pauses > 0, "{text}");
            assert_eq!(run.outcome.completed, run.flows, "{text}");
        }
    }
}
