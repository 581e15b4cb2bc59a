//! The memory of a running eBPF program: regions instead of pointers.
//!
//! Bits 24 and above of an address are the number of a region, and the lower bits are an offset. An address
//! fits 32 bits, as the fields `data` and `data_end` of the XDP and tc contexts of Linux require. A program
//! never sees a pointer of this process.

use crate::maps::Store;

/// The size of the stack of one function in bytes, as in Linux.
pub const STACK: usize = 512;

/// The region of the context, to which register 1 points.
pub const CONTEXT: u64 = 1 << SHIFT;
/// The region of the stack: 512 bytes for each active function.
pub const STACK_REGION: u64 = 2 << SHIFT;
/// The region of the packet.
pub const PACKET: u64 = 3 << SHIFT;
/// The region of the first map's values, or of the first variables.
const OBJECTS: u64 = 16;
/// The region that represents the first map itself. It has no readable bytes.
const HANDLES: u64 = 128;
const SHIFT: u32 = 24;
const OFFSETS: u64 = (1 << SHIFT) - 1;

/// The address of byte `offset` of object `number` of the [`Store`].
pub fn address_of(number: usize, offset: usize) -> u64 {
    ((OBJECTS + number as u64) << SHIFT) + offset as u64
}

/// The address that represents the map `number`.
pub fn handle_of(number: usize) -> u64 {
    (HANDLES + number as u64) << SHIFT
}

/// The bytes of the packet.
#[derive(Debug)]
pub enum Frame<'a> {
    /// For reading.
    Read(&'a [u8]),
    /// For reading and writing.
    Write(&'a mut [u8]),
}

/// All memory that a program can access.
#[derive(Debug)]
pub struct Memory<'a> {
    /// The context: readable, and writable from `writable` on.
    pub context: &'a mut [u8],
    /// Where the writable part of the context begins.
    pub writable: usize,
    /// The packet.
    pub frame: Frame<'a>,
    /// Maps and global variables.
    pub store: &'a mut Store,
}

/// The stacks of the active functions, the outermost first.
#[derive(Debug)]
pub(crate) struct Stacks {
    first: [u8; STACK],
    more: Vec<[u8; STACK]>,
}

impl Stacks {
    pub fn new() -> Stacks {
        Stacks { first: [0; STACK], more: Vec::new() }
    }

    /// Provides a stack for a function at call depth `depth`.
    pub fn enter(&mut self, depth: usize) {
        if self.more.len() < depth {
            self.more.push([0; STACK]);
        }
    }

    fn readable_at(&self, offset: usize) -> Option<&[u8]> {
        let stack = match offset / STACK {
            0 => &self.first,
            deeper => self.more.get(deeper - 1)?,
        };
        stack.get(offset % STACK..)
    }

    fn writable_at(&mut self, offset: usize) -> Option<&mut [u8]> {
        let stack = match offset / STACK {
            0 => &mut self.first,
            deeper => self.more.get_mut(deeper - 1)?,
        };
        stack.get_mut(offset % STACK..)
    }
}

impl Memory<'_> {
    /// The readable bytes from `address` to the end of its region or value.
    #[inline]
    pub(crate) fn readable_at<'s>(&'s self, stacks: &'s Stacks, address: u64) -> Option<&'s [u8]> {
        let offset = (address & OFFSETS) as usize;
        match address & !OFFSETS {
            CONTEXT => self.context.get(offset..),
            STACK_REGION => stacks.readable_at(offset),
            PACKET => match &self.frame {
                Frame::Read(bytes) => bytes.get(offset..),
                Frame::Write(bytes) => bytes.get(offset..),
            },
            _ => self.store.bytes(object(address)?, offset),
        }
    }

    /// The writable bytes from `address` to the end of its region or value.
    #[inline]
    pub(crate) fn writable_at<'s>(
        &'s mut self,
        stacks: &'s mut Stacks,
        address: u64,
    ) -> Option<&'s mut [u8]> {
        let offset = (address & OFFSETS) as usize;
        match address & !OFFSETS {
            CONTEXT if offset >= self.writable => self.context.get_mut(offset..),
            STACK_REGION => stacks.writable_at(offset),
            PACKET => match &mut self.frame {
                Frame::Read(_) => None,
                Frame::Write(bytes) => bytes.get_mut(offset..),
            },
            _ => self.store.bytes_mut(object(address)?, offset),
        }
    }

    /// The number of the map that `address` represents.
    pub(crate) fn map(&self, address: u64) -> Option<usize> {
        let number = (address >> SHIFT).checked_sub(HANDLES)? as usize;
        let is_map = address & OFFSETS == 0 && self.store.spec(number).is_some();
        is_map.then_some(number)
    }
}

fn object(address: u64) -> Option<usize> {
    let region = address >> SHIFT;
    (OBJECTS..HANDLES).contains(&region).then(|| (region - OBJECTS) as usize)
}

/// The little-endian number in the first `size` bytes.
#[inline]
pub(crate) fn read(from: &[u8], size: u8) -> Option<u64> {
    Some(match size {
        1 => u64::from(*from.first()?),
        2 => u64::from(u16::from_le_bytes(*from.first_chunk()?)),
        4 => u64::from(u32::from_le_bytes(*from.first_chunk()?)),
        _ => u64::from_le_bytes(*from.first_chunk()?),
    })
}

/// Writes a number to the first `size` bytes.
#[inline]
pub(crate) fn write(into: &mut [u8], size: u8, value: u64) -> Option<()> {
    let size = usize::from(size);
    into.get_mut(..size)?.copy_from_slice(&value.to_le_bytes()[..size]);
    Some(())
}
