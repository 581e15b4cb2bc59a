//! Tests that compare the schedulers with references, bounds and invariants.

mod links;
mod reference;
mod schedulers;
