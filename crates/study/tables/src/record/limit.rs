//! Flows that are limited by bumps.

/// The virtual queue of one limited flow, after one of its packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LimitRow {
    /// Time, in picoseconds.
    pub t_ps: u64,
    /// Index into [`super::RunRecord::ports`]: the port of the switch at which the flow arrives.
    pub port: u32,
    /// Number of the connection.
    pub connection: u32,
    /// Its rate limit, in bits per second.
    pub rate_bps: u64,
    /// Bytes in its virtual queue.
    pub queue_bytes: u64,
}
