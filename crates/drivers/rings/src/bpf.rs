//! BPF programs and maps: instructions, and the system call that makes and attaches them. Programs here are a few dozen
//! instructions long and use no kernel structure whose layout may change, so they need neither a compiler nor BTF.

pub mod code;

use crate::checked;
use std::ffi::CString;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// Commands of the system call.
const MAP_CREATE: i32 = 0;
const MAP_LOOKUP: i32 = 1;
const MAP_UPDATE: i32 = 2;
const PROGRAM_LOAD: i32 = 5;
const OBJECT_PIN: i32 = 6;
const PROGRAM_TEST: i32 = 10;
const LINK_CREATE: i32 = 28;
/// The way in which a link attaches a program to an interface.
const XDP: u32 = 37;
/// The room for what the kernel says of a program that it refuses.
const LOG: usize = 1 << 16;
/// The most of it that an error repeats.
const SHOWN: usize = 400;
/// What calls of the kernel's functions need.
const LICENSE: &[u8] = b"Dual MIT/GPL\0";

/// Kinds of programs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum Kind {
    /// A filter of sockets and of rules of iptables.
    Filter = 1,
    /// A classifier of the packets of an interface (`tc`).
    Classifier = 3,
    /// A program that gets the frames of an interface first.
    Xdp = 6,
}

/// An instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Instruction {
    /// The operation.
    pub code: u8,
    /// The registers: to which, and from which.
    pub to: u8,
    /// See `to`.
    pub from: u8,
    /// A distance in instructions, or in bytes of memory.
    pub offset: i16,
    /// A constant.
    pub value: i32,
}

impl Instruction {
    fn bytes(self) -> [u8; 8] {
        let [a, b] = self.offset.to_ne_bytes();
        let [c, d, e, f] = self.value.to_ne_bytes();
        [self.code, self.from << 4 | self.to, a, b, c, d, e, f]
    }
}

/// The argument of the system call: numbers of 32 bits in pairs, and addresses.
#[derive(Default)]
struct Attributes([u64; 16]);

impl Attributes {
    /// Sets the 32 bits from byte `at` on.
    fn set(&mut self, at: usize, value: u32) {
        let shift = at % 8 * 8;
        self.0[at / 8] |= u64::from(value) << shift;
    }
    fn file(&mut self, at: usize, file: &impl AsRawFd) {
        self.set(at, file.as_raw_fd() as u32);
    }
    fn address<T>(&mut self, at: usize, memory: &[T]) {
        self.0[at / 8] = memory.as_ptr() as u64;
    }
    fn room<T>(&mut self, at: usize, memory: &mut [T]) {
        self.0[at / 8] = memory.as_mut_ptr() as u64;
    }
    /// Makes the system call.
    ///
    /// # Safety
    /// Every address must refer to memory that is as long as the command takes it to be.
    unsafe fn call(&mut self, command: i32) -> io::Result<i32> {
        let (memory, length) = (self.0.as_mut_ptr(), size_of_val(&self.0));
        // SAFETY: the kernel uses these `length` bytes, and the caller vouches for the addresses in them.
        checked(unsafe { libc::syscall(libc::SYS_bpf, command, memory, length) } as i32)
    }
    /// The same for commands whose result is a file.
    ///
    /// # Safety
    /// As for [`Attributes::call`].
    unsafe fn open(&mut self, command: i32) -> io::Result<OwnedFd> {
        // SAFETY: the caller vouches for the addresses; the number is that of a new file which nothing else owns.
        unsafe { Ok(OwnedFd::from_raw_fd(self.call(command)?)) }
    }
}

/// A map: values by number.
#[derive(Debug)]
pub struct Map(OwnedFd, usize);

impl Map {
    /// An array of one value, which begins with zeros.
    ///
    /// # Errors
    /// The kernel refuses it: this user lacks the permission.
    pub fn of_value(bytes: u32) -> io::Result<Map> {
        Map::new(2, bytes, 1)
    }
    /// The sockets of AF_XDP of an interface, by the number of their queue.
    ///
    /// # Errors
    /// As for [`Map::of_value`].
    pub fn of_sockets(queues: u32) -> io::Result<Map> {
        Map::new(17, 4, queues)
    }

    fn new(kind: u32, value: u32, entries: u32) -> io::Result<Map> {
        let mut attributes = Attributes::default();
        let fields = [kind, 4, value, entries];
        fields.iter().enumerate().for_each(|(n, field)| attributes.set(4 * n, *field));
        // SAFETY: there are no addresses.
        let file = unsafe { attributes.open(MAP_CREATE) }?;
        Ok(Map(file, value as usize))
    }

    /// Sets the value with a number. Programs see a value of 8 bytes change as a whole.
    ///
    /// # Errors
    /// The value has another size, or the kernel refuses it.
    pub fn set(&self, number: u32, value: &[u8]) -> io::Result<()> {
        self.same_size(value.len())?;
        let (key, mut attributes) = ([number], Attributes::default());
        attributes.file(0, &self.0);
        attributes.address(8, &key);
        attributes.address(16, value);
        // SAFETY: keys have four bytes, and the value has as many as the map's.
        unsafe { attributes.call(MAP_UPDATE) }.map(drop)
    }

    /// Reads the value with a number.
    ///
    /// # Errors
    /// As for [`Map::set`].
    pub fn get(&self, number: u32, value: &mut [u8]) -> io::Result<()> {
        self.same_size(value.len())?;
        let (key, mut attributes) = ([number], Attributes::default());
        attributes.file(0, &self.0);
        attributes.address(8, &key);
        attributes.room(16, value);
        // SAFETY: keys have four bytes, and the value has room for as many as the map's.
        unsafe { attributes.call(MAP_LOOKUP) }.map(drop)
    }

