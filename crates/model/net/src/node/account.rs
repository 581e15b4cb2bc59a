//! The account of a node's packets.

/// Where a node's packets are. Each run ends with a check that every packet is accounted for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PacketAccount {
    /// Packets that this node created.
    pub created: u64,
    /// Packets that reached their end here.
    pub consumed: u64,
    /// Packets that wait inside the node. Packets that wait in the driver's FIFO ports do not count.
    pub held: u64,
}
