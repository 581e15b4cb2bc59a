//! How many messages a daemon handles from each of its peers, and from those of a tenant together.

use crate::clock::Local;
use std::time::Duration;

/// The time for which a peer may send faster than its quota, by how much it may be ahead.
const AHEAD: Duration = Duration::from_millis(100);

/// Messages that are handled per second; more are dropped. Zero means no limit.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Quotas {
    /// From each peer.
    pub each: u32,
    /// From the peers of each tenant together: their numbers, and the quota.
    pub tenants: Vec<(Vec<u32>, u32)>,
}

/// The use of a quota: the time until which it is used, and the time that a message takes.
#[derive(Clone, Copy, Default)]
pub(crate) struct Meter {
    used: Local,
    share: Duration,
}

impl Meter {
    pub fn new(quota: u32) -> Meter {
        let share = Duration::from_secs(1).checked_div(quota).unwrap_or_default();
        Meter { used: Local(0), share }
    }
    /// Whether another message is within the quota.
    pub fn admits(&self, now: Local) -> bool {
        self.used <= now.after(AHEAD)
    }
    /// Counts a message.
    pub fn count(&mut self, now: Local) {
        self.used = self.used.max(now).after(self.share);
    }
}
