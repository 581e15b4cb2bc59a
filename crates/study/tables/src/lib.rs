//! Records of runs, as plain data ([`record`]), and their tables, which are written as CSV and as Parquet and read back
//! ([`tables`]). The crate depends on neither scenarios nor engines, so it is compiled in parallel with them. It is the
//! only crate that needs a library for Parquet.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod apps;
mod bits;
mod caught;
mod chunk;
pub mod columns;
mod csv;
mod deltas;
mod digits;
mod estimates;
mod faults;
mod followed;
mod limits;
pub mod parallel;
mod parquet_read;
mod parquet_write;
pub mod record;
mod samples;
mod shared;
mod stopped;
pub use csv::quoted;

pub mod table;
pub mod tables;
mod voqs;
