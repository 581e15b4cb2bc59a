//! Readers and writers of external files. They convert between text or bytes and plain data.
//!
//! The crate is pure: it opens no file. Readers guess nothing. They refuse what they do not understand, and name
//! its line.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod error;
pub mod flow_log;
pub mod frame_bytes;
mod json;
mod lines;
pub mod lldp;
pub mod pcap;
pub mod pcapng_writer;
pub mod topology;
mod tree;
mod yaml;

pub use error::FormatError;
