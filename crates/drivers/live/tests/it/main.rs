//! Tests of drivers against the contract between nodes and drivers.

mod conformance;
mod xco;
