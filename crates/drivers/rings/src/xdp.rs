//! A socket of AF_XDP on one interface: a program of the interface sends all of its frames there, and the kernel copies them
//! into memory of this process (copy mode, which every driver has).

use crate::bpf::{Instruction, Kind, Map, Program, code};
use crate::queue::{AllPlaces, Memory, Queue, option, set};
use crate::{checked, index};
use std::io::{self, IoSlice};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};

/// The longest frame, in bytes: a page, less what the kernel puts in front of it.
pub const LONGEST_FRAME: usize = CHUNK - 512;
/// The memory is divided into chunks of one frame.
const CHUNK: usize = 4_096;
/// The number of chunks for frames that are received and for those that are sent, powers of two.
const RECEIVED: u32 = 2_048;
const SENT: u32 = 512;

/// Options of these sockets, from `linux/if_xdp.h`.
const LEVEL: i32 = 283;
const PLACES: i32 = 1;
const RECEIVE_QUEUE: i32 = 2;
const SEND_QUEUE: i32 = 3;
const REGISTER: i32 = 4;
const FREE_QUEUE: i32 = 5;
const DONE_QUEUE: i32 = 6;
const STATISTICS: i32 = 7;
const COPY: u16 = 2;
/// Where the queues begin in the socket's memory.
const SEND_AT: u64 = 0x8000_0000;
const FREE_AT: u64 = 0x1_0000_0000;
const DONE_AT: u64 = 0x1_8000_0000;
/// A program runs in the driver, or before the rest of the kernel gets a copy.
const IN_DRIVER: u32 = 4;
const IN_KERNEL: u32 = 2;
/// What a program decides if no socket takes a frame: the frame is dropped.
const DROP: i32 = 1;
/// The place of the queue's number in the context of a program.
const QUEUE_NUMBER: i16 = 16;
/// The most frames that the kernel sends in one call.
const AT_ONCE: usize = 32;
/// Room for sent frames that the kernel has not passed on, in bytes.
const SEND_BUFFER: i32 = 4 << 20;

/// A frame in the memory (`struct xdp_desc`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
struct Frame {
    at: u64,
    length: u32,
    options: u32,
}

/// `struct xdp_umem_reg`.
#[repr(C)]
struct Registration {
    address: u64,
    bytes: u64,
    chunk: u32,
    headroom: u32,
    flags: u32,
    unused: u32,
}

/// `struct sockaddr_xdp`.
#[repr(C)]
struct Address {
    family: u16,
    flags: u16,
    interface: u32,
    queue: u32,
    shared: u32,
}

/// A socket that has all frames of an interface with one queue.
#[derive(Debug)]
pub struct XdpSocket {
    // The link is dropped first, so no program refers to a closed socket.
    _link: OwnedFd,
    _map: Map,
    socket: OwnedFd,
    memory: Memory,
    received: Queue<Frame>,
    free: Queue<u64>,
    sent: Queue<Frame>,
    done: Queue<u64>,
    /// Chunks for frames to be sent.
    spare: Vec<u64>,
    /// Frames since the last call of the kernel.
    waiting: usize,
    told: AtomicU64,
}

impl XdpSocket {
    /// Takes the frames of an interface in the present network namespace. They no longer reach the kernel.
    ///
    /// # Errors
    /// There is no such interface, or the kernel refuses: it lacks AF_XDP, this user lacks the permission, or the
    /// interface's packets may be longer than [`LONGEST_FRAME`].
    pub fn open(interface: &str) -> io::Result<XdpSocket> {
        let number = index(interface)?;
        let socket = open()?;
        let memory = Memory::map((RECEIVED + SENT) as usize * CHUNK, None)?;
        let registration = Registration {
            address: memory.address(),
            bytes: u64::from(RECEIVED + SENT) * CHUNK as u64,
            chunk: CHUNK as u32,
            headroom: 0,
            flags: 0,
            unused: 0,
        };
        set(&socket, LEVEL, REGISTER, &registration)?;
        let sizes = [
            (FREE_QUEUE, RECEIVED),
            (DONE_QUEUE, SENT),
            (RECEIVE_QUEUE, RECEIVED),
            (SEND_QUEUE, SENT),
        ];
        sizes.iter().try_for_each(|(name, size)| set(&socket, LEVEL, *name, size))?;
        // Without more room the kernel takes fewer frames at once.
        let _ = set(&socket, libc::SOL_SOCKET, libc::SO_SNDBUFFORCE, &SEND_BUFFER);
        let places: AllPlaces = option(&socket, LEVEL, PLACES)?;
        let received = Queue::map(&socket, 0, places.received, RECEIVED)?;
        let sent = Queue::map(&socket, SEND_AT, places.sent, SENT)?;
        let mut free = Queue::map(&socket, FREE_AT, places.free, RECEIVED)?;
        let done = Queue::map(&socket, DONE_AT, places.done, SENT)?;
        (0..RECEIVED).for_each(|n| free.put(chunk(n)));
        let map = Map::of_sockets(1)?;
        let program = Program::load(Kind::Xdp, &redirection(&map))?;
        let in_driver = program.attach(number, IN_DRIVER);
        let link = in_driver.or_else(|why| program.attach(number, IN_KERNEL).map_err(|_| why))?;
        bind(&socket, number)?;
        map.set(0, &socket.as_raw_fd().to_ne_bytes())?;
        let spare = (RECEIVED..RECEIVED + SENT).map(chunk).collect();
        let told = AtomicU64::new(0);
        Ok(XdpSocket {
            _link: link,
            _map: map,
            socket,
            memory,
            received,
            free,
            sent,
            done,
            spare,
            waiting: 0,
            told,
        })
    }

