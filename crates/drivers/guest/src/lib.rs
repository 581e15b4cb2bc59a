//! A guest machine with virtual time: a distribution's kernel in QEMU, which counts instructions (TCG with `-icount`).
//! One nanosecond of virtual time passes for each instruction, and time jumps to the next timer when all processes wait.
//! So a busy machine makes a guest slower, and changes nothing in it. It needs neither root nor KVM.
//!
//! The guest's first file system is an archive in memory ([`files`], [`cpio`]) with this program, other programs with
//! their libraries, and the kernel's modules ([`modules`]). This program is also the guest's first process ([`inside`]).
//! It runs an [`job`] and returns the result as an archive, too. Nothing remains on this machine, even
//! if the process is killed.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod cpio;
pub mod files;
pub mod inside;
pub mod job;
pub mod kernel;
pub mod machine;
pub mod modules;
