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

impl Quotas {
    /// The quotas of some of the peers, where others are handled elsewhere. A tenant's quota is shared out by its peers.
    pub(crate) fn part(&self, contains: impl Fn(u32) -> bool) -> Quotas {
        let part = |(peers, quota): &(Vec<u32>, u32)| {
            let own: Vec<u32> = peers.iter().copied().filter(|peer| contains(*peer)).collect();
            let share = u64::from(*quota) * own.len() as u64 / peers.len().max(1) as u64;
            // Zero would be no limit.
            (!own.is_empty()).then(|| (own, (share as u32).max(1)))
        };
        Quotas { each: self.each, tenants: self.tenants.iter().filter_map(part).collect() }
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tenant_has_its_quota_in_all_parts_together() {
        let tenants = vec![(vec![1, 2, 3], 900), (vec![4], 0), (vec![5, 6], 1)];
        let quotas = Quotas { each: 7, tenants };
        let odd = quotas.part(|peer| peer % 2 == 1);
        assert_eq!(odd.tenants, [(vec![1, 3], 600), (vec![5], 1)]);
        let even = quotas.part(|peer| peer % 2 == 0);
        assert_eq!(even.tenants, [(vec![2], 300), (vec![4], 1), (vec![6], 1)]);
        assert_eq!(quotas.part(|_| true).each, 7);
    }
}
