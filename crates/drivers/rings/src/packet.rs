//! A packet socket (`AF_PACKET`) whose received frames are in a ring that the kernel shares (`TPACKET_V2`), with the prefix
//! that says which checksum is to be computed and how to split the frame (`struct virtio_net_hdr`).

use crate::layout::{BLOCK, FRAME, Layout, within};
use crate::queue::{option, set};
use crate::{checked, index};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicU32, Ordering};

/// The bytes of the prefix of a frame.
pub const PREFIX: usize = 10;
/// The longest frame with its prefix that fits into a ring, in bytes.
pub const LONGEST: usize = 16_384;

/// Options of packet sockets, from `linux/if_packet.h`.
const RX_RING: i32 = 5;
const STATISTICS: i32 = 6;
const VERSION: i32 = 10;
const VNET_HEADER: i32 = 15;
const QDISC_BYPASS: i32 = 20;
const TPACKET_V2: i32 = 1;
/// The status of a frame that the kernel may fill, and a bit of that of one that it has filled.
const KERNEL: u32 = 0;
const USER: u32 = 1;
/// Fields of the header of a frame, `struct tpacket2_hdr`: its bytes, those that were stored, and the place of the frame.
const LENGTH: usize = 4;
const STORED: usize = 8;
const PLACE: usize = 12;

/// A packet socket with a ring of received frames. Frames are sent with `writev`, each with its prefix.
#[derive(Debug)]
pub struct PacketSocket {
    socket: OwnedFd,
    ring: Ring,
    /// The frame that is received next.
    next: usize,
}

impl PacketSocket {
    /// Opens a socket for the IPv4 frames of an interface in the present network namespace. The ring has `blocks` MiB.
    ///
    /// # Errors
    /// There is no such interface, or the kernel refuses.
    pub fn open(interface: &str, blocks: u16) -> io::Result<PacketSocket> {
        let protocol = i32::from((libc::ETH_P_IP as u16).to_be());
        let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
        // SAFETY: the call has no pointers. Without a protocol nothing is received before `bind`.
        let number = checked(unsafe { libc::socket(libc::AF_PACKET, kind, 0) })?;
        // SAFETY: the number is that of a file which was just opened and which nothing else owns.
        let socket = unsafe { OwnedFd::from_raw_fd(number) };
        set(&socket, libc::SOL_PACKET, VERSION, &TPACKET_V2)?;
        set(&socket, libc::SOL_PACKET, VNET_HEADER, &1i32)?;
        set(&socket, libc::SOL_PACKET, QDISC_BYPASS, &1i32)?;
        let layout = Layout { blocks: usize::from(blocks.max(1)) };
        let request = [BLOCK, layout.blocks, FRAME, layout.frames()].map(|value| value as u32);
        set(&socket, libc::SOL_PACKET, RX_RING, &request)?;
        let ring = Ring::map(&socket, layout)?;
        bind(&socket, interface, protocol as u16)?;
        Ok(PacketSocket { socket, ring, next: 0 })
    }

    /// Appends the next frame with its prefix to `out`. Returns whether there was one. Frames that the kernel has cut are
    /// left out.
    pub fn receive(&mut self, out: &mut Vec<u8>) -> bool {
        let before = out.len();
        while out.len() == before {
            if !self.ring.take(self.next, out) {
                return false;
            }
            self.next = self.ring.layout.next(self.next);
        }
        true
    }

    /// The number of frames that found no room in the ring since the last call.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn dropped(&self) -> io::Result<u64> {
        let counts: [u32; 2] = option(&self.socket, libc::SOL_PACKET, STATISTICS)?;
        Ok(counts[1].into())
    }
}

impl AsFd for PacketSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// Mapped memory that the kernel fills with frames.
#[derive(Debug)]
struct Ring {
    memory: *mut u8,
    layout: Layout,
}

// SAFETY: the memory belongs to this value alone and is not bound to a thread. Frames are taken by `&mut PacketSocket` only.
unsafe impl Send for Ring {}
// SAFETY: no method of a shared `PacketSocket` touches the memory.
unsafe impl Sync for Ring {}

