//! The drivers, held against the contract between nodes and drivers.

mod conformance;
mod xco;
