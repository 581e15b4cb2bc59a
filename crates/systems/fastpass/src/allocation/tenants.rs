//! Tenants with strict classes, and with weights within a class.

use super::bits::lowest;
use super::entry::Entry;
use super::pair_table::PairTable;
use super::{BATCH, DemandError, MOST_ENDPOINTS};

/// The rights of a tenant. A pair belongs to the tenant of its source.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tenant {
    /// The number of slots per visit, from 1 to 64. Pairs that compete within a class share in this
    /// proportion.
    pub weight: u32,
    /// Class 0 is served before class 1, class 1 before class 2, and so on. A class gets what the classes
    /// before it leave free.
    pub class: u8,
}

/// The tenants of all sources.
#[derive(Clone, Debug)]
pub(super) struct Tenants {
    /// The weight by source, for all possible numbers.
    weight: Vec<u8>,
    class: Vec<u8>,
    /// For pairs whose last visit was cut short: the slots that they may take at the next visit instead of
    /// their weight.
    credit: PairTable,
}

impl Tenants {
    pub(super) fn new(tenants: &[Tenant], of_endpoint: &[u16]) -> Result<Tenants, DemandError> {
        if let Some(wrong) = tenants.iter().find(|tenant| !(1..=BATCH).contains(&tenant.weight)) {
            return Err(DemandError::Weight(wrong.weight));
        }
        let of = |(endpoint, &tenant): (usize, &u16)| {
            let none = DemandError::Tenant { endpoint, tenant, tenants: tenants.len() };
            tenants.get(usize::from(tenant)).copied().ok_or(none)
        };
        let all: Vec<Tenant> = of_endpoint.iter().enumerate().map(of).collect::<Result<_, _>>()?;
        let mut weight: Vec<u8> = all.iter().map(|tenant| tenant.weight as u8).collect();
        weight.resize(MOST_ENDPOINTS, 1);
        let class = all.iter().map(|tenant| tenant.class).collect();
        Ok(Tenants { weight, class, credit: PairTable::new() })
    }
    /// The number of classes, including empty ones.
    pub(super) fn classes(&self) -> usize {
        self.class.iter().max().map_or(1, |&last| usize::from(last) + 1)
    }
    #[inline]
    pub(super) fn class(&self, src: u16) -> usize {
        self.class[usize::from(src)].into()
    }
    /// Takes the slots of a visit: as many as the weight of the source's tenant, or as many as were missing at
    /// the last visit.
    pub(super) fn take(&mut self, free: u64, entry: Entry) -> (u64, u32) {
        if free == 0 {
            return (0, 0);
        }
        let weight = u32::from(self.weight[usize::from(entry.src())]);
        let most = self.credit.take(entry.key()).unwrap_or(weight);
        let (taken, count) = lowest(free, most.min(entry.left()));
        if count < most.min(entry.left()) {
            self.credit.set(entry.key(), most - count);
        }
        (taken, count)
    }
    /// Whether the last visit was cut short. Such a pair comes first.
    pub(super) fn was_cut_short(&self, entry: Entry) -> bool {
        self.credit.get(entry.key()).is_some()
    }
    /// Forgets cut visits, because no pair waits any longer.
    pub(super) fn forget(&mut self) {
        self.credit = PairTable::new();
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Allocator, Grant};
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn batch(allocator: &mut Allocator) -> Vec<Grant> {
        let mut grants = Vec::new();
        allocator.allocate_batch(&mut grants);
        grants
    }

    proptest! {
        /// A class gets exactly the slots that it gets without the classes after it.
        #[test]
        fn a_higher_class_never_loses_to_a_lower(
            tenants in prop::collection::vec((1u32..9, 0u8..3), 1..5),
            demands in prop::collection::vec((0u16..12, 1u16..12, 1u32..60, 0u8..4), 0..120),
        ) {
            let tenants: Vec<_> =
                tenants.into_iter().map(|(weight, class)| Tenant { weight, class }).collect();
            let of: Vec<u16> = (0..12).map(|endpoint| endpoint % tenants.len() as u16).collect();
            let class = |src: u16| tenants[usize::from(of[usize::from(src)])].class;
            let run = |last: u8| {
                let mut allocator = Allocator::with_tenants(&tenants, &of).unwrap();
                let mut grants = Vec::new();
                for (src, step, slots, end) in demands.iter().copied() {
                    if class(src) <= last {
                        allocator.add_demand(src, (src + step) % 12, slots).unwrap();
                    }
                    if end == 0 {
                        grants.push(batch(&mut allocator));
                    }
                }
                grants
            };
            let all = run(u8::MAX);
            for last in 0..3 {
                let mut seen = all.clone();
                seen.iter_mut().for_each(|grants| grants.retain(|grant| class(grant.src) <= last));
                prop_assert_eq!(seen, run(last));
            }
        }

        /// Senders to one receiver share it in proportion to their weights.
        #[test]
        fn weighted_shares_converge(weights in prop::collection::vec(1u32..=64, 1..20)) {
            let tenants: Vec<_> =
                weights.iter().map(|&weight| Tenant { weight, class: 0 }).collect();
            let of: Vec<u16> = (0..=weights.len() as u16).map(|e| e.saturating_sub(1)).collect();
            let mut allocator = Allocator::with_tenants(&tenants, &of).unwrap();
            for src in 1..of.len() as u16 {
                allocator.add_demand(src, 0, 1_000_000).unwrap();
            }
            let (batches, mut got) = (1_000, BTreeMap::<u16, u32>::new());
            for grant in (0..batches).flat_map(|_| batch(&mut allocator)) {
                *got.entry(grant.src).or_default() += grant.slots.count_ones();
            }
            let total: u32 = weights.iter().sum();
            for (src, &weight) in (1..).zip(&weights) {
                let (share, fair) = (got[&src], f64::from(batches * BATCH * weight) / f64::from(total));
                // A later visit compensates for one that is cut short.
                let off = (f64::from(share) - fair).abs();
                prop_assert!(off <= 192.0 + 0.02 * fair, "{weight} of {total}: {share}, fair {fair}");
            }
        }
    }

    #[test]
    fn what_cannot_be_served_is_refused() {
        let tenant = Tenant { weight: 1, class: 0 };
        let heavy = Tenant { weight: 65, ..tenant };
        let made = Allocator::with_tenants(&[tenant, heavy], &[0, 0]);
        assert_eq!(made.unwrap_err(), DemandError::Weight(65));
        let made = Allocator::with_tenants(&[tenant], &[0, 1]);
        assert_eq!(made.unwrap_err(), DemandError::Tenant { endpoint: 1, tenant: 1, tenants: 1 });
        assert_eq!(Allocator::with_tenants(&[], &[]).unwrap_err(), DemandError::Endpoints(0));
    }
}
