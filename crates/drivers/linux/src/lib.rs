//! What drivers need of Linux: packets that the kernel holds for a program ([`nfqueue`]), the rules that hand them over
//! ([`gate`]), programs that configure the kernel ([`command`]), and waiting for several files ([`wait`]).
#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod command;
pub mod gate;
pub mod nfqueue;
pub mod wait;
