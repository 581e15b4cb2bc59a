//! Two-level routing in a fat-tree. Addresses contain the position of a host, and tables of prefixes and suffixes
//! spread traffic by the destination's number at its switch.
//!
//! Source: Al-Fares, "Data center network architecture", chapter 3 (and Al-Fares, Loukissas and Vahdat,
//! SIGCOMM 2008, section 3).

mod address;
mod generate;
mod table;

pub use address::{Place, Plan};
pub use table::{Action, Prefix, Sizes, Suffix, Table, TcamRow};

#[cfg(test)]
mod tests;
