//! Nodes that know, when a packet arrives, when it leaves.
//!
//! A driver that knows all events of a node in advance may ask such a node where a packet goes when it arrives, keep the packet
//! itself until it has left, and report departures later. The accounts of the node are then the same as if the packet had
//! waited in its queues, and its ports need not ask for each packet.

use super::egress::{Leaving, Passage, Sends, Stored};
use super::{Cx, DropReason, Node};
use crate::frame::Packet;
use crate::id::PortId;
use crate::time::Time;

/// The way of a packet that arrives at a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Way {
    /// It leaves by this port. The flag says whether all departures must be reported before it passes.
    By(PortId, bool),
    /// [`Node::receive`] follows. The packet changes nothing of what waits for any port.
    Ends,
    /// [`Node::receive`] follows. All packets must be here.
    Unknown,
}

/// The additional methods of a node that may know when packets leave. Packets that wait outside of it leave in the order in
/// which they arrived.
///
/// Before [`Node::change`], [`Node::expire`], and [`Node::receive`] of a packet of [`Way::Unknown`], packets that have not
/// started are [taken back](Foresight::take_back); before [`Node::receive`] of another packet, those at the port by which it
/// leaves. Before each of these calls, and before [`Node::queued`], all departures so far are reported.
pub trait Foresight: Node {
    /// The way of a packet that arrives by `from` at `now`.
    fn way(&self, from: PortId, packet: &Packet, now: Time) -> Way;
    /// Admits a packet that leaves by `out` as `sends` says, if that is certain, and writes into it what the node adds. It
    /// waits outside of the node. Otherwise nothing has changed, unless it is refused.
    fn pass(
        &mut self,
        out: PortId,
        packet: &mut Packet,
        leaving: &Leaving,
        sends: &Sends,
    ) -> Passage;
    /// Drops a packet that was refused by [`Foresight::pass`].
    fn refuse(
        &mut self,
        ports: (PortId, PortId),
        packet: &Packet,
        why: DropReason,
        cx: &mut Cx<'_>,
    );
    /// A packet that waited outside of the node started to leave by `out` at `start`. Packets are reported in order.
    fn left(&mut self, out: PortId, leaving: &Leaving, start: Time);
    /// Takes a packet that waited outside of the node. Packets that arrived later come first.
    fn take_back(&mut self, out: PortId, stored: Stored);
    /// When the last of the packets that wait here for `out` has left, if their departures after `busy_until` are certain.
    fn drained(&self, out: PortId, busy_until: Time) -> Option<Time>;
    /// Gives away the first packet that waits for `out`, which starts at `start`. It waits outside of the node from now on.
    fn give_away(&mut self, out: PortId, start: Time) -> Option<Stored>;
}
