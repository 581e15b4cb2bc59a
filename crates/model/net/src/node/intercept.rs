//! A node behind an interceptor, which sees and may change each packet before the node gets it. Tests and fuzzers use
//! it.

use super::{Change, Counters, Cx, Node, PacketAccount};
use crate::frame::Packet;
use crate::id::PortId;

/// Handles the packets for a node before the node does.
pub trait Intercept: Send + 'static {
    /// A packet has arrived by `port`.
    fn intercept(&mut self, port: PortId, packet: &mut Packet, cx: &mut Cx<'_>);
}

/// A node behind an interceptor. Otherwise it behaves as the node.
pub struct Intercepted<I> {
    /// The node.
    pub node: Box<dyn Node>,
    /// The interceptor.
    pub interceptor: I,
}

impl<I: Intercept> Node for Intercepted<I> {
    fn start(&mut self, cx: &mut Cx<'_>) {
        self.node.start(cx);
    }
    fn receive(&mut self, port: PortId, mut packet: Packet, cx: &mut Cx<'_>) {
        self.interceptor.intercept(port, &mut packet, cx);
        self.node.receive(port, packet, cx);
    }
    fn transmit(&mut self, port: PortId, cx: &mut Cx<'_>) -> Option<Packet> {
        self.node.transmit(port, cx)
    }
    fn expire(&mut self, token: u32, cx: &mut Cx<'_>) {
        self.node.expire(token, cx);
    }
    fn change(&mut self, change: &Change, cx: &mut Cx<'_>) {
        self.node.change(change, cx);
    }
    fn account(&self) -> PacketAccount {
        self.node.account()
    }
    fn add_counters(&self, counters: &mut Counters) {
        self.node.add_counters(counters);
    }
    fn queued(&self, port: PortId) -> u64 {
        self.node.queued(port)
    }
}
