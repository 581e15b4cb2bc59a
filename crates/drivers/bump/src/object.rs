//! The sections and symbols of an eBPF object file (ELF, little-endian, machine 247), as `clang -target bpf -c`
//! makes it.

/// Why an object file cannot be used.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ObjectError {
    /// It is no ELF file for eBPF.
    #[error("no eBPF object file: {0}")]
    Foreign(&'static str),
    /// It ends early, or a header points outside it.
    #[error("the object file is damaged: {0}")]
    Damaged(&'static str),
    /// It has no program of this name.
    #[error(
        "no section `{0}` with instructions in the object file: write SEC(\"{0}\") before the function"
    )]
    Missing(String),
    /// It refers to something that cannot be put in.
    #[error("instruction {at} of section `{section}` refers to {what}")]
    Reference {
        /// The section with the instruction.
        section: String,
        /// The instruction's number in it.
        at: u64,
        /// What it refers to, and what would be right.
        what: String,
    },
    /// A map cannot be made.
    #[error("map `{name}`: {why}")]
    Map {
        /// Its name.
        name: String,
        /// What is wrong.
        why: String,
    },
}

/// The section that holds a discipline.
pub const SECTION: &str = "slotline_bump";

const ELF: [u8; 4] = [0x7f, b'E', b'L', b'F'];
const BPF: u16 = 247;
const HEADER: usize = 64;
const SECTION_HEADER: usize = 64;
const PROGBITS: u32 = 1;
const SYMTAB: u32 = 2;
const NOBITS: u32 = 8;
const REL: u32 = 9;
const EXECUTABLE: u64 = 4;
const WRITABLE: u64 = 1;
const SYMBOL: usize = 24;
const RELOCATION: usize = 16;

/// One section.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Section<'a> {
    name: &'a [u8],
    kind: u32,
    flags: u64,
    /// Of symbols: the section with their names.
    link: u32,
    /// Of relocations: the section that they are of.
    info: u32,
    /// Bytes that it has in memory; there are none in the file where all are zero.
    pub size: u64,
    /// Its bytes in the file.
    pub bytes: &'a [u8],
}

impl Section<'_> {
    /// Whether its name is `name`.
    pub fn is(&self, name: &str) -> bool {
        self.name == name.as_bytes()
    }

    /// Its name.
    pub fn label(&self) -> String {
        String::from_utf8_lossy(self.name).into_owned()
    }

    /// Whether its name begins so.
    pub fn begins(&self, name: &str) -> bool {
        self.name.starts_with(name.as_bytes())
    }

    /// Whether there are instructions in it.
    pub fn is_code(&self) -> bool {
        self.kind == PROGBITS && self.flags & EXECUTABLE != 0
    }

    /// Whether it may be written when it is in memory.
    pub fn is_writable(&self) -> bool {
        self.flags & WRITABLE != 0
    }
}

/// A name for a place in a section.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Symbol<'a> {
    pub name: &'a [u8],
    /// The number of the section.
    pub section: usize,
    /// Where in it.
    pub value: u64,
}

/// A place in a section where the address of a symbol is to be put.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Relocation {
    pub offset: u64,
    pub kind: u32,
    pub symbol: usize,
}

/// An object file.
#[derive(Clone, Debug)]
pub(crate) struct Object<'a> {
    pub sections: Vec<Section<'a>>,
    pub symbols: Vec<Symbol<'a>>,
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

pub(crate) fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

pub(crate) fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn slice(file: &[u8], offset: u64, size: u64) -> Option<&[u8]> {
    let (offset, size) = (usize::try_from(offset).ok()?, usize::try_from(size).ok()?);
    file.get(offset..offset.checked_add(size)?)
}

/// The text that begins at `at` and ends with a zero.
pub(crate) fn text(names: &[u8], at: usize) -> &[u8] {
    names.get(at..).unwrap_or_default().split(|byte| *byte == 0).next().unwrap_or_default()
}

impl<'a> Object<'a> {
    /// Reads a file.
    pub fn read(file: &'a [u8]) -> Result<Object<'a>, ObjectError> {
        recognise(file)?;
        let sections = sections(file).ok_or(ObjectError::Damaged("its section headers"))?;
        let symbols = symbols(&sections).ok_or(ObjectError::Damaged("its symbols"))?;
        Ok(Object { sections, symbols })
    }

    /// The number of the section `name` with instructions.
    pub fn code(&self, name: &str) -> Option<usize> {
        let holds = |section: &Section<'_>| {
            section.is_code() && section.is(name) && !section.bytes.is_empty()
        };
        self.sections.iter().position(holds)
    }

    /// What is to be put into section `at`.
    pub fn relocations(&self, at: usize) -> Vec<Relocation> {
        let about = |section: &&Section<'_>| section.kind == REL && section.info as usize == at;
        let entries = self
            .sections
            .iter()
            .filter(about)
            .flat_map(|section| section.bytes.chunks_exact(RELOCATION));
        let read = |entry: &[u8]| {
            Some(Relocation {
                offset: u64_at(entry, 0)?,
                kind: u32_at(entry, 8)?,
                symbol: u32_at(entry, 12)? as usize,
            })
        };
        entries.filter_map(read).collect()
    }
}

