//! Agents: the part of a host that holds packets back for a central scheduler.

use super::{Counters, Cx, PacketAccount};
use crate::frame::Packet;
use crate::id::HostId;
use crate::units::Bytes;

/// Wake-up tokens at and above this value belong to the host's agent.
pub const AGENT_TOKENS: u32 = 1 << 31;

/// The part of a host under central control that decides when packets leave. Transports pass packets to it, and the
/// network card takes packets from it. It exchanges control packets with its controller, which it queues itself and
/// sends first. The tokens that it passes to [`Cx::wake`] are at least [`AGENT_TOKENS`]. If a packet may be sent after
/// a call, the agent kicks port 0.
pub trait Agent: Send {
    /// Called once, before any other call.
    fn start(&mut self, cx: &mut Cx<'_>);
    /// A packet from the host's transports.
    fn enqueue(&mut self, packet: Packet, cx: &mut Cx<'_>);
    /// The network card is free. Returns the next packet that may leave now, if there is one.
    fn dequeue(&mut self, cx: &mut Cx<'_>) -> Option<Packet>;
    /// As [`Agent::dequeue`], which has just returned `None`, at the same time. Nothing has happened since.
    fn dequeue_again(&mut self, cx: &mut Cx<'_>) -> Option<Packet> {
        self.dequeue(cx)
    }
    /// Whether the next call of [`Agent::dequeue`] may do anything, when the packet that it has just returned has left.
    fn has_more(&self) -> bool {
        true
    }
    /// A control message addressed to this host.
    fn control(&mut self, message: &[u8], cx: &mut Cx<'_>);
    /// One of the agent's wake-ups is due.
    fn expire(&mut self, token: u32, cx: &mut Cx<'_>);
    /// A packet for the host's transports has arrived. Returns whether there is room for it.
    fn arrived(&mut self, _packet: &Packet, _cx: &mut Cx<'_>) -> bool {
        true
    }
    /// The host is about to leave the network. The agent can report this to its scheduler in the time that
    /// a few packets take.
    fn leave(&mut self, _cx: &mut Cx<'_>) {}
    /// The host has come back.
    fn join(&mut self, _cx: &mut Cx<'_>) {}
    /// Bytes that wait for `dst`. A blocking socket waits until they are few enough.
    fn queued(&self, dst: HostId) -> u64;
    /// As [`Agent::queued`], for the virtual machines that connection `conn` connects, if the agent has a queue for
    /// each pair of them. Each machine has its own sockets.
    fn queued_with(&self, dst: HostId, _conn: u32) -> u64 {
        self.queued(dst)
    }
    /// Whether transports may pass another packet; `limit` is the limit of the network card's own queue. Agents that
    /// hold packets back accept all packets, because they schedule the packets in their queues.
    fn has_room(&self, _limit: Bytes) -> bool {
        true
    }
    /// Control packets created, and all packets held now. `consumed` stays zero, because the host counts it.
    fn account(&self) -> PacketAccount;
    /// Requests the state that a call needs, with [`prefetch_value`](crate::prefetch::prefetch_value). There are three steps, each of
    /// which finds it with what was requested in the step before. The call comes after the last.
    fn expect(&self, _step: usize) {}
    /// Adds the agent's counters.
    fn add_counters(&self, _counters: &mut Counters) {}
}
