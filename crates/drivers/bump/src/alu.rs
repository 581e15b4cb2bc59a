//! The instructions of eBPF (RFC 9669): decoding, and the operations on registers.

/// A decoded instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Op {
    pub code: u8,
    pub dst: u8,
    pub src: u8,
    pub off: i16,
    /// The immediate value, sign-extended; for a 64-bit immediate load all 64 bits.
    pub imm: u64,
}

pub(crate) mod class {
    pub const LD: u8 = 0;
    pub const LDX: u8 = 1;
    pub const ST: u8 = 2;
    pub const STX: u8 = 3;
    pub const ALU: u8 = 4;
    pub const JMP: u8 = 5;
    pub const JMP32: u8 = 6;
    pub const ALU64: u8 = 7;
}

/// A load of 64 immediate bits, in two units.
pub(crate) const WIDE: u8 = 0x18;
pub(crate) const CALL: u8 = 0x85;
pub(crate) const EXIT: u8 = 0x95;
pub(crate) const JA: u8 = 0x05;
/// A jump whose distance is in the immediate.
pub(crate) const JA_FAR: u8 = 0x06;
/// Bit 3 of an arithmetic or jump code: the operand is a register.
const REGISTER: u8 = 8;
/// Modes of loads and stores, in the upper three bits.
mod mode {
    pub const MEM: u8 = 3;
    pub const SIGNED: u8 = 4;
    pub const ATOMIC: u8 = 6;
}

/// Numbers of arithmetic operations.
mod operation {
    pub const DIV: u8 = 3;
    pub const MOD: u8 = 9;
    pub const MOV: u8 = 11;
    pub const END: u8 = 13;
}

pub(crate) fn decode(word: &[u8; 8]) -> Op {
    let [code, regs, low, high, imm @ ..] = *word;
    Op {
        code,
        dst: regs & 15,
        src: regs >> 4,
        off: i16::from_le_bytes([low, high]),
        imm: i64::from(i32::from_le_bytes(imm)) as u64,
    }
}

impl Op {
    /// The size of a load or store in bytes.
    pub fn size(self) -> u8 {
        [4, 2, 1, 8][usize::from(self.code >> 3 & 3)]
    }

    /// Whether a load extends the sign.
    #[inline]
    pub fn is_signed_load(self) -> bool {
        self.code >> 5 == mode::SIGNED
    }

    /// Whether a store is an atomic operation.
    #[inline]
    pub fn is_atomic(self) -> bool {
        self.code >> 5 == mode::ATOMIC
    }

    /// The distance of a jump or of a call within the program, from the next instruction.
    pub fn distance(self) -> i64 {
        if matches!(self.code, JA_FAR | CALL) { self.imm as i64 } else { i64::from(self.off) }
    }

    /// Whether the machine supports the instruction. It does not support legacy packet access.
    pub fn exists(self) -> bool {
        use operation::{DIV, END, MOD, MOV};
        let (op, operation) = (self, self.code >> 4);
        let by_register = op.code & REGISTER != 0;
        match op.code & 7 {
            class::LD => op.code == WIDE,
            class::LDX if op.is_signed_load() => op.size() < 8,
            class::STX if op.is_atomic() => op.size() >= 4 && atomic(op.imm, 0, 0, 0).is_some(),
            class::LDX | class::ST | class::STX => op.code >> 5 == mode::MEM,
            // The byte swap has the size in its immediate; that of 64-bit operations has no source bit.
            class::ALU if operation == END => matches!(op.imm, 16 | 32 | 64) && op.off == 0,
            class::ALU64 if operation == END => {
                matches!(op.imm, 16 | 32 | 64) && op.off == 0 && !by_register
            }
            class::ALU | class::ALU64 => match (operation, op.off) {
                (0..=12, 0) | (DIV | MOD, 1) => true,
                (MOV, 8 | 16) => by_register,
                (MOV, 32) => by_register && op.code & 7 == class::ALU64,
                _ => false,
            },
            class::JMP if operation == 8 => op.code == CALL && op.src <= 1,
            class::JMP if operation == 9 => op.code == EXIT,
            class::JMP if operation == 0 => op.code == JA,
            class::JMP32 if operation == 0 => op.code == JA_FAR,
            _ => (1..=13).contains(&operation) && operation != 8 && operation != 9,
        }
    }
}

/// The new value in memory after an atomic operation, and the register that gets the old value. `None` if
/// there is no such operation.
pub(crate) fn atomic(kind: u64, old: u64, src: u64, r0: u64) -> Option<(u64, Fetch)> {
    let fetch = if kind & 1 != 0 { Fetch::Source } else { Fetch::Nothing };
    Some(match kind {
        0x00 | 0x01 => (old.wrapping_add(src), fetch),
        0x40 | 0x41 => (old | src, fetch),
        0x50 | 0x51 => (old & src, fetch),
        0xa0 | 0xa1 => (old ^ src, fetch),
        0xe1 => (src, Fetch::Source),
        0xf1 => (if old == r0 { src } else { old }, Fetch::Zero),
        _ => return None,
    })
}

