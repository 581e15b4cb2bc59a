//! The contract between nodes and drivers: the same nodes under every driver. A late driver is not a failure, because
//! the machine may be busy; an early driver is a failure.

use slotline_live::seat::Seat;
use slotline_net::frame::{Kind, Packet};
use slotline_net::id::{HostId, NodeId, PortId};
use slotline_net::node::notify::Senders;
use slotline_net::node::{Cx, DropReason, Node, Note, PacketAccount};
use slotline_net::route::{Routes, RoutingSpec};
use slotline_net::time::Time;
use slotline_net::topology::{Down, Graph, StarSpec, TopologySpec};
use slotline_net::units::Rate;
use slotline_sim::{Follow, Place, Queue, Watch};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

/// Nodes of a star: three hosts, and a switch whose port `n` is connected to host `n`.
const SENDER: usize = 0;
const NEAR: usize = 1;
const OTHER: usize = 2;
const SWITCH: usize = 3;
const RATE: Rate = Rate(10_000_000);
/// A packet takes a millisecond.
const LENGTH: u16 = 1_250;
const EACH: Time = Time::ms(1);
/// Packets of this class stay in the switch.
const HELD: u8 = 3;
const NOTES_UNTIL: Time = Time::ms(4);
const LONG: Time = Time::s(10);

/// A request of a sender to its driver.
#[derive(Clone)]
enum Ask {
    Send(Packet),
    Message(HostId, Vec<u8>),
    Drop(DropReason),
    Rewire(usize),
    Note(Note),
    Complete,
}

/// Makes given requests at given times.
#[derive(Default)]
struct Sender {
    script: Vec<(Time, Vec<Ask>)>,
    /// For each step of the script, the times at which the node was woken for it.
    woken: Vec<Vec<Time>>,
    created: u64,
}

impl Sender {
    fn of(script: Vec<(Time, Vec<Ask>)>) -> Sender {
        Sender { woken: vec![Vec::new(); script.len()], script, created: 0 }
    }
    fn send(&mut self, packet: Packet, cx: &mut Cx<'_>) {
        self.created += 1;
        cx.send(PortId(0), packet);
    }
}

impl Node for Sender {
    fn start(&mut self, cx: &mut Cx<'_>) {
        (0..).zip(&self.script).for_each(|(token, (at, _))| cx.wake(*at, token));
    }
    fn receive(&mut self, _port: PortId, _packet: Packet, _cx: &mut Cx<'_>) {
        panic!("nobody sends to the sender");
    }
    fn transmit(&mut self, _port: PortId, _cx: &mut Cx<'_>) -> Option<Packet> {
        None
    }
    fn expire(&mut self, token: u32, cx: &mut Cx<'_>) {
        self.woken[token as usize].push(cx.now);
        for ask in self.script[token as usize].1.clone() {
            match ask {
                Ask::Send(packet) => self.send(packet, cx),
                Ask::Message(dst, bytes) => {
                    let message = cx.attach((HostId(0), dst), bytes, 38, 7);
                    self.send(message, cx);
                }
                Ask::Drop(reason) => {
                    self.created += 1;
                    cx.drop(&Packet::default(), reason);
                }
                Ask::Rewire(node) => cx.rewire(PortId(0), NodeId(node as u32), PortId(0)),
                Ask::Note(note) => cx.note(note),
                Ask::Complete => cx.complete(0),
            }
        }
    }
    fn account(&self) -> PacketAccount {
        PacketAccount { created: self.created, ..PacketAccount::default() }
    }
}

/// Forwards packets by pulled ports; packets without a port for their destination are dropped.
#[derive(Default)]
struct Forwarder {
    ports: [VecDeque<Packet>; 3],
    held: u64,
    /// The times at which packets arrived.
    arrived: Vec<Time>,
    /// For each port, the times at which packets began to leave.
    left: [Vec<Time>; 3],
}

