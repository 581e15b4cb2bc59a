//! The arbiter's schedule: demand goes in, and timeslots with paths come out. It joins the allocator and path
//! selection.

use super::allocation::{Allocator, DemandError, Grant, Partition, Tenant};
use super::faults::Component;
use super::paths::{Fabric, PathGrant, Selector};
use super::spec::{Fastpass, FastpassSpec};
use slotline_net::error::SpecError;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Timeslots of one batch for one pair of hosts over one path.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Placed {
    /// The sending host.
    pub src: u16,
    /// The receiving host.
    pub dst: u16,
    /// The path.
    pub path: u16,
    /// Bit `i` is timeslot `i` of the batch.
    pub slots: u64,
}

/// The counters of a schedule.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// Batches allocated.
    pub batches: u64,
    /// Timeslots given out.
    pub granted: u64,
    /// Timeslots that found no path and were demanded again.
    pub unplaced: u64,
}

/// The demand of a source by pair.
fn backlog_of(partition: &Partition, source: u16) -> BTreeMap<(u16, u16), u64> {
    let mut of_pair = BTreeMap::new();
    for (src, dst, slots) in partition.backlog().filter(|demand| demand.0 == source) {
        *of_pair.entry((src, dst)).or_default() += slots;
    }
    of_pair
}

/// The schedule. It decides for one batch after another which host sends in which timeslot, and over which
/// path.
#[derive(Clone, Debug)]
pub struct Schedule {
    slots: Partition,
    selector: Option<Selector>,
    fabric: Arc<Fabric>,
    /// The components that are not used.
    broken: BTreeSet<Component>,
    /// The demand of restarted hosts that the allocator still has from before the restart. If a host reports
    /// such demand again, it does not count twice.
    before: BTreeMap<(u16, u16), u64>,
    grants: Vec<Grant>,
    parts: Vec<PathGrant>,
    rest: Vec<Grant>,
    placed: Vec<Placed>,
    counters: Counters,
}

impl Schedule {
    /// Makes a schedule for hosts that send and receive these numbers of packets per timeslot.
    ///
    /// # Errors
    /// There are more hosts or paths than possible, or tenants have hosts that are not in the network.
    pub fn new(
        options: &Fastpass,
        fabric: &Arc<Fabric>,
        rates: &[u16],
    ) -> Result<Schedule, SpecError> {
        Ok(Schedule {
            slots: slots(options, rates)?,
            selector: fabric.selector()?,
            fabric: Arc::clone(fabric),
            broken: BTreeSet::new(),
            before: BTreeMap::new(),
            grants: Vec::new(),
            parts: Vec::new(),
            rest: Vec::new(),
            placed: Vec::new(),
            counters: Counters::default(),
        })
    }
    /// The counters since the schedule was made.
    pub const fn counters(&self) -> Counters {
        self.counters
    }
    /// Whether nobody waits for timeslots.
    pub fn is_idle(&self) -> bool {
        self.slots.is_idle()
    }
    /// Adds `slots` timeslots to the demand from `src` to `dst`. Returns false for a demand that cannot be
    /// valid, which is ignored.
    pub fn demand(&mut self, src: u16, dst: u16, slots: u32) -> bool {
        let mut slots = slots;
        if let Some(known) = self.before.get_mut(&(src, dst)) {
            let same = (*known).min(slots.into());
            *known -= same;
            slots -= same as u32;
        }
        self.slots.add_demand(src, dst, slots).is_ok()
    }
    /// Notes that `src` has restarted and will report its demand again.
    pub fn restart(&mut self, src: u16) {
        self.before.retain(|pair, _| pair.0 != src);
        self.before.extend(backlog_of(&self.slots, src));
    }
    /// Makes timeslots avoid a component from the next batch on, as far as there is a path around it, or use
    /// it again.
    pub fn set_works(&mut self, component: Component, works: bool) {
        match works {
            true => self.broken.remove(&component),
            false => self.broken.insert(component),
        };
        let Some(selector) = &mut self.selector else { return };
        self.fabric.set_works(selector, component, works);
        // A broken component may be a part of the component that works again.
        for &other in &self.broken {
            self.fabric.set_works(selector, other, false);
        }
    }
    /// Uses the paths of `fabric` from the next batch on. It is the same network with other routes or rates.
    ///
    /// # Errors
    /// There are more paths than possible. In this case nothing changes.
    pub fn reroute(&mut self, fabric: &Arc<Fabric>) -> Result<(), SpecError> {
        self.selector = fabric.selector()?;
        self.fabric = Arc::clone(fabric);
        for &component in &self.broken {
            self.selector
                .iter_mut()
                .for_each(|selector| fabric.set_works(selector, component, false));
        }
        Ok(())
    }
    /// Allocates the next batch: timeslots by source, destination and path.
    pub fn batch(&mut self) -> &[Placed] {
        self.counters.batches += 1;
        self.grants.clear();
        self.placed.clear();
        self.slots.allocate_alone(&mut self.grants);
        match &mut self.selector {
            Some(_) => self.place(),
            None => self.placed.extend(self.grants.iter().map(|grant| placed(grant, 0))),
        }
        self.merge();
        let count = |placed: &Placed| u64::from(placed.slots.count_ones());
        self.counters.granted += self.placed.iter().map(count).sum::<u64>();
        &self.placed
    }
    /// Chooses paths. Slots that find none are demanded again.
    fn place(&mut self) {
        let Schedule { selector, parts, rest, fabric, grants, .. } = self;
        let Some(selector) = selector else { return };
        // Paths are alike as long as nothing is broken.
        let turn = if self.broken.is_empty() { self.counters.batches as u32 % 4_096 } else { 0 };
        parts.clear();
        rest.clear();
        selector.select(grants, parts, rest).expect("hosts, racks and links are the fabric's");
        let place = |part: &PathGrant| {
            let Grant { src, dst, .. } = part.grant;
            placed(&part.grant, fabric.entropy(src, dst, part.path, turn))
        };
        self.placed.extend(parts.iter().map(place));
        for &Grant { src, dst, slots } in &self.rest {
            self.counters.unplaced += u64::from(slots.count_ones());
            // The demand was granted, so it is valid.
            let _same = self.slots.add_demand(src, dst, slots.count_ones());
        }
    }
    /// Makes one entry per source, destination and path, in this order. There are several entries if a slot
    /// occurs several times.
    fn merge(&mut self) {
        self.placed.sort_unstable();
        self.placed.dedup_by(|next, first| {
            let pair = |placed: &Placed| (placed.src, placed.dst, placed.path);
            let joins = pair(next) == pair(first) && next.slots & first.slots == 0;
            if joins {
                first.slots |= next.slots;
            }
            joins
        });
    }
}

fn placed(grant: &Grant, path: u16) -> Placed {
    let Grant { src, dst, slots } = *grant;
    Placed { src, dst, path, slots }
}

/// The allocator: for hosts of one rate or of different rates.
fn slots(options: &Fastpass, rates: &[u16]) -> Result<Partition, SpecError> {
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
#[path = "schedule_tests.rs"]
mod tests;
