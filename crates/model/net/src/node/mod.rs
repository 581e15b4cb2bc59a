//! Nodes: hosts, switches and stations. A driver calls a node with each event, and the node makes requests to the driver.
//! Only the driver knows clocks, sockets and files.

mod account;
pub mod agent;
pub mod buffer;
pub mod bump;
mod change;
pub mod class_queues;
mod collected;
pub mod counter;
pub mod counters;
mod cx;
mod drop_reason;
mod effects;
pub mod egress;
pub mod external_host;
pub mod fault;
mod handover;
pub mod host;
pub mod intercept;
mod note;
pub mod notify;
mod payloads;
pub mod pfc;
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
pub use handover::Handover;
pub use note::Note;
pub use payloads::Payloads;
pub use stopped::Stopped;

use crate::frame::Packet;
use crate::id::PortId;
use std::any::Any;

/// Something that sits at one place in a network.
///
/// Calls come in time order. The requests that the node makes with `cx` are carried out after the call returns.
pub trait Node: Any + Send {
    /// Called once, before any other call.
    fn start(&mut self, cx: &mut Cx<'_>);
    /// A packet arrived by `port`.
    fn receive(&mut self, port: PortId, packet: Packet, cx: &mut Cx<'_>);
    /// A *pulled* port is free: the packet that it sends next. With `None` it is idle until [`Cx::kick`].
    fn transmit(&mut self, port: PortId, cx: &mut Cx<'_>) -> Option<Packet>;
    /// A wake-up asked for with [`Cx::wake`] is due. A wake-up is never cancelled: the node
    /// compares with the deadline it has now.
    fn expire(&mut self, token: u32, cx: &mut Cx<'_>);
    /// Something about the node's surroundings changed.
    fn change(&mut self, _change: &Change, _cx: &mut Cx<'_>) {}
    /// Packets created, consumed and held so far.
    fn account(&self) -> PacketAccount;
    /// Adds its counters of the run.
    fn add_counters(&self, _counters: &mut Counters) {}
    /// Bytes waiting for `port` inside this node, for sampling.
    fn queued(&self, _port: PortId) -> u64 {
        0
    }
}

impl dyn Node {
    /// Whether the node is an `N`.
    pub fn is<N: Node>(&self) -> bool {
        let any: &dyn Any = self;
        any.is::<N>()
    }
    /// The node as the `N` that it is, to read results after a run; `None` where it is something else.
    pub fn downcast_ref<N: Node>(&self) -> Option<&N> {
        let any: &dyn Any = self;
        any.downcast_ref()
    }
}
