//! The wire formats of Fastpass: FCP between endpoints and arbiters, and the messages of the watchdog and of
//! fault isolation.

pub mod fastpass;
pub mod fcp;

/// The bytes that Ethernet (38 with preamble and gap), IPv6 (40) and UDP (8) add to a message.
pub const OVERHEAD: u16 = 38 + 40 + 8;
