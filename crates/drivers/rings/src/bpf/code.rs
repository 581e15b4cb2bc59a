//! Operations and their operands, by the names that the kernel's documentation of the instruction set has.

use super::{Instruction, Map};
use std::os::fd::AsRawFd;

const fn of(code: u8, to: u8, from: u8, offset: i16, value: i32) -> Instruction {
    Instruction { code, to, from, offset, value }
}
/// `to = from`.
pub const fn copy(to: u8, from: u8) -> Instruction {
    of(0xbf, to, from, 0, 0)
}
/// `to = value`.
pub const fn set(to: u8, value: i32) -> Instruction {
    of(0xb7, to, 0, 0, value)
}
/// `to += from`.
pub const fn add(to: u8, from: u8) -> Instruction {
    of(0x0f, to, from, 0, 0)
}
/// `to -= from`.
pub const fn subtract(to: u8, from: u8) -> Instruction {
    of(0x1f, to, from, 0, 0)
}
/// `to *= from`.
pub const fn multiply(to: u8, from: u8) -> Instruction {
    of(0x2f, to, from, 0, 0)
}
/// `to %= from`, unsigned.
pub const fn remainder(to: u8, from: u8) -> Instruction {
    of(0x9f, to, from, 0, 0)
}
/// `to &= from`.
pub const fn and(to: u8, from: u8) -> Instruction {
    of(0x5f, to, from, 0, 0)
}
/// `to &= value`.
pub const fn and_value(to: u8, value: i32) -> Instruction {
    of(0x57, to, 0, 0, value)
}
/// `to += value`.
pub const fn add_value(to: u8, value: i32) -> Instruction {
    of(0x07, to, 0, 0, value)
}
/// The lower 32 bits: `to &= value`, and the upper ones become zero.
pub const fn and32(to: u8, value: u32) -> Instruction {
    of(0x54, to, 0, 0, value as i32)
}
/// `to <<= value`.
pub const fn left(to: u8, value: i32) -> Instruction {
    of(0x67, to, 0, 0, value)
}
/// `to >>= value`, unsigned.
pub const fn right(to: u8, value: i32) -> Instruction {
    of(0x77, to, 0, 0, value)
}
/// `to >>= value`, signed.
pub const fn right_signed(to: u8, value: i32) -> Instruction {
    of(0xc7, to, 0, 0, value)
}
/// `to = *(u8 *)(from + offset)`.
pub const fn load8(to: u8, from: u8, offset: i16) -> Instruction {
    of(0x71, to, from, offset, 0)
}
/// `to = *(u32 *)(from + offset)`.
pub const fn load32(to: u8, from: u8, offset: i16) -> Instruction {
    of(0x61, to, from, offset, 0)
}
/// `to = *(u64 *)(from + offset)`.
pub const fn load64(to: u8, from: u8, offset: i16) -> Instruction {
    of(0x79, to, from, offset, 0)
}
/// `*(u32 *)(to + offset) = from`.
pub const fn store32(to: u8, offset: i16, from: u8) -> Instruction {
    of(0x63, to, from, offset, 0)
}
/// `*(u64 *)(to + offset) = from`.
pub const fn store64(to: u8, offset: i16, from: u8) -> Instruction {
    of(0x7b, to, from, offset, 0)
}
/// `*(u64 *)(to + offset) += from`, as a whole.
pub const fn count64(to: u8, offset: i16, from: u8) -> Instruction {
    of(0xdb, to, from, offset, 0)
}
/// `*(u32 *)(to + offset) = value`.
pub const fn put32(to: u8, offset: i16, value: i32) -> Instruction {
    of(0x62, to, 0, offset, value)
}
/// Skips `offset` instructions.
pub const fn skip(offset: i16) -> Instruction {
    of(0x05, 0, 0, offset, 0)
}
/// Skips `offset` instructions if `to == value`, of which 32 bits each are compared.
pub const fn if_equal32(to: u8, value: u32, offset: i16) -> Instruction {
    of(0x16, to, 0, offset, value as i32)
}
/// Skips `offset` instructions if `to != value`, of which 32 bits each are compared.
pub const fn if_not32(to: u8, value: u32, offset: i16) -> Instruction {
    of(0x56, to, 0, offset, value as i32)
}
/// Skips `offset` instructions if `to == value`.
pub const fn if_equal(to: u8, value: i32, offset: i16) -> Instruction {
    of(0x15, to, 0, offset, value)
}
/// Skips `offset` instructions if `to != value`.
pub const fn if_not(to: u8, value: i32, offset: i16) -> Instruction {
    of(0x55, to, 0, offset, value)
}
/// Skips `offset` instructions if `to != from`.
pub const fn if_differs(to: u8, from: u8, offset: i16) -> Instruction {
    of(0x5d, to, from, offset, 0)
}
/// Skips `offset` instructions if `to >= from`, unsigned.
pub const fn if_at_least(to: u8, from: u8, offset: i16) -> Instruction {
    of(0x3d, to, from, offset, 0)
}
/// Skips `offset` instructions if `to <= from`, unsigned.
pub const fn if_at_most(to: u8, from: u8, offset: i16) -> Instruction {
    of(0xbd, to, from, offset, 0)
}
/// Calls a function of the kernel: `r0 = f(r1, r2, ...)`.
pub const fn call(function: i32) -> Instruction {
    of(0x85, 0, 0, 0, function)
}
/// `r0` = the byte of the packet at `at`; otherwise as [`packet16`].
pub const fn packet8(at: i32) -> Instruction {
    of(0x30, 0, 0, 0, at)
}
/// `r0` = the 16 bits of the packet from byte `at` on. `r6` is the context. Ends the program if there are none.
pub const fn packet16(at: i32) -> Instruction {
    of(0x28, 0, 0, 0, at)
}
/// `r0` = the 32 bits of the packet from byte `at` on.
pub const fn packet32(at: i32) -> Instruction {
    of(0x20, 0, 0, 0, at)
}
/// `r0` = the 32 bits of the packet from byte `from + at` on.
pub const fn packet32_from(from: u8, at: i32) -> Instruction {
    of(0x40, 0, from, 0, at)
}
/// Ends the program with the value in `r0`.
pub const fn exit() -> Instruction {
    of(0x95, 0, 0, 0, 0)
}
/// `to` = the address of a map.
pub fn map(to: u8, map: &Map) -> [Instruction; 2] {
    [of(0x18, to, 1, 0, map.0.as_raw_fd()), of(0, 0, 0, 0, 0)]
}
/// `to` = the address of the value with the number 0 of an array.
pub fn value(to: u8, map: &Map) -> [Instruction; 2] {
    [of(0x18, to, 2, 0, map.0.as_raw_fd()), of(0, 0, 0, 0, 0)]
}

