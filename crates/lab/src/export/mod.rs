//! Scenarios and results, as files of other programs.

pub mod containerlab;
