//! The sections, symbols and relocations of an eBPF object file, as `clang -target bpf -c` makes it
//! (ELF, 64 bits, little-endian, machine 247). The crate `object` reads the file format.

use object::LittleEndian;
use object::elf;
use object::pod::slice_from_all_bytes;
use object::read::elf::{FileHeader, Rel, SectionHeader, SectionTable, Sym};

/// The reason why an object file cannot be read or linked.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ObjectError {
    /// The file is not an ELF file for eBPF.
    #[error("not an eBPF object file: {0}")]
    Foreign(&'static str),
    /// The file ends too early, or a header points outside the file.
    #[error("the object file is damaged: {0}")]
    Damaged(&'static str),
    /// The file has no program in a section of this name.
    #[error(
        "no section `{0}` with instructions in the object file: write SEC(\"{0}\") before the function"
    )]
    Missing(String),
    /// A relocation refers to something that the loader cannot resolve.
    #[error("instruction {at} of section `{section}` refers to {what}")]
    Reference {
        /// The section that contains the instruction.
        section: String,
        /// The number of the instruction in the section.
        at: u64,
        /// What the instruction refers to, and how to correct the source.
        what: String,
    },
    /// A map cannot be created.
    #[error("map `{name}`: {why}")]
    Map {
        /// The name of the map.
        name: String,
        /// The reason.
        why: String,
    },
}

/// The name of the section that contains a discipline.
pub const SECTION: &str = "slotline_bump";

type Header = elf::FileHeader64<LittleEndian>;
type Sections<'a> = SectionTable<'a, Header>;

/// A section.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Section<'a> {
    name: &'a [u8],
    header: &'a elf::SectionHeader64<LittleEndian>,
    /// The bytes in the file. A section of zeros (`.bss`) has none.
    pub bytes: &'a [u8],
}

impl Section<'_> {
    /// Whether the section has this name.
    pub fn is(&self, name: &str) -> bool {
        self.name == name.as_bytes()
    }

    /// The name, for messages.
    pub fn label(&self) -> String {
        String::from_utf8_lossy(self.name).into_owned()
    }

    /// Whether the name begins with `prefix`.
    pub fn begins(&self, prefix: &str) -> bool {
        self.name.starts_with(prefix.as_bytes())
    }

    /// The size in memory, in bytes.
    pub fn size(&self) -> u64 {
        self.header.sh_size(LittleEndian)
    }

    /// Whether the section contains instructions.
    pub fn is_code(&self) -> bool {
        let flags = self.header.sh_flags(LittleEndian);
        self.header.sh_type(LittleEndian) == elf::SHT_PROGBITS && flags.contains(elf::SHF_EXECINSTR)
    }

    /// Whether the program may write the section.
    pub fn is_writable(&self) -> bool {
        self.header.sh_flags(LittleEndian).contains(elf::SHF_WRITE)
    }

    /// Whether the section contains the relocations of section `target`.
    fn relocates(&self, target: usize) -> bool {
        let header = self.header;
        header.sh_type(LittleEndian) == elf::SHT_REL
            && header.sh_info(LittleEndian) as usize == target
    }
}

/// A named position in a section.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Symbol<'a> {
    pub name: &'a [u8],
    /// The index of the section.
    pub section: usize,
    /// The offset in the section, in bytes.
    pub value: u64,
}

/// A position in a section that needs the address of a symbol.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Relocation {
    /// The offset in the section, in bytes.
    pub offset: u64,
    pub kind: elf::RelocationType,
    /// The index of the symbol.
    pub symbol: usize,
}

/// The contents of an object file.
#[derive(Clone, Debug)]
pub(crate) struct Object<'a> {
    pub sections: Vec<Section<'a>>,
    pub symbols: Vec<Symbol<'a>>,
}

impl<'a> Object<'a> {
    /// Reads an object file.
    ///
    /// # Errors
    /// [`ObjectError::Foreign`] and [`ObjectError::Damaged`].
    pub fn read(file: &'a [u8]) -> Result<Object<'a>, ObjectError> {
        let header = header(file)?;
        let table = header.sections(LittleEndian, file);
        let table = table.map_err(|_| ObjectError::Damaged("its section headers"))?;
        let sections = sections(file, &table)?;
        Ok(Object { sections, symbols: symbols(file, &table)? })
    }

    /// The index of the section `name`, if it contains instructions.
    pub fn code(&self, name: &str) -> Option<usize> {
        let matches = |section: &Section<'_>| {
            section.is_code() && section.is(name) && !section.bytes.is_empty()
        };
        self.sections.iter().position(matches)
    }

