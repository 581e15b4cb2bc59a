//! The program in an eBPF object file (ELF, little-endian, machine 247), as `clang -target bpf -c` makes
//! it.

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
    /// It needs something else to be put in.
    #[error(
        "section `{0}` refers to maps, global variables or other functions, which there are not: keep \
         state in the context, and write `static inline` before functions"
    )]
    Relocations(String),
}

/// The section that holds a discipline.
pub const SECTION: &str = "slotline_bump";

const ELF: [u8; 4] = [0x7f, b'E', b'L', b'F'];
const BPF: u16 = 247;
const HEADER: usize = 64;
const SECTION_HEADER: usize = 64;
const PROGBITS: u32 = 1;
const RELA: u32 = 4;
const REL: u32 = 9;
const EXECUTABLE: u64 = 4;

/// One section's header.
struct Header<'a> {
    name: &'a [u8],
    kind: u32,
    flags: u64,
    /// The section that it is about.
    info: u32,
    bytes: &'a [u8],
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn slice(file: &[u8], offset: u64, size: u64) -> Option<&[u8]> {
    let (offset, size) = (usize::try_from(offset).ok()?, usize::try_from(size).ok()?);
    file.get(offset..offset.checked_add(size)?)
}

/// The instructions in the section `name`.
pub fn instructions<'a>(file: &'a [u8], name: &str) -> Result<&'a [u8], ObjectError> {
    recognise(file)?;
    let sections = sections(file).ok_or(ObjectError::Damaged("its section headers"))?;
    let holds = |header: &Header<'_>| {
        let code = header.kind == PROGBITS && header.flags & EXECUTABLE != 0;
        code && header.name == name.as_bytes() && !header.bytes.is_empty()
    };
    let at = sections.iter().position(holds).ok_or_else(|| ObjectError::Missing(name.into()))?;
    let moves = |header: &Header<'_>| {
        let about = header.info as usize == at && !header.bytes.is_empty();
        matches!(header.kind, REL | RELA) && about
    };
    if sections.iter().any(moves) {
        return Err(ObjectError::Relocations(name.into()));
    }
    Ok(sections[at].bytes)
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

fn sections(file: &[u8]) -> Option<Vec<Header<'_>>> {
    let table = u64_at(file, 40)?;
    let (size, count, names) = (u16_at(file, 58)?, u16_at(file, 60)?, u16_at(file, 62)?);
    if usize::from(size) != SECTION_HEADER {
        return None;
    }
    let table = slice(file, table, u64::from(size) * u64::from(count))?;
    let raw = |at: usize| table.get(at * SECTION_HEADER..(at + 1) * SECTION_HEADER);
    let bytes = |header: &[u8]| -> Option<&[u8]> {
        // A section without bytes in the file, as that for zeroed data, has none.
        let size = if u32_at(header, 4)? == 8 { 0 } else { u64_at(header, 32)? };
        if size == 0 { Some(&[]) } else { slice(file, u64_at(header, 24)?, size) }
    };
    let names = bytes(raw(usize::from(names))?)?;
    let header = |at: usize| -> Option<Header<'_>> {
        let header = raw(at)?;
        let name = names.get(u32_at(header, 0)? as usize..).unwrap_or_default();
        let name = name.split(|byte| *byte == 0).next()?;
        let (kind, flags) = (u32_at(header, 4)?, u64_at(header, 8)?);
        Some(Header { name, kind, flags, info: u32_at(header, 44)?, bytes: bytes(header)? })
    };
    (0..usize::from(count)).map(header).collect()
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

    #[test]
    fn instructions_are_found_and_what_is_wrong_is_named() {
        let file = wrap(&CODE, SECTION);
        assert_eq!(instructions(&file, SECTION), Ok(&CODE[..]));
        assert_eq!(instructions(&file, "xdp"), Err(ObjectError::Missing("xdp".into())));
        assert!(matches!(instructions(b"#!/bin/sh", SECTION), Err(ObjectError::Foreign(_))));
        assert!(matches!(instructions(&file[..40], SECTION), Err(ObjectError::Damaged(_))));
        let mut other = file.clone();
        other[18] = 62;
        assert!(matches!(instructions(&other, SECTION), Err(ObjectError::Foreign(_))));
        let mut cut = file.clone();
        cut.truncate(file.len() - 1);
        assert!(matches!(instructions(&cut, SECTION), Err(ObjectError::Damaged(_))));
    }

    #[test]
    fn an_object_that_needs_relocations_is_refused() {
        let mut file = wrap(&CODE, SECTION);
        // The names' section becomes one of relocations of section 2.
        let table = file.len() - 2 * SECTION_HEADER;
        file[table + 44] = 2;
        file[table + 4] = 9;
        let why = instructions(&file, SECTION);
        assert_eq!(why, Err(ObjectError::Relocations(SECTION.into())));
    }

    proptest! {
        #[test]
        fn damage_does_no_harm(at in 0usize..300, value: u8, cut in 0usize..300) {
            let mut file = wrap(&CODE, SECTION);
            let length = file.len();
            file[at % length] = value;
            file.truncate(cut.max(1));
            let _ = instructions(&file, SECTION);
        }
    }
}