    fn same_size(&self, bytes: usize) -> io::Result<()> {
        match bytes == self.1 {
            true => Ok(()),
            false => Err(io::Error::other(format!("values have {} bytes, not {bytes}", self.1))),
        }
    }
}

/// A loaded program.
#[derive(Debug)]
pub struct Program(OwnedFd);

impl Program {
    /// Loads a program. The kernel checks it.
    ///
    /// # Errors
    /// The kernel refuses it, with the end of what it says about the program.
    pub fn load(kind: Kind, instructions: &[Instruction]) -> io::Result<Program> {
        let code: Vec<u8> = instructions.iter().flat_map(|one| one.bytes()).collect();
        let mut attributes = Attributes::default();
        attributes.set(0, kind as u32);
        attributes.set(4, instructions.len() as u32);
        attributes.address(8, &code);
        attributes.address(16, LICENSE);
        // SAFETY: the instructions are as many as their number says, and the licence ends with a zero byte.
        let loaded = unsafe { attributes.open(PROGRAM_LOAD) };
        let Err(error) = loaded else { return loaded.map(Program) };
        let mut log = vec![0u8; LOG];
        attributes.set(24, 1);
        attributes.set(28, LOG as u32);
        attributes.room(32, &mut log);
        // SAFETY: as above, and the log has the room that is given for it.
        match unsafe { attributes.open(PROGRAM_LOAD) } {
            Ok(program) => Ok(Program(program)),
            Err(_) => Err(io::Error::new(error.kind(), format!("{error}{}", end_of(&log)))),
        }
    }

    /// Gives the program a path in a file system of BPF, by which rules of iptables name it. The path must not exist.
    ///
    /// # Errors
    /// There is no such file system, or the path exists.
    pub fn pin(&self, path: &str) -> io::Result<()> {
        let (path, mut attributes) = (CString::new(path)?, Attributes::default());
        attributes.address(0, path.as_bytes_with_nul());
        attributes.file(8, &self.0);
        // SAFETY: the path ends with a zero byte.
        unsafe { attributes.call(OBJECT_PIN) }.map(drop)
    }

    /// Attaches a program to the interface with this number until the link is dropped. `flags` says how: in the driver
    /// (4), or in any driver by copies (2).
    ///
    /// # Errors
    /// The kernel refuses it, for example because packets of the interface may be too long.
    pub fn attach(&self, interface: u32, flags: u32) -> io::Result<OwnedFd> {
        let mut attributes = Attributes::default();
        attributes.file(0, &self.0);
        attributes.set(4, interface);
        attributes.set(8, XDP);
        attributes.set(12, flags);
        // SAFETY: there are no addresses.
        unsafe { attributes.open(LINK_CREATE) }
    }

    /// Runs the program once with a packet and a context (`struct __sk_buff` for classifiers), which it may change and which
    /// may be empty. Returns its result.
    ///
    /// # Errors
    /// The kernel refuses it.
    pub fn test(&self, packet: &[u8], context: &mut [u8]) -> io::Result<u32> {
        let (before, mut attributes) = (context.to_vec(), Attributes::default());
        attributes.file(0, &self.0);
        attributes.set(8, packet.len() as u32);
        attributes.address(16, packet);
        if !before.is_empty() {
            attributes.set(40, before.len() as u32);
            attributes.set(44, context.len() as u32);
            attributes.address(48, &before);
            attributes.room(56, context);
        }
        // SAFETY: the packet and both contexts have the lengths that are given.
        unsafe { attributes.call(PROGRAM_TEST) }?;
        // The kernel stores the result in the arguments.
        Ok((attributes.0[0] >> 32) as u32)
    }
}

impl AsFd for Program {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// The end of a log that ends with a zero byte.
fn end_of(log: &[u8]) -> String {
    let text = log.split(|byte| *byte == 0).next().unwrap_or_default();
    let text = String::from_utf8_lossy(&text[text.len().saturating_sub(SHOWN)..]).into_owned();
    if text.is_empty() { text } else { format!(": {}", text.trim()) }
}

#[cfg(test)]
mod tests {
    use super::code::{exit, load64, map, set, value};
    use super::*;

    #[test]
    fn a_program_reads_its_map() {
        let all = match Map::of_value(8) {
            Ok(all) => all,
            Err(error) => return println!("skipped: BPF: {error}"),
        };
        all.set(0, &77u64.to_ne_bytes()).unwrap();
        let code = [&value(1, &all)[..], &[load64(0, 1, 0), exit()]].concat();
        let program = Program::load(Kind::Classifier, &code).unwrap();
        assert_eq!(program.test(&[0; 64], &mut []).unwrap(), 77);
        let mut read = [0; 8];
        all.get(0, &mut read).unwrap();
        assert_eq!(u64::from_ne_bytes(read), 77);
        assert!(all.set(0, &[0; 4]).is_err(), "it has another size");
    }

    #[test]
    fn what_the_kernel_refuses_has_a_reason() {
        let Ok(all) = Map::of_value(8) else { return println!("skipped: BPF") };
        let code = [&map(1, &all)[..], &[load64(0, 2, 0), exit()]].concat();
        let why = Program::load(Kind::Classifier, &code).unwrap_err().to_string();
        assert!(why.contains("R2 !read_ok"), "{why}");
        let unpinned = Program::load(Kind::Filter, &[set(0, 0), exit()]).unwrap();
        assert!(unpinned.pin("/tmp/slotline-no-bpf").is_err());
    }
}