    /// Appends the next frame to `out`. Returns whether there was one.
    pub fn receive(&mut self, out: &mut Vec<u8>) -> bool {
        let Some(Frame { at, length, .. }) = self.received.next() else { return false };
        let bytes = self.memory.part(at as usize, length as usize);
        out.extend_from_slice(bytes.map_or(&[][..], |bytes| &*bytes));
        self.received.advance();
        self.free.put(at / CHUNK as u64 * CHUNK as u64);
        true
    }

    /// Sends a frame, in parts. Returns whether there was room for it. It leaves with [`XdpSocket::flush`].
    pub fn send(&mut self, parts: &[IoSlice<'_>]) -> bool {
        let length = parts.iter().map(|part| part.len()).sum();
        if length > LONGEST_FRAME {
            return false;
        }
        if self.spare.is_empty() {
            self.flush();
            self.reclaim();
        }
        let Some(at) = self.spare.pop() else { return false };
        let Some(mut room) = self.memory.part(at as usize, length) else { return false };
        for part in parts {
            let (now, rest) = room.split_at_mut(part.len());
            now.copy_from_slice(part);
            room = rest;
        }
        self.sent.put(Frame { at, length: length as u32, options: 0 });
        self.waiting += 1;
        true
    }

    /// Takes back the chunks of frames that have left.
    fn reclaim(&mut self) {
        while let Some(at) = self.done.next() {
            self.done.advance();
            self.spare.push(at);
        }
    }

    /// Lets the kernel send the frames. If it is busy, it sends the rest at the next call.
    pub fn flush(&mut self) {
        let (file, none) = (self.socket.as_raw_fd(), std::ptr::null());
        for _ in 0..std::mem::take(&mut self.waiting).div_ceil(AT_ONCE) {
            // SAFETY: there is no message and no address.
            unsafe { libc::sendto(file, none, 0, libc::MSG_DONTWAIT, none.cast(), 0) };
        }
    }

    /// The number of frames that found no room since the last call.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn dropped(&self) -> io::Result<u64> {
        // Those without a free chunk come first, those without a place in the queue fourth.
        let counts: [u64; 6] = option(&self.socket, LEVEL, STATISTICS)?;
        let all = counts[0] + counts[3];
        Ok(all - self.told.swap(all, Ordering::Relaxed))
    }
}

impl AsFd for XdpSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

fn chunk(n: u32) -> u64 {
    u64::from(n) * CHUNK as u64
}

fn open() -> io::Result<OwnedFd> {
    let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
    // SAFETY: the call has no pointers.
    let number = checked(unsafe { libc::socket(libc::AF_XDP, kind, 0) })?;
    // SAFETY: the number is that of a file which was just opened and which nothing else owns.
    Ok(unsafe { OwnedFd::from_raw_fd(number) })
}

/// The program that sends each frame to the socket of its queue.
fn redirection(map: &Map) -> Vec<Instruction> {
    let call = [code::set(3, DROP), code::call(code::function::REDIRECT), code::exit()];
    [&[code::load32(2, 1, QUEUE_NUMBER)], &code::map(1, map)[..], &call].concat()
}

fn bind(socket: &OwnedFd, interface: u32) -> io::Result<()> {
    let family = libc::AF_XDP as u16;
    let address = Address { family, flags: COPY, interface, queue: 0, shared: 0 };
    let (from, length) = ((&raw const address).cast(), size_of_val(&address) as libc::socklen_t);
    // SAFETY: the kernel reads `length` bytes, which are those of `address`.
    checked(unsafe { libc::bind(socket.as_raw_fd(), from, length) }).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interface_must_exist() {
        let why = XdpSocket::open("nonexistent0").unwrap_err();
        assert_eq!(why.raw_os_error(), Some(libc::ENODEV));
    }
}
