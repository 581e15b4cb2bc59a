//! Demand in, timeslots with paths out: the allocator and path selection together.

use super::allocate::{Allocator, BATCH, Grant};
use super::fabric::{Fabric, Place};
use super::paths::{Choice, PathSelector};
use super::spec::Fastpass;
use crate::error::SpecError;
use std::collections::BTreeMap;

/// Timeslots of one batch for one pair of hosts over one path.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Placed {
    /// The sending host.
    pub src: u16,
    /// The receiving host.
    pub dst: u16,
    /// The path.
    pub path: u16,
    /// Bit `i`: timeslot `i` of the batch.
    pub slots: u64,
}

/// What a schedule has counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// Batches allocated.
    pub batches: u64,
    /// Timeslots given out.
    pub granted: u64,
    /// Timeslots that found no path and were demanded again.
    pub unplaced: u64,
}

/// Decides for batch after batch who sends when, and over which path.
#[derive(Clone, Debug)]
pub struct Schedule {
    allocator: Allocator,
    selector: Option<PathSelector>,
    /// By host.
    rack: Vec<u16>,
    /// What hosts demanded before they began again and the allocator still knows: such demand is there
    /// already when they name it again.
    before: BTreeMap<(u16, u16), u64>,
    grants: Vec<Grant>,
    placed: Vec<Placed>,
    pairs: Vec<(u16, u16)>,
    racks: Vec<(u16, u16)>,
    choices: Vec<Choice>,
    counters: Counters,
}

impl Schedule {
    /// For so many hosts of a fabric.
    ///
    /// # Errors
    /// More hosts or paths than there can be.
    pub fn new(options: &Fastpass, fabric: &Fabric, hosts: usize) -> Result<Schedule, SpecError> {
        let allocator = Allocator::new(hosts, options.policy())
            .map_err(|error| SpecError::new("control", error.to_string()))?;
        Ok(Schedule {
            allocator,
            selector: fabric.selector()?,
            rack: (0..hosts as u32).map(|host| fabric.rack(host)).collect(),
            before: BTreeMap::new(),
            grants: Vec::new(),
            placed: Vec::new(),
            pairs: Vec::new(),
            racks: Vec::new(),
            choices: Vec::new(),
            counters: Counters::default(),
        })
    }
    /// What it has counted.
    pub const fn counters(&self) -> Counters {
        self.counters
    }
    /// Whether anybody waits for timeslots.
    pub fn is_idle(&self) -> bool {
        self.allocator.active_pairs() == 0
    }
    /// `src` wants so many timeslots more. A demand that makes no sense is left out: false.
    pub fn demand(&mut self, src: u16, dst: u16, slots: u32) -> bool {
        let mut slots = slots;
        if let Some(known) = self.before.get_mut(&(src, dst)) {
            let same = (*known).min(slots.into());
            *known -= same;
            slots -= same as u32;
        }
        self.allocator.add_demand(src, dst, slots).is_ok()
    }
    /// `src` has begun again: what it wants it will name anew.
    pub fn restart(&mut self, src: u16) {
        let known = self.allocator.backlog().filter(|pair| pair.0 == src);
        let known: Vec<_> = known.map(|(src, dst, slots)| ((src, dst), slots)).collect();
        self.before.retain(|pair, _| pair.0 != src);
        self.before.extend(known);
    }
    /// Has timeslots avoid a link or switch from the next batch on, or use it again. False: there is no
    /// way around it.
    pub fn set_works(&mut self, place: Place, works: bool) -> bool {
        let Some(selector) = &mut self.selector else { return false };
        match place {
            Place::Link(rack, path) => selector.set_link(rack, path, works).is_ok(),
            Place::Path(path) => selector.set_path(path, works).is_ok(),
            Place::Elsewhere => false,
        }
    }
    /// Decides about the next batch: timeslots by source, destination and path.
    pub fn batch(&mut self) -> &[Placed] {
        self.counters.batches += 1;
        self.grants.clear();
        self.placed.clear();
        self.allocator.allocate_batch(&mut self.grants);
        if self.selector.is_some() {
            (0..BATCH).for_each(|slot| self.place(slot));
        } else {
            let placed = |grant: &Grant| {
                let Grant { src, dst, slots } = *grant;
                Placed { src, dst, path: 0, slots }
            };
            self.placed.extend(self.grants.iter().map(placed));
        }
        self.merge();
        let count = |placed: &Placed| u64::from(placed.slots.count_ones());
        self.counters.granted += self.placed.iter().map(count).sum::<u64>();
        &self.placed
    }
    /// Chooses the paths of one timeslot.
    fn place(&mut self, slot: u32) {
        let Some(selector) = &mut self.selector else { return };
        let bit = 1 << slot;
        self.pairs.clear();
        let here = self.grants.iter().filter(|grant| grant.slots & bit != 0);
        self.pairs.extend(here.map(|grant| (grant.src, grant.dst)));
        self.racks.clear();
        let rack = |host: u16| self.rack[usize::from(host)];
        self.racks.extend(self.pairs.iter().map(|&(src, dst)| (rack(src), rack(dst))));
        selector.select(&self.racks, &mut self.choices).expect("racks are the fabric's");
        for (&(src, dst), choice) in self.pairs.iter().zip(&self.choices) {
            match *choice {
                Choice::Local => self.placed.push(Placed { src, dst, path: 0, slots: bit }),
                Choice::Over(path) => self.placed.push(Placed { src, dst, path, slots: bit }),
                Choice::Unplaced => {
                    self.counters.unplaced += 1;
                    // It was granted, so it can be demanded.
                    let _same = self.allocator.add_demand(src, dst, 1);
                }
            }
        }
    }
    /// One entry per source, destination and path, in this order.
    fn merge(&mut self) {
        self.placed.sort_unstable();
        self.placed.dedup_by(|next, first| {
            let same = (next.src, next.dst, next.path) == (first.src, first.dst, first.path);
            if same {
                first.slots |= next.slots;
            }
            same
        });
    }
}
