//! Nodes: hosts, switches and stations. A driver calls a node with each event, and the node makes requests to the
//! driver. Only the driver has access to clocks, sockets and files.

mod account;
pub mod agent;
pub mod buffer;
pub mod bump;
mod change;
pub mod class_queues;
mod collected;
pub mod control_switch;
pub mod counter;
pub mod counters;
mod cx;
mod drop_reason;
mod effects;
pub mod egress;
pub mod external_host;
pub mod fault;
mod foresight;
mod handover;
pub mod host;
pub mod intercept;
mod leaving;
mod load;
mod note;
pub mod notify;
mod payloads;
pub mod pfc;
pub mod pool;
mod port_stats;
pub mod reaction;
pub mod reserve;
pub mod station;
pub mod stopped;
pub mod switch;

pub use account::PacketAccount;
pub use change::Change;
pub use collected::Collected;
pub use counter::{Counter, Counters, Times};
pub use cx::Cx;
pub use drop_reason::DropReason;
pub use effects::{Effects, Sink};
pub use fault::{Fault, Part};
pub use foresight::{Foresight, Way};
pub use handover::Handover;
pub use note::Note;
pub use payloads::Payloads;
pub use stopped::Stopped;

use crate::frame::Packet;
use crate::id::PortId;
use std::any::Any;

/// A host, switch or station at one place in a network.
///
/// Calls come in time order. The requests that the node makes with `cx` are carried out after the call returns.
pub trait Node: Any + Send {
    /// Called once, before any other call.
    fn start(&mut self, cx: &mut Cx<'_>);
    /// A packet arrived by `port`.
    fn receive(&mut self, port: PortId, packet: Packet, cx: &mut Cx<'_>);
    /// As [`Node::receive`]. If the packet leaves as it is by a FIFO port, and nothing else happens, the node may return that
    /// port instead of sending it.
    fn arrive(&mut self, port: PortId, packet: &Packet, cx: &mut Cx<'_>) -> Option<PortId> {
        self.receive(port, *packet, cx);
        None
    }
    /// A *pulled* port is free. Returns the packet that it sends next. After `None` it is idle until [`Cx::kick`].
    fn transmit(&mut self, port: PortId, cx: &mut Cx<'_>) -> Option<Packet>;
    /// Whether `port` may have another packet when the one that has just been returned by [`Node::transmit`] has left.
    /// After `false` it is not asked until [`Cx::kick`].
    fn has_more(&self, _port: PortId) -> bool {
        true
    }
    /// A wake-up that was requested with [`Cx::wake`] is due. Wake-ups are never cancelled, so the node compares the
    /// time with its present deadline.
    fn expire(&mut self, token: u32, cx: &mut Cx<'_>);
    /// The surroundings of the node have changed.
    fn change(&mut self, _change: &Change, _cx: &mut Cx<'_>) {}
    /// Packets created, consumed and held so far.
    fn account(&self) -> PacketAccount;
    /// Adds its counters of the run.
    fn add_counters(&self, _counters: &mut Counters) {}
    /// Bytes waiting for `port` inside this node, for sampling.
    fn queued(&self, _port: PortId) -> u64 {
        0
    }
    /// The node as one that may know when packets leave.
    fn foresight(&mut self) -> Option<&mut dyn Foresight> {
        None
    }
}

impl dyn Node {
    /// Whether the node is an `N`.
    pub fn is<N: Node>(&self) -> bool {
        let any: &dyn Any = self;
        any.is::<N>()
    }
    /// The node as an `N`, to read results after a run; `None` if it is another type.
    pub fn downcast_ref<N: Node>(&self) -> Option<&N> {
        let any: &dyn Any = self;
        any.downcast_ref()
    }
}
