//! The wall-clock driver: one thread that runs all nodes.

use crate::udp::{Incoming, LARGEST, UdpPort};
use slotline_net::error::SpecError;
use slotline_net::frame::{Kind, Packet};
use slotline_net::id::{NodeId, PortId};
use slotline_net::node::{Cx, DropReason, Effects, Handover, Node, Note, Payloads, Sink};
use slotline_net::time::Time;
use slotline_net::topology::{Graph, Wire};
use slotline_net::units::InverseRate;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::io;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

/// The longest time for which the thread sleeps when nothing is due: the interval of looking at sockets.
const NAP: Duration = Duration::from_micros(50);
/// A busy port sends without pauses until it has caught up with its rate, for at most this much lost time.
const SLACK: Time = Time::ms(5);
/// Datagrams taken from one socket before the next socket.
const BATCH: usize = 64;

/// Why nodes cannot be run.
#[derive(Debug, thiserror::Error)]
pub enum LiveError {
    /// A socket does not work.
    #[error("a socket on the loopback interface failed: {0}")]
    Socket(#[from] io::Error),
    /// The graph is not a valid network.
    #[error(transparent)]
    Graph(#[from] SpecError),
    /// Not one node per node of the graph.
    #[error("{nodes} nodes for a graph of {expected}: every node of the graph needs one")]
    Nodes {
        /// Nodes given.
        nodes: usize,
        /// Nodes in the graph.
        expected: usize,
    },
}

/// How nodes are run.
#[derive(Clone, Copy)]
pub struct Options {
    /// How long they run at most.
    pub span: Duration,
    /// Notes of events before this time are kept.
    pub notes_until: Time,
}

impl Options {
    /// Runs for `span` and keeps no notes.
    pub const fn new(span: Duration) -> Options {
        Options { span, notes_until: Time::ZERO }
    }
}

/// What a run did.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Report {
    /// Packets handed to sockets.
    pub sent: u64,
    /// Packets that arrived.
    pub received: u64,
    /// Packets that found a socket's buffer full.
    pub lost: u64,
    /// Datagrams that were not packets.
    pub malformed: u64,
    /// Packets that nodes dropped, by reason.
    pub dropped: [u64; DropReason::COUNT],
    /// Packets that waited in the FIFOs of ports at the end.
    pub waiting: u64,
    /// Flows completed.
    pub completed: u64,
    /// The longest time by which a wake-up came late: it shows how well this machine keeps up.
    pub latest: Time,
}

/// The result of a run.
pub struct Outcome {
    /// Nodes in their final state.
    pub nodes: Vec<Box<dyn Node>>,
    /// What happened.
    pub report: Report,
    /// What nodes noted, in order of time.
    pub notes: Vec<(Time, Note)>,
    /// What hosts handed over to applications outside of the network, with its time.
    pub handovers: Vec<(Time, Handover)>,
}

struct Port {
    socket: UdpPort,
    /// The socket at the far end of the link.
    far: SocketAddr,
    pace: InverseRate,
    /// What the node put there with [`Cx::send`], and where it goes.
    queue: VecDeque<(Packet, SocketAddr)>,
    /// Whether the node may have something to [`Node::transmit`].
    kicked: bool,
    /// Whether the port has been sending up to `free_at`.
    busy: bool,
    free_at: Time,
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Wake {
    at: Time,
    order: u64,
    node: usize,
    token: u32,
}

/// Everything but the nodes themselves: what their effects act upon.
struct Surroundings {
    ports: Vec<Vec<Port>>,
    wakes: BinaryHeap<Reverse<Wake>>,
    /// How many wake-ups were asked for.
    orders: u64,
    report: Report,
    notes: Vec<(Time, Note)>,
    handovers: Vec<(Time, Handover)>,
}

impl Surroundings {
    /// Takes the next wake-up that is due at `now`.
    fn due(&mut self, now: Time) -> Option<Wake> {
        let due = self.wakes.peek().is_some_and(|Reverse(wake)| wake.at <= now);
        due.then(|| self.wakes.pop()).flatten().map(|Reverse(wake)| wake)
    }
}

/// Where the effects of one call to a node go.
struct Outlet<'a> {
    around: &'a mut Surroundings,
    node: usize,
}

impl Outlet<'_> {
    fn port(&mut self, port: PortId) -> &mut Port {
        &mut self.around.ports[self.node][port.at()]
    }
}

