//! The schedulers, held against references, bounds and invariants.

mod links;
mod reference;
mod schedulers;
