//! Nodes of the tests' own: written against the same trait as every other, next to the engine's fast
//! ports.

use slotline_lab::build::Assembly;
use slotline_net::frame::Packet;
use slotline_net::id::{NodeId, PortId};
use slotline_net::node::host::{FlowResult, Host};
use slotline_net::node::{Census, Change, Cx, Node};
use slotline_net::rng::Stream;
use slotline_net::route::{Down, Routes, RoutingSpec};
use slotline_net::time::Time;
use slotline_net::topology::{Graph, TopologySpec};
use slotline_sim::{Network, Options, Place, Queue, Watch, run};
use std::any::Any;
use std::collections::VecDeque;
use std::sync::Arc;

/// What a node of a test does; [`Made`] adds what every node has.
pub trait Act: Send + 'static {
    fn start(&mut self, _cx: &mut Cx<'_>) {}
    fn receive(&mut self, port: PortId, packet: Packet, cx: &mut Cx<'_>);
    fn transmit(&mut self, _port: PortId, _cx: &mut Cx<'_>) -> Option<Packet> {
        None
    }
    fn expire(&mut self, _token: u32, _cx: &mut Cx<'_>) {}
    fn census(&self) -> Census;
}

/// A node that does what `A` does.
pub struct Made<A>(pub A);

impl<A: Act> Made<A> {
    pub fn place(act: A) -> Place {
        Place::Node(Box::new(Made(act)))
    }
}

impl<A: Act> Node for Made<A> {
    fn start(&mut self, cx: &mut Cx<'_>) {
        self.0.start(cx);
    }
    fn receive(&mut self, port: PortId, packet: Packet, cx: &mut Cx<'_>) {
        self.0.receive(port, packet, cx);
    }
    fn transmit(&mut self, port: PortId, cx: &mut Cx<'_>) -> Option<Packet> {
        self.0.transmit(port, cx)
    }
    fn expire(&mut self, token: u32, cx: &mut Cx<'_>) {
        self.0.expire(token, cx);
    }
    fn census(&self) -> Census {
        self.0.census()
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
    fn as_any_mut(&mut self) -> &mut dyn Any {
        self
    }
}

/// A packet that arrived: when, by which port.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Arrival {
    pub at: Time,
    pub port: PortId,
    pub packet: Packet,
}

/// Keeps what it receives.
#[derive(Default)]
pub struct Sink(pub Vec<Arrival>);

impl Act for Sink {
    fn receive(&mut self, port: PortId, packet: Packet, cx: &mut Cx<'_>) {
        self.0.push(Arrival { at: cx.now, port, packet });
    }
    fn census(&self) -> Census {
        Census { consumed: self.0.len() as u64, ..Census::default() }
    }
}

/// Sends given packets at given times, in order, by port 0.
pub struct Source {
    packets: Vec<(Time, Packet)>,
    next: usize,
}

impl Source {
    pub fn new(packets: Vec<(Time, Packet)>) -> Source {
        Source { packets, next: 0 }
    }
}

impl Act for Source {
    fn start(&mut self, cx: &mut Cx<'_>) {
        self.expire(0, cx);
    }
    fn receive(&mut self, _port: PortId, packet: Packet, _cx: &mut Cx<'_>) {
        panic!("nobody sends to a source: {packet:?}");
    }
    fn expire(&mut self, _token: u32, cx: &mut Cx<'_>) {
        while let Some(&(at, packet)) = self.packets.get(self.next) {
            if at > cx.now {
                return cx.wake(at, 0);
            }
            self.next += 1;
            cx.send(PortId(0), packet);
        }
    }
    fn census(&self) -> Census {
        Census { created: self.next as u64, ..Census::default() }
    }
}

/// Another node, with a note of all that arrives.
pub struct Tap<N> {
    pub inner: N,
    pub seen: Vec<Arrival>,
}

impl<N: Node> Tap<N> {
    pub fn on(inner: N) -> Tap<N> {
        Tap { inner, seen: Vec::new() }
    }
}

impl<N: Node + 'static> Node for Tap<N> {
    fn start(&mut self, cx: &mut Cx<'_>) {
        self.inner.start(cx);
    }
    fn receive(&mut self, port: PortId, packet: Packet, cx: &mut Cx<'_>) {
        self.seen.push(Arrival { at: cx.now, port, packet });
        self.inner.receive(port, packet, cx);
    }
    fn transmit(&mut self, port: PortId, cx: &mut Cx<'_>) -> Option<Packet> {
        self.inner.transmit(port, cx)
    }
    fn expire(&mut self, token: u32, cx: &mut Cx<'_>) {
        self.inner.expire(token, cx);
    }
    fn change(&mut self, change: &Change, cx: &mut Cx<'_>) {
        self.inner.change(change, cx);
    }
    fn census(&self) -> Census {
        self.inner.census()
    }
    fn queued(&self, port: PortId) -> u64 {
        self.inner.queued(port)
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
    fn as_any_mut(&mut self) -> &mut dyn Any {
        self
    }
}

/// Puts what `around` makes of it in the place of every host; the number tells hosts apart.
pub fn wrap_hosts<N: Node + 'static>(network: &mut Network, around: impl Fn(Host, u64) -> N) {
    for (place, at) in network.places.iter_mut().zip(0..) {
        *place = match std::mem::replace(place, Place::Switch) {
            Place::Host(host) => Place::Node(Box::new(around(*host, at))),
            other => other,
        };
    }
}

/// A host whose packets come in late by a random processing time of up to `most`, in order.
pub struct Busy {
    host: Host,
    most: Time,
    rng: Stream,
    waiting: VecDeque<Arrival>,
}

impl Busy {
    /// Beyond the tokens of hosts.
    const TOKEN: u32 = u32::MAX;

    fn new(host: Host, most: Time, rng: Stream) -> Busy {
        Busy { host, most, rng, waiting: VecDeque::new() }
    }

    fn results(&mut self) -> Vec<FlowResult> {
        self.host.settle();
        self.host.results().collect()
    }
}

/// What the hosts of an assembled scenario know of their flows after a run up to `end`, where they need
/// up to 100 ns for each packet that comes in.
pub fn run_with_busy_hosts(mut assembly: Assembly, seed: u64, end: Time) -> Vec<FlowResult> {
    let rng = |at| Stream::named(seed, "test.busy", at);
    wrap_hosts(&mut assembly.network, |host, at| Busy::new(host, Time::ns(100), rng(at)));
    let options = Options { threads: 1, end, completions: assembly.flows };
    let mut outcome = run(assembly.network, options, &Watch::default());
    assert!(outcome.conservation.holds(), "{:?}", outcome.conservation);
    let host = |place: &mut Place| match place {
        Place::Node(node) => node.as_any_mut().downcast_mut().map(Busy::results),
        _ => None,
    };
    outcome.places.iter_mut().filter_map(host).flatten().collect()
}

impl Node for Busy {
    fn start(&mut self, cx: &mut Cx<'_>) {
        self.host.start(cx);
    }
    fn receive(&mut self, port: PortId, packet: Packet, cx: &mut Cx<'_>) {
        let done = cx.now + Time::ps(self.rng.below(self.most.as_ps() + 1));
        let at = self.waiting.back().map_or(done, |before| before.at.max(done));
        self.waiting.push_back(Arrival { at, port, packet });
        cx.wake(at, Busy::TOKEN);
    }
    fn transmit(&mut self, port: PortId, cx: &mut Cx<'_>) -> Option<Packet> {
        self.host.transmit(port, cx)
    }
    fn expire(&mut self, token: u32, cx: &mut Cx<'_>) {
        if token != Busy::TOKEN {
            return self.host.expire(token, cx);
        }
        while let Some(arrival) = self.waiting.pop_front_if(|next| next.at <= cx.now) {
            self.host.receive(arrival.port, arrival.packet, cx);
        }
    }
    fn census(&self) -> Census {
        let census = self.host.census();
        Census { held: census.held + self.waiting.len() as u64, ..census }
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
    fn as_any_mut(&mut self) -> &mut dyn Any {
        self
    }
}

/// A network of silent sinks at the hosts and plain switches with unlimited queues.
pub fn bare(fabric: &str) -> Network {
    let spec: TopologySpec = toml::from_str(fabric).unwrap_or_else(|e| panic!("{e}\n{fabric}"));
    let graph = spec.build().unwrap_or_else(|e| panic!("{e}\n{fabric}"));
    let place = |node: NodeId| match graph.hosts.contains(&node) {
        true => Made::place(Sink::default()),
        false => Place::Switch,
    };
    Network {
        routes: Arc::new(Routes::build(&graph, RoutingSpec::Ecmp, &Down::default(), 1)),
        places: (0..graph.nodes.len() as u32).map(|node| place(NodeId(node))).collect(),
        queues: queues(&graph),
        timeline: Vec::new(),
        sampled: Vec::new(),
        interval: Time::ZERO,
        graph,
    }
}

fn queues(graph: &Graph) -> Vec<Vec<Queue>> {
    graph.ports().iter().map(|&ports| vec![Queue::default(); usize::from(ports)]).collect()
}
