//! Ports other than the engine's fast FIFO. They give the same result where both are possible, and do what only a port
//! can do that decides packet by packet.

use crate::ahead::recorded;
use crate::common::{assemble, drain, node, results};
use crate::nodes::{Act, Arrival, Made, Sink, Source, bare};
use proptest::prelude::*;
use slotline_net::aqm::queue_stream;
use slotline_net::aqm::spec::{CodelSpec, EcnSpec, Policy, QueueSpec};
use slotline_net::frame::{CE, ECT, Kind, Packet};
use slotline_net::id::{HostId, NodeId, PortId};
use slotline_net::node::notify::Senders;
use slotline_net::node::switch::{Switch, SwitchConfig, SwitchPort};
use slotline_net::node::{Cx, DropReason, PacketAccount};
use slotline_net::time::Time;
use slotline_net::units::{Bytes, Rate};
use slotline_sim::{Network, Outcome, Place, Queue};
use std::collections::VecDeque;
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
            senders: Senders::default(),
            reserve: None,
        };
        network.places[at] = Place::Node(Box::new(Switch::new(config)));
        pull(network, at);
    }
}

/// Lets the node at `at` decide what each of its ports sends.
fn pull(network: &mut Network, at: usize) {
    network.queues[at].iter_mut().for_each(|queue| queue.pulled = true);
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
    ] {
        let (fast, general) = fast_and_general(&busy(queue, transport));
        assert_eq!(results(&fast), results(&general), "{queue}");
        assert_eq!(fast.conservation, general.conservation, "{queue}");
        assert!(recorded(&fast) == recorded(&general), "{queue}");
        assert!(fast.conservation.dropped.iter().sum::<u64>() > 0, "{queue}: too easy");
        let on_two_threads = drain(assemble(&busy(queue, transport), 1).network, 2);
        assert_eq!(on_two_threads.digest, fast.digest, "{queue}");
        for (ours, theirs) in totals(&fast).iter().zip(totals(&general)) {
            assert_eq!(ours.0, theirs.0, "{queue}");
            assert!(ours.1.abs_diff(theirs.1) <= 1, "{queue}: {ours:?} {theirs:?}");
        }
    }
}

