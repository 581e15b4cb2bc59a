//! Timeslot allocation (§3): a batch of 64 timeslots at a time, each of them a matching of sources to
//! destinations.
//!
//! One word per source and one per destination say which slots of the batch are free. Pairs wait in one
//! queue, the least recently served first. A batch goes through the queue in rounds: a visit takes the
//! lowest slots that are free at both ends, at most a quantum. A pair leaves the batch when all is
//! granted, or when its ends have no free slot in common: words only lose slots, so no later visit in
//! the batch could succeed, and each slot that stays free is one that no waiting pair can use.
//!
//! **What round robin gives in any case is given at once.** Max-min fairness gives a pair an equal share
//! of the busier one of its ends at least: 64 slots over the number of pairs there. As long as
//! endpoints have few pairs (below 16 on average), its first visit takes that much, where it is more than
//! the quantum; what is left goes a quantum at a time. With a quantum of 1 and 16 to 31 pairs on average,
//! the first visit takes two slots. (A share of what is free at both ends need not be left for a pair
//! visited later: measured, pairs are a little further from max-min fairness.)
//!
//! **Demand that is granted at once** leaves no trace: pairs that ask for slots come last in the next batch,
//! and only those that do not get all of them become active.
//!
//! **Nobody starves** under [`Policy::MaxMin`]. Who got nothing in a batch comes first in the next, in
//! the old order, and new pairs come last. A pair goes without only if pairs ahead of it took all 64
//! slots from its two ends, so 32 or more from one; they are behind it afterwards. These are 32 over the
//! quantum `q` (2, where first visits take two), or, where a share is larger than that, half of the pairs
//! at that end. With `n` endpoints
//! at most 2n - 4 pairs can be ahead: after ⌈(2n - 4) q / 32⌉ + 14 batches without a slot a pair gets
//! one. [`Policy::ShortestFirst`] gives no such promise, nor do the lower classes of
//! [`Allocator::with_tenants`].
//!
//! **Two allocators** can own alternating batches, each with a part of the pairs: after its batch each
//! hands what is left to the other ([`Allocator::take_waiting`], [`Allocator::put_first`]), so that a
//! pair is not bound to one of them.

mod active;
mod allocator;
mod bits;
mod ends;
mod entry;
mod lanes;
mod pair_filter;
mod partition;
pub mod partitions;
mod tenants;
mod visits;

pub use allocator::Allocator;
pub use lanes::Lanes;
pub use partition::Partition;
pub use partitions::{Partitions, partition_of};
pub use tenants::Tenant;

/// Timeslots in a batch.
pub const BATCH: u32 = 64;
/// The largest number of endpoints: numbers have 16 bits.
pub const MOST_ENDPOINTS: usize = 1 << 16;

/// Who is served first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Policy {
    /// The least recently served pair, and so many slots per visit: 1 comes closest to max-min fairness
    /// (§3.1), more is faster.
    MaxMin {
        /// Slots per visit: 1 to 64.
        quantum: u32,
    },
    /// The pair that waits for the fewest slots, and all of them: short flows end early (§3.1). Demand
    /// that joins a waiting pair counts once the pair's earlier demand is granted.
    ShortestFirst,
}

impl Policy {
    /// The least that a first visit takes, if that may depend on an equal share of an end; else it takes all there is.
    fn least_share(self) -> Option<u32> {
        match self {
            Policy::ShortestFirst | Policy::MaxMin { quantum: BATCH } => None,
            Policy::MaxMin { quantum } => Some(quantum),
        }
    }
}

/// What an endpoint may send in a batch. A pair may come twice in a batch, with different slots.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Grant {
    /// The receiving endpoint.
    pub dst: u16,
    /// The sending endpoint.
    pub src: u16,
    /// Bit `i`: slot `i` of the batch.
    pub slots: u64,
}

/// Slots that a pair waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Demand {
    /// The sending endpoint.
    pub src: u16,
    /// The receiving endpoint.
    pub dst: u16,
    /// How many.
    pub slots: u32,
}

/// Why an allocator cannot be made, or a demand not be taken. A refused demand changes nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum DemandError {
    /// Too few or too many endpoints.
    #[error("{0} endpoints; from 2 to 65,536 can be served")]
    Endpoints(usize),
    /// A quantum outside the batch.
    #[error("a quantum of {0} slots; it is from 1 to 64")]
    Quantum(u32),
    /// A weight outside the batch.
    #[error("a weight of {0}; it is from 1 to 64 slots per visit")]
    Weight(u32),
    /// An endpoint of a tenant that does not exist.
    #[error(
        "endpoint {endpoint} belongs to tenant {tenant}, which does not exist; there are {tenants}"
    )]
    Tenant {
        /// The endpoint.
        endpoint: usize,
        /// Its tenant.
        tenant: u16,
        /// How many tenants there are.
        tenants: usize,
    },
    /// An endpoint that can neither send nor receive.
    #[error("endpoint {0} has a rate of 0; it is one packet per slot at least")]
    NoLane(usize),
    /// A number that no endpoint has.
    #[error("endpoint {endpoint} does not exist; there are {endpoints}, counted from 0")]
    Unknown {
        /// The number.
        endpoint: u16,
        /// How many there are.
        endpoints: usize,
    },
    /// A demand for the endpoint itself.
    #[error("endpoint {0} wants slots to itself; traffic within an endpoint needs none")]
    Itself(u16),
    /// More slots than a pair can wait for.
    #[error("{src} to {dst} waits for more slots than 32 bits can count")]
    TooMuch {
        /// The source.
        src: u16,
        /// The destination.
        dst: u16,
    },
}
