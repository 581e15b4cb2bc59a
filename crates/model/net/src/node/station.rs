//! Stations of central schemes, for example controllers. A station can stop and start again, and control
//! messages to it can get lost.

use super::{Change, Counters, Cx, DropReason, Node, PacketAccount};
use crate::frame::{Kind, Packet};
use crate::id::PortId;
use crate::rng::Stream;
use crate::scheme::MakeNode;

/// The probability that a control message gets lost on arrival. By default none is lost.
#[derive(Clone, Debug, Default)]
pub struct Loss(Option<(f64, Stream)>);

impl Loss {
    /// Loses this share of all messages, from 0 to 1.
    pub fn new(share: f64, stream: Stream) -> Loss {
        Loss((share > 0.0).then_some((share, stream)))
    }
    /// Decides whether `packet` gets lost on arrival.
    pub fn loses(&mut self, packet: &Packet) -> bool {
        let Some((share, stream)) = &mut self.0 else { return false };
        packet.kind == Kind::Control && stream.unit() < *share
    }
}

/// A node that can be stopped. It starts again without its former state.
pub struct StoppableNode {
    make: MakeNode,
    node: Option<Box<dyn Node>>,
    loss: Loss,
    /// Changes since the beginning of the run, which the node gets when it starts again.
    changes: Vec<Change>,
    /// The sum of the accounts of the nodes that were stopped.
    before: PacketAccount,
    counters: Counters,
}

impl StoppableNode {
    /// A station that runs.
    pub fn new(make: MakeNode, loss: Loss) -> StoppableNode {
        let (before, counters) = (PacketAccount::default(), Counters::default());
        StoppableNode { node: Some(make()), make, loss, changes: Vec::new(), before, counters }
    }
    /// The node, while it runs.
    pub fn node(&self) -> Option<&dyn Node> {
        self.node.as_deref()
    }
    /// Stops the node. Its counts are kept, and its packets are lost.
    fn stop(&mut self, cx: &mut Cx<'_>) {
        let Some(mut node) = self.node.take() else { return };
        while let Some(packet) = node.transmit(PortId(0), cx) {
            cx.drop(&packet, DropReason::Stopped);
        }
        let account = node.account();
        self.before.created += account.created;
        self.before.consumed += account.consumed;
        self.before.held += account.held;
        node.add_counters(&mut self.counters);
    }
    /// Stores the latest routes and all rates. The station learns them from the network when it starts again.
    fn remember(&mut self, change: &Change) {
        if matches!(change, Change::Routes(_)) {
            self.changes.retain(|change| !matches!(change, Change::Routes(_)));
        }
        if matches!(change, Change::Routes(_) | Change::Elsewhere(..)) {
            self.changes.push(change.clone());
        }
    }
    fn restart(&mut self, cx: &mut Cx<'_>) {
        if self.node.is_none() {
            let node = self.node.insert((self.make)());
            node.start(cx);
            self.changes.iter().for_each(|change| node.change(change, cx));
        }
    }
}

impl Node for StoppableNode {
    fn start(&mut self, cx: &mut Cx<'_>) {
        self.node.iter_mut().for_each(|node| node.start(cx));
    }
    fn receive(&mut self, port: PortId, packet: Packet, cx: &mut Cx<'_>) {
        match &mut self.node {
            None => cx.drop(&packet, DropReason::Stopped),
            Some(_) if self.loss.loses(&packet) => cx.drop(&packet, DropReason::Injected),
            Some(node) => node.receive(port, packet, cx),
        }
    }
    fn transmit(&mut self, port: PortId, cx: &mut Cx<'_>) -> Option<Packet> {
        self.node.as_mut()?.transmit(port, cx)
    }
    fn expire(&mut self, token: u32, cx: &mut Cx<'_>) {
        self.node.iter_mut().for_each(|node| node.expire(token, cx));
    }
    fn change(&mut self, change: &Change, cx: &mut Cx<'_>) {
        match change {
            Change::Stop => self.stop(cx),
            Change::Restart => self.restart(cx),
            _ => {
                self.remember(change);
                self.node.iter_mut().for_each(|node| node.change(change, cx));
            }
        }
    }
    fn account(&self) -> PacketAccount {
        let now = self.node.as_ref().map_or(PacketAccount::default(), |node| node.account());
        PacketAccount {
            created: self.before.created + now.created,
            consumed: self.before.consumed + now.consumed,
            held: self.before.held + now.held,
        }
    }
    fn add_counters(&self, counters: &mut Counters) {
        counters.merge(&self.counters);
        self.node.iter().for_each(|node| node.add_counters(counters));
    }
}
