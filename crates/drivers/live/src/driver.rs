//! The wall-clock driver: one thread that runs all nodes.

use crate::seat::{Io, Seat, SeatReport};
use crate::udp::{Incoming, LARGEST, UdpPort};
use slotline_net::error::SpecError;
use slotline_net::frame::Packet;
use slotline_net::id::{NodeId, PortId};
use slotline_net::node::{DropReason, Handover, Node, Note};
use slotline_net::time::Time;
use slotline_net::topology::{End, Graph};
use std::io;
use std::time::{Duration, Instant};

/// The longest sleep when nothing is due, which is the interval at which sockets are checked.
const NAP: Duration = Duration::from_micros(50);
/// Datagrams taken from one socket before the next socket.
const BATCH: usize = 64;

/// The reason why nodes cannot be run.
#[derive(Debug, thiserror::Error)]
pub enum LiveError {
    /// A socket does not work.
    #[error("a socket on the loopback interface failed: {0}")]
    Socket(#[from] io::Error),
    /// The graph is not a valid network.
    #[error(transparent)]
    Graph(#[from] SpecError),
    /// The number of nodes is not that of the graph.
    #[error("{nodes} nodes for a graph of {expected}: every node of the graph needs one")]
    Nodes {
        /// Nodes given.
        nodes: usize,
        /// Nodes in the graph.
        expected: usize,
    },
}

/// Options of a run.
#[derive(Clone, Copy)]
pub struct Options {
    /// The longest duration of the run.
    pub span: Duration,
    /// Notes of events before this time are kept.
    pub notes_until: Time,
}

impl Options {
    /// A run for `span` without notes.
    pub const fn new(span: Duration) -> Options {
        Options { span, notes_until: Time::ZERO }
    }
}

/// Counters of a run.
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
    /// The notes of nodes, in order of time.
    pub notes: Vec<(Time, Note)>,
    /// Packets that hosts handed to applications outside the network, each with its time.
    pub handovers: Vec<(Time, Handover)>,
}

/// The sockets of all ports, by node.
struct Sockets(Vec<Vec<UdpPort>>);

impl Sockets {
    fn open(graph: &Graph) -> io::Result<Sockets> {
        let wiring = graph.wiring();
        let of = |node: u32| wiring.of(NodeId(node)).iter().map(|_| UdpPort::bind()).collect();
        (0..graph.nodes.len() as u32).map(of).collect::<io::Result<_>>().map(Sockets)
    }
}

/// The ports of one node.
struct Place<'a> {
    sockets: &'a Sockets,
    node: usize,
}

impl Io for Place<'_> {
    /// Any socket of the node can send, because the socket at which a packet arrives identifies the receiver.
    fn send(&mut self, far: End, packet: &Packet, payload: &[u8]) -> io::Result<bool> {
        let Sockets(sockets) = self.sockets;
        let to = sockets[far.node.at()][far.port.at()].address();
        sockets[self.node][0].send(packet, payload, to)
    }
}

/// Runs `nodes` at the places of `graph` for a span of time, or until `done`. Ports send at the rates of their links,
/// over UDP on the loopback interface. The delay of a link is the delay of that interface.
pub fn run(
    nodes: Vec<Box<dyn Node>>,
    graph: &Graph,
    options: Options,
    done: impl FnMut(&[Seat]) -> bool,
) -> Result<Outcome, LiveError> {
    let mut driver = Driver::new(nodes, graph, options.notes_until)?;
    driver.run(options.span, done)?;
    Ok(driver.outcome())
}

struct Driver {
    seats: Vec<Seat>,
    sockets: Sockets,
    origin: Instant,
    received: u64,
    malformed: u64,
    notes: Vec<(Time, Note)>,
    handovers: Vec<(Time, Handover)>,
    buffer: Vec<u8>,
}

