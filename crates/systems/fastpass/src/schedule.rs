//! The arbiter's schedule: demand goes in, and timeslots with paths come out. It joins allocators and path
//! selection.
//!
//! A *round* allocates a batch of timeslots by each allocator ([`crate::allocation::partitions`]). It is allocated at once,
//! or by a [`Crew`] while the arbiter goes on. The result is the same, because a round has the demand of the moment at
//! which it begins, and later demand waits for the next one.

mod alone;
mod crew;
mod part;

pub use crew::{Crew, MakeCrew};
pub use part::{Part, Round};

use super::allocation::{Demand, partition_of};
use super::faults::Component;
use super::paths::{Fabric, Selector};
use super::spec::Fastpass;
use part::Paths;
use slotline_net::error::SpecError;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Timeslots of one batch for one pair of hosts over one path.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Debug)]
pub struct Placed {
    /// The sending host.
    pub src: u16,
    /// The number of the batch in its round, from 0.
    pub batch: u16,
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
    /// Demands that the allocators have refused.
    pub refused: u64,
}

/// A schedule without demand, from which schedules are made.
#[derive(Clone, Debug)]
pub struct EmptySchedule {
    parts: Vec<Part>,
    paths: Paths,
    hosts: usize,
}

impl EmptySchedule {
    /// Prepares a schedule for hosts that send and receive these numbers of packets per timeslot.
    ///
    /// # Errors
    /// There are more hosts or paths than possible, or tenants have hosts that are not in the network.
    pub fn new(
        options: &Fastpass,
        fabric: &Arc<Fabric>,
        rates: &[u16],
    ) -> Result<EmptySchedule, SpecError> {
        let paths = Paths::new(fabric)?;
        let partition = part::partition(options, rates)?;
        let part = |number| Part::new(number, partition.clone(), paths.clone());
        let parts = (0..options.spec().allocators as u16).map(part).collect();
        Ok(EmptySchedule { parts, paths, hosts: rates.len() })
    }
    /// Uses the paths of `fabric`. It is the same network with other routes or rates.
    ///
    /// # Errors
    /// There are more paths than possible. In this case nothing changes.
    pub fn reroute(&mut self, fabric: &Arc<Fabric>) -> Result<(), SpecError> {
        self.paths = Paths::new(fabric)?;
        self.parts.iter_mut().for_each(|part| part.set_paths(self.paths.clone()));
        Ok(())
    }
    /// Begins a schedule, whose parts a crew may run.
    pub fn begin(&self, crew: Option<&MakeCrew>) -> Schedule {
        let (parts, count) = (self.parts.clone(), self.parts.len());
        Schedule {
            workers: match crew {
                None => Workers::Here(parts),
                Some(make) => Workers::There(make.crew(parts)),
            },
            hosts: self.hosts,
            demands: vec![Vec::new(); count],
            rounds: vec![Round::default(); count],
            is_out: false,
            paths: self.paths.clone(),
            other_paths: false,
            broken: BTreeSet::new(),
            before: BTreeMap::new(),
            placed: Vec::new(),
            counters: Counters::default(),
        }
    }
}

impl Paths {
    fn new(fabric: &Arc<Fabric>) -> Result<Paths, SpecError> {
        Ok(Paths { selector: fabric.selector()?, fabric: Arc::clone(fabric) })
    }
    fn set_works(&mut self, component: Component, works: bool) {
        let Paths { selector, fabric } = self;
        selector.iter_mut().for_each(|of: &mut Selector| fabric.set_works(of, component, works));
    }
}

/// Who runs the parts.
enum Workers {
    Here(Vec<Part>),
    There(Box<dyn Crew>),
}

/// The schedule. It decides for one batch after another which host sends in which timeslot, and over which
/// path.
pub struct Schedule {
    workers: Workers,
    hosts: usize,
    /// The demand since the last round began, by part.
    demands: Vec<Vec<Demand>>,
    /// The rounds of all parts; none while a crew has them.
    rounds: Vec<Round>,
    /// Whether a crew has a round.
    is_out: bool,
    paths: Paths,
    /// Whether parts have to learn of `paths`.
    other_paths: bool,
    /// The components that are not used.
    broken: BTreeSet<Component>,
    /// The demand of restarted hosts that the allocators still have from before the restart. If a host reports
    /// such demand again, it does not count twice.
    before: BTreeMap<(u16, u16), u64>,
    placed: Vec<Placed>,
    counters: Counters,
}

