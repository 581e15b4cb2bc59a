//! Files of other programs, as parts of a scenario.

pub mod fabric;