/// One datagram of `len` bytes for host `dst`.
fn datagram(flow: u32, seq: u32, dst: u32, len: u16) -> Packet {
    Packet { dst: HostId(dst), flow, seq, len, kind: Kind::Datagram, ..Packet::default() }
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

/// 400 Gbit/s to the switch, and 10 Gbit/s from it.
const FUNNEL: &str = r#"
    kind = "star"
    hosts = 4
    rate = "400Gbps"
    overrides = [
        { link = "s0-h1", rate = "10Gbps" }, { link = "s0-h2", rate = "10Gbps" } ]"#;
/// The switch of [`FUNNEL`].
const SWITCH: usize = 4;
const DELAY: Time = Time::us(1);

/// Time for a byte at 10 Gbit/s and at 400 Gbit/s.
const SLOW: u64 = 800;
const QUICK: u64 = 20;

/// [`FUNNEL`] with `packets` from host 0.
fn funnel(packets: Vec<(Time, Packet)>) -> Network {
    let mut network = bare(FUNNEL);
    network.places[0] = Made::place(Source::new(packets));
    network
}

/// When packets sent one after another over the fast link reach the switch.
fn at_switch(packets: &[(Time, Packet)]) -> Vec<Time> {
    let mut free = Time::ZERO;
    let arrive = |(at, packet): &(Time, Packet)| {
        free = free.max(*at) + Time::ps(u64::from(packet.len) * QUICK);
        free + DELAY
    };
    packets.iter().map(arrive).collect()
}

fn seen(outcome: &Outcome, host: usize) -> &[Arrival] {
    &node::<Made<Sink>>(outcome, host).0.0
}

/// The arrivals at host 1 of [`FUNNEL`] with `act` in place of the switch, which are the same for any number of
/// threads; and that node in its final state.
fn through<A: Act>(packets: &[(Time, Packet)], act: impl Fn() -> A) -> (Vec<Arrival>, Outcome) {
    let run = |threads| {
        let mut network = funnel(packets.to_vec());
        network.places[SWITCH] = Made::place(act());
        pull(&mut network, SWITCH);
        let outcome = drain(network, threads);
        assert!(outcome.conservation.holds(), "{:?}", outcome.conservation);
        outcome
    };
    let alone = run(1);
    for threads in [2, 3] {
        assert_eq!(seen(&alone, 1), seen(&run(threads), 1), "{threads} threads");
    }
    (seen(&alone, 1).to_vec(), alone)
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

/// `count` full packets of each of `flows` for host 1, all at the same time.
fn bursts(flows: u32, count: u32) -> Vec<(Time, Packet)> {
    let order = (0..count).flat_map(|seq| (0..flows).map(move |flow| (flow, seq)));
    order.map(|(flow, seq)| (Time::ZERO, datagram(flow, seq, 1, 1_500))).collect()
}

/// Many queues at one port, served in turn, each by its weight in packets.
struct Weighted {
    weights: Vec<u32>,
    queues: Vec<VecDeque<Packet>>,
    turn: usize,
    served: u32,
}

impl Weighted {
    fn new(weights: &[u32]) -> Weighted {
        let queues = weights.iter().map(|_| VecDeque::new()).collect();
        Weighted { weights: weights.to_vec(), queues, turn: 0, served: 0 }
    }
}

impl Act for Weighted {
    fn receive(&mut self, _port: PortId, packet: Packet, cx: &mut Cx<'_>) {
        self.queues[packet.flow as usize].push_back(packet);
        cx.kick(PortId(1));
    }
    fn transmit(&mut self, _port: PortId, _cx: &mut Cx<'_>) -> Option<Packet> {
        for _ in 0..=self.queues.len() {
            if self.served < self.weights[self.turn]
                && let Some(packet) = self.queues[self.turn].pop_front()
            {
                self.served += 1;
                return Some(packet);
            }
            (self.turn, self.served) = ((self.turn + 1) % self.queues.len(), 0);
        }
        None
    }
    fn account(&self) -> PacketAccount {
        let held = self.queues.iter().map(|queue| queue.len() as u64).sum();
        PacketAccount { held, ..PacketAccount::default() }
    }
}

#[test]
fn a_port_pulls_from_many_queues() {
    let (arrivals, _) = through(&bursts(3, 600), || Weighted::new(&[1, 2, 5]));
    assert_eq!(arrivals.len(), 1_800);
    let middle = &arrivals[80..880];
    let share = |flow| middle.iter().filter(|a| a.packet.flow == flow).count();
    assert_eq!([share(0), share(1), share(2)], [100, 200, 500]);
    for flow in 0..3 {
        let own = arrivals.iter().filter(|a| a.packet.flow == flow);
        assert!(own.map(|a| a.packet.seq).eq(0..600), "flow {flow} is out of order");
    }
}

#[test]
fn a_pulled_queue_alone_is_a_fifo() {
    let packets = bursts(1, 500);
    let (arrivals, _) = through(&packets, || Weighted::new(&[1]));
    let outcome = drain(funnel(packets), 1);
    assert_eq!(arrivals, seen(&outcome, 1));
}

/// A port that sends only in the first part of every period.
struct Gate {
    waiting: VecDeque<Packet>,
}

impl Gate {
    const PERIOD: Time = Time::us(100);
    const OPEN: Time = Time::us(30);
}

impl Act for Gate {
    fn start(&mut self, cx: &mut Cx<'_>) {
        cx.wake(Gate::PERIOD, 0);
    }
    fn receive(&mut self, _port: PortId, packet: Packet, cx: &mut Cx<'_>) {
        self.waiting.push_back(packet);
        cx.kick(PortId(1));
    }
    fn transmit(&mut self, _port: PortId, cx: &mut Cx<'_>) -> Option<Packet> {
        let open = cx.now.as_ps() % Gate::PERIOD.as_ps() < Gate::OPEN.as_ps();
        if open { self.waiting.pop_front() } else { None }
    }
    fn expire(&mut self, _token: u32, cx: &mut Cx<'_>) {
        cx.kick(PortId(1));
        if !self.waiting.is_empty() {
            cx.wake(cx.now + Gate::PERIOD, 0);
        }
    }
    fn account(&self) -> PacketAccount {
        PacketAccount { held: self.waiting.len() as u64, ..PacketAccount::default() }
    }
}

#[test]
fn a_gate_opens_and_closes_at_given_times() {
    let packets = bursts(1, 200);
    let (arrivals, _) = through(&packets, || Gate { waiting: VecDeque::new() });
    let mut free = Time::ZERO;
    let leave = |at: Time| {
        let start = free.max(at).as_ps();
        let (round, phase) = (start / Gate::PERIOD.as_ps(), start % Gate::PERIOD.as_ps());
        let open =
            if phase < Gate::OPEN.as_ps() { start } else { (round + 1) * Gate::PERIOD.as_ps() };
        free = Time::ps(open + 1_500 * SLOW);
        free + DELAY
    };
    let expected: Vec<Time> = at_switch(&packets).into_iter().map(leave).collect();
    assert!(arrivals.iter().map(|a| a.at).eq(expected), "{arrivals:?}");
    assert!(arrivals.last().is_some_and(|a| a.at > Gate::PERIOD.times(7)));
}

/// A queue whose limit changes at given times.
struct Elastic {
    limits: Vec<(Time, u64)>,
    now: usize,
    bytes: u64,
    waiting: VecDeque<Packet>,
    /// For each limit: most bytes held, packets accepted, packets refused.
    log: Vec<(u64, u64, u64)>,
}

impl Act for Elastic {
    fn start(&mut self, cx: &mut Cx<'_>) {
        (0..).zip(&self.limits).for_each(|(at, (when, _))| cx.wake(*when, at));
        self.log = vec![(0, 0, 0); self.limits.len()];
    }
    fn receive(&mut self, _port: PortId, packet: Packet, cx: &mut Cx<'_>) {
        let log = &mut self.log[self.now];
        if self.bytes + u64::from(packet.len) > self.limits[self.now].1 {
            log.2 += 1;
            return cx.drop(&packet, DropReason::Full);
        }
        self.bytes += u64::from(packet.len);
        *log = (log.0.max(self.bytes), log.1 + 1, log.2);
        self.waiting.push_back(packet);
        cx.kick(PortId(1));
    }
    fn transmit(&mut self, _port: PortId, _cx: &mut Cx<'_>) -> Option<Packet> {
        let packet = self.waiting.pop_front()?;
        self.bytes -= u64::from(packet.len);
        Some(packet)
    }
    fn expire(&mut self, token: u32, _cx: &mut Cx<'_>) {
        self.now = token as usize;
    }
    fn account(&self) -> PacketAccount {
        PacketAccount { held: self.waiting.len() as u64, ..PacketAccount::default() }
    }
}

/// 20 Gbit/s into 10: half is lost while the queue is full. A larger limit accepts all packets until the queue is full.
/// A smaller limit accepts none until the queue has drained to it.
#[test]
fn a_queue_is_resized() {
    let gap = Time::ns(600);
    let sent = 2_000u32;
    let packets: Vec<_> =
        (0..sent).map(|seq| (gap.times(seq.into()), datagram(0, seq, 1, 1_500))).collect();
    let limits = [(0, 30_000), (400, 90_000), (800, 15_000)].map(|(us, b)| (Time::us(us), b));
    let elastic = || Elastic {
        limits: limits.to_vec(),
        now: 0,
        bytes: 0,
        waiting: VecDeque::new(),
        log: Vec::new(),
    };
    let (arrivals, outcome) = through(&packets, elastic);
    let log = &node::<Made<Elastic>>(&outcome, SWITCH).0.log;
    let dropped = outcome.conservation.dropped[DropReason::Full as usize];
    assert_eq!(arrivals.len() as u64 + dropped, u64::from(sent));
    assert_eq!([log[0].0, log[1].0, log[2].0], [30_000, 90_000, 15_000]);
    // In 400 us at 10 Gbit/s 333 packets leave. The queue grows by another 40 packets when it is enlarged.
    let accepted = |at: usize, packets: i64| (log[at].1 as i64 - packets).abs() <= 2;
    assert!(accepted(0, 333 + 20) && accepted(1, 333 + 40) && accepted(2, 333 - 50), "{log:?}");
}

/// A circuit from host 0, alternately to host 1 and host 2.
#[derive(Default)]
struct Circuit {
    waiting: VecDeque<Packet>,
    turns: u32,
}

impl Circuit {
    const TURN: Time = Time::us(50);
}

impl Act for Circuit {
    fn start(&mut self, cx: &mut Cx<'_>) {
        cx.wake(Circuit::TURN, 0);
    }
    fn receive(&mut self, _port: PortId, packet: Packet, cx: &mut Cx<'_>) {
        self.waiting.push_back(packet);
        cx.kick(PortId(1));
    }
    fn transmit(&mut self, _port: PortId, _cx: &mut Cx<'_>) -> Option<Packet> {
        self.waiting.pop_front()
    }
    fn expire(&mut self, _token: u32, cx: &mut Cx<'_>) {
        self.turns += 1;
        cx.rewire(PortId(1), NodeId(1 + self.turns % 2), PortId(0));
        if !self.waiting.is_empty() {
            cx.wake(cx.now + Circuit::TURN, 0);
        }
    }
    fn account(&self) -> PacketAccount {
        PacketAccount { held: self.waiting.len() as u64, ..PacketAccount::default() }
    }
}

#[test]
fn a_link_changes_its_far_end() {
    let (_, outcome) = through(&bursts(1, 1_000), Circuit::default);
    let turn = |arrival: &Arrival| {
        let start = arrival.at - DELAY - Time::ps(1_500 * SLOW);
        start.as_ps() / Circuit::TURN.as_ps()
    };
    let (first, second) = (seen(&outcome, 1), seen(&outcome, 2));
    assert_eq!(first.len() + second.len(), 1_000);
    assert!(first.len() > 400 && first.iter().all(|a| turn(a).is_multiple_of(2)), "{first:?}");
    assert!(second.len() > 400 && second.iter().all(|a| turn(a) % 2 == 1), "{second:?}");
}

/// Sends packets for host 2 to host 3 instead, marked and in another class, through the engine's own FIFO.
struct Rewriter {
    out: PortId,
}

impl Act for Rewriter {
    fn receive(&mut self, _port: PortId, mut packet: Packet, cx: &mut Cx<'_>) {
        if packet.dst == HostId(2) {
            (packet.dst, packet.class) = (HostId(3), 5);
            packet.flags |= CE;
        }
        cx.send(self.out, packet);
    }
    fn account(&self) -> PacketAccount {
        PacketAccount::default()
    }
}

#[test]
fn a_node_rewrites_packets_in_passing() {
    let run = |threads| {
        let mut network =
            bare("kind = 'tree'\nracks = 2\nhosts-per-rack = 2\nrack-uplink = '5Gbps'");
        let packets = (0..300).map(|seq| (Time::ZERO, datagram(0, seq, 2 + seq % 2, 1_500)));
        network.places[0] = Made::place(Source::new(packets.collect()));
        let core = network.graph.node_named("core").expect("a tree has one").at();
        network.places[core] = Made::place(Rewriter { out: PortId(1) });
        drain(network, threads)
    };
    let outcome = run(1);
    let hosts: Vec<usize> = bare("kind = 'tree'\nracks = 2\nhosts-per-rack = 2")
        .graph
        .hosts
        .iter()
        .map(|node| node.at())
        .collect();
    let arrived = seen(&outcome, hosts[3]);
    assert!(outcome.conservation.holds() && seen(&outcome, hosts[2]).is_empty());
    assert_eq!(arrived.len(), 300);
    for Arrival { packet, .. } in arrived {
        let rewritten = packet.seq.is_multiple_of(2);
        assert_eq!((packet.class == 5, packet.has(CE)), (rewritten, rewritten), "{packet:?}");
    }
    for threads in [2, 3] {
        assert_eq!(arrived, seen(&run(threads), hosts[3]));
    }
}
