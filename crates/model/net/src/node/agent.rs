//! Agents: the part of a host that holds packets back for a central scheduler.

use super::{Counters, Cx, PacketAccount};
use crate::frame::Packet;
use crate::id::HostId;
use crate::units::Bytes;

/// Wake-up tokens at and above this value belong to the host's agent.
pub const AGENT_TOKENS: u32 = 1 << 31;

/// A host's egress discipline under central control. Transports hand it packets, and the network card
/// pulls packets from it. It talks to its controller with control packets of its own, which it queues
/// itself and sends first. Tokens it passes to [`Cx::wake`] are at least [`AGENT_TOKENS`].
/// Whenever a call leaves a packet that may be sent, the agent kicks port 0.
pub trait Agent: Send {
    /// Comes once, before any other call.
    fn start(&mut self, cx: &mut Cx<'_>);
    /// A packet from the host's transports.
    fn enqueue(&mut self, packet: Packet, cx: &mut Cx<'_>);
    /// The network card is free: the next packet that may leave now, if there is one.
    fn dequeue(&mut self, cx: &mut Cx<'_>) -> Option<Packet>;
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
    /// The same for the virtual machines that connection `conn` connects, where the agent has a queue for
    /// each pair of them: each machine has its own sockets.
    fn queued_with(&self, dst: HostId, _conn: u32) -> u64 {
        self.queued(dst)
    }
    /// Whether transports may hand over another packet, where the network card's own queue would be
    /// limited to `limit`. Agents that hold packets back accept all packets, since they schedule what is
    /// in their queues.
    fn has_room(&self, _limit: Bytes) -> bool {
        true
    }
    /// Control packets created, and all packets held now. `consumed` stays zero, since the host counts it.
    fn account(&self) -> PacketAccount;
    /// Adds what it has counted.
    fn add_counters(&self, _counters: &mut Counters) {}
}