/// The functions of the kernel that programs here call.
pub mod function {
    /// Nanoseconds of the monotonic clock.
    pub const NOW: i32 = 5;
    /// Sends a packet out by the interface with a number.
    pub const SEND_BY: i32 = 23;
    /// Sends a frame to the place of a map, or decides as the last argument says.
    pub const REDIRECT: i32 = 51;
}

/// A line of a program whose skips name places.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Line<Place> {
    /// An instruction.
    Do(Instruction),
    /// A skip that leads to a place further on.
    To(Place, Instruction),
    /// A place.
    At(Place),
}

/// The instructions of lines. A skip leads to the next place with its name; `None` if there is no such place further on, or
/// if it is too far away.
pub fn assemble<Place: Copy + PartialEq>(lines: &[Line<Place>]) -> Option<Vec<Instruction>> {
    let is_code = |line: &&Line<Place>| !matches!(line, Line::At(_));
    let code = lines.iter().enumerate().filter(|(_, line)| is_code(line));
    let resolved = code.map(|(n, line)| match line {
        Line::Do(instruction) => Some(*instruction),
        Line::At(_) => None,
        Line::To(place, instruction) => {
            let rest = &lines[n + 1..];
            let end = rest.iter().position(|line| *line == Line::At(*place))?;
            let offset = rest[..end].iter().filter(is_code).count().try_into().ok()?;
            Some(Instruction { offset, ..*instruction })
        }
    });
    resolved.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn skips_lead_to_their_places() {
        let lines = [
            Line::To('a', skip(0)),
            Line::Do(set(0, 1)),
            Line::At('b'),
            Line::To('b', if_equal(0, 1, 0)),
            Line::At('a'),
            Line::Do(exit()),
            Line::At('b'),
        ];
        let code = assemble(&lines);
        assert_eq!(code.unwrap(), [skip(2), set(0, 1), if_equal(0, 1, 1), exit()]);
        assert_eq!(assemble(&[Line::At('a'), Line::To('a', skip(0))]), None, "only forwards");
    }
}