impl Schedule {
    /// The counters since the schedule was made.
    pub const fn counters(&self) -> Counters {
        self.counters
    }
    /// Whether nobody waits for timeslots. During a round this is not known, and the answer is no.
    pub fn is_idle(&self) -> bool {
        let waits = self.rounds.iter().any(|round| round.waits);
        !self.is_out && !waits && self.demands.iter().all(Vec::is_empty)
    }
    /// Adds `slots` timeslots to the demand from `src` to `dst`. Returns false for a demand that cannot be
    /// valid, which is ignored.
    pub fn demand(&mut self, src: u16, dst: u16, slots: u32) -> bool {
        if src == dst || usize::from(src.max(dst)) >= self.hosts {
            return false;
        }
        let mut slots = slots;
        if let Some(known) = self.before.get_mut(&(src, dst)) {
            let same = (*known).min(slots.into());
            *known -= same;
            slots -= same as u32;
        }
        if slots > 0 {
            self.add(Demand { src, dst, slots });
        }
        true
    }
    fn add(&mut self, demand: Demand) {
        let part = partition_of(demand.src, demand.dst, self.demands.len());
        self.demands[part].push(demand);
    }
    /// Notes that `src` has restarted and will report its demand again.
    pub fn restart(&mut self, src: u16) {
        self.collect();
        let mut waiting = match &mut self.workers {
            Workers::Here(parts) => parts.iter().flat_map(|part| part.backlog_of(src)).collect(),
            Workers::There(crew) => crew.backlog_of(src),
        };
        let new = self.demands.iter().flatten().filter(|demand| demand.src == src);
        waiting.extend(new.map(|demand| (demand.src, demand.dst, u64::from(demand.slots))));
        self.before.retain(|pair, _| pair.0 != src);
        for (src, dst, slots) in waiting {
            *self.before.entry((src, dst)).or_default() += slots;
        }
    }
    /// Notes that `slots` timeslots from `src` to `dst` were given out but not granted, because the host has restarted. The
    /// allocators no longer have this demand, so it counts again when the host reports it.
    pub fn denied(&mut self, src: u16, dst: u16, slots: u32) {
        if let Some(known) = self.before.get_mut(&(src, dst)) {
            *known = known.saturating_sub(slots.into());
        }
    }
    /// Makes timeslots avoid a component from the next batch on, as far as there is a path around it, or use
    /// it again.
    pub fn set_works(&mut self, component: Component, works: bool) {
        match works {
            true => self.broken.remove(&component),
            false => self.broken.insert(component),
        };
        self.paths.set_works(component, works);
        // A broken component may be a part of the component that works again.
        self.avoid_broken();
    }
    fn avoid_broken(&mut self) {
        let Schedule { paths, broken, .. } = self;
        broken.iter().for_each(|&component| paths.set_works(component, false));
        self.other_paths = true;
    }
    /// Uses the paths of `fabric` from the next batch on. It is the same network with other routes or rates.
    ///
    /// # Errors
    /// There are more paths than possible. In this case nothing changes.
    pub fn reroute(&mut self, fabric: &Arc<Fabric>) -> Result<(), SpecError> {
        self.paths = Paths::new(fabric)?;
        self.avoid_broken();
        Ok(())
    }
    /// Begins to allocate the next round, unless one is in progress.
    pub fn begin(&mut self) {
        if self.is_out {
            return;
        }
        let paths = std::mem::take(&mut self.other_paths).then(|| self.paths.clone());
        for (round, demands) in self.rounds.iter_mut().zip(&mut self.demands) {
            self.counters.batches += 1;
            // Paths are alike as long as nothing is broken.
            let alike = self.broken.is_empty();
            round.turn = if alike { self.counters.batches as u32 % 4_096 } else { 0 };
            round.paths.clone_from(&paths);
            std::mem::swap(&mut round.demands, demands);
        }
        self.is_out = true;
        match &mut self.workers {
            Workers::Here(parts) => {
                crew::run(parts, &mut self.rounds);
                self.collect();
            }
            Workers::There(crew) => crew.begin(&mut self.rounds),
        }
    }
    /// Whether a crew has a round that was not collected yet.
    pub const fn is_out(&self) -> bool {
        self.is_out
    }
    /// Waits for the end of the round that a crew has, if there is one. Timeslots without a path are demanded again,
    /// before all demand that came during the round.
    pub fn collect(&mut self) {
        if !self.is_out {
            return;
        }
        if let Workers::There(crew) = &mut self.workers {
            crew.finish(&mut self.rounds);
        }
        self.is_out = false;
        self.take_placed();
        self.counters.refused += self.rounds.iter().map(|round| round.refused).sum::<u64>();
        self.counters.granted += self.rounds.iter().map(|round| round.granted).sum::<u64>();
        self.demand_unplaced();
    }
    /// Joins the timeslots of all parts, each of which has ordered its own by source. A source has many in each.
    fn take_placed(&mut self) {
        let Schedule { rounds, placed, .. } = self;
        placed.clear();
        if let [round] = &mut rounds[..] {
            return std::mem::swap(placed, &mut round.placed);
        }
        let mut lists: Vec<&[Placed]> = rounds.iter().map(|round| &round.placed[..]).collect();
        while let Some(src) =
            lists.iter().filter_map(|list| list.first()).map(|first| first.src).min()
        {
            for list in &mut lists {
                let count = list.iter().take_while(|placed| placed.src == src).count();
                placed.extend_from_slice(&list[..count]);
                *list = &list[count..];
            }
        }
        rounds.iter_mut().for_each(|round| round.placed.clear());
    }
    fn demand_unplaced(&mut self) {
        if self.rounds.iter().all(|round| round.unplaced.is_empty()) {
            return;
        }
        let count = self.demands.len();
        let later = std::mem::replace(&mut self.demands, vec![Vec::new(); count]);
        let mut rounds = std::mem::take(&mut self.rounds);
        for demand in rounds.iter_mut().flat_map(|round| round.unplaced.drain(..)) {
            self.counters.unplaced += u64::from(demand.slots);
            self.add(demand);
        }
        self.rounds = rounds;
        self.demands.iter_mut().zip(later).for_each(|(all, later)| all.extend(later));
    }
    /// The timeslots of the round that was collected last, by source, batch, destination and path.
    pub fn placed(&self) -> &[Placed] {
        &self.placed
    }
    /// Allocates the next round at once: timeslots by source, batch, destination and path.
    pub fn batch(&mut self) -> &[Placed] {
        self.begin();
        self.collect();
        &self.placed
    }
}

#[cfg(test)]
#[path = "schedule_tests.rs"]
mod tests;
