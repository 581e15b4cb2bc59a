//! Timeslot allocation by several allocators side by side, so that several cores can share it.
//!
//! In `n` *ways*, each pair belongs to one of `n` sets, and way `i` has batches `i`, `i + n`, `i + 2n`,
//! ... A *round* allocates the `n` batches of all ways, in phases. First each way serves its own set, but
//! only once: with what max-min fairness gives a pair among those of all sets at least, an equal share of
//! its busier end ([`Partition::begin`]). In phase `p`, way `i` serves set `(i + p) mod n`, which way `i + 1` has just
//! served, with all that is free in its batch; so each way always hands sets on to way `i - 1`. After `n`
//! phases each set is at home again, and gets what is left there. Within a phase the ways have nothing in
//! common: they can be served in any order, or at once.
//!
//! This is the pipeline of Fastpass (§3: what one core could not serve passes on to the next, which
//! has the next batch) turned into a circle: no way waits for another one to finish its batch.
//!
//! **Maximal:** in each slot of each batch, each pair that still waits when the round is over has a busy
//! end.
//!
//! **Nobody starves** under [`super::Policy::MaxMin`]: a set comes first in one batch of each round, and
//! there the argument of [`super::allocate`] holds. Pairs in a set keep their order, the least recently
//! served first, wherever the set is. So the bound is that of one way, in rounds instead of batches.

use super::{DemandError, Grant, Partition, Policy};

/// The way that a pair belongs to. Each endpoint's pairs with any run of others are spread evenly, in
/// both directions, and so are those that have a constant distance.
#[must_use]
pub fn partition_of(src: u16, dst: u16, partitions: usize) -> usize {
    let (src, dst) = (usize::from(src), usize::from(dst));
    (src + dst + dst / partitions) % partitions
}

/// All ways of an allocation, executed one after another. What the ways do on cores of their own is the
/// same, slot by slot.
#[derive(Clone, Debug)]
pub struct Partitions {
    partitions: Vec<Partition>,
}

impl Partitions {
    /// So many ways for so many endpoints.
    ///
    /// # Errors
    /// As [`super::Allocator::new`].
    pub fn new(
        partitions: usize,
        endpoints: usize,
        policy: Policy,
    ) -> Result<Partitions, DemandError> {
        let partitions = (0..partitions.max(1)).map(|_| Partition::new(endpoints, policy));
        Ok(Partitions { partitions: partitions.collect::<Result<_, _>>()? })
    }
    /// `src` wants to send to `dst` in so many slots more, from the next round on.
    ///
    /// # Errors
    /// As [`super::Allocator::add_demand`].
    pub fn add_demand(&mut self, src: u16, dst: u16, slots: u32) -> Result<(), DemandError> {
        let partition = partition_of(src, dst, self.partitions.len());
        self.partitions[partition].add_demand(src, dst, slots)
    }
    /// What each active pair waits for: source, destination, slots.
    pub fn backlog(&self) -> impl Iterator<Item = (u16, u16, u64)> {
        self.partitions.iter().flat_map(Partition::backlog)
    }
    /// Allocates the next round: as many batches as ways, in order.
    pub fn allocate_round(&mut self) -> Vec<Vec<Grant>> {
        let count = self.partitions.len();
        let mut batches = vec![Vec::new(); count];
        let mut sets = vec![Vec::new(); count];
        if let [partition] = &mut self.partitions[..] {
            partition.allocate_alone(&mut batches[0]);
            return batches;
        }
        let loads: Vec<Vec<u64>> = self.partitions.iter().map(loads_of).collect();
        for (i, partition) in self.partitions.iter_mut().enumerate() {
            let mut others = vec![0; loads[i].len()];
            (0..count)
                .filter(|&other| other != i)
                .for_each(|other| add(&mut others, &loads[other]));
            partition.begin(&others, &mut batches[i], &mut sets[i]);
        }
        for phase in 1..count {
            for (i, (partition, batch)) in self.partitions.iter_mut().zip(&mut batches).enumerate()
            {
                let set = &mut sets[(i + phase) % count];
                partition.serve(&std::mem::take(set), set, batch);
            }
        }
        for ((partition, batch), set) in self.partitions.iter_mut().zip(&mut batches).zip(&sets) {
            partition.finish(set, batch);
        }
        batches
    }
}

fn loads_of(partition: &Partition) -> Vec<u64> {
    let mut loads = Vec::new();
    partition.loads(&mut loads);
    loads
}

fn add(sums: &mut [u64], loads: &[u64]) {
    sums.iter_mut().zip(loads).for_each(|(sum, load)| *sum += load);
}

#[cfg(test)]
#[path = "partitions_tests.rs"]
mod tests;
