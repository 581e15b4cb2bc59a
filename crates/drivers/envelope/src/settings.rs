//! What a caller may choose.

use slotline_base::time::Time;
use std::time::Duration;

/// What differs at each start of a program.
#[derive(Clone, Copy, Debug)]
pub struct Start {
    /// Time since 1970 at [`Time::ZERO`], by the system's clock. Initiations carry it, and a peer refuses one that is
    /// not later than the last: a clock that was put back makes handshakes wait.
    pub since_1970: Duration,
    /// Random bytes for the indices of sessions.
    pub seed: u64,
}

/// Rates, times and limits. The default is meant for every use.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Initiations per second that are read from all sources of which no peer is known; 1,000.
    pub initiations: u64,
    /// Initiations per second that are read from one source; 10.
    pub initiations_per_source: u64,
    /// Age of a session at which its initiator begins the next one; 120 s, and at most 120 s.
    pub rekey_after: Time,
    /// Messages under one session after which the next one begins; 2^60.
    pub rekey_after_messages: u64,
    /// Messages that wait for a session, for each peer; 32. With more, the oldest one is dropped.
    pub waiting_messages: usize,
    /// Bytes of messages that wait for a session, for each peer; 65,536.
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
