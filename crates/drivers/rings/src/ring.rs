//! A ring of received frames that the kernel shares with a packet socket (`TPACKET_V2`). Each frame has the prefix that says
//! which checksum is to be computed and how to split it (`struct virtio_net_hdr`).

use crate::layout::{BLOCK, FRAME, Layout, within};
use crate::queue::{option, set};
use crate::{checked, index};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicU32, Ordering};

/// The bytes of the prefix of a frame.
pub const PREFIX: usize = 10;
/// The longest frame with its prefix that fits into a ring, in bytes.
pub const LONGEST: usize = 16_384;

/// Options of packet sockets, from `linux/if_packet.h`.
const RX_RING: i32 = 5;
const STATISTICS: i32 = 6;
const VERSION: i32 = 10;
/// The option by which frames have prefixes.
pub(crate) const VNET_HEADER: i32 = 15;
const TPACKET_V2: i32 = 1;
/// The status of a frame that the kernel may fill, and a bit of that of one that it has filled.
const KERNEL: u32 = 0;
const USER: u32 = 1;
/// Fields of the header of a frame, `struct tpacket2_hdr`: its bytes, those that were stored, and the place of the frame.
const LENGTH: usize = 4;
const STORED: usize = 8;
const PLACE: usize = 12;

/// Opens a packet socket that receives nothing before it is bound.
pub(crate) fn socket() -> io::Result<OwnedFd> {
    let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
    // SAFETY: the call has no pointers.
    let number = checked(unsafe { libc::socket(libc::AF_PACKET, kind, 0) })?;
    // SAFETY: the number is that of a file which was just opened and which nothing else owns.
    Ok(unsafe { OwnedFd::from_raw_fd(number) })
}

/// Mapped memory that the kernel fills with frames.
#[derive(Debug)]
pub(crate) struct Ring {
    memory: *mut u8,
    layout: Layout,
    /// The frame that is taken next.
    next: usize,
}

// SAFETY: the memory belongs to this value alone and is not bound to a thread. Frames are taken by `&mut self` only.
unsafe impl Send for Ring {}
// SAFETY: no method of a shared `Ring` touches the memory.
unsafe impl Sync for Ring {}

impl Ring {
    /// Gives a socket a ring of `blocks` MiB.
    pub fn new(socket: &OwnedFd, blocks: u16) -> io::Result<Ring> {
        set(socket, libc::SOL_PACKET, VERSION, &TPACKET_V2)?;
        set(socket, libc::SOL_PACKET, VNET_HEADER, &1i32)?;
        let layout = Layout { blocks: usize::from(blocks.max(1)) };
        let request = [BLOCK, layout.blocks, FRAME, layout.frames()].map(|value| value as u32);
        set(socket, libc::SOL_PACKET, RX_RING, &request)?;
        let (access, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED);
        let (bytes, file) = (layout.bytes(), socket.as_raw_fd());
        // SAFETY: the kernel chooses the address, so no other memory is replaced.
        let memory = unsafe { libc::mmap(std::ptr::null_mut(), bytes, access, flags, file, 0) };
        match memory {
            libc::MAP_FAILED => Err(io::Error::last_os_error()),
            memory => Ok(Ring { memory: memory.cast(), layout, next: 0 }),
        }
    }

    /// Calls `read` with the next frame, behind its status, and gives its room back, if the kernel has filled it.
    pub fn take<T>(&mut self, read: impl FnOnce(&[u8]) -> T) -> Option<T> {
        let place = self.layout.place(self.next);
        // SAFETY: `Layout` keeps each frame within the mapping. Its first four bytes are aligned, and both sides access them
        // as a whole.
        let status = unsafe { AtomicU32::from_ptr(self.memory.add(place).cast()) };
        if status.load(Ordering::Acquire) & USER == 0 {
            return None;
        }
        // SAFETY: the frame is within the mapping, and the kernel leaves it alone until its status changes below.
        let bytes = unsafe { std::slice::from_raw_parts(self.memory.add(place + 4), FRAME - 4) };
        let result = read(bytes);
        status.store(KERNEL, Ordering::Release);
        self.next = self.layout.next(self.next);
        Some(result)
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: this is the whole mapping, and nothing refers to it any more.
        unsafe { libc::munmap(self.memory.cast(), self.layout.bytes()) };
    }
}

/// A number in the header of a frame.
pub(crate) fn word(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at - 4..)?.first_chunk().map(|four| u32::from_ne_bytes(*four))
}

/// The frame with its prefix in the bytes after a status; `None` if it was cut, or if the header makes no sense.
pub(crate) fn frame_of(bytes: &[u8]) -> Option<&[u8]> {
    let (length, stored) = (word(bytes, LENGTH)?, word(bytes, STORED)?);
    let stored = (length == stored).then_some(stored as usize)?;
    let place = u16::from_ne_bytes(*bytes.get(PLACE - 4..)?.first_chunk()?);
    let range = within(usize::from(place).checked_sub(PREFIX)?, PREFIX + stored)?;
    bytes.get(range.start.checked_sub(4)?..range.end - 4)
}

/// The number of frames that found no room in the ring of a socket since the last call.
pub(crate) fn dropped(socket: &OwnedFd) -> io::Result<u64> {
    let counts: [u32; 2] = option(socket, libc::SOL_PACKET, STATISTICS)?;
    Ok(counts[1].into())
}

/// Lets a socket receive the frames of an interface with this protocol.
pub(crate) fn bind(socket: &OwnedFd, interface: &str, protocol: i32) -> io::Result<()> {
    let address = libc::sockaddr_ll {
        sll_family: libc::AF_PACKET as u16,
        sll_protocol: (protocol as u16).to_be(),
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
}
