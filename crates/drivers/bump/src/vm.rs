//! A machine for eBPF programs (RFC 9669). A program is checked before it runs, and its instructions are
//! counted while it runs.
//!
//! A program reaches only the memory regions that it is given (see [`crate::memory`]), and it ends within a
//! number of instructions. The crate `rbpf` has an interpreter, too. It is not used here for three reasons: an
//! address in its programs is an address of the process, which its interpreter accesses in `unsafe` code; it has
//! no maps; and it does not limit the number of instructions of a run.

use crate::alu::{CALL, EXIT, Fetch, JA, JA_FAR, Op, WIDE};
use crate::alu::{alu32, alu64, atomic, class, decode, extended, taken};
use crate::memory::{CONTEXT, Memory, STACK, STACK_REGION, Stacks, address_of, read, write};

/// A checked program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Program {
    ops: Vec<Op>,
}

/// The reason why a program is refused.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("instruction {at}: {why}")]
pub struct Refused {
    /// The number of the instruction, from zero, in units of eight bytes.
    pub at: usize,
    /// The reason.
    pub why: String,
}

/// The reason why a program was stopped.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Trap {
    /// The program exceeded the limit of instructions.
    #[error("it ran for more instructions than allowed")]
    TooLong,
    /// The calls of functions are nested too deeply.
    #[error("instruction {at} calls a function within {MOST_CALLS} others")]
    TooDeep {
        /// The instruction's number.
        at: usize,
    },
    /// The program accessed memory outside its regions.
    #[error(
        "instruction {at} reads or writes {size} bytes at {address:#x}, which is not its memory"
    )]
    Memory {
        /// The instruction's number.
        at: usize,
        /// The address of the access.
        address: u64,
        /// The size of the access in bytes.
        size: u32,
    },
    /// The program called a helper for maps without a map.
    #[error("instruction {at} calls a helper for maps without a map")]
    NoMap {
        /// The instruction's number.
        at: usize,
    },
}

/// The largest number of instructions of a program.
pub const MOST_OPS: usize = 4_096;
/// The largest depth of nested calls, as in Linux.
pub const MOST_CALLS: usize = 7;

/// The helpers that a program can call, by their numbers in Linux.
pub mod helper {
    /// `bpf_map_lookup_elem`.
    pub const LOOKUP: u64 = 1;
    /// `bpf_map_update_elem`.
    pub const UPDATE: u64 = 2;
    /// `bpf_map_delete_elem`.
    pub const DELETE: u64 = 3;
    /// `bpf_ktime_get_ns`.
    pub const TIME: u64 = 5;
    /// `bpf_get_prandom_u32`.
    pub const RANDOM: u64 = 7;
    /// `bpf_get_smp_processor_id`: there is one processor, 0.
    pub const PROCESSOR: u64 = 8;
    /// The numbers of all helpers.
    pub const ALL: [u64; 6] = [LOOKUP, UPDATE, DELETE, TIME, RANDOM, PROCESSOR];
}

/// The environment of a run.
#[derive(Debug)]
pub struct Machine<'a> {
    /// The memory that the program can access.
    pub memory: Memory<'a>,
    /// The time that the helper `TIME` returns.
    pub now_ns: u64,
    /// The limit of instructions.
    pub fuel: u32,
}

