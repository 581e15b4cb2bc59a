//! The event loop: one thread that runs all nodes by the wall clock.

use crate::udp::{Incoming, LARGEST, UdpPort};
use slotline_net::error::SpecError;
use slotline_net::frame::{Kind, Packet};
use slotline_net::id::{NodeId, PortId};
use slotline_net::node::{Cx, Effects, Node};
use slotline_net::time::Time;
use slotline_net::topology::{Graph, Wire};
use slotline_net::units::InverseRate;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::io;
use std::time::{Duration, Instant};

/// The longest sleep of the thread if nothing is due. It polls the sockets after each sleep.
const NAP: Duration = Duration::from_micros(50);
/// The longest delay for which a busy port catches up after the thread was late.
const SLACK: Time = Time::ms(5);
/// The largest number of datagrams to receive from a socket before the next socket.
const BATCH: usize = 64;

/// The reason why nodes cannot be run.
#[derive(Debug, thiserror::Error)]
pub enum LiveError {
    /// An operation on a socket failed.
    #[error("a socket on the loopback interface failed: {0}")]
    Socket(#[from] io::Error),
    /// The graph is not a valid network.
    #[error(transparent)]
    Graph(#[from] SpecError),
    /// The number of nodes differs from that of the graph.
    #[error("{nodes} nodes for a graph of {expected}: every node of the graph needs one")]
    Nodes {
        /// The number of nodes.
        nodes: usize,
        /// The number of nodes in the graph.
        expected: usize,
    },
}

/// The counts of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Report {
    /// Packets sent.
    pub sent: u64,
    /// Packets received.
    pub received: u64,
    /// Packets lost because the buffer of a socket was full.
    pub lost: u64,
    /// Received datagrams that are not packets.
    pub malformed: u64,
    /// Flows completed.
    pub completed: u64,
    /// The longest delay of a wake-up. It shows whether this machine is fast enough.
    pub latest: Time,
}

/// The result of a run.
pub struct Outcome {
    /// The nodes in their final state.
    pub nodes: Vec<Box<dyn Node>>,
    /// The counts.
    pub report: Report,
}

struct Port {
    socket: UdpPort,
    pace: InverseRate,
    /// Packets that the node sent with [`Cx::send`].
    queue: VecDeque<Packet>,
    /// Whether the node may have something to [`Node::transmit`].
    kicked: bool,
    /// Whether the port has been sending until `free_at`.
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

struct Driver {
    nodes: Vec<Box<dyn Node>>,
    ports: Vec<Vec<Port>>,
    effects: Effects,
    wakes: BinaryHeap<Reverse<Wake>>,
    orders: u64,
    origin: Instant,
    buffer: Vec<u8>,
    report: Report,
}

/// Runs the nodes of `graph` for `span`, or until `done` returns true. Ports send over UDP on the loopback
/// interface at the rates of their links. The delays of the links are not emulated.
///
/// # Errors
/// [`LiveError`] if the graph and the nodes do not match or a socket fails.
pub fn run(
    nodes: Vec<Box<dyn Node>>,
    graph: &Graph,
    span: Duration,
    done: impl FnMut(&[Box<dyn Node>]) -> bool,
) -> Result<Outcome, LiveError> {
    let mut driver = Driver::new(nodes, graph)?;
    driver.run(span, done)?;
    Ok(Outcome { nodes: driver.nodes, report: driver.report })
}

impl Driver {
    fn new(nodes: Vec<Box<dyn Node>>, graph: &Graph) -> Result<Driver, LiveError> {
        graph.validate()?;
        if nodes.len() != graph.nodes.len() {
            return Err(LiveError::Nodes { nodes: nodes.len(), expected: graph.nodes.len() });
        }
        Ok(Driver {
            nodes,
            ports: ports(graph)?,
            effects: Effects::default(),
            wakes: BinaryHeap::new(),
            orders: 0,
            origin: Instant::now(),
            buffer: vec![0; LARGEST],
            report: Report::default(),
        })
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
            self.call(node, |node, cx| node.start(cx))?;
        }
        while self.origin.elapsed() < span && !done(&self.nodes) {
            let woken = self.expire()?;
            let received = self.receive()?;
            let sent = self.transmit()?;
            if !(woken || received || sent) {
                std::thread::sleep(self.nap());
            }
        }
        Ok(())
    }
    /// The time until the next wake-up, at most [`NAP`].
    fn nap(&self) -> Duration {
        let due = self.wakes.peek().map_or(Time::MAX, |Reverse(wake)| wake.at);
        NAP.min(Duration::from_nanos(due.since(self.now()).as_ns()))
    }

