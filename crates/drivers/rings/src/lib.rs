//! What drivers share with the kernel by memory or as programs: packet sockets with a ring ([`PacketSocket`], [`CaptureSocket`]), sockets of
//! AF_XDP ([`XdpSocket`]), and BPF programs with their maps ([`bpf`]).
//!
//! Mapped memory is written by the kernel, and system calls of BPF take addresses, so the compiler can check neither. All
//! of this is in this crate and nowhere else. Its interface is safe: frames are copied in and out.
#![warn(missing_docs)]

pub mod bpf;
mod capture;
mod layout;
mod packet;
mod queue;
mod ring;
mod xdp;

pub use capture::{CaptureSocket, Direction};
pub use packet::{Frames, PacketSender, PacketSocket};
pub use ring::{LONGEST, PREFIX};
pub use xdp::{LONGEST_FRAME, XdpSocket};

use std::ffi::CString;
use std::io;

/// The number of an interface of the present network namespace.
///
/// # Errors
/// There is no such interface.
pub fn index(interface: &str) -> io::Result<u32> {
    let name = CString::new(interface)?;
    // SAFETY: the name ends with a zero byte.
    match unsafe { libc::if_nametoindex(name.as_ptr()) } {
        0 => Err(io::Error::last_os_error()),
        index => Ok(index),
    }
}

fn checked(result: i32) -> io::Result<i32> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}