impl Program {
    /// Decodes and checks a program: its instructions and registers exist, its jumps lead to an instruction,
    /// and it does not run past its last instruction.
    ///
    /// # Errors
    /// [`Refused`], with the first instruction that is not valid.
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
        if !op.exists() {
            return refuse(format!("there is no operation {:#04x} here", op.code));
        }
        if op.dst > 10 || op.src > 10 {
            return refuse(format!("there are registers 0 to 10, not {}", op.dst.max(op.src)));
        }
        if writes(op) == Some(10) {
            return refuse("register 10 cannot be written".into());
        }
        if op.code == CALL && op.src == 0 && !helper::ALL.contains(&op.imm) {
            return refuse(format!(
                "it calls helper {} of Linux, which is not supported; supported are {:?}",
                op.imm,
                helper::ALL
            ));
        }
        if op.code == WIDE && op.src != 0 {
            return refuse(
                "it loads the address of a map or of other data, which does not exist".into(),
            );
        }
        if jumps(op) {
            let to = at as i64 + 1 + op.distance();
            let inside =
                usize::try_from(to).is_ok_and(|to| to < self.ops.len() && !self.second_half(to));
            if !inside {
                return refuse(format!("it jumps to {to}, where no instruction begins"));
            }
        }
        let last = at + if op.code == WIDE { 2 } else { 1 } == self.ops.len();
        if last && ![EXIT, JA, JA_FAR].contains(&op.code) {
            return refuse("the program does not end".into());
        }
        Ok(())
    }

    /// Runs the program and returns register 0.
    ///
    /// # Errors
    /// [`Trap`], the reason why the program was stopped.
    pub fn run(
        &self,
        machine: &mut Machine<'_>,
        random: &mut dyn FnMut() -> u32,
    ) -> Result<u64, Trap> {
        let mut run = Run { stacks: Stacks::new(), regs: [0; 16], calls: Vec::new() };
        (run.regs[1], run.regs[10]) = (CONTEXT, STACK_REGION + STACK as u64);
        let (mut at, mut fuel) = (0usize, machine.fuel);
        loop {
            fuel = fuel.checked_sub(1).ok_or(Trap::TooLong)?;
            // A checked program does not leave its instructions.
            let Some(&op) = self.ops.get(at) else { return Err(Trap::TooLong) };
            let here = at;
            let dst = usize::from(op.dst & 15);
            let src = run.regs[usize::from(op.src & 15)];
            at += 1;
            match op.code & 7 {
                class::ALU64 => run.regs[dst] = alu64(op, run.regs[dst], src),
                class::ALU => run.regs[dst] = alu32(op, run.regs[dst], src),
                class::JMP | class::JMP32 => match op.code {
                    EXIT => match run.calls.pop() {
                        Some(back) => at = run.leave(back),
                        None => return Ok(run.regs[0]),
                    },
                    CALL if op.src == 1 => at = run.enter(op, at)?,
                    CALL => run.regs[0] = run.help(op, here, machine, random)?,
                    _ if taken(op, run.regs[dst], src) => {
                        at = at.wrapping_add_signed(op.distance() as isize);
                    }
                    _ => {}
                },
                class::LDX => run.load(op, here, &machine.memory)?,
                class::ST | class::STX => run.store(op, here, &mut machine.memory)?,
                _ => {
                    run.regs[dst] = op.imm;
                    at += 1;
                }
            }
        }
    }
}

/// The register that an instruction writes.
fn writes(op: Op) -> Option<u8> {
    match op.code & 7 {
        class::LD | class::LDX | class::ALU | class::ALU64 => Some(op.dst),
        class::STX if op.is_atomic() && op.imm & 1 != 0 && op.imm != 0xf1 => Some(op.src),
        _ => None,
    }
}

/// Whether the instruction jumps or calls a function of the program.
fn jumps(op: Op) -> bool {
    match op.code {
        CALL => op.src == 1,
        EXIT => false,
        code => matches!(code & 7, class::JMP | class::JMP32),
    }
}

/// The return address of a call, and registers 6 to 9 of the caller.
struct Return {
    at: usize,
    saved: [u64; 4],
}

/// The state of a running program.
struct Run {
    stacks: Stacks,
    regs: [u64; 16],
    calls: Vec<Return>,
}

impl Run {
    fn enter(&mut self, op: Op, next: usize) -> Result<usize, Trap> {
        if self.calls.len() == MOST_CALLS {
            return Err(Trap::TooDeep { at: next - 1 });
        }
        let saved = [6, 7, 8, 9].map(|register: usize| self.regs[register]);
        self.calls.push(Return { at: next, saved });
        self.stacks.enter(self.calls.len());
        self.regs[10] += STACK as u64;
        Ok(next.wrapping_add_signed(op.distance() as isize))
    }

    fn leave(&mut self, back: Return) -> usize {
        self.regs[6..10].copy_from_slice(&back.saved);
        self.regs[10] -= STACK as u64;
        back.at
    }