    /// Calls a node and applies its effects.
    fn call<T>(
        &mut self,
        node: usize,
        call: impl FnOnce(&mut dyn Node, &mut Cx<'_>) -> T,
    ) -> io::Result<T> {
        let mut cx = Cx::new(self.now(), &mut self.effects);
        let result = call(self.nodes[node].as_mut(), &mut cx);
        self.apply_effects(node)?;
        Ok(result)
    }
    fn apply_effects(&mut self, node: usize) -> io::Result<()> {
        for (port, packet) in self.effects.sends.drain(..) {
            self.ports[node][port.at()].queue.push_back(packet);
        }
        for port in self.effects.kicks.drain(..) {
            self.ports[node][port.at()].kicked = true;
        }
        for (at, token) in self.effects.wakes.drain(..) {
            self.orders += 1;
            self.wakes.push(Reverse(Wake { at, order: self.orders, node, token }));
        }
        for (port, far, far_port) in self.effects.rewires.drain(..) {
            let far = self.ports[far.at()][far_port.at()].socket.address()?;
            self.ports[node][port.at()].socket.connect(far);
        }
        self.report.completed += std::mem::take(&mut self.effects.completed);
        Ok(())
    }

    /// Delivers the wake-ups that are due. Returns whether there were any.
    fn expire(&mut self) -> io::Result<bool> {
        let (now, mut any) = (self.now(), false);
        while self.wakes.peek().is_some_and(|Reverse(wake)| wake.at <= now) {
            let Some(Reverse(Wake { at, node, token, .. })) = self.wakes.pop() else {
                break;
            };
            self.report.latest = self.report.latest.max(now.since(at));
            self.call(node, |node, cx| node.expire(token, cx))?;
            any = true;
        }
        Ok(any)
    }
    /// Receives packets. Returns whether there were any.
    fn receive(&mut self) -> io::Result<bool> {
        let mut any = false;
        for node in 0..self.nodes.len() {
            for port in 0..self.ports[node].len() {
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
    /// Receives a datagram from a socket. Returns whether there was one.
    fn take(&mut self, node: usize, port: usize) -> io::Result<bool> {
        match self.ports[node][port].socket.receive(&mut self.buffer)? {
            Incoming::Nothing => return Ok(false),
            Incoming::Malformed => self.report.malformed += 1,
            Incoming::Packet(mut packet, payload) => {
                self.report.received += 1;
                if packet.kind == Kind::Control {
                    packet.seq = self.effects.keep(payload.into());
                }
                self.call(node, |node, cx| node.receive(PortId(port as u16), packet, cx))?;
            }
        }
        Ok(true)
    }
    /// Sends on all free ports. Returns whether there were any packets.
    fn transmit(&mut self) -> io::Result<bool> {
        let mut any = false;
        for node in 0..self.nodes.len() {
            for port in 0..self.ports[node].len() {
                while self.ports[node][port].free_at <= self.now() && self.serve(node, port)? {
                    any = true;
                }
            }
        }
        Ok(any)
    }
    /// Sends the next packet of a free port. Returns whether there was one.
    fn serve(&mut self, node: usize, port: usize) -> io::Result<bool> {
        let Some(packet) = self.next(node, port)? else {
            self.ports[node][port].busy = false;
            return Ok(false);
        };
        let now = self.now();
        let Port { socket, pace, busy, free_at, .. } = &mut self.ports[node][port];
        let begin = if *busy { (*free_at).max(now.since(SLACK)) } else { now };
        (*busy, *free_at) = (true, begin + pace.time_for(packet.len.into()));
        let control = packet.kind == Kind::Control;
        let payload = if control { self.effects.release(packet.seq) } else { Box::default() };
        let sent = socket.send(&packet, &payload)?;
        self.report.sent += u64::from(sent);
        self.report.lost += u64::from(!sent);
        Ok(true)
    }
    fn next(&mut self, node: usize, at: usize) -> io::Result<Option<Packet>> {
        let port = &mut self.ports[node][at];
        if let Some(packet) = port.queue.pop_front() {
            return Ok(Some(packet));
        }
        if !port.kicked {
            return Ok(None);
        }
        port.kicked = false;
        let packet = self.call(node, |node, cx| node.transmit(PortId(at as u16), cx))?;
        self.ports[node][at].kicked |= packet.is_some();
        Ok(packet)
    }
}

/// A socket for every port. Each sends to the socket at the other end of its link.
fn ports(graph: &Graph) -> io::Result<Vec<Vec<Port>>> {
    let wiring = graph.wiring();
    let nodes = || (0..graph.nodes.len()).map(|node| wiring.of(NodeId(node as u32)));
    let mut ports = Vec::new();
    for wires in nodes() {
        let port = |wire: &Wire| {
            Ok(Port {
                socket: UdpPort::bind()?,
                pace: wire.lane.rate.inverse_rate(),
                queue: VecDeque::new(),
                kicked: false,
                busy: false,
                free_at: Time::ZERO,
            })
        };
        ports.push(wires.iter().map(port).collect::<io::Result<Vec<Port>>>()?);
    }
    for (node, wires) in nodes().enumerate() {
        for (port, wire) in wires.iter().enumerate() {
            let far = ports[wire.far.node.at()][wire.far.port.at()].socket.address()?;
            ports[node][port].socket.connect(far);
        }
    }
    Ok(ports)
}

#[cfg(test)]
mod tests {
    use super::*;
    use slotline_net::id::HostId;
    use slotline_net::node::Census;
    use slotline_net::topology::{StarSpec, TopologySpec};
    use slotline_net::units::Rate;
    use std::any::Any;

    const EACH: u32 = 5;

    /// Sends five packets by `send`, five by `transmit`, and five through a rewired port; counts received packets.
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
            // A busy machine may call `transmit` late.
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
        fn census(&self) -> Census {
            Census::default()
        }
        fn as_any(&self) -> &dyn Any {
            self
        }
        fn as_any_mut(&mut self) -> &mut dyn Any {
            self
        }
    }

    fn probe(node: &dyn Node) -> &Probe {
        node.as_any().downcast_ref().expect("a probe")
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
        let outcome = run(nodes.collect(), &graph, Duration::from_secs(5), all).unwrap();
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
        let error = run(Vec::new(), &graph, Duration::ZERO, |_| true).err().unwrap();
        assert_eq!(
            error.to_string(),
            "0 nodes for a graph of 3: every node of the graph needs one"
        );
    }
}
