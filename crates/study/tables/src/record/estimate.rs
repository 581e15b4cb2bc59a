//! Virtual queues of bumps compared with the queues of switches.

/// A virtual queue and the queue that it models, at the arrival of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct EstimateRow {
    /// Time, in picoseconds.
    pub t_ps: u64,
    /// Index into [`super::RunRecord::ports`].
    pub port: u32,
    /// Number of the table of virtual queues. Bumps of one switch that share a table have number 0.
    pub bump: u16,
    /// Bytes in the virtual queue.
    pub estimate_bytes: u64,
    /// Bytes that the port had not sent yet.
    pub real_bytes: u64,
}

impl EstimateRow {
    /// Difference of the two, in bytes.
    pub fn error(&self) -> u64 {
        self.estimate_bytes.abs_diff(self.real_bytes)
    }
}