impl Node for Forwarder {
    fn start(&mut self, _cx: &mut Cx<'_>) {}
    fn receive(&mut self, _port: PortId, packet: Packet, cx: &mut Cx<'_>) {
        self.arrived.push(cx.now);
        if packet.class == HELD {
            self.held += 1;
            return;
        }
        match self.ports.get_mut(packet.dst.at()) {
            None => cx.drop(&packet, DropReason::NoRoute),
            Some(port) => {
                port.push_back(packet);
                cx.kick(PortId(packet.dst.0 as u16));
            }
        }
    }
    fn transmit(&mut self, port: PortId, cx: &mut Cx<'_>) -> Option<Packet> {
        let packet = self.ports[port.at()].pop_front()?;
        self.left[port.at()].push(cx.now);
        Some(packet)
    }
    fn expire(&mut self, _token: u32, _cx: &mut Cx<'_>) {}
    fn account(&self) -> PacketAccount {
        let waiting: usize = self.ports.iter().map(VecDeque::len).sum();
        PacketAccount { held: self.held + waiting as u64, ..PacketAccount::default() }
    }
}

/// Stores the time and the number of each packet that it receives.
#[derive(Default)]
struct Receiver {
    packets: Vec<(Time, u32)>,
    messages: Vec<Box<[u8]>>,
}

impl Receiver {
    fn numbers(&self) -> Vec<u32> {
        self.packets.iter().map(|(_, number)| *number).collect()
    }
}

impl Node for Receiver {
    fn start(&mut self, _cx: &mut Cx<'_>) {}
    fn receive(&mut self, _port: PortId, packet: Packet, cx: &mut Cx<'_>) {
        match packet.kind {
            Kind::Control => self.messages.push(cx.detach(&packet)),
            _ => self.packets.push((cx.now, packet.seq)),
        }
    }
    fn transmit(&mut self, _port: PortId, _cx: &mut Cx<'_>) -> Option<Packet> {
        None
    }
    fn expire(&mut self, _token: u32, _cx: &mut Cx<'_>) {}
    fn account(&self) -> PacketAccount {
        let consumed = self.packets.len() + self.messages.len();
        PacketAccount { consumed: consumed as u64, ..PacketAccount::default() }
    }
}

/// The result of a run under any driver.
struct Ran {
    driver: &'static str,
    nodes: Vec<Box<dyn Node>>,
    dropped: [u64; DropReason::COUNT],
    completed: u64,
    in_flight: u64,
    notes: Vec<(Time, Note)>,
}

impl Ran {
    fn node<N: Node>(&self, at: usize) -> &N {
        self.nodes[at].downcast_ref().expect("the node that the test put there")
    }
    fn sum(&self, part: fn(PacketAccount) -> u64) -> u64 {
        self.nodes.iter().map(|node| part(node.account())).sum()
    }
    /// The number of packets created, and the number of packets accounted for.
    fn balance(&self) -> (u64, u64) {
        let dropped: u64 = self.dropped.iter().sum();
        let found = self.sum(|account| account.consumed) + self.sum(|account| account.held);
        (self.sum(|account| account.created), found + dropped + self.in_flight)
    }
}

/// Runs nodes until `end`; a driver without a clock of its own may stop as soon as it is `done`.
type Driver = fn(Vec<Box<dyn Node>>, &Graph, Time, fn(&[Seat]) -> bool) -> Ran;

const DRIVERS: [Driver; 2] = [in_simulated_time, by_the_wall_clock];

fn in_simulated_time(
    nodes: Vec<Box<dyn Node>>,
    graph: &Graph,
    end: Time,
    _done: fn(&[Seat]) -> bool,
) -> Ran {
    let queues = |(node, ports): (usize, u16)| {
        vec![Queue { pulled: node == SWITCH, ..Queue::default() }; ports.into()]
    };
    let network = slotline_sim::Network {
        routes: Arc::new(Routes::build(graph, RoutingSpec::Shortest, &Down::default(), 1)),
        queues: graph.ports().into_iter().enumerate().map(queues).collect(),
        buffers: std::collections::BTreeMap::new(),
        places: nodes.into_iter().map(Place::Node).collect(),
        graph: graph.clone(),
        senders: Senders::default(),
        timeline: Vec::new(),
        sampled: Vec::new(),
        interval: Time::ZERO,
        follow: Follow { notes_until: NOTES_UNTIL, ..Follow::default() },
    };
    let options = slotline_sim::Options { threads: 2, end, completions: u64::MAX };
    let outcome = slotline_sim::run(network, options, &Watch::default());
    let node = |place| match place {
        Place::Node(node) => node,
        Place::Switch | Place::Host(_) => panic!("the test put nodes everywhere"),
    };
    let packets = outcome.conservation;
    let nodes: Vec<_> = outcome.places.into_iter().map(node).collect();
    let held: u64 = nodes.iter().map(|node| node.account().held).sum();
    Ran {
        driver: "simulated time",
        nodes,
        dropped: packets.dropped,
        completed: outcome.completed,
        // This driver counts what nodes hold as in flight.
        in_flight: packets.in_flight - held,
        notes: outcome.notes,
    }
}

fn by_the_wall_clock(
    nodes: Vec<Box<dyn Node>>,
    graph: &Graph,
    end: Time,
    done: fn(&[Seat]) -> bool,
) -> Ran {
    let options = slotline_live::Options {
        span: Duration::from_nanos(end.as_ns()),
        notes_until: NOTES_UNTIL,
    };
    let outcome = slotline_live::run(nodes, graph, options, done).expect("sockets work");
    let report = outcome.report;
    assert_eq!((report.malformed, report.lost), (0, 0));
    Ran {
        driver: "the wall clock",
        nodes: outcome.nodes,
        dropped: report.dropped,
        completed: report.completed,
        in_flight: report.waiting + report.sent - report.received,
        notes: outcome.notes,
    }
}

fn data(dst: usize, number: u32) -> Ask {
    let dst = HostId(dst as u32);
    Ask::Send(Packet { dst, seq: number, len: LENGTH, ..Packet::default() })
}

fn note(dst: u32) -> Note {
    Note::Withdrawn { host: HostId(0), dst: HostId(dst) }
}

/// Runs a sender with this script in the star.
fn run(driver: Driver, script: Vec<(Time, Vec<Ask>)>, end: Time, done: fn(&[Seat]) -> bool) -> Ran {
    let star = StarSpec { rate: RATE, ..StarSpec::new(3) };
    let graph = TopologySpec::Star(star).build().expect("a star");
    let nodes: Vec<Box<dyn Node>> = vec![
        Box::new(Sender::of(script)),
        Box::<Receiver>::default(),
        Box::<Receiver>::default(),
        Box::<Forwarder>::default(),
    ];
    driver(nodes, &graph, end, done)
}

/// Packets to both hosts, two that the switch drops, two that it holds, and one of everything else.
fn busy() -> Vec<(Time, Vec<Ask>)> {
    let unknown = Ask::Send(Packet { dst: HostId(9), len: LENGTH, ..Packet::default() });
    let held = Ask::Send(Packet { class: HELD, len: LENGTH, ..Packet::default() });
    let message = Ask::Message(HostId(OTHER as u32), vec![1, 2, 3]);
    let last = Ask::Message(HostId(NEAR as u32), vec![9]);
    vec![
        (Time::ZERO, (0..6).map(|number| data(NEAR + number % 2, number as u32)).collect()),
        (Time::ms(6), vec![held.clone(), unknown.clone(), Ask::Complete, Ask::Note(note(2))]),
        (Time::ms(2), vec![message, held, unknown, Ask::Drop(DropReason::Early), Ask::Complete]),
        (Time::ms(1), vec![Ask::Note(note(1))]),
        (Time::ms(9), vec![last]),
    ]
}

/// Everything of [`busy`] has arrived.
fn all_arrived(seats: &[Seat]) -> bool {
    let forwarder = seats[SWITCH].node().downcast_ref::<Forwarder>();
    let near = seats[NEAR].node().downcast_ref::<Receiver>();
    let messages = near.map_or(0, |near| near.messages.len());
    messages == 1
        && forwarder.is_some_and(|f| f.arrived.len() == 12)
        && seats[1..=OTHER].iter().map(|seat| seat.node().account().consumed).sum::<u64>() == 8
}

fn finished() -> [Ran; 2] {
    DRIVERS.map(|driver| run(driver, busy(), LONG, all_arrived))
}

#[test]
fn all_packets_are_accounted_for() {
    for ran in finished() {
        assert_eq!(ran.balance(), (13, 13), "{}", ran.driver);
        assert_eq!((ran.sum(|a| a.held), ran.in_flight), (2, 0), "{}", ran.driver);
    }
}

#[test]
fn packets_are_accounted_for_in_the_middle_of_a_run() {
    for driver in DRIVERS {
        let ran = run(driver, busy(), Time::us(3_500), |_| false);
        let (created, found) = ran.balance();
        assert_eq!(created, found, "{}", ran.driver);
    }
}

#[test]
fn ports_keep_the_order_of_packets() {
    for ran in finished() {
        assert_eq!(ran.node::<Receiver>(NEAR).numbers(), [0, 2, 4], "{}", ran.driver);
        assert_eq!(ran.node::<Receiver>(OTHER).numbers(), [1, 3, 5], "{}", ran.driver);
    }
}

#[test]
fn control_messages_keep_their_bytes() {
    for ran in finished() {
        assert_eq!(*ran.node::<Receiver>(OTHER).messages[0], [1, 2, 3], "{}", ran.driver);
        assert_eq!(*ran.node::<Receiver>(NEAR).messages[0], [9], "{}", ran.driver);
    }
}

/// A packet is never earlier than the rate of the port allows after `begin`.
fn assert_paced(times: &[Time], begin: Time, driver: &str) {
    for (before, time) in (0..).zip(times) {
        assert!(*time >= begin + EACH.times(before), "{driver}: packet {before} at {time:?}");
    }
}

#[test]
fn ports_send_at_their_rate() {
    let script = || vec![(Time::ZERO, (0..8).map(|number| data(NEAR, number)).collect())];
    let all = |seats: &[Seat]| seats[NEAR].node().account().consumed == 8;
    for driver in DRIVERS {
        let ran = run(driver, script(), LONG, all);
        let forwarder = ran.node::<Forwarder>(SWITCH);
        assert_eq!(forwarder.arrived.len(), 8);
        assert_paced(&forwarder.arrived, ran.node::<Sender>(SENDER).woken[0][0], ran.driver);
        let left = &forwarder.left[NEAR];
        assert_paced(left, left[0], ran.driver);
    }
}

#[test]
fn wake_ups_come_once_and_never_early() {
    for ran in finished() {
        for ((at, _), woken) in busy().iter().zip(&ran.node::<Sender>(SENDER).woken) {
            assert_eq!(woken.len(), 1, "{}", ran.driver);
            assert!(woken[0] >= *at, "{}: {at:?}, woken at {:?}", ran.driver, woken[0]);
        }
    }
}

#[test]
fn drops_are_counted_by_reason() {
    let mut expected = [0; DropReason::COUNT];
    expected[DropReason::NoRoute as usize] = 2;
    expected[DropReason::Early as usize] = 1;
    for ran in finished() {
        assert_eq!(ran.dropped, expected, "{}", ran.driver);
    }
}

/// The first note is at 1 ms, unless the machine was late. The second is after the time up to which notes are kept.
#[test]
fn notes_are_recorded_as_long_as_requested() {
    for ran in finished() {
        let at = ran.node::<Sender>(SENDER).woken[3][0];
        let expected = if at < NOTES_UNTIL { vec![(at, note(1))] } else { vec![] };
        assert_eq!(ran.notes, expected, "{}", ran.driver);
    }
}

#[test]
fn completions_are_counted() {
    for ran in finished() {
        assert_eq!(ran.completed, 2, "{}", ran.driver);
    }
}

/// Packets that wait in the port go to the old end, and packets sent later go to the new one. Of two rewirings the
/// later one counts.
#[test]
fn a_rewired_port_sends_to_its_new_end() {
    let script = || {
        let first = (0..3).map(|number| data(NEAR, number)).collect();
        let rewired = vec![Ask::Rewire(NEAR), Ask::Rewire(OTHER), data(NEAR, 3), data(NEAR, 4)];
        vec![(Time::ZERO, first), (Time::us(500), rewired), (Time::ms(20), vec![data(NEAR, 5)])]
    };
    let all = |seats: &[Seat]| {
        seats[NEAR].node().account().consumed == 3 && seats[OTHER].node().account().consumed == 3
    };
    for driver in DRIVERS {
        let ran = run(driver, script(), LONG, all);
        assert_eq!(ran.node::<Receiver>(NEAR).numbers(), [0, 1, 2], "{}", ran.driver);
        assert_eq!(ran.node::<Receiver>(OTHER).numbers(), [3, 4, 5], "{}", ran.driver);
        assert_eq!(ran.balance(), (6, 6), "{}", ran.driver);
    }
}