    #[inline]
    fn load(&mut self, op: Op, at: usize, memory: &Memory<'_>) -> Result<(), Trap> {
        let address = self.regs[usize::from(op.src & 15)].wrapping_add_signed(op.off.into());
        let found =
            memory.readable_at(&self.stacks, address).and_then(|from| read(from, op.size()));
        let value = found.ok_or(trap(at, address, op.size()))?;
        self.regs[usize::from(op.dst & 15)] = match op.is_signed_load() {
            true => extended(value, u32::from(op.size()) * 8),
            false => value,
        };
        Ok(())
    }

    #[inline]
    fn store(&mut self, op: Op, at: usize, memory: &mut Memory<'_>) -> Result<(), Trap> {
        let address = self.regs[usize::from(op.dst & 15)].wrapping_add_signed(op.off.into());
        if op.code & 7 == class::STX && op.is_atomic() {
            return self.exchange(op, at, address, memory);
        }
        let src = self.regs[usize::from(op.src & 15)];
        let value = if op.code & 7 == class::ST { op.imm } else { src };
        let into = memory.writable_at(&mut self.stacks, address);
        into.and_then(|into| write(into, op.size(), value)).ok_or(trap(at, address, op.size()))
    }

    /// An atomic operation. Nothing else accesses the memory while the program runs.
    #[cold]
    fn exchange(
        &mut self,
        op: Op,
        at: usize,
        address: u64,
        memory: &mut Memory<'_>,
    ) -> Result<(), Trap> {
        let (size, src) = (op.size(), usize::from(op.src & 15));
        let truncated = |value: u64| if size == 4 { u64::from(value as u32) } else { value };
        let (value, zero) = (truncated(self.regs[src]), truncated(self.regs[0]));
        let into = memory.writable_at(&mut self.stacks, address);
        let done = into.and_then(|into| {
            let old = read(into, size)?;
            let (new, fetch) = atomic(op.imm, old, value, zero)?;
            write(into, size, new)?;
            Some((old, fetch))
        });
        match done.ok_or(trap(at, address, size))? {
            (old, Fetch::Source) => self.regs[src] = old,
            (old, Fetch::Zero) => self.regs[0] = old,
            (_, Fetch::Nothing) => {}
        }
        Ok(())
    }

    /// A call of a helper.
    fn help(
        &mut self,
        op: Op,
        at: usize,
        machine: &mut Machine<'_>,
        random: &mut dyn FnMut() -> u32,
    ) -> Result<u64, Trap> {
        match op.imm {
            helper::TIME => Ok(machine.now_ns),
            helper::RANDOM => Ok(random().into()),
            helper::PROCESSOR => Ok(0),
            // A checked program calls no other helpers.
            map => self.map(map, at, &mut machine.memory),
        }
    }

    fn map(&mut self, helper: u64, at: usize, memory: &mut Memory<'_>) -> Result<u64, Trap> {
        let number = memory.map(self.regs[1]).ok_or(Trap::NoMap { at })?;
        let spec = memory.store.spec(number).ok_or(Trap::NoMap { at })?;
        let argument = |register: usize, size: u32| {
            let address = self.regs[register];
            let bytes = memory.readable_at(&self.stacks, address);
            bytes.and_then(|bytes| bytes.get(..size as usize)).ok_or(Trap::Memory {
                at,
                address,
                size,
            })
        };
        let key = argument(2, spec.key)?;
        match helper {
            helper::LOOKUP => {
                let found = memory.store.lookup(number, key);
                Ok(found.map_or(0, |offset| address_of(number, offset)))
            }
            helper::UPDATE => {
                let (key, value) = (key.to_vec(), argument(3, spec.value)?.to_vec());
                Ok(memory.store.update(number, &key, &value, self.regs[4]) as u64)
            }
            _ => {
                let key = key.to_vec();
                Ok(memory.store.delete(number, &key) as u64)
            }
        }
    }
}

fn trap(at: usize, address: u64, size: u8) -> Trap {
    Trap::Memory { at, address, size: size.into() }
}

#[cfg(test)]
#[path = "vm_tests.rs"]
mod tests;
