//! Nodes of the tests. They implement the same trait as all others, and run beside the engine's fast ports.

use slotline_net::frame::Packet;
use slotline_net::id::{NodeId, PortId};
use slotline_net::node::intercept::{Intercept, Intercepted};
use slotline_net::node::notify::Senders;
use slotline_net::node::{Cx, Node, PacketAccount};
use slotline_net::route::{Routes, RoutingSpec};
use slotline_net::time::Time;
use slotline_net::topology::{Down, Graph, TopologySpec};
use slotline_sim::{Network, Place, Queue};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The behaviour of a test's node; [`Made`] adds what every node has.
pub trait Act: Send + 'static {
    fn start(&mut self, _cx: &mut Cx<'_>) {}
    fn receive(&mut self, port: PortId, packet: Packet, cx: &mut Cx<'_>);
    fn transmit(&mut self, _port: PortId, _cx: &mut Cx<'_>) -> Option<Packet> {
        None
    }
    fn expire(&mut self, _token: u32, _cx: &mut Cx<'_>) {}
    fn account(&self) -> PacketAccount;
}

/// A node with the behaviour `A`.
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
    fn account(&self) -> PacketAccount {
        self.0.account()
    }
}

/// A packet that arrived, with its time and port.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Arrival {
    pub at: Time,
    pub port: PortId,
    pub packet: Packet,
}

/// Records the packets that it receives.
#[derive(Default)]
pub struct Sink(pub Vec<Arrival>);

impl Act for Sink {
    fn receive(&mut self, port: PortId, packet: Packet, cx: &mut Cx<'_>) {
        self.0.push(Arrival { at: cx.now, port, packet });
    }
    fn account(&self) -> PacketAccount {
        PacketAccount { consumed: self.0.len() as u64, ..PacketAccount::default() }
    }
}

/// Sends given packets at given times, in order, through port 0.
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
    fn account(&self) -> PacketAccount {
        PacketAccount { created: self.next as u64, ..PacketAccount::default() }
    }
}

/// Records all packets that arrive at a node.
#[derive(Default)]
pub struct Tap(pub Vec<Arrival>);

impl Intercept for Tap {
    fn intercept(&mut self, port: PortId, packet: &mut Packet, cx: &mut Cx<'_>) {
        self.0.push(Arrival { at: cx.now, port, packet: *packet });
    }
}

/// Puts a [`Tap`] in front of every host.
pub fn tap_hosts(network: &mut Network) {
    for place in &mut network.places {
        *place = match std::mem::replace(place, Place::Switch) {
            Place::Host(node) => {
                Place::Node(Box::new(Intercepted { node, interceptor: Tap::default() }))
            }
            other => other,
        };
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
        buffers: BTreeMap::new(),
        senders: Senders::default(),
        timeline: Vec::new(),
        sampled: Vec::new(),
        interval: Time::ZERO,
        follow: slotline_sim::Follow::default(),
        graph,
    }
}

fn queues(graph: &Graph) -> Vec<Vec<Queue>> {
    graph.ports().iter().map(|&ports| vec![Queue::default(); usize::from(ports)]).collect()
}
