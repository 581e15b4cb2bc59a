//! Indices. Each kind of index has a type of its own.

/// A node of the network: host or switch. Indexes [`crate::topology::Graph::nodes`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct NodeId(pub u32);

/// A host, counted over hosts only: what packets are addressed to.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct HostId(pub u32);

/// A port of one node, counted from zero.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct PortId(pub u16);

/// A connection: a byte stream (TCP) or datagram sequence (UDP) from one host to another.
/// Indexes `slotline_workload::Traffic::conns`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct ConnId(pub u32);

/// A flow: one message on a connection, the unit whose completion time is measured.
/// Indexes `slotline_workload::Traffic::flows`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct FlowId(pub u32);

macro_rules! index {
    ($($id:ident),*) => { $(impl $id {
        /// As an array index.
        #[inline]
        pub const fn at(self) -> usize {
            self.0 as usize
        }
    })* };
}
index!(NodeId, HostId, PortId, ConnId, FlowId);

/// Traffic classes (IEEE 802.1Q priorities); 7 is served first.
pub const CLASSES: usize = 8;
