//! Timeslot allocation by several allocators side by side, so that several cores can share it.
//!
//! With `n` *partitions*, each pair belongs to one of `n` sets, and partition `i` owns the batches
//! `i`, `i + n`, `i + 2n`, ... A *round* allocates the `n` batches of all partitions, in phases. First each
//! partition serves its own set once: each pair gets an equal share of its busier end ([`Partition::begin`]).
//! Max-min fairness among the pairs of all sets gives it at least this share. In phase `p`, partition `i` serves
//! set `(i + p) mod n`, which partition `i + 1` has just served, with all free slots of its batch. So partition
//! `i` always sends sets to partition `i - 1`. After `n` phases each set is back at its own partition and gets
//! the slots that are left there. Within a phase the partitions share no state: they can run in any order, or
//! at the same time.
//!
//! This is the pipeline of Fastpass (§3), closed to a ring. In the paper, demand that one core could not serve
//! goes to the next core, which has the next batch. Here no partition waits for another one to finish its
//! batch.
//!
//! **The result is maximal:** in each slot of each batch, each pair that still waits after the round has a
//! busy end.
//!
//! **No pair starves** under [`super::Policy::MaxMin`]. A set comes first in one batch of each round, and
//! there the argument of [`super`] holds. Pairs in a set keep their order, the least recently served first,
//! wherever the set is. So the bound is that of one allocator, in rounds instead of batches.

use super::{DemandError, Grant, Partition, Policy};

/// The partition of a pair. The pairs of an endpoint with any range of other endpoints are spread evenly over
/// the partitions, in both directions. Pairs whose numbers differ by a constant are spread evenly as well.
#[must_use]
pub fn partition_of(src: u16, dst: u16, partitions: usize) -> usize {
    let (src, dst) = (usize::from(src), usize::from(dst));
    (src + dst + dst / partitions) % partitions
}

/// All partitions of an allocation, executed one after another. Partitions on cores of their own give the
/// same result, slot by slot.
#[derive(Clone, Debug)]
pub struct Partitions {
    partitions: Vec<Partition>,
}

impl Partitions {
    /// Makes a number of partitions for a number of endpoints.
    ///
    /// # Errors
    /// The errors of [`super::Allocator::new`].
    pub fn new(
        partitions: usize,
        endpoints: usize,
        policy: Policy,
    ) -> Result<Partitions, DemandError> {
        Ok(Partitions::of(Partition::new(endpoints, policy)?, partitions))
    }
    /// A number of partitions like this one, which has no demand.
    pub fn of(partition: Partition, partitions: usize) -> Partitions {
        Partitions { partitions: vec![partition; partitions.max(1)] }
    }
    /// Adds `slots` slots to the demand from `src` to `dst`, from the next round on.
    ///
    /// # Errors
    /// The errors of [`Partition::add_demand`].
    pub fn add_demand(&mut self, src: u16, dst: u16, slots: u32) -> Result<(), DemandError> {
        let partition = partition_of(src, dst, self.partitions.len());
        self.partitions[partition].add_demand(src, dst, slots)
    }
    /// The slots that each active pair waits for: source, destination, number.
    pub fn backlog(&self) -> impl Iterator<Item = (u16, u16, u64)> {
        self.partitions.iter().flat_map(Partition::backlog)
    }
    /// Allocates the next round: one batch for each partition, in order.
    pub fn allocate_round(&mut self) -> Vec<Vec<Grant>> {
        let mut batches = vec![Vec::new(); self.partitions.len()];
        let mut all: Vec<_> = self.partitions.iter_mut().zip(&mut batches).collect();
        allocate_round(&mut all);
        batches
    }
}

/// Allocates the next round of these partitions. The grants of each one's batch are appended to its list.
pub fn allocate_round(all: &mut [(&mut Partition, &mut Vec<Grant>)]) {
    if let [(partition, batch)] = all {
        return partition.allocate_alone(batch);
    }
    let count = all.len();
    let mut sets = vec![Vec::new(); count];
    let loads: Vec<Vec<u64>> = all.iter().map(|(partition, _)| loads_of(partition)).collect();
    for (i, (partition, batch)) in all.iter_mut().enumerate() {
        let mut others = vec![0; loads[i].len()];
        (0..count)
            .filter(|&other| other != i)
            .for_each(|other| add_loads(&mut others, &loads[other]));
        partition.begin(&others, batch, &mut sets[i]);
    }
    for phase in 1..count {
        for (i, (partition, batch)) in all.iter_mut().enumerate() {
            let set = &mut sets[(i + phase) % count];
            partition.serve(&std::mem::take(set), set, batch);
        }
    }
    for ((partition, batch), set) in all.iter_mut().zip(&sets) {
        partition.finish(set, batch);
    }
}

fn loads_of(partition: &Partition) -> Vec<u64> {
    let mut loads = Vec::new();
    partition.loads(&mut loads);
    loads
}

/// Adds the loads of a partition ([`Partition::loads`]) to a sum.
pub fn add_loads(sums: &mut [u64], loads: &[u64]) {
    sums.iter_mut().zip(loads).for_each(|(sum, load)| *sum += load);
}

#[cfg(test)]
#[path = "partitions_tests.rs"]
mod tests;
