//! Tests of drivers against the contract between nodes and drivers, and of the page of a daemon.

mod browser;
mod conformance;
mod xco;
