//! Files that people bring and take away: text or bytes on one side, plain data on the other.
//!
//! Pure: no file is opened here, and nothing is guessed. What a reader does not understand it refuses,
//! with the line.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod error;
pub mod frame_bytes;
mod json;
mod lines;
pub mod pcap;
pub mod pcapng_writer;
pub mod topology;
mod tree;
mod yaml;

pub use error::FormatError;
