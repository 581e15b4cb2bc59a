//! Which programs `LD_PRELOAD` reaches: those that the system's dynamic loader starts.

use crate::LIBRARY;
use crate::error::at;
use object::Endianness;
use object::elf;
use object::read::elf::{FileHeader, ProgramHeader};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

type Header = elf::FileHeader64<Endianness>;

/// The number of nested script interpreters that Linux follows.
const INTERPRETERS: usize = 5;

/// The reason why a program would run in real time and report nothing.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Unreachable {
    /// The program has no dynamic loader.
    #[error("{}: statically linked, so no library can be loaded before it; use a dynamically linked build", .0.display())]
    Static(PathBuf),
    /// Go's runtime reads the clock and waits without the C library.
    #[error("{}: a Go program, which reads the clock and waits without the C library", .0.display())]
    Go(PathBuf),
    /// The program is for another processor, or has 32 bits.
    #[error("{}: for another processor or with 32 bits, so it cannot load this machine's library", .0.display())]
    Machine(PathBuf),
    /// The program's C library is not GNU's.
    #[error("{}: its dynamic loader is {loader}, not that of the GNU C library", path.display())]
    Loader {
        /// The program.
        path: PathBuf,
        /// Its loader.
        loader: String,
    },
    /// The kernel gives the program more rights than its user has.
    #[error("{}: set-user-ID or set-group-ID, so its loader ignores LD_PRELOAD unless root starts it", .0.display())]
    Privileged(PathBuf),
    /// The file is neither an ELF program nor a script.
    #[error("{}: not a program: {why}", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        why: String,
    },
}

/// Whether the library is loaded when this file is executed. For a script, its interpreter is examined.
///
/// # Errors
/// The reason why it is not.
pub fn reach(program: &Path) -> Result<(), Unreachable> {
    let mut path = program.to_path_buf();
    for _ in 0..INTERPRETERS {
        let bytes = fs::read(&path).map_err(|why| foreign(&path, at(&path)(why).to_string()))?;
        match interpreter(&bytes) {
            Some(next) => path = next,
            None => return reach_binary(&path, &bytes),
        }
    }
    Err(foreign(program, "too many interpreters of interpreters".into()))
}

fn foreign(path: &Path, why: String) -> Unreachable {
    Unreachable::Foreign { path: path.to_path_buf(), why }
}

/// The interpreter in the first line of a script. `env` looks for its argument on the path.
fn interpreter(bytes: &[u8]) -> Option<PathBuf> {
    let line = bytes.strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
    let line = String::from_utf8_lossy(line);
    let mut words = line.split_whitespace();
    let first = PathBuf::from(words.next()?);
    match first.ends_with("env") {
        true => words.find(|word| !word.starts_with('-')).and_then(on_path).or(Some(first)),
        false => Some(first),
    }
}

fn on_path(name: &str) -> Option<PathBuf> {
    let folders = std::env::var_os("PATH")?;
    std::env::split_paths(&folders).map(|folder| folder.join(name)).find(|path| path.is_file())
}

fn reach_binary(path: &Path, bytes: &[u8]) -> Result<(), Unreachable> {
    let header = Header::parse(bytes).map_err(|_| not_for_64_bits(path, bytes))?;
    let endian = header.endian().map_err(|why| foreign(path, why.to_string()))?;
    if is_go(header, endian, bytes) {
        return Err(Unreachable::Go(path.into()));
    }
    if Some(header.e_machine(endian)) != own_machine() {
        return Err(Unreachable::Machine(path.into()));
    }
    let Some(loader) = loader(header, endian, bytes) else {
        return Err(Unreachable::Static(path.into()));
    };
    if loader.contains("musl") {
        return Err(Unreachable::Loader { path: path.into(), loader });
    }
    privileges(path)
}

fn not_for_64_bits(path: &Path, bytes: &[u8]) -> Unreachable {
    match bytes.starts_with(b"\x7fELF") {
        true => Unreachable::Machine(path.into()),
        false => foreign(path, "neither ELF nor a script with `#!`".into()),
    }
}

/// The processor of the library.
fn own_machine() -> Option<elf::Machine> {
    let header = Header::parse(LIBRARY).ok()?;
    Some(header.e_machine(header.endian().ok()?))
}

/// The dynamic loader that an ELF file names (`PT_INTERP`).
fn loader(header: &Header, endian: Endianness, bytes: &[u8]) -> Option<String> {
    let segments = header.program_headers(endian, bytes).ok()?;
    let name =
        segments.iter().find_map(|segment| segment.interpreter(endian, bytes).ok().flatten())?;
    Some(String::from_utf8_lossy(name).into_owned())
}

/// Go's linker leaves a section or a note with the build's id.
fn is_go(header: &Header, endian: Endianness, bytes: &[u8]) -> bool {
    has_go_section(header, endian, bytes).unwrap_or(false)
        || has_go_note(header, endian, bytes).unwrap_or(false)
}

fn has_go_section(header: &Header, endian: Endianness, bytes: &[u8]) -> Option<bool> {
    let sections = header.sections(endian, bytes).ok()?;
    let names = sections.iter().filter_map(|section| sections.section_name(endian, section).ok());
    let go: [&[u8]; 2] = [b".go.buildinfo", b".note.go.buildid"];
    Some(names.into_iter().any(|name| go.contains(&name)))
}

fn has_go_note(header: &Header, endian: Endianness, bytes: &[u8]) -> Option<bool> {
    let segments = header.program_headers(endian, bytes).ok()?;
    let notes = segments.iter().filter_map(|segment| segment.notes(endian, bytes).ok().flatten());
    let mut found =
        notes.flat_map(|mut notes| std::iter::from_fn(move || notes.next().ok().flatten()));
    Some(found.any(|note| note.name() == b"Go"))
}

fn privileges(path: &Path) -> Result<(), Unreachable> {
    let status = fs::metadata(path).map_err(|why| foreign(path, why.to_string()))?;
    let privileged =
        status.permissions().mode() & 0o6000 != 0 && !rustix::process::geteuid().is_root();
    if privileged { Err(Unreachable::Privileged(path.into())) } else { Ok(()) }
}
