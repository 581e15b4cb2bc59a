//! A machine for eBPF programs (RFC 9669): checked before they run, bounded while they run.
//!
//! Memory is what the program was given and nothing else: an address is a number of a region in its
//! high half and an offset in its low half, and every access is checked against the region's bytes.
//! There are no pointers of this process in the program's reach.

/// One instruction, decoded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Op {
    code: u8,
    dst: u8,
    src: u8,
    off: i16,
    /// Of 64-bit immediate loads all 64 bits.
    imm: u64,
}

/// A program that has been checked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Program {
    ops: Vec<Op>,
}

/// Why a program is not accepted.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("instruction {at}: {why}")]
pub struct Refused {
    /// Its number, from zero, in units of eight bytes.
    pub at: usize,
    /// What is wrong.
    pub why: String,
}

/// Why a program was stopped.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Trap {
    /// It took more instructions than it may.
    #[error("it ran for more instructions than allowed")]
    TooLong,
    /// It read or wrote what is not its own.
    #[error(
        "instruction {at} reads or writes {size} bytes at {address:#x}, which is not its memory"
    )]
    Memory {
        /// The instruction's number.
        at: usize,
        /// The address.
        address: u64,
        /// Bytes.
        size: u8,
    },
    /// It called a function that there is not.
    #[error("instruction {at} calls helper {helper}, which there is not")]
    Helper {
        /// The instruction's number.
        at: usize,
        /// The helper's number.
        helper: u64,
    },
}

/// The stack of a program, in bytes, as in Linux.
pub const STACK: usize = 512;
/// Most instructions of a program.
pub const MOST_OPS: usize = 4_096;

/// The region of the context, to which register 1 points.
pub const CONTEXT: u64 = 1 << 32;
/// The region of the stack.
const STACK_REGION: u64 = 2 << 32;
/// The region of the packet.
pub const PACKET: u64 = 3 << 32;

/// `bpf_ktime_get_ns`, by its number in Linux.
pub const HELPER_TIME: u64 = 5;
/// `bpf_get_prandom_u32`, by its number in Linux.
pub const HELPER_RANDOM: u64 = 7;

/// What a run is given.
pub struct Machine<'a> {
    /// The context: readable, and writable from `writable` on.
    pub context: &'a mut [u8],
    /// Where the writable part of the context begins.
    pub writable: usize,
    /// The packet: readable and writable.
    pub packet: &'a mut [u8],
    /// What the time helper answers.
    pub now_ns: u64,
    /// Most instructions.
    pub fuel: u32,
}

mod class {
    pub const LD: u8 = 0;
    pub const LDX: u8 = 1;
    pub const ST: u8 = 2;
    pub const STX: u8 = 3;
    pub const ALU: u8 = 4;
    pub const JMP: u8 = 5;
    pub const JMP32: u8 = 6;
    pub const ALU64: u8 = 7;
}

const WIDE: u8 = 0x18;
const CALL: u8 = 0x85;
const EXIT: u8 = 0x95;
const JA: u8 = 0x05;
/// Bit 3 of an arithmetic or jump code: the operand is a register.
const REGISTER: u8 = 8;

impl Program {
    /// Checks the bytes of a program: instructions that exist, registers that exist, jumps into the
    /// program, an end.
    pub fn new(bytes: &[u8]) -> Result<Program, Refused> {
        let (words, rest) = bytes.as_chunks::<8>();
        let refuse = |at, why: &str| Err(Refused { at, why: why.into() });
        if !rest.is_empty() || words.is_empty() {
            return refuse(words.len(), "the program does not consist of whole instructions");
        }
        if words.len() > MOST_OPS {
            return refuse(MOST_OPS, "a program has at most 4096 instructions");
        }
        let mut ops: Vec<Op> = words.iter().map(decode).collect();
        for at in 0..ops.len() {
            if ops[at].code == WIDE {
                let Some(second) = ops.get(at + 1).copied().filter(|second| second.code == 0)
                else {
                    return refuse(at, "the second half of a 64-bit load is missing");
                };
                ops[at].imm = u64::from(ops[at].imm as u32) | second.imm << 32;
            }
        }
        let program = Program { ops };
        (0..program.ops.len()).try_for_each(|at| program.check(at))?;
        Ok(program)
    }