impl Sink for Outlet<'_> {
    /// The time that the processing really takes has passed already.
    fn hold(&mut self, _span: Time) {}
    fn rewire(&mut self, port: PortId, node: NodeId, far: PortId) {
        self.port(port).far = self.around.ports[node.at()][far.at()].socket.address();
    }
    fn send(&mut self, port: PortId, packet: &mut Packet, _payloads: &mut Payloads) {
        let port = self.port(port);
        port.queue.push_back((*packet, port.far));
    }
    fn wake(&mut self, at: Time, token: u32) {
        self.around.orders += 1;
        let wake = Wake { at, order: self.around.orders, node: self.node, token };
        self.around.wakes.push(Reverse(wake));
    }
    fn kick(&mut self, port: PortId) {
        self.port(port).kicked = true;
    }
    fn complete(&mut self, flows: u64) {
        self.around.report.completed += flows;
    }
    fn dropped(&mut self, reason: DropReason) {
        self.around.report.dropped[reason as usize] += 1;
    }
    fn note(&mut self, at: Time, note: Note) {
        self.around.notes.push((at, note));
    }
    fn hand_over(&mut self, at: Time, what: Handover) {
        self.around.handovers.push((at, what));
    }
}

struct Driver {
    nodes: Vec<Box<dyn Node>>,
    effects: Effects,
    around: Surroundings,
    origin: Instant,
    buffer: Vec<u8>,
}

/// Runs `nodes` at the places of `graph` for a span of time, or until `done`. Ports send at the rates of
/// their links, over UDP on the loopback interface; the delay of a link is that of the interface.
pub fn run(
    nodes: Vec<Box<dyn Node>>,
    graph: &Graph,
    options: Options,
    done: impl FnMut(&[Box<dyn Node>]) -> bool,
) -> Result<Outcome, LiveError> {
    let mut driver = Driver::new(nodes, graph)?;
    driver.effects.keep_notes(options.notes_until);
    driver.run(options.span, done)?;
    let Surroundings { ports, mut report, notes, handovers, .. } = driver.around;
    report.waiting = ports.iter().flatten().map(|port| port.queue.len() as u64).sum();
    Ok(Outcome { nodes: driver.nodes, report, notes, handovers })
}

impl Driver {
    fn new(nodes: Vec<Box<dyn Node>>, graph: &Graph) -> Result<Driver, LiveError> {
        graph.validate()?;
        if nodes.len() != graph.nodes.len() {
            return Err(LiveError::Nodes { nodes: nodes.len(), expected: graph.nodes.len() });
        }
        let around = Surroundings {
            ports: ports(graph)?,
            wakes: BinaryHeap::new(),
            orders: 0,
            report: Report::default(),
            notes: Vec::new(),
            handovers: Vec::new(),
        };
        let (effects, origin) = (Effects::default(), Instant::now());
        Ok(Driver { nodes, effects, around, origin, buffer: vec![0; LARGEST] })
    }
    fn now(&self) -> Time {
        Time::ns(self.origin.elapsed().as_nanos() as u64)
    }
    fn run(
        &mut self,
        span: Duration,
        mut done: impl FnMut(&[Box<dyn Node>]) -> bool,
    ) -> io::Result<()> {
        for node in 0..self.nodes.len() {
            self.call(node, |node, cx| node.start(cx));
        }
        while self.origin.elapsed() < span && !done(&self.nodes) {
            let woken = self.expire();
            let received = self.receive()?;
            let sent = self.transmit()?;
            if !(woken || received || sent) {
                std::thread::sleep(self.nap());
            }
        }
        Ok(())
    }
    /// How long to sleep: until the next wake-up, but at most [`NAP`].
    fn nap(&self) -> Duration {
        let due = self.around.wakes.peek().map_or(Time::MAX, |Reverse(wake)| wake.at);
        NAP.min(Duration::from_nanos(due.since(self.now()).as_ns()))
    }

