//! A packet socket (`AF_PACKET`) whose received frames are in a ring that the kernel shares.

use crate::queue::set;
use crate::ring::{self, Ring, frame_of};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// An option of packet sockets, from `linux/if_packet.h`.
const QDISC_BYPASS: i32 = 20;

/// A packet socket with a ring of received frames. Frames are sent with `writev`, each with its prefix.
#[derive(Debug)]
pub struct PacketSocket {
    socket: OwnedFd,
    ring: Ring,
}

impl PacketSocket {
    /// Opens a socket for the IPv4 frames of an interface in the present network namespace. The ring has `blocks` MiB.
    ///
    /// # Errors
    /// There is no such interface, or the kernel refuses.
    pub fn open(interface: &str, blocks: u16) -> io::Result<PacketSocket> {
        let socket = ring::socket()?;
        set(&socket, libc::SOL_PACKET, QDISC_BYPASS, &1i32)?;
        let ring = Ring::new(&socket, blocks)?;
        ring::bind(&socket, interface, libc::ETH_P_IP)?;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interface_must_exist() {
        match PacketSocket::open("nonexistent0", 1) {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                println!("skipped: {error}")
            }
            other => assert_eq!(other.unwrap_err().raw_os_error(), Some(libc::ENODEV)),
        }
    }
}
