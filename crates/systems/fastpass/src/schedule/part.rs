//! A part of a schedule: one partition of the allocation, and the choice of paths for its batches.

use super::Placed;
use crate::allocation::{Allocator, Demand, DemandError, Grant, Partition, Tenant};
use crate::paths::{Fabric, PathGrant, Selector};
use crate::spec::{Fastpass, FastpassSpec};
use slotline_net::error::SpecError;
use std::sync::Arc;

/// What a part is given for a round, and what it returns. All lists are used again.
#[derive(Clone, Default, Debug)]
pub struct Round {
    /// The demand since the last round.
    pub(super) demands: Vec<Demand>,
    /// The paths from this round on, if they have changed.
    pub(super) paths: Option<Paths>,
    /// By how much the numbers of paths are rotated in this batch.
    pub(super) turn: u32,
    /// The timeslots of the batch, by source, destination and path.
    pub(super) placed: Vec<Placed>,
    /// The number of these timeslots.
    pub(super) granted: u64,
    /// Timeslots that found no path.
    pub(super) unplaced: Vec<Demand>,
    /// Demands that the allocator has refused.
    pub(super) refused: u64,
    /// Whether pairs still wait.
    pub(super) waits: bool,
}

/// The paths of a network; there is nothing to select without a selector.
#[derive(Clone, Debug)]
pub(super) struct Paths {
    pub(super) selector: Option<Selector>,
    pub(super) fabric: Arc<Fabric>,
}

/// A part of a schedule. Parts share nothing, so each can be on a core of its own. In a round each takes its demand
/// ([`Part::take`]), all of them allocate a batch each ([`Part::allocation`]), and each chooses the paths of its batch
/// ([`Part::place`]).
#[derive(Clone, Debug)]
pub struct Part {
    /// The place of its batch in a round.
    number: u16,
    partition: Partition,
    paths: Paths,
    grants: Vec<Grant>,
    /// Working memory.
    parts: Vec<PathGrant>,
    rest: Vec<Grant>,
    order: Order,
}

impl Part {
    pub(super) fn new(number: u16, partition: Partition, paths: Paths) -> Part {
        let (grants, parts, rest) = (Vec::new(), Vec::new(), Vec::new());
        Part { number, partition, paths, grants, parts, rest, order: Order::default() }
    }
    pub(super) fn set_paths(&mut self, paths: Paths) {
        self.paths = paths;
    }
    /// Takes the demand of a round, and its paths if they have changed.
    pub fn take(&mut self, round: &mut Round) {
        if let Some(paths) = round.paths.take() {
            self.paths = paths;
        }
        round.refused = 0;
        for Demand { src, dst, slots } in round.demands.drain(..) {
            let refused = self.partition.add_demand(src, dst, slots).is_err();
            round.refused += u64::from(refused);
        }
    }
    /// The partition, and the list to which the grants of its batch have to be added.
    pub fn allocation(&mut self) -> (&mut Partition, &mut Vec<Grant>) {
        (&mut self.partition, &mut self.grants)
    }
    /// Chooses the paths of the batch.
    pub fn place(&mut self, round: &mut Round) {
        round.placed.clear();
        match self.paths.selector {
            Some(_) => self.select(round),
            None => round.placed.extend(self.grants.iter().map(|grant| self.placed(grant, 0))),
        }
        self.grants.clear();
        self.order.sort(&mut round.placed);
        merge(&mut round.placed);
        round.granted =
            round.placed.iter().map(|placed| u64::from(placed.slots.count_ones())).sum();
        round.waits = !self.partition.is_idle();
    }
    fn placed(&self, grant: &Grant, path: u16) -> Placed {
        let Grant { src, dst, slots } = *grant;
        Placed { src, batch: self.number, dst, path, slots }
    }
    fn select(&mut self, round: &mut Round) {
        let Part { paths, parts, rest, grants, .. } = self;
        let Some(selector) = &mut paths.selector else { return };
        parts.clear();
        rest.clear();
        selector.select(grants, parts, rest).expect("hosts, racks and links are the fabric's");
        let place = |part: &PathGrant| {
            let Grant { src, dst, .. } = part.grant;
            self.placed(&part.grant, self.paths.fabric.entropy(src, dst, part.path, round.turn))
        };
        round.placed.extend(self.parts.iter().map(place));
        round.unplaced.extend(self.rest.iter().map(|grant| {
            let Grant { src, dst, slots } = *grant;
            Demand { src, dst, slots: slots.count_ones() }
        }));
    }
    /// The timeslots that pairs of `source` wait for: source, destination, number. A pair may occur several times.
    pub fn backlog_of(&self, source: u16) -> Vec<(u16, u16, u64)> {
        self.partition.backlog().filter(|demand| demand.0 == source).collect()
    }
}