    /// Calls a node and carries out what it asks for.
    fn call<T>(&mut self, node: usize, call: impl FnOnce(&mut dyn Node, &mut Cx<'_>) -> T) -> T {
        let mut cx = Cx::new(self.now(), &mut self.effects);
        let result = call(self.nodes[node].as_mut(), &mut cx);
        self.effects.drain(&mut Outlet { around: &mut self.around, node });
        result
    }

    /// Calls nodes whose wake-ups are due. Whether there were any.
    fn expire(&mut self) -> bool {
        let (now, mut any) = (self.now(), false);
        while let Some(Wake { at, node, token, .. }) = self.around.due(now) {
            let latest = &mut self.around.report.latest;
            *latest = now.since(at).max(*latest);
            self.call(node, |node, cx| node.expire(token, cx));
            any = true;
        }
        any
    }
    /// Hands packets that have arrived to their nodes. Whether there were any.
    fn receive(&mut self) -> io::Result<bool> {
        let mut any = false;
        for node in 0..self.nodes.len() {
            for port in 0..self.around.ports[node].len() {
                for _ in 0..BATCH {
                    if !self.take(node, port)? {
                        break;
                    }
                    any = true;
                }
            }
        }
        Ok(any)
    }
    /// Takes one datagram from a socket, if there is one.
    fn take(&mut self, node: usize, port: usize) -> io::Result<bool> {
        match self.around.ports[node][port].socket.receive(&mut self.buffer)? {
            Incoming::Nothing => return Ok(false),
            Incoming::Malformed => self.around.report.malformed += 1,
            Incoming::Packet(mut packet, payload) => {
                self.around.report.received += 1;
                if packet.kind == Kind::Control {
                    packet.seq = self.effects.payloads().keep(payload.into());
                }
                self.call(node, |node, cx| node.receive(PortId(port as u16), packet, cx));
            }
        }
        Ok(true)
    }
    /// Sends from ports that are free and have something to send. Whether there were any.
    fn transmit(&mut self) -> io::Result<bool> {
        let mut any = false;
        for node in 0..self.nodes.len() {
            for port in 0..self.around.ports[node].len() {
                while self.around.ports[node][port].free_at <= self.now()
                    && self.serve(node, port)?
                {
                    any = true;
                }
            }
        }
        Ok(any)
    }
    /// Sends the next packet of a free port, if there is one.
    fn serve(&mut self, node: usize, port: usize) -> io::Result<bool> {
        let Some((packet, far)) = self.next(node, port) else {
            self.around.ports[node][port].busy = false;
            return Ok(false);
        };
        let now = self.now();
        let Port { socket, pace, busy, free_at, .. } = &mut self.around.ports[node][port];
        let begin = if *busy { (*free_at).max(now.since(SLACK)) } else { now };
        (*busy, *free_at) = (true, begin + pace.time_for(packet.len.into()));
        let control = packet.kind == Kind::Control;
        let payload =
            if control { self.effects.payloads().release(packet.seq) } else { Box::default() };
        let sent = socket.send(&packet, &payload, far)?;
        self.around.report.sent += u64::from(sent);
        self.around.report.lost += u64::from(!sent);
        Ok(true)
    }
    /// The next packet of a port, and where it goes.
    fn next(&mut self, node: usize, at: usize) -> Option<(Packet, SocketAddr)> {
        let port = &mut self.around.ports[node][at];
        if let Some(next) = port.queue.pop_front() {
            return Some(next);
        }
        if !std::mem::take(&mut port.kicked) {
            return None;
        }
        let packet = self.call(node, |node, cx| node.transmit(PortId(at as u16), cx));
        let port = &mut self.around.ports[node][at];
        port.kicked |= packet.is_some();
        packet.map(|packet| (packet, port.far))
    }
}

/// A socket for every port, each sending to the one at the far end of its link.
fn ports(graph: &Graph) -> io::Result<Vec<Vec<Port>>> {
    let wiring = graph.wiring();
    let wires = |node: usize| wiring.of(NodeId(node as u32));
    let mut ports = Vec::new();
    for node in 0..graph.nodes.len() {
        ports.push(wires(node).iter().map(port).collect::<io::Result<Vec<Port>>>()?);
    }
    for node in 0..ports.len() {
        for (port, wire) in wires(node).iter().enumerate() {
            ports[node][port].far = ports[wire.far.node.at()][wire.far.port.at()].socket.address();
        }
    }
    Ok(ports)
}

/// A port that sends to itself.
fn port(wire: &Wire) -> io::Result<Port> {
    let socket = UdpPort::bind()?;
    Ok(Port {
        far: socket.address(),
        socket,
        pace: wire.lane.rate.inverse_rate(),
        queue: VecDeque::new(),
        kicked: false,
        busy: false,
        free_at: Time::ZERO,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use slotline_net::id::HostId;
    use slotline_net::node::PacketAccount;
    use slotline_net::topology::{StarSpec, TopologySpec};
    use slotline_net::units::Rate;

    const EACH: u32 = 5;

    /// Sends five packets by FIFO, five from a pulled port and five by a rewired port; counts what it receives.
    #[derive(Default)]
    struct Probe {
        sends: bool,
        asked: u32,
        received: u32,
        woken: Option<Time>,
    }

    impl Node for Probe {
        fn start(&mut self, cx: &mut Cx<'_>) {
            if self.sends {
                for _ in 0..EACH {
                    let packet = cx.attach((HostId(0), HostId(1)), vec![7; 20], 38, 7);
                    cx.send(PortId(0), packet);
                }
                cx.kick(PortId(0));
                cx.wake(Time::ms(20), 3);
            }
        }
        fn receive(&mut self, _port: PortId, packet: Packet, cx: &mut Cx<'_>) {
            if packet.kind == Kind::Control {
                assert_eq!(cx.detach(&packet)[..], [7; 20]);
            }
            self.received += 1;
        }
        fn transmit(&mut self, _port: PortId, _cx: &mut Cx<'_>) -> Option<Packet> {
            self.asked += 1;
            (self.asked <= EACH).then_some(Packet { len: 1_250, ..Packet::default() })
        }
        fn expire(&mut self, token: u32, cx: &mut Cx<'_>) {
            assert_eq!(token, 3);
            // A busy machine may be late with what was asked for.
            if self.asked <= EACH {
                return cx.wake(cx.now + Time::ms(1), 3);
            }
            self.woken = Some(cx.now);
            // Straight to the second host, past the switch.
            cx.rewire(PortId(0), NodeId(1), PortId(0));
            for _ in 0..EACH {
                cx.send(PortId(0), Packet { len: 1_250, ..Packet::default() });
            }
        }
        fn account(&self) -> PacketAccount {
            PacketAccount::default()
        }
    }

    fn probe(node: &dyn Node) -> &Probe {
        node.downcast_ref().expect("a probe")
    }

    #[test]
    fn effects_are_carried_out() {
        // 1250 bytes at 10 Mbit/s: a millisecond.
        let star = StarSpec { rate: Rate(10_000_000), ..StarSpec::new(2) };
        let graph = TopologySpec::Star(star).build().unwrap();
        let nodes =
            (0..3).map(|n| Box::new(Probe { sends: n == 0, ..Probe::default() }) as Box<dyn Node>);
        let begin = Instant::now();
        let all = |nodes: &[Box<dyn Node>]| probe(&*nodes[1]).received == EACH;
        let outcome =
            run(nodes.collect(), &graph, Options::new(Duration::from_secs(5)), all).unwrap();
        assert!(begin.elapsed() >= Duration::from_millis(20 + u64::from(EACH) - 1), "paced");
        let [a, b, switch] = [0, 1, 2].map(|at| probe(&*outcome.nodes[at]));
        assert!(a.woken.is_some_and(|at| at >= Time::ms(20)));
        assert_eq!((b.received, switch.received), (EACH, 2 * EACH));
        let report = outcome.report;
        assert_eq!((report.sent, report.received, report.lost), (15, 15, 0));
    }

    #[test]
    fn every_node_is_needed() {
        let graph = TopologySpec::Star(StarSpec::new(2)).build().unwrap();
        let error = run(Vec::new(), &graph, Options::new(Duration::ZERO), |_| true).err().unwrap();
        assert_eq!(
            error.to_string(),
            "0 nodes for a graph of 3: every node of the graph needs one"
        );
    }
}
