//! What bumps made of the queues in front of which they are.

/// A virtual queue beside the queue that it stands for, as a packet met them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct EstimateRow {
    /// When, in picoseconds.
    pub t_ps: u64,
    /// Index into [`super::RunRecord::ports`].
    pub port: u32,
    /// Which table of virtual queues it is: bumps of one switch that share one are all number 0.
    pub bump: u16,
    /// Bytes in the virtual queue.
    pub estimate_bytes: u64,
    /// Bytes that the port had not sent yet.
    pub real_bytes: u64,
}

impl EstimateRow {
    /// Bytes between the two.
    pub fn error(&self) -> u64 {
        self.estimate_bytes.abs_diff(self.real_bytes)
    }
}