/// The register that gets the old value of an atomic operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Fetch {
    Nothing,
    Source,
    Zero,
}

fn operand(op: Op, src: u64) -> u64 {
    if op.code & REGISTER != 0 { src } else { op.imm }
}

/// The sign extension of a number of `bits` bits.
pub(crate) fn extended(value: u64, bits: u32) -> u64 {
    let unused = 64 - bits;
    ((value << unused) as i64 >> unused) as u64
}

#[inline]
pub(crate) fn alu64(op: Op, dst: u64, src: u64) -> u64 {
    let value = operand(op, src);
    if op.off != 0 {
        return signed64(op, dst, value);
    }
    match op.code >> 4 {
        0 => dst.wrapping_add(value),
        1 => dst.wrapping_sub(value),
        2 => dst.wrapping_mul(value),
        3 => dst.checked_div(value).unwrap_or(0),
        4 => dst | value,
        5 => dst & value,
        6 => dst << (value & 63),
        7 => dst >> (value & 63),
        8 => dst.wrapping_neg(),
        9 => dst.checked_rem(value).unwrap_or(dst),
        10 => dst ^ value,
        11 => value,
        12 => ((dst as i64) >> (value & 63)) as u64,
        _ => reversed(dst, op.imm),
    }
}

/// Operations that the offset makes signed.
#[cold]
fn signed64(op: Op, dst: u64, value: u64) -> u64 {
    let (a, b) = (dst as i64, value as i64);
    match op.code >> 4 {
        operation::DIV if b == 0 => 0,
        operation::DIV => a.wrapping_div(b) as u64,
        operation::MOD if b == 0 => dst,
        operation::MOD => a.wrapping_rem(b) as u64,
        _ => extended(value, op.off.unsigned_abs().into()),
    }
}

#[inline]
pub(crate) fn alu32(op: Op, dst: u64, src: u64) -> u64 {
    if op.code >> 4 == operation::END {
        return swapped(op, dst);
    }
    let (dst, value) = (dst as u32, operand(op, src) as u32);
    if op.off != 0 {
        return signed32(op, dst, value);
    }
    u64::from(match op.code >> 4 {
        0 => dst.wrapping_add(value),
        1 => dst.wrapping_sub(value),
        2 => dst.wrapping_mul(value),
        3 => dst.checked_div(value).unwrap_or(0),
        4 => dst | value,
        5 => dst & value,
        6 => dst << (value & 31),
        7 => dst >> (value & 31),
        8 => dst.wrapping_neg(),
        9 => dst.checked_rem(value).unwrap_or(dst),
        10 => dst ^ value,
        11 => value,
        _ => ((dst as i32) >> (value & 31)) as u32,
    })
}

#[cold]
fn signed32(op: Op, dst: u32, value: u32) -> u64 {
    let (a, b) = (dst as i32, value as i32);
    u64::from(match op.code >> 4 {
        operation::DIV if b == 0 => 0,
        operation::DIV => a.wrapping_div(b) as u32,
        operation::MOD if b == 0 => dst,
        operation::MOD => a.wrapping_rem(b) as u32,
        _ => extended(value.into(), op.off.unsigned_abs().into()) as u32,
    })
}

fn reversed(value: u64, bits: u64) -> u64 {
    match bits {
        16 => u64::from((value as u16).swap_bytes()),
        32 => u64::from((value as u32).swap_bytes()),
        _ => value.swap_bytes(),
    }
}

/// To big-endian (the register bit is set) or little-endian, cut to the size.
fn swapped(op: Op, dst: u64) -> u64 {
    match (op.imm, op.code & REGISTER != 0) {
        (bits, true) => reversed(dst, bits),
        (16, false) => u64::from(dst as u16),
        (32, false) => u64::from(dst as u32),
        (_, false) => dst,
    }
}

/// Whether a jump is taken.
#[inline]
pub(crate) fn taken(op: Op, dst: u64, src: u64) -> bool {
    let value = operand(op, src);
    let wide = op.code & 7 == class::JMP;
    let (a, b) = if wide { (dst, value) } else { (u64::from(dst as u32), u64::from(value as u32)) };
    let signed = |x: u64| if wide { x as i64 } else { i64::from(x as i32) };
    match op.code >> 4 {
        0 => true,
        1 => a == b,
        2 => a > b,
        3 => a >= b,
        4 => a & b != 0,
        5 => a != b,
        6 => signed(a) > signed(b),
        7 => signed(a) >= signed(b),
        10 => a < b,
        11 => a <= b,
        12 => signed(a) < signed(b),
        _ => signed(a) <= signed(b),
    }
}
