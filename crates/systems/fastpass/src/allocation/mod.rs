//! Timeslot allocation (§3). The allocator allocates 64 timeslots at a time, a batch. Each timeslot is a
//! matching of sources to destinations.
//!
//! One word per source and one per destination say which slots of the batch are free. Pairs wait in one
//! queue, the least recently served pair first. The allocator goes through the queue in rounds. A visit to a
//! pair takes the lowest slots that are free at both ends, at most a quantum. A pair leaves the batch when
//! all of its slots are granted, or when its ends have no free slot in common. Free slots only become fewer, so
//! no later visit in the batch could succeed, and no waiting pair can use a slot that stays free.
//!
//! **The first visit takes what round robin gives in any case.** Max-min fairness gives a pair at least an
//! equal share of the busier one of its ends: 64 slots divided by the number of pairs there. As long as
//! endpoints have few pairs (below 16 on average), the first visit takes this share where it is more than the
//! quantum. Later visits take a quantum each. With a quantum of 1 and 16 to 31 pairs on average, the first
//! visit takes two slots. A pair that is visited later may find less than its share free at both ends. In
//! measurements, the result is therefore a little further from max-min fairness.
//!
//! **Demand that is granted at once** leaves no state. Pairs that request slots come last in the next batch,
//! and only those that do not get all of them become active.
//!
//! **No pair starves** under [`Policy::MaxMin`]. A pair that got nothing in a batch comes first in the next,
//! in the old order, and new pairs come last. A pair gets nothing only if pairs ahead of it took all 64 slots
//! from its two ends, which is 32 or more from one end. Those pairs are behind it afterwards. Their number is
//! at least 32 divided by the quantum `q` (2, where first visits take two), or, where a share is larger than
//! that, half of the pairs at that end. With `n` endpoints at most 2n - 4 pairs can be ahead, so a pair gets
//! a slot after at most ⌈(2n - 4) q / 32⌉ + 14 batches without one. [`Policy::ShortestFirst`] has no such
//! bound, nor have the lower classes of [`Allocator::with_tenants`].
//!
//! **Two allocators** can own alternating batches, each with a part of the pairs. After its batch, each gives
//! its remaining demand to the other ([`Allocator::take_waiting`], [`Allocator::put_first`]), so that a pair
//! is not bound to one of them.

mod active;
mod allocator;
mod amounts;
mod bits;
mod ends;
mod entry;
mod lanes;
mod pack;
mod pair_filter;
mod pair_table;
mod partition;
pub mod partitions;
mod tenants;
mod visits;

pub use allocator::Allocator;
pub use partition::Partition;
pub use partitions::{Partitions, partition_of};
pub use tenants::Tenant;

/// Timeslots in a batch.
pub const BATCH: u32 = 64;

/// The bits of the first `count` slots of a batch.
pub(crate) const fn first_slots(count: u32) -> u64 {
    if count >= BATCH { u64::MAX } else { (1 << count) - 1 }
}
/// The largest number of endpoints. Endpoint numbers have 16 bits.
pub const MOST_ENDPOINTS: usize = 1 << 16;

/// The order in which pairs are served.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Policy {
    /// The least recently served pair comes first and gets a fixed number of slots per visit. One slot comes
    /// closest to max-min fairness (§3.1); more slots take less time.
    MaxMin {
        /// The number of slots per visit, from 1 to 64.
        quantum: u32,
    },
    /// The pair that waits for the fewest slots comes first and gets all of them, so that short flows end
    /// early (§3.1). Demand that joins a waiting pair counts once the pair's earlier demand is granted.
    ShortestFirst,
}

impl Policy {
    /// The least number of slots that a first visit takes, if it may take an equal share of an end. `None`
    /// means that it takes all free slots.
    fn least_share(self) -> Option<u32> {
        match self {
            Policy::ShortestFirst | Policy::MaxMin { quantum: BATCH } => None,
            Policy::MaxMin { quantum } => Some(quantum),
        }
    }
}

/// The slots of a batch in which a source may send to a destination. A pair may occur twice in a batch, with
/// different slots.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Grant {
    /// The receiving endpoint.
    pub dst: u16,
    /// The sending endpoint.
    pub src: u16,
    /// Bit `i` is slot `i` of the batch.
    pub slots: u64,
}

/// A number of slots that a pair waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Demand {
    /// The sending endpoint.
    pub src: u16,
    /// The receiving endpoint.
    pub dst: u16,
    /// The number of slots.
    pub slots: u32,
}

/// The reason why an allocator cannot be made or a demand is refused. A refused demand changes nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum DemandError {
    /// There are too few or too many endpoints.
    #[error("there are {0} endpoints, but an allocator serves from 2 to 65,536")]
    Endpoints(usize),
    /// The quantum is outside the batch.
    #[error("the quantum is {0} slots, but it has to be from 1 to 64")]
    Quantum(u32),
    /// The weight is outside the batch.
    #[error("a weight is {0} slots per visit, but it has to be from 1 to 64")]
    Weight(u32),
    /// An endpoint belongs to a tenant that does not exist.
    #[error(
        "endpoint {endpoint} belongs to tenant {tenant}, which does not exist; there are {tenants}"
    )]
    Tenant {
        /// The number of the endpoint.
        endpoint: usize,
        /// The number of its tenant.
        tenant: u16,
        /// How many tenants there are.
        tenants: usize,
    },
    /// An endpoint can neither send nor receive.
    #[error("endpoint {0} has a rate of 0, but it has to be at least one packet per slot")]
    NoLane(usize),
    /// No endpoint has this number.
    #[error("endpoint {endpoint} does not exist; there are {endpoints}, counted from 0")]
    Unknown {
        /// The number.
        endpoint: u16,
        /// How many endpoints there are.
        endpoints: usize,
    },
    /// An endpoint demands slots to itself.
    #[error("endpoint {0} demands slots to itself, but traffic within an endpoint needs none")]
    Itself(u16),
    /// The pair would wait for more slots than can be counted.
    #[error("the pair {src} to {dst} would wait for more slots than 32 bits can count")]
    TooMuch {
        /// The source.
        src: u16,
        /// The destination.
        dst: u16,
    },
}
