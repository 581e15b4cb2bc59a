//! What drivers need of Linux: packets that the kernel holds for a program ([`nfqueue`]), the rules that hand them over
//! ([`command`]), and waiting for several files ([`wait`]).
#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod command;
pub mod nfqueue;
pub mod wait;
