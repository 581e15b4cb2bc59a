//! What happened in the queues of a hybrid fabric's racks.

/// The queue of one rack for another.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct VoqRow {
    /// The rack where it is.
    pub src_rack: u32,
    /// The rack that it is for.
    pub dst_rack: u32,
    /// Packets that came, those dropped included.
    pub packets: u64,
    /// Bytes that left by a circuit.
    pub circuit_bytes: u64,
    /// Bytes that left by the packet switch.
    pub packet_switch_bytes: u64,
    /// Packets that found it full.
    pub drops: u64,
    /// Packets dropped as it was made shorter.
    pub resize_drops: u64,
    /// How often its size was changed.
    pub resizes: u64,
    /// Most packets that waited at a time.
    pub longest: u64,
    /// How long packets that left had waited, in picoseconds, on average.
    pub mean_wait_ps: u64,
    /// How long there was a circuit, in picoseconds.
    pub circuit_up_ps: u64,
}
