//! The queues of a socket of AF_XDP: rings of equal entries in memory that the kernel shares. One side puts entries, and the
//! other takes them.

use crate::checked;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::atomic::{AtomicU32, Ordering};

/// Where the parts of a queue are in its memory, in bytes (`struct xdp_ring_offset`).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(C)]
pub(crate) struct Places {
    producer: u64,
    consumer: u64,
    entries: u64,
    flags: u64,
}

/// The places of all queues (`struct xdp_mmap_offsets`).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(C)]
pub(crate) struct AllPlaces {
    pub received: Places,
    pub sent: Places,
    pub free: Places,
    pub done: Places,
}

/// Mapped memory, which belongs to this value alone on this side.
#[derive(Debug)]
pub(crate) struct Memory {
    start: *mut u8,
    bytes: usize,
}

// SAFETY: the memory is not bound to a thread. Values are changed by `&mut` only, except for what the kernel changes.
unsafe impl Send for Memory {}
// SAFETY: no method takes `&self` and touches the memory.
unsafe impl Sync for Memory {}

impl Memory {
    /// New memory, or that of a file from byte `at` on.
    pub fn map(bytes: usize, file: Option<(&OwnedFd, u64)>) -> io::Result<Memory> {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let (flags, number, at) = match file {
            Some((file, at)) => (libc::MAP_SHARED | libc::MAP_POPULATE, file.as_raw_fd(), at),
            None => (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1, 0),
        };
        let (any, at) = (std::ptr::null_mut(), at as libc::off_t);
        // SAFETY: the kernel chooses the address, so no other memory is replaced.
        match unsafe { libc::mmap(any, bytes, access, flags, number, at) } {
            libc::MAP_FAILED => Err(io::Error::last_os_error()),
            start => Ok(Memory { start: start.cast(), bytes }),
        }
    }

    /// Its address, for the kernel.
    pub fn address(&self) -> u64 {
        self.start as u64
    }

    /// The bytes from `at` on; `None` if some of them are not in this memory.
    pub fn part(&mut self, at: usize, length: usize) -> Option<&mut [u8]> {
        let fits = at.checked_add(length).is_some_and(|end| end <= self.bytes);
        // SAFETY: the part is in the mapping. The kernel leaves it alone while this side has it, by the rules of the queues.
        fits.then(|| unsafe { std::slice::from_raw_parts_mut(self.start.add(at), length) })
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: this is the whole mapping, and nothing refers to it any more.
        unsafe { libc::munmap(self.start.cast(), self.bytes) };
    }
}

/// A queue with entries of type `T`, whose number is a power of two.
#[derive(Debug)]
pub(crate) struct Queue<T> {
    memory: Memory,
    places: [usize; 3],
    mask: u32,
    /// How many entries this side has put or taken.
    moved: u32,
    kind: std::marker::PhantomData<T>,
}

impl<T: Copy> Queue<T> {
    /// Maps a queue of a socket, which the kernel has from byte `at` of the socket on.
    pub fn map(socket: &OwnedFd, at: u64, places: Places, entries: u32) -> io::Result<Queue<T>> {
        let Places { producer, consumer, entries: first, .. } = places;
        let bytes = first as usize + entries as usize * size_of::<T>();
        let inside = |place: u64| place.is_multiple_of(4) && place as usize + 4 <= bytes;
        if !(inside(producer)
            && inside(consumer)
            && (first as usize).is_multiple_of(align_of::<T>()))
        {
            return Err(io::Error::other("the kernel's places of a queue make no sense"));
        }
        let memory = Memory::map(bytes, Some((socket, at)))?;
        let places = [producer, consumer, first].map(|place| place as usize);
        let kind = std::marker::PhantomData;
        Ok(Queue { memory, places, mask: entries - 1, moved: 0, kind })
    }

    fn counter(&mut self, which: usize) -> &AtomicU32 {
        // SAFETY: `map` has checked that the place is in the mapping and aligned; both sides access it as a whole.
        unsafe { AtomicU32::from_ptr(self.memory.start.add(self.places[which]).cast()) }
    }

