//! Fastpass' messages as bytes: FCP, and what arbiters tell one another.

pub mod fastpass;
pub mod fcp;
