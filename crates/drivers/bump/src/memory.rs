//! What a running eBPF program can reach: regions instead of pointers.
//!
//! An address is the number of a region in its bits from 24 on and an offset below. It fits 32 bits, as
//! the fields `data` and `data_end` of Linux' XDP and tc contexts have it. There are no pointers of this
//! process in a program's reach.

use crate::maps::Store;

/// The bytes of the stack of one function, as in Linux.
pub const STACK: usize = 512;

/// The region of the context, to which register 1 points.
pub const CONTEXT: u64 = 1 << SHIFT;
/// The region of the stack: 512 bytes for each function under way.
pub const STACK_REGION: u64 = 2 << SHIFT;
/// The region of the packet.
pub const PACKET: u64 = 3 << SHIFT;
/// The region of the first map's values, or of the first variables.
const OBJECTS: u64 = 16;
/// The region that stands for the first map itself: nothing is to be read there.
const HANDLES: u64 = 128;
const SHIFT: u32 = 24;
const OFFSETS: u64 = (1 << SHIFT) - 1;

/// The address of byte `offset` of object `number` of the [`Store`].
pub fn address_of(number: usize, offset: usize) -> u64 {
    ((OBJECTS + number as u64) << SHIFT) + offset as u64
}

/// The address that stands for the map `number`.
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

/// Everything that a program can read and write.
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

/// The stacks of the functions under way, the outermost first.
#[derive(Debug)]
pub(crate) struct Stacks {
    first: [u8; STACK],
    more: Vec<[u8; STACK]>,
}

impl Stacks {
    pub fn new() -> Stacks {
        Stacks { first: [0; STACK], more: Vec::new() }
    }

    /// Makes sure that there is a stack for a function called from `depth` others.
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
    /// What is to be read from `address` on, as far as an access may go.
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

    /// What is to be written from `address` on.
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

    /// The map that `address` stands for.
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

/// The number in the first `size` bytes.
#[inline]
pub(crate) fn read(from: &[u8], size: u8) -> Option<u64> {
    Some(match size {
        1 => u64::from(*from.first()?),
        2 => u64::from(u16::from_le_bytes(*from.first_chunk()?)),
        4 => u64::from(u32::from_le_bytes(*from.first_chunk()?)),
        _ => u64::from_le_bytes(*from.first_chunk()?),
    })
}

/// Puts a number into the first `size` bytes.
#[inline]
pub(crate) fn write(into: &mut [u8], size: u8, value: u64) -> Option<()> {
    let size = usize::from(size);
    into.get_mut(..size)?.copy_from_slice(&value.to_le_bytes()[..size]);
    Some(())
}