impl Ring {
    fn map(socket: &OwnedFd, layout: Layout) -> io::Result<Ring> {
        let (access, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED);
        let (bytes, file) = (layout.bytes(), socket.as_raw_fd());
        // SAFETY: the kernel chooses the address, so no other memory is replaced.
        let memory = unsafe { libc::mmap(std::ptr::null_mut(), bytes, access, flags, file, 0) };
        match memory {
            libc::MAP_FAILED => Err(io::Error::last_os_error()),
            memory => Ok(Ring { memory: memory.cast(), layout }),
        }
    }

    /// Appends a frame with its prefix to `out` and gives its room back, if the kernel has filled it. Returns whether it has.
    fn take(&self, frame: usize, out: &mut Vec<u8>) -> bool {
        let place = self.layout.place(frame);
        // SAFETY: `Layout` keeps each frame within the mapping. Its first four bytes are aligned, and both sides access them
        // as a whole.
        let status = unsafe { AtomicU32::from_ptr(self.memory.add(place).cast()) };
        if status.load(Ordering::Acquire) & USER == 0 {
            return false;
        }
        // SAFETY: the frame is within the mapping, and the kernel leaves it alone until its status changes below.
        let bytes = unsafe { std::slice::from_raw_parts(self.memory.add(place + 4), FRAME - 4) };
        out.extend_from_slice(frame_of(bytes).unwrap_or_default());
        status.store(KERNEL, Ordering::Release);
        true
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: this is the whole mapping, and nothing refers to it any more.
        unsafe { libc::munmap(self.memory.cast(), self.layout.bytes()) };
    }
}

/// The frame with its prefix in the bytes after a status; `None` if it was cut, or if the header makes no sense.
fn frame_of(bytes: &[u8]) -> Option<&[u8]> {
    let word = |at: usize| bytes.get(at - 4..)?.first_chunk().map(|four| u32::from_ne_bytes(*four));
    let (length, stored) = (word(LENGTH)?, word(STORED)?);
    let stored = (length == stored).then_some(stored as usize)?;
    let place = u16::from_ne_bytes(*bytes.get(PLACE - 4..)?.first_chunk()?);
    let range = within(usize::from(place).checked_sub(PREFIX)?, PREFIX + stored)?;
    bytes.get(range.start.checked_sub(4)?..range.end - 4)
}

/// Lets a socket receive the frames of an interface with this protocol, which is in the order of the network.
fn bind(socket: &OwnedFd, interface: &str, protocol: u16) -> io::Result<()> {
    let address = libc::sockaddr_ll {
        sll_family: libc::AF_PACKET as u16,
        sll_protocol: protocol,
        sll_ifindex: index(interface)? as i32,
        sll_hatype: 0,
        sll_pkttype: 0,
        sll_halen: 0,
        sll_addr: [0; 8],
    };
    let (from, length) = ((&raw const address).cast(), size_of_val(&address) as libc::socklen_t);
    // SAFETY: the kernel reads `length` bytes, which are those of `address`.
    checked(unsafe { libc::bind(socket.as_raw_fd(), from, length) }).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_is_found_by_its_header() {
        let frame = |length: u32, stored: u32, place: u16| {
            let mut bytes: Vec<u8> = (4..FRAME).map(|at| at as u8).collect();
            bytes[LENGTH - 4..LENGTH].copy_from_slice(&length.to_ne_bytes());
            bytes[STORED - 4..STORED].copy_from_slice(&stored.to_ne_bytes());
            bytes[PLACE - 4..PLACE - 2].copy_from_slice(&place.to_ne_bytes());
            frame_of(&bytes).map(<[u8]>::to_vec)
        };
        assert_eq!(frame(3, 3, 80).unwrap(), (70..83).collect::<Vec<u8>>());
        assert_eq!(frame(4, 3, 80), None, "it was cut");
        assert_eq!(frame(3, 3, 9), None, "the prefix would begin before the frame");
        assert_eq!(frame(u32::MAX, u32::MAX, 80), None);
        assert_eq!(frame(16_384, 16_384, 260), None, "it would end after the room for it");
    }

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
