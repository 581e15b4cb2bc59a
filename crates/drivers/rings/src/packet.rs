//! A packet socket (`AF_PACKET`) whose received frames are in a ring that the kernel shares.

use crate::queue::set;
use crate::ring::{self, Ring, VNET_HEADER, frame_of};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// An option of packet sockets, from `linux/if_packet.h`.
const QDISC_BYPASS: i32 = 20;

/// The frames that a socket receives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(i32)]
pub enum Frames {
    /// Those of IPv4.
    Ipv4 = libc::ETH_P_IP,
    /// All.
    All = libc::ETH_P_ALL,
}

/// A packet socket with a ring of received frames. Frames are sent with `writev`, each with its prefix.
#[derive(Debug)]
pub struct PacketSocket {
    socket: OwnedFd,
    ring: Ring,
}

impl PacketSocket {
    /// Opens a socket for the frames of an interface in the present network namespace. The ring has `blocks` MiB.
    ///
    /// # Errors
    /// There is no such interface, or the kernel refuses.
    pub fn open(interface: &str, frames: Frames, blocks: u16) -> io::Result<PacketSocket> {
        let socket = ring::socket()?;
        set(&socket, libc::SOL_PACKET, QDISC_BYPASS, &1i32)?;
        let ring = Ring::new(&socket, blocks)?;
        ring::bind(&socket, interface, frames as i32)?;
        Ok(PacketSocket { socket, ring })
    }

    /// Appends the next frame with its prefix to `out`. Returns whether there was one. Frames that the kernel has cut are
    /// left out.
    pub fn receive(&mut self, out: &mut Vec<u8>) -> bool {
        let before = out.len();
        let append = |bytes: &[u8], out: &mut Vec<u8>| {
            out.extend_from_slice(frame_of(bytes).unwrap_or_default());
        };
        while out.len() == before {
            if self.ring.take(|bytes| append(bytes, out)).is_none() {
                return false;
            }
        }
        true
    }

    /// The number of frames that found no room in the ring since the last call.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn dropped(&self) -> io::Result<u64> {
        ring::dropped(&self.socket)
    }
}

impl AsFd for PacketSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// A packet socket that sends frames by an interface and receives none. Each frame begins with its prefix.
#[derive(Debug)]
pub struct PacketSender(OwnedFd);

impl PacketSender {
    /// Opens a socket for an interface of the present network namespace. Its frames have a mark, and pass the queue of the
    /// interface, in which there is room for `bytes` of them.
    ///
    /// # Errors
    /// There is no such interface, or the kernel refuses.
    pub fn open(interface: &str, mark: u32, bytes: i32) -> io::Result<PacketSender> {
        let socket = ring::socket()?;
        set(&socket, libc::SOL_PACKET, VNET_HEADER, &1i32)?;
        set(&socket, libc::SOL_SOCKET, libc::SO_MARK, &mark)?;
        set(&socket, libc::SOL_SOCKET, libc::SO_SNDBUFFORCE, &bytes)?;
        // Without a protocol it receives nothing.
        ring::bind(&socket, interface, 0)?;
        Ok(PacketSender(socket))
    }
}

impl AsFd for PacketSender {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interface_must_exist() {
        match PacketSocket::open("nonexistent0", Frames::All, 1) {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                println!("skipped: {error}")
            }
            other => assert_eq!(other.unwrap_err().raw_os_error(), Some(libc::ENODEV)),
        }
    }
}