    fn entry(&mut self) -> *mut T {
        let at = (self.moved & self.mask) as usize;
        // SAFETY: `map` has made the mapping long enough for all entries, of which this is one.
        unsafe { self.memory.start.add(self.places[2]).cast::<T>().add(at) }
    }

    /// Adds an entry. There must be room for it: the caller never has more entries under way than the queue has.
    pub fn put(&mut self, entry: T) {
        // SAFETY: the place is in the mapping, and the kernel leaves it alone until the counter below includes it.
        unsafe { self.entry().write_unaligned(entry) };
        self.moved = self.moved.wrapping_add(1);
        let moved = self.moved;
        self.counter(0).store(moved, Ordering::Release);
    }

    /// The next entry that the kernel has put; `None` if there is none.
    pub fn next(&mut self) -> Option<T> {
        let moved = self.moved;
        // SAFETY: the place is in the mapping, and the kernel has filled it before it counted it.
        (self.counter(0).load(Ordering::Acquire) != moved)
            .then(|| unsafe { self.entry().read_unaligned() })
    }

    /// Gives the place of the next entry back.
    pub fn advance(&mut self) {
        self.moved = self.moved.wrapping_add(1);
        let moved = self.moved;
        self.counter(1).store(moved, Ordering::Release);
    }
}

/// Reads an option of a socket.
pub(crate) fn option<T: Default>(socket: &OwnedFd, level: i32, name: i32) -> io::Result<T> {
    let mut value = T::default();
    let (room, mut length) = ((&raw mut value).cast(), size_of::<T>() as libc::socklen_t);
    // SAFETY: the kernel writes at most `length` bytes, which are those of `value`; its types are plain numbers.
    checked(unsafe { libc::getsockopt(socket.as_raw_fd(), level, name, room, &raw mut length) })?;
    Ok(value)
}

/// Sets an option of a socket.
pub(crate) fn set<T>(socket: &OwnedFd, level: i32, name: i32, value: &T) -> io::Result<()> {
    let (from, length) = (std::ptr::from_ref(value).cast(), size_of::<T>() as libc::socklen_t);
    // SAFETY: the kernel reads `length` bytes, which are those of `value`.
    checked(unsafe { libc::setsockopt(socket.as_raw_fd(), level, name, from, length) }).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::FromRawFd;

    /// A file in memory that stands for a socket's queue.
    fn file(bytes: i64) -> OwnedFd {
        // SAFETY: the name ends with a zero byte, and the number is that of a new file.
        let file = unsafe { OwnedFd::from_raw_fd(libc::memfd_create(c"queue".as_ptr(), 0)) };
        // SAFETY: there are no addresses.
        checked(unsafe { libc::ftruncate(file.as_raw_fd(), bytes) }).unwrap();
        file
    }

    const PLACES: Places = Places { producer: 0, consumer: 64, entries: 128, flags: 192 };

    #[test]
    fn entries_come_out_as_they_were_put() {
        let file = file(4096);
        let mut puts = Queue::<u64>::map(&file, 0, PLACES, 4).unwrap();
        let mut takes = Queue::<u64>::map(&file, 0, PLACES, 4).unwrap();
        assert_eq!(takes.next(), None);
        for round in 0..20u64 {
            puts.put(round << 40);
            puts.put(round);
            for value in [round << 40, round] {
                assert_eq!(takes.next(), Some(value));
                takes.advance();
            }
            assert_eq!(takes.next(), None);
        }
        assert_eq!(takes.counter(1).load(Ordering::Relaxed), 40);
    }

    #[test]
    fn places_outside_are_refused() {
        let places = Places { producer: 1 << 20, ..PLACES };
        assert!(Queue::<u64>::map(&file(4096), 0, places, 4).is_err());
        let mut memory = Memory::map(4096, None).unwrap();
        assert!(memory.part(4000, 96).is_some() && memory.part(4000, 97).is_none());
        assert!(memory.part(usize::MAX, 2).is_none());
    }
}
