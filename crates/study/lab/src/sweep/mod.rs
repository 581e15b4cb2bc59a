//! Parameter studies: one file with a `sweep`, many scenarios.
//!
//! A [`Study`] is the file; each of its points is a whole scenario, whose result has a folder of its own,
//! named by content. Whoever runs points needs nothing else to know what is done already.

pub mod part;
pub mod plan;
pub mod rows;
pub mod slurm;
pub mod store;
pub mod summary_file;
pub mod table;

pub use part::{Part, PointRecord, State};
pub use plan::Study;

#[cfg(test)]
mod tests;