/// The order of timeslots by source, destination and path. They are divided among destinations and then among sources, so
/// that only those of one pair are compared.
#[derive(Clone, Default, Debug)]
struct Order {
    /// By endpoint, where its next entry belongs.
    places: Vec<u32>,
    divided: Vec<Placed>,
}

impl Order {
    fn sort(&mut self, placed: &mut Vec<Placed>) {
        self.divide(placed, |entry| entry.dst);
        self.divide(placed, |entry| entry.src);
        let of_pairs = placed.chunk_by_mut(|a, b| (a.src, a.dst) == (b.src, b.dst));
        of_pairs.for_each(<[Placed]>::sort_unstable);
    }
    /// Orders entries by endpoint. Those of one endpoint keep their order.
    fn divide(&mut self, placed: &mut Vec<Placed>, endpoint: impl Fn(&Placed) -> u16) {
        let Order { places, divided } = self;
        let last = placed.iter().map(&endpoint).max().unwrap_or(0);
        places.clear();
        places.resize(usize::from(last) + 2, 0);
        placed.iter().for_each(|entry| places[usize::from(endpoint(entry)) + 1] += 1);
        (1..places.len()).for_each(|at| places[at] += places[at - 1]);
        divided.resize(placed.len(), Placed::default());
        for entry in &*placed {
            let place = &mut places[usize::from(endpoint(entry))];
            divided[*place as usize] = *entry;
            *place += 1;
        }
        std::mem::swap(placed, divided);
    }
}

/// Makes one entry per source, destination and path. There are several entries if a slot occurs several times.
fn merge(placed: &mut Vec<Placed>) {
    placed.dedup_by(|next, first| {
        let pair = |placed: &Placed| (placed.src, placed.dst, placed.path);
        let joins = pair(next) == pair(first) && next.slots & first.slots == 0;
        if joins {
            first.slots |= next.slots;
        }
        joins
    });
}

/// One of the partitions of a schedule: for hosts of one rate or of different rates.
pub(super) fn partition(options: &Fastpass, rates: &[u16]) -> Result<Partition, SpecError> {
    let FastpassSpec { tenants, batch, strict_turns, .. } = options.spec();
    let wrong = |error: DemandError| SpecError::new("control", error.to_string());
    let partition = match rates.iter().any(|&rate| rate != 1) {
        true if !tenants.is_empty() => {
            return Err(SpecError::new("control.tenants", "`tenants` need hosts of one rate"));
        }
        true => Partition::of_rates(rates, options.policy()).map_err(wrong)?,
        false if !tenants.is_empty() => with_tenants(options, rates.len())?,
        false => Partition::new(rates.len(), options.policy()).map_err(wrong)?,
    };
    Ok(partition.with_batch(*batch).with_strict_turns(*strict_turns))
}

fn with_tenants(options: &Fastpass, hosts: usize) -> Result<Partition, SpecError> {
    let of_host = options
        .tenants_of(hosts)
        .map_err(|error| SpecError::new("control.tenants", error.message))?;
    let others = Tenant { weight: 1, class: 0 };
    let tenants = options.spec().tenants.iter();
    let rights = tenants.map(|tenant| Tenant { weight: tenant.weight, class: tenant.class });
    let rights: Vec<Tenant> = [others].into_iter().chain(rights).collect();
    let allocator = Allocator::with_tenants(&rights, &of_host)
        .map_err(|error| SpecError::new("control", error.to_string()))?;
    Ok(allocator.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn timeslots_are_in_order(
            lists in prop::collection::vec(prop::collection::vec((0u16..9, 0u16..9, 0u16..4, 1u64..9), 0..80), 1..4)
        ) {
            let mut order = Order::default();
            for list in lists {
                let entry = |(src, dst, path, slots)| Placed { src, batch: 1, dst, path, slots };
                let mut placed: Vec<Placed> = list.into_iter().map(entry).collect();
                let mut compared = placed.clone();
                compared.sort_unstable();
                order.sort(&mut placed);
                prop_assert_eq!(placed, compared);
            }
        }
    }
}
