//! Counts of the queues of a hybrid fabric's racks.

/// The queue in one rack for packets to another.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct VoqRow {
    /// The rack that has the queue.
    pub src_rack: u32,
    /// The destination rack.
    pub dst_rack: u32,
    /// Packets that arrived, including those dropped.
    pub packets: u64,
    /// Bytes that left by a circuit.
    pub circuit_bytes: u64,
    /// Bytes that left by the packet switch.
    pub packet_switch_bytes: u64,
    /// Packets dropped because the queue was full.
    pub drops: u64,
    /// Packets dropped when the queue was made shorter.
    pub resize_drops: u64,
    /// Number of changes of its size.
    pub resizes: u64,
    /// Most packets that waited at the same time.
    pub longest: u64,
    /// Mean waiting time of packets that left, in picoseconds.
    pub mean_wait_ps: u64,
    /// Time during which a circuit existed, in picoseconds.
    pub circuit_up_ps: u64,
}
