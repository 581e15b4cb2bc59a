//! One thread that runs all nodes by the wall clock.

use crate::udp::{Incoming, LARGEST, UdpPort};
use slotline_net::error::SpecError;
use slotline_net::frame::{Kind, Packet};
use slotline_net::id::{NodeId, PortId};
use slotline_net::node::{Cx, Effects, Node};
use slotline_net::time::Time;
use slotline_net::topology::{Graph, Wire};
use slotline_net::units::Pace;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::io;
use std::time::{Duration, Instant};

/// How long the thread sleeps at most when nothing is due: sockets are looked at this often.
const NAP: Duration = Duration::from_micros(50);
/// How far a busy port may catch up when the thread was late.
const SLACK: Time = Time::ms(5);
/// Datagrams taken from one socket before others have their turn.
const BATCH: usize = 64;

/// Why nodes cannot be run.
#[derive(Debug, thiserror::Error)]
pub enum LiveError {
    /// A socket does not work.
    #[error("a socket on the loopback interface failed: {0}")]
    Socket(#[from] io::Error),
    /// The graph is no network.
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

/// What a run did.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Report {
    /// Packets handed to sockets.
    pub sent: u64,
    /// Packets that arrived.
    pub received: u64,
    /// Packets that found a socket's buffer full.
    pub lost: u64,
    /// Datagrams that were no packets.
    pub malformed: u64,
    /// Flows completed.
    pub completed: u64,
    /// The longest delay between the time of a wake-up and the call: how well this machine keeps up.
    pub latest: Time,
}

/// What a run leaves.
pub struct Outcome {
    /// Nodes in their final state.
    pub nodes: Vec<Box<dyn Node>>,
    /// What happened.
    pub report: Report,
}

struct Port {
    socket: UdpPort,
    pace: Pace,
    /// What the node put there with [`Cx::send`].
    queue: VecDeque<Packet>,
    /// Whether the node may have something to [`Node::transmit`].
    kicked: bool,
    /// Whether it has been sending up to `free_at`.
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

/// Runs `nodes` at the places of `graph` for `span`, or until `done`. Ports send at the rates of their
/// links, over UDP on the loopback interface; delays are what they are.
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
    /// Until the next wake-up, but not for long.
    fn nap(&self) -> Duration {
        let due = self.wakes.peek().map_or(Time::MAX, |Reverse(wake)| wake.at);
        NAP.min(Duration::from_nanos(due.since(self.now()).as_ns()))
    }

    /// Calls a node and carries out what it wants done.
    fn call<T>(
        &mut self,
        node: usize,
        call: impl FnOnce(&mut dyn Node, &mut Cx<'_>) -> T,
    ) -> io::Result<T> {
        let mut cx = Cx::new(self.now(), &mut self.effects);
        let result = call(self.nodes[node].as_mut(), &mut cx);
        self.carry_out(node)?;
        Ok(result)
    }
    fn carry_out(&mut self, node: usize) -> io::Result<()> {
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

    /// Wake-ups that are due.
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
    /// Packets that have arrived.
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
    /// Takes one datagram from a socket, if there is one.
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
    /// Ports that are free and have something to send.
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
    /// Sends the next packet of a free port, if there is one.
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

/// A socket for every port, each sending to the one at the far end of its link.
fn ports(graph: &Graph) -> io::Result<Vec<Vec<Port>>> {
    let wiring = graph.wiring();
    let nodes = || (0..graph.nodes.len()).map(|node| wiring.of(NodeId(node as u32)));
    let mut ports = Vec::new();
    for wires in nodes() {
        let port = |wire: &Wire| {
            Ok(Port {
                socket: UdpPort::bind()?,
                pace: wire.lane.rate.pace(),
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
    use slotline_net::node::PacketAccount;
    use slotline_net::topology::{StarSpec, TopologySpec};
    use slotline_net::units::Rate;

    const EACH: u32 = 5;

    /// Sends five packets by FIFO, five by being asked, five through a rewired port; counts what comes.
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