impl Driver {
    fn new(
        nodes: Vec<Box<dyn Node>>,
        graph: &Graph,
        notes_until: Time,
    ) -> Result<Driver, LiveError> {
        graph.validate()?;
        if nodes.len() != graph.nodes.len() {
            return Err(LiveError::Nodes { nodes: nodes.len(), expected: graph.nodes.len() });
        }
        let wiring = graph.wiring();
        let seat = |(at, node)| Seat::new(node, wiring.of(NodeId(at)), notes_until);
        Ok(Driver {
            seats: (0..).zip(nodes).map(seat).collect(),
            sockets: Sockets::open(graph)?,
            origin: Instant::now(),
            received: 0,
            malformed: 0,
            notes: Vec::new(),
            handovers: Vec::new(),
            buffer: vec![0; LARGEST],
        })
    }
    fn now(&self) -> Time {
        Time::ns(self.origin.elapsed().as_nanos() as u64)
    }
    fn run(&mut self, span: Duration, mut done: impl FnMut(&[Seat]) -> bool) -> io::Result<()> {
        let now = self.now();
        self.seats.iter_mut().for_each(|seat| seat.start(now));
        while self.origin.elapsed() < span && !done(&self.seats) {
            let (received, next) = self.round()?;
            let nap = NAP.min(Duration::from_nanos(next.since(self.now()).as_ns()));
            if !received && !nap.is_zero() {
                std::thread::sleep(nap);
            }
        }
        Ok(())
    }
    /// Runs all nodes once. Returns whether anything arrived, and the time of the next event.
    fn round(&mut self) -> io::Result<(bool, Time)> {
        let (mut any, mut next) = (false, Time::MAX);
        for at in 0..self.seats.len() {
            any |= self.receive(at)?;
            let (now, place) = (self.now(), &mut Place { sockets: &self.sockets, node: at });
            next = next.min(self.seats[at].step(now, place)?);
            self.notes.extend(self.seats[at].notes());
            self.handovers.extend(self.seats[at].handovers());
        }
        Ok((any, next))
    }
    /// Delivers packets that have arrived to a node. Returns whether there were any.
    fn receive(&mut self, node: usize) -> io::Result<bool> {
        let mut any = false;
        for port in 0..self.sockets.0[node].len() {
            for _ in 0..BATCH {
                if !self.take(node, port)? {
                    break;
                }
                any = true;
            }
        }
        Ok(any)
    }
    /// Reads one datagram from a socket, if there is one.
    fn take(&mut self, node: usize, port: usize) -> io::Result<bool> {
        let now = self.now();
        match self.sockets.0[node][port].receive(&mut self.buffer)? {
            Incoming::Nothing => return Ok(false),
            Incoming::Malformed => self.malformed += 1,
            Incoming::Packet(packet, payload) => {
                self.received += 1;
                self.seats[node].receive(PortId(port as u16), packet, payload, now);
            }
        }
        Ok(true)
    }
    fn outcome(self) -> Outcome {
        let (received, malformed) = (self.received, self.malformed);
        let mut report = Report { received, malformed, ..Report::default() };
        self.seats.iter().for_each(|seat| report.add(&seat.report(), seat.waiting()));
        let nodes = self.seats.into_iter().map(Seat::into_node).collect();
        Outcome { nodes, report, notes: self.notes, handovers: self.handovers }
    }
}

impl Report {
    fn add(&mut self, seat: &SeatReport, waiting: u64) {
        self.sent += seat.sent;
        self.lost += seat.lost;
        self.completed += seat.completed;
        self.waiting += waiting;
        self.latest = self.latest.max(seat.latest);
        self.dropped.iter_mut().zip(seat.dropped).for_each(|(all, one)| *all += one);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use slotline_net::frame::Kind;
    use slotline_net::id::HostId;
    use slotline_net::node::{Cx, PacketAccount};
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
            // A busy machine may deliver a requested wake-up late.
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
        let all = |seats: &[Seat]| probe(seats[1].node()).received == EACH;
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
