//! What only a port can do that decides packet by packet.

use crate::common::{drain, node};
use crate::nodes::{Act, Arrival, Made, Sink, Source, bare};
use slotline_net::frame::{CE, Kind, Packet};
use slotline_net::id::{HostId, NodeId, PortId};
use slotline_net::node::{Cx, DropReason, PacketAccount};
use slotline_net::time::Time;
use slotline_sim::{Network, Outcome};
use std::collections::VecDeque;

/// Lets the node at `at` decide what each of its ports sends.
pub fn pull(network: &mut Network, at: usize) {
    network.queues[at].iter_mut().for_each(|queue| queue.pulled = true);
}

/// One datagram of `len` bytes for host `dst`.
pub fn datagram(flow: u32, seq: u32, dst: u32, len: u16) -> Packet {
    Packet { dst: HostId(dst), flow, seq, len, kind: Kind::Datagram, ..Packet::default() }
}

/// 400 Gbit/s to the switch, and 10 Gbit/s from it.
const FUNNEL: &str = r#"
    kind = "star"
    hosts = 4
    rate = "400Gbps"
    overrides = [
        { link = "s0-h1", rate = "10Gbps" }, { link = "s0-h2", rate = "10Gbps" } ]"#;
/// The switch of [`FUNNEL`].
pub const SWITCH: usize = 4;
pub const DELAY: Time = Time::us(1);

/// Time for a byte at 10 Gbit/s and at 400 Gbit/s.
pub const SLOW: u64 = 800;
const QUICK: u64 = 20;

/// [`FUNNEL`] with `packets` from host 0.
pub fn funnel(packets: Vec<(Time, Packet)>) -> Network {
    let mut network = bare(FUNNEL);
    network.places[0] = Made::place(Source::new(packets));
    network
}

/// When packets sent one after another over the fast link reach the switch.
pub fn at_switch(packets: &[(Time, Packet)]) -> Vec<Time> {
    let mut free = Time::ZERO;
    let arrive = |(at, packet): &(Time, Packet)| {
        free = free.max(*at) + Time::ps(u64::from(packet.len) * QUICK);
        free + DELAY
    };
    packets.iter().map(arrive).collect()
}

pub fn seen(outcome: &Outcome, host: usize) -> &[Arrival] {
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
