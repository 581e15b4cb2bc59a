//! Parameter studies: one file with a `sweep` describes many scenarios.
//!
//! A [`Study`] is the file. Each of its points is a complete scenario, whose result has a folder of its own that is
//! named after its content. From the folders a process can tell which points are done.

mod expectations;
pub mod part;
pub mod plan;
pub mod rows;
pub mod single;
pub mod slurm;
pub mod store;
pub mod summary_file;
pub mod table;

pub use part::{Part, PointRecord, State};
pub use plan::Study;

#[cfg(test)]
mod tests;