fn symbols<'a>(sections: &[Section<'a>]) -> Option<Vec<Symbol<'a>>> {
    let Some(table) = sections.iter().find(|section| section.kind == SYMTAB) else {
        return Some(Vec::new());
    };
    let names = sections.get(table.link as usize)?.bytes;
    let read = |entry: &'a [u8]| {
        Some(Symbol {
            name: text(names, u32_at(entry, 0)? as usize),
            section: u16_at(entry, 6)?.into(),
            value: u64_at(entry, 8)?,
        })
    };
    table.bytes.chunks_exact(SYMBOL).map(read).collect()
}

fn recognise(file: &[u8]) -> Result<(), ObjectError> {
    if !file.starts_with(&ELF) {
        return Err(ObjectError::Foreign("it does not begin as an ELF file"));
    }
    if file.len() < HEADER {
        return Err(ObjectError::Damaged("its header"));
    }
    if file[4..6] != [2, 1] {
        return Err(ObjectError::Foreign(
            "it is not of 64 bits and little-endian; use -target bpfel",
        ));
    }
    if u16_at(file, 18) != Some(BPF) {
        return Err(ObjectError::Foreign("it is for another machine; use clang -target bpf -c"));
    }
    Ok(())
}

fn sections(file: &[u8]) -> Option<Vec<Section<'_>>> {
    let table = u64_at(file, 40)?;
    let (size, count, names) = (u16_at(file, 58)?, u16_at(file, 60)?, u16_at(file, 62)?);
    if usize::from(size) != SECTION_HEADER {
        return None;
    }
    let table = slice(file, table, u64::from(size) * u64::from(count))?;
    let raw = |at: usize| table.get(at * SECTION_HEADER..(at + 1) * SECTION_HEADER);
    let bytes = |header: &[u8]| -> Option<&[u8]> {
        // A section of zeros has no bytes in the file.
        let size = if u32_at(header, 4)? == NOBITS { 0 } else { u64_at(header, 32)? };
        if size == 0 { Some(&[]) } else { slice(file, u64_at(header, 24)?, size) }
    };
    let names = bytes(raw(usize::from(names))?)?;
    let section = |at: usize| -> Option<Section<'_>> {
        let header = raw(at)?;
        Some(Section {
            name: text(names, u32_at(header, 0)? as usize),
            kind: u32_at(header, 4)?,
            flags: u64_at(header, 8)?,
            link: u32_at(header, 40)?,
            info: u32_at(header, 44)?,
            size: u64_at(header, 32)?,
            bytes: bytes(header)?,
        })
    };
    (0..usize::from(count)).map(section).collect()
}

/// An object file around instructions, as small as they are: for examples and tests, where there is
/// no compiler.
pub fn wrap(instructions: &[u8], name: &str) -> Vec<u8> {
    let names = format!("\0.shstrtab\0{name}\0");
    let (code, names_at) = (HEADER, HEADER + instructions.len());
    let table = (names_at + names.len()).next_multiple_of(8);
    let mut out = ELF.to_vec();
    out.extend([2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    out.extend(1u16.to_le_bytes());
    out.extend(BPF.to_le_bytes());
    out.extend(1u32.to_le_bytes());
    out.extend([0; 16]);
    out.extend((table as u64).to_le_bytes());
    out.extend([0; 4]);
    for half in [HEADER as u16, 0, 0, SECTION_HEADER as u16, 3, 1] {
        out.extend(half.to_le_bytes());
    }
    out.extend(instructions);
    out.extend(names.as_bytes());
    out.resize(table, 0);
    out.extend([0; SECTION_HEADER]);
    let mut header = |name: u32, kind: u32, flags: u64, at: usize, len: usize| {
        out.extend(name.to_le_bytes());
        out.extend(kind.to_le_bytes());
        for word in [flags, 0, at as u64, len as u64, 0, 8, 0] {
            out.extend(word.to_le_bytes());
        }
    };
    header(1, 3, 0, names_at, names.len());
    header(11, PROGBITS, 2 | EXECUTABLE, code, instructions.len());
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const CODE: [u8; 16] = [0xb7, 0, 0, 0, 7, 0, 0, 0, 0x95, 0, 0, 0, 0, 0, 0, 0];

    fn why(file: &[u8]) -> ObjectError {
        Object::read(file).map(drop).unwrap_err()
    }

    #[test]
    fn instructions_are_found_and_what_is_wrong_is_named() {
        let file = wrap(&CODE, SECTION);
        let object = Object::read(&file).unwrap();
        let at = object.code(SECTION).unwrap();
        assert_eq!(object.sections[at].bytes, &CODE[..]);
        assert_eq!(object.code("xdp"), None);
        assert!(matches!(why(b"#!/bin/sh"), ObjectError::Foreign(_)));
        assert!(matches!(why(&file[..40]), ObjectError::Damaged(_)));
        let mut other = file.clone();
        other[18] = 62;
        assert!(matches!(why(&other), ObjectError::Foreign(_)));
        let mut cut = file.clone();
        cut.truncate(file.len() - 1);
        assert!(matches!(why(&cut), ObjectError::Damaged(_)));
    }

    proptest! {
        #[test]
        fn damage_does_no_harm(at in 0usize..300, value: u8, cut in 0usize..300) {
            let mut file = wrap(&CODE, SECTION);
            let length = file.len();
            file[at % length] = value;
            file.truncate(cut.max(1));
            let _ = Object::read(&file);
        }
    }
}