    /// The relocations of section `target`.
    ///
    /// # Errors
    /// [`ObjectError::Damaged`] if a table of relocations does not consist of whole entries.
    pub fn relocations(&self, target: usize) -> Result<Vec<Relocation>, ObjectError> {
        let mut relocations = Vec::new();
        for section in self.sections.iter().filter(|section| section.relocates(target)) {
            let entries = slice_from_all_bytes::<elf::Rel64<LittleEndian>>(section.bytes);
            let entries = entries.map_err(|()| ObjectError::Damaged("its relocations"))?;
            relocations.extend(entries.iter().map(|entry| Relocation {
                offset: entry.r_offset(LittleEndian),
                kind: entry.r_type(LittleEndian),
                symbol: entry.r_sym(LittleEndian) as usize,
            }));
        }
        Ok(relocations)
    }
}

/// The file header, after a check that the file is for eBPF.
fn header(file: &[u8]) -> Result<&Header, ObjectError> {
    if !file.starts_with(&elf::ELFMAG) {
        return Err(ObjectError::Foreign("it does not begin as an ELF file"));
    }
    if file.len() < size_of::<Header>() {
        return Err(ObjectError::Damaged("its header"));
    }
    let header = Header::parse(file).ok().filter(|header| header.is_little_endian());
    let header = header
        .ok_or(ObjectError::Foreign("it is not a 64-bit little-endian file; use -target bpfel"))?;
    if header.e_machine(LittleEndian) != elf::EM_BPF {
        return Err(ObjectError::Foreign("it is for another machine; use clang -target bpf -c"));
    }
    Ok(header)
}

fn sections<'a>(file: &'a [u8], table: &Sections<'a>) -> Result<Vec<Section<'a>>, ObjectError> {
    let section = |header: &'a elf::SectionHeader64<LittleEndian>| {
        let bytes = header.data(LittleEndian, file);
        Ok(Section {
            name: table.section_name(LittleEndian, header).unwrap_or_default(),
            header,
            bytes: bytes.map_err(|_| ObjectError::Damaged("its section headers"))?,
        })
    };
    table.iter().map(section).collect()
}

fn symbols<'a>(file: &'a [u8], table: &Sections<'a>) -> Result<Vec<Symbol<'a>>, ObjectError> {
    let symbols = table.symbols(LittleEndian, file, elf::SHT_SYMTAB);
    let symbols = symbols.map_err(|_| ObjectError::Damaged("its symbols"))?;
    let symbol = |symbol: &'a elf::Sym64<LittleEndian>| Symbol {
        name: symbols.symbol_name(LittleEndian, symbol).unwrap_or_default(),
        section: symbol.st_shndx(LittleEndian).0.into(),
        value: symbol.st_value(LittleEndian),
    };
    Ok(symbols.iter().map(symbol).collect())
}

/// The instructions in the section `name` of an object file, which refer to nothing outside of the section.
///
/// # Errors
/// [`ObjectError`]: the file is not valid, it has no such section, or the section needs relocations.
pub fn instructions(file: &[u8], name: &str) -> Result<Vec<u8>, ObjectError> {
    let object = Object::read(file)?;
    let at = object.code(name).ok_or_else(|| ObjectError::Missing(name.into()))?;
    match object.relocations(at)?.first() {
        None => Ok(object.sections[at].bytes.to_vec()),
        Some(first) => Err(ObjectError::Reference {
            section: name.into(),
            at: first.offset / 8,
            what: "something outside of its section".into(),
        }),
    }
}

/// The smallest object file that contains these instructions in the section `name`. Examples and tests
/// use it where there is no compiler.
pub fn wrap(instructions: &[u8], name: &str) -> Vec<u8> {
    const FILE_HEADER: usize = size_of::<Header>();
    const SECTION_HEADER: usize = size_of::<elf::SectionHeader64<LittleEndian>>();
    let names = format!("\0.shstrtab\0{name}\0");
    let (code, names_at) = (FILE_HEADER, FILE_HEADER + instructions.len());
    let table = (names_at + names.len()).next_multiple_of(8);
    let mut out = elf::ELFMAG.to_vec();
    out.extend([2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    out.extend(1u16.to_le_bytes());
    out.extend(elf::EM_BPF.0.to_le_bytes());
    out.extend(1u32.to_le_bytes());
    out.extend([0; 16]);
    out.extend((table as u64).to_le_bytes());
    out.extend([0; 4]);
    for half in [FILE_HEADER as u16, 0, 0, SECTION_HEADER as u16, 3, 1] {
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
    header(1, elf::SHT_STRTAB.0, 0, names_at, names.len());
    let flags = elf::SHF_ALLOC | elf::SHF_EXECINSTR;
    header(11, elf::SHT_PROGBITS.0, flags.0, code, instructions.len());
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
    fn instructions_are_found_and_damage_is_reported() {
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
        fn damage_causes_no_panic(at in 0usize..300, value: u8, cut in 0usize..300) {
            let mut file = wrap(&CODE, SECTION);
            let length = file.len();
            file[at % length] = value;
            file.truncate(cut.max(1));
            let _ = Object::read(&file);
        }
    }
}
