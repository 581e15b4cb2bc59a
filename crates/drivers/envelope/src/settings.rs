//! Settings that a caller can choose.

use slotline_base::time::Time;
use std::time::Duration;

/// Values that differ at each start of a program.
#[derive(Clone, Copy, Debug)]
pub struct Start {
    /// Time since 1970 at [`Time::ZERO`], by the system's clock. Initiations carry it, and a peer refuses an initiation
    /// that is not later than the previous one. Therefore handshakes wait if the clock was set back.
    pub since_1970: Duration,
    /// Random bytes for the indices of sessions.
    pub seed: u64,
}

/// Rates, times and limits. The default is meant for every use.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Initiations per second that are read from all sources without a known peer; 1,000.
    pub initiations: u64,
    /// Initiations per second that are read from one source; 10.
    pub initiations_per_source: u64,
    /// Age of a session at which its initiator begins the next one; 120 s, and at most 120 s.
    pub rekey_after: Time,
    /// Messages in one session after which the next one begins; 2^60.
    pub rekey_after_messages: u64,
    /// The number of messages that may wait for a session, for each peer; 32. Beyond it, the oldest message is dropped.
    pub waiting_messages: usize,
    /// The bytes of messages that may wait for a session, for each peer; 65,536.
    pub waiting_bytes: usize,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            initiations: 1_000,
            initiations_per_source: 10,
            rekey_after: Time::s(120),
            rekey_after_messages: 1 << 60,
            waiting_messages: 32,
            waiting_bytes: 65_536,
        }
    }
}
