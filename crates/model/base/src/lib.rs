//! The types that every part of Slotline uses: times, rates, indices, random streams, errors, the texts and schemas of
//! options, the topology, and sorting.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod custom;
pub mod error;
pub mod histogram;
pub mod id;
pub mod order;
pub mod prefetch;
pub mod quantity;
pub mod rng;
pub mod schema;
pub mod time;
pub mod topology;
pub mod units;