    fn second_half(&self, at: usize) -> bool {
        at > 0 && self.ops[at - 1].code == WIDE && !self.second_half(at - 1)
    }

    fn check(&self, at: usize) -> Result<(), Refused> {
        if self.second_half(at) {
            return Ok(());
        }
        let op = self.ops[at];
        let refuse = |why: String| Err(Refused { at, why });
        if !exists(op) {
            return refuse(format!("there is no operation {:#04x} here", op.code));
        }
        if op.dst > 10 || op.src > 10 {
            return refuse(format!("there are registers 0 to 10, not {}", op.dst.max(op.src)));
        }
        let writes = matches!(op.code & 7, class::LD | class::LDX | class::ALU | class::ALU64);
        if writes && op.dst == 10 {
            return refuse("register 10 cannot be written".into());
        }
        if op.code == WIDE && op.src != 0 {
            return refuse(
                "it loads the address of a map or of other data, which there is not".into(),
            );
        }
        let jumps = matches!(op.code & 7, class::JMP | class::JMP32);
        if jumps && op.code != CALL && op.code != EXIT {
            let to = at as i64 + 1 + i64::from(op.off);
            let inside =
                usize::try_from(to).is_ok_and(|to| to < self.ops.len() && !self.second_half(to));
            if !inside {
                return refuse(format!("it jumps to {to}, where no instruction begins"));
            }
        }
        let last = at + if op.code == WIDE { 2 } else { 1 } == self.ops.len();
        if last && op.code != EXIT && op.code != JA {
            return refuse("the program does not end".into());
        }
        Ok(())
    }

    /// Runs the program and returns register 0.
    pub fn run(
        &self,
        machine: &mut Machine<'_>,
        random: &mut dyn FnMut() -> u32,
    ) -> Result<u64, Trap> {
        let mut stack = [0u8; STACK];
        let mut regs = [0u64; 16];
        (regs[1], regs[10]) = (CONTEXT, STACK_REGION + STACK as u64);
        let (mut at, mut fuel) = (0usize, machine.fuel);
        loop {
            fuel = fuel.checked_sub(1).ok_or(Trap::TooLong)?;
            // Checked programs have no way out of their instructions.
            let Some(&op) = self.ops.get(at) else { return Err(Trap::TooLong) };
            let next = at + 1;
            let dst = usize::from(op.dst & 15);
            let src = regs[usize::from(op.src & 15)];
            at = next;
            match op.code & 7 {
                class::ALU64 => regs[dst] = alu64(op, regs[dst], src),
                class::ALU => regs[dst] = alu32(op, regs[dst], src),
                class::JMP | class::JMP32 => match op.code {
                    EXIT => return Ok(regs[0]),
                    CALL => regs[0] = call(op, next - 1, machine.now_ns, random)?,
                    _ if taken(op, regs[dst], src) => at = next.wrapping_add_signed(op.off.into()),
                    _ => {}
                },
                class::LDX => {
                    let address = src.wrapping_add_signed(op.off.into());
                    regs[dst] = load(machine, &stack, address, size(op.code)).ok_or(trap(
                        next - 1,
                        address,
                        op,
                    ))?;
                }
                class::ST | class::STX => {
                    let address = regs[dst].wrapping_add_signed(op.off.into());
                    let value = if op.code & 7 == class::ST { op.imm } else { src };
                    store(machine, &mut stack, address, size(op.code), value).ok_or(trap(
                        next - 1,
                        address,
                        op,
                    ))?;
                }
                _ => {
                    regs[dst] = op.imm;
                    at += 1;
                }
            }
        }
    }
}

fn decode(word: &[u8; 8]) -> Op {
    let [code, regs, low, high, imm @ ..] = *word;
    Op {
        code,
        dst: regs & 15,
        src: regs >> 4,
        off: i16::from_le_bytes([low, high]),
        imm: i64::from(i32::from_le_bytes(imm)) as u64,
    }
}

/// Bytes that a load or store moves.
fn size(code: u8) -> u8 {
    [4, 2, 1, 8][usize::from(code >> 3 & 3)]
}

