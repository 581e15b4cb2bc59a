//! Notices of the kernel that a link or an address of this machine has changed (rtnetlink).

use rustix::io::Errno;
use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{AddressFamily, RecvFlags, SocketFlags, SocketType};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// The groups of notices: links, and addresses of IPv4 and IPv6.
const GROUPS: u32 = 1 | 0x10 | 0x100;
/// Room for a notice. What a notice says is not read.
const ROOM: usize = 8_192;

/// The notices of the network namespace in which it was opened.
#[derive(Debug)]
pub struct LinkEvents {
    socket: OwnedFd,
}

impl LinkEvents {
    /// Begins to listen.
    ///
    /// # Errors
    /// The kernel refuses the socket.
    pub fn open() -> io::Result<LinkEvents> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let family = AddressFamily::NETLINK;
        // Without a protocol, it is rtnetlink's.
        let socket = rustix::net::socket_with(family, SocketType::RAW, flags, None)?;
        rustix::net::bind(&socket, &SocketAddrNetlink::new(0, GROUPS))?;
        Ok(LinkEvents { socket })
    }
    /// A file descriptor that is readable when there is a notice.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
    /// Whether anything has changed since the last call. Notices that the kernel had no room for count, too.
    ///
    /// # Errors
    /// The socket has failed.
    pub fn changed(&self) -> io::Result<bool> {
        let (mut changed, mut room) = (false, [0; ROOM]);
        loop {
            match rustix::net::recv(&self.socket, &mut room[..], RecvFlags::empty()) {
                Ok(_) | Err(Errno::NOBUFS) => changed = true,
                Err(Errno::AGAIN) => return Ok(changed),
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}
