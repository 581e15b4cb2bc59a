//! The place in a host where a central scheduler holds packets back.

use super::{Cx, PacketAccount, Tally};
use crate::frame::Packet;
use crate::id::HostId;
use crate::units::Bytes;

/// Wake-up tokens at and above this value belong to the host's agent.
pub const AGENT_TOKENS: u32 = 1 << 31;

/// A host's egress discipline under central control: transports hand it packets, the network card
/// pulls from it, and it talks to its controller with control packets of its own, which it queues
/// itself and lets out first. Tokens it passes to [`Cx::wake`] are at least [`AGENT_TOKENS`].
/// Whenever a call makes something sendable, the agent kicks port 0.
pub trait Agent: Send {
    /// Once, before anything else.
    fn start(&mut self, cx: &mut Cx<'_>);
    /// A packet from the host's transports.
    fn enqueue(&mut self, packet: Packet, cx: &mut Cx<'_>);
    /// The network card is free: the next packet that may leave now.
    fn dequeue(&mut self, cx: &mut Cx<'_>) -> Option<Packet>;
    /// A control message addressed to this host.
    fn control(&mut self, message: &[u8], cx: &mut Cx<'_>);
    /// One of the agent's wake-ups is due.
    fn expire(&mut self, token: u32, cx: &mut Cx<'_>);
    /// A packet for the host's transports has arrived. Whether there is room for it.
    fn arrived(&mut self, _packet: &Packet, _cx: &mut Cx<'_>) -> bool {
        true
    }
    /// The host is about to leave the network: a scheduler that wants to know can be told. It has the time
    /// of a few packets.
    fn leave(&mut self, _cx: &mut Cx<'_>) {}
    /// The host is there again.
    fn join(&mut self, _cx: &mut Cx<'_>) {}
    /// Bytes waiting for `dst`: what a blocking socket looks at.
    fn queued(&self, dst: HostId) -> u64;
    /// The same of the virtual machines that connection `conn` connects, where the agent tells them
    /// apart: each has its own sockets.
    fn queued_with(&self, dst: HostId, _conn: u32) -> u64 {
        self.queued(dst)
    }
    /// Whether transports may hand over another packet, where the network card's own queue would be
    /// limited to this. Agents that hold packets back take all: their queues are what they decide about.
    fn has_room(&self, _limit: Bytes) -> bool {
        true
    }
    /// Control packets created, and all packets now held; `consumed` stays zero (the host counts).
    fn account(&self) -> PacketAccount;
    /// Adds what it has counted.
    fn tally(&self, _tally: &mut Tally) {}
}