fn trap(at: usize, address: u64, op: Op) -> Trap {
    Trap::Memory { at, address, size: size(op.code) }
}

/// Whether this machine has an operation. Atomic operations, calls of other functions and old packet
/// access are not there; nor are the signed operations of later versions.
fn exists(op: Op) -> bool {
    let (kind, operation) = (op.code & 7, op.code >> 4);
    match kind {
        class::LD => op.code == WIDE,
        class::LDX | class::ST | class::STX => op.code >> 5 == 3,
        // 13 is the byte swap, which has the size in its immediate.
        class::ALU if operation == 13 => matches!(op.imm, 16 | 32 | 64),
        class::ALU | class::ALU64 => operation <= 12 && op.off == 0,
        class::JMP if operation == 8 => op.code == CALL && op.src == 0,
        class::JMP if operation == 9 => op.code == EXIT,
        class::JMP if operation == 0 => op.code == JA,
        _ => (1..=13).contains(&operation) && operation != 8 && operation != 9,
    }
}

fn operand(op: Op, src: u64) -> u64 {
    if op.code & REGISTER != 0 { src } else { op.imm }
}

#[inline]
fn alu64(op: Op, dst: u64, src: u64) -> u64 {
    let value = operand(op, src);
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
        _ => ((dst as i64) >> (value & 63)) as u64,
    }
}

#[inline]
fn alu32(op: Op, dst: u64, src: u64) -> u64 {
    if op.code >> 4 == 13 {
        return swapped(op, dst);
    }
    let (dst, value) = (dst as u32, operand(op, src) as u32);
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

/// To big-endian (the register bit is set) or little-endian, cut to the size.
fn swapped(op: Op, dst: u64) -> u64 {
    let big = op.code & REGISTER != 0;
    match (op.imm, big) {
        (16, true) => u64::from((dst as u16).swap_bytes()),
        (32, true) => u64::from((dst as u32).swap_bytes()),
        (_, true) => dst.swap_bytes(),
        (16, false) => u64::from(dst as u16),
        (32, false) => u64::from(dst as u32),
        (_, false) => dst,
    }
}

#[inline]
fn taken(op: Op, dst: u64, src: u64) -> bool {
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

fn call(op: Op, at: usize, now_ns: u64, random: &mut dyn FnMut() -> u32) -> Result<u64, Trap> {
    match op.imm {
        HELPER_TIME => Ok(now_ns),
        HELPER_RANDOM => Ok(random().into()),
        helper => Err(Trap::Helper { at, helper }),
    }
}

#[inline]
fn read(bytes: &[u8], offset: usize, size: u8) -> Option<u64> {
    let from = bytes.get(offset..)?;
    Some(match size {
        1 => u64::from(*from.first()?),
        2 => u64::from(u16::from_le_bytes(*from.first_chunk()?)),
        4 => u64::from(u32::from_le_bytes(*from.first_chunk()?)),
        _ => u64::from_le_bytes(*from.first_chunk()?),
    })
}

#[inline]
fn write(bytes: &mut [u8], offset: usize, size: u8, value: u64) -> Option<()> {
    let size = usize::from(size);
    let to = bytes.get_mut(offset..)?.get_mut(..size)?;
    to.copy_from_slice(&value.to_le_bytes()[..size]);
    Some(())
}

#[inline]
fn load(machine: &Machine<'_>, stack: &[u8], address: u64, size: u8) -> Option<u64> {
    let offset = address as u32 as usize;
    match address >> 32 << 32 {
        CONTEXT => read(machine.context, offset, size),
        STACK_REGION => read(stack, offset, size),
        PACKET => read(machine.packet, offset, size),
        _ => None,
    }
}

#[inline]
fn store(
    machine: &mut Machine<'_>,
    stack: &mut [u8],
    address: u64,
    size: u8,
    value: u64,
) -> Option<()> {
    let offset = address as u32 as usize;
    match address >> 32 << 32 {
        CONTEXT if offset >= machine.writable => write(machine.context, offset, size, value),
        STACK_REGION => write(stack, offset, size, value),
        PACKET => write(machine.packet, offset, size, value),
        _ => None,
    }
}

#[cfg(test)]
#[path = "vm_tests.rs"]
mod tests;
