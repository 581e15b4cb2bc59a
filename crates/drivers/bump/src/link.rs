//! The loader: makes a program with its maps and variables from an object file.

use crate::btf;
use crate::maps::{MOST_BYTES, MOST_OBJECTS, Store};
use crate::memory::{address_of, handle_of, read};
use crate::object::{Object, ObjectError, Relocation, Section, Symbol};
use crate::vm::{Program, Refused};
use object::elf::{R_BPF_64_32, R_BPF_64_64};
use std::collections::BTreeMap;

/// The reason why an object file cannot be loaded.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum LoadError {
    /// The file is not a valid object file.
    #[error(transparent)]
    Object(#[from] ObjectError),
    /// The program does not pass the checks of the machine.
    #[error(transparent)]
    Program(#[from] Refused),
}

/// A program with its maps and variables.
#[derive(Clone, Debug)]
pub struct Linked {
    /// The program.
    pub program: Program,
    /// The maps and variables before the first packet.
    pub store: Store,
    /// The names and numbers of the maps, in the order in which the program uses them.
    pub maps: Vec<(String, usize)>,
}

/// The size of an instruction in bytes.
const INSTRUCTION: u64 = 8;

/// Loads the program in section `name` of an object file, with the functions in `.text` that it
/// calls, the maps in `.maps` and the variables in `.data`, `.bss` and `.rodata`.
///
/// # Errors
/// [`LoadError`]: the object file or the program is not valid.
pub fn link(file: &[u8], name: &str) -> Result<Linked, LoadError> {
    let object = Object::read(file)?;
    let main = object.code(name).ok_or_else(|| ObjectError::Missing(name.into()))?;
    let mut linker = Linker {
        object: &object,
        base: BTreeMap::new(),
        code: Vec::new(),
        store: Store::default(),
        numbers: BTreeMap::new(),
        maps: Vec::new(),
    };
    let functions = object.code(".text").filter(|at| *at != main);
    for at in [Some(main), functions].into_iter().flatten() {
        linker.base.insert(at, linker.code.len() as u64);
        linker.code.extend(object.sections[at].bytes);
    }
    let parts: Vec<usize> = linker.base.keys().copied().collect();
    for at in parts {
        object.relocations(at)?.into_iter().try_for_each(|one| linker.relocate(at, one))?;
    }
    let program = Program::new(&linker.code)?;
    Ok(Linked { program, store: linker.store, maps: linker.maps })
}

struct Linker<'a> {
    object: &'a Object<'a>,
    /// For each section of instructions, the offset at which it begins in `code`.
    base: BTreeMap<usize, u64>,
    code: Vec<u8>,
    store: Store,
    /// The number in `store`, by section and offset in the section. The offset of variables is 0.
    numbers: BTreeMap<(usize, u64), usize>,
    maps: Vec<(String, usize)>,
}

impl Linker<'_> {
    /// Resolves a relocation of the section `at`.
    fn relocate(&mut self, at: usize, one: Relocation) -> Result<(), ObjectError> {
        let fail = |what: &str| self.refusal(at, one, what);
        let symbol = *self.object.symbols.get(one.symbol).ok_or_else(|| fail("no symbol"))?;
        let place = usize::try_from(self.base[&at].saturating_add(one.offset));
        let place = place
            .ok()
            .filter(|place| place.checked_add(8).is_some_and(|end| end <= self.code.len()));
        let place = place.ok_or_else(|| fail("an address outside the section"))?;
        let addend =
            self.code.get(place + 4..).and_then(|bytes| read(bytes, 4)).unwrap_or(0) as u32;
        match one.kind {
            R_BPF_64_32 => {
                let distance = self.call_distance(symbol, place, addend).ok_or_else(|| {
                    fail("a function of another section: write `static` before it, or leave its SEC out")
                })?;
                self.write(place + 4, distance as u32);
            }
            R_BPF_64_64 if self.code.len() >= place + 16 => {
                let address = self.address(at, one, symbol, addend)?;
                self.write(place + 4, address as u32);
                self.write(place + 12, (address >> 32) as u32);
            }
            _ => return Err(fail("something by a relocation type that is not supported")),
        }
        Ok(())
    }

    fn refusal(&self, at: usize, one: Relocation, what: &str) -> ObjectError {
        let at_instruction = one.offset / INSTRUCTION;
        ObjectError::Reference { section: self.name(at), at: at_instruction, what: what.into() }
    }

    /// The distance of a call at `place` to a function, in instructions.
    fn call_distance(&self, symbol: Symbol<'_>, place: usize, addend: u32) -> Option<i64> {
        let base = *self.base.get(&symbol.section)?;
        let target = base.wrapping_add(symbol.value) as i64 / 8 + i64::from(addend as i32) + 1;
        Some(target - (place as i64 / 8 + 1))
    }

    /// The address of a map or of a variable.
    fn address(
        &mut self,
        at: usize,
        one: Relocation,
        symbol: Symbol<'_>,
        addend: u32,
    ) -> Result<u64, ObjectError> {
        let section = self.object.sections.get(symbol.section).copied();
        let section = section.ok_or_else(|| {
            self.refusal(at, one, "a symbol that the object file does not define")
        })?;
        if section.is(".maps") {
            return Ok(handle_of(self.map(symbol.section, symbol)?));
        }
        if section.is("maps") {
            let why =
                "a map in the legacy format: declare it in SEC(\".maps\"), and compile with -g";
            return Err(self.refusal(at, one, why));
        }
        if !is_data(&section) {
            return Err(self.refusal(at, one, "neither a map nor a variable"));
        }
        let offset = symbol.value.wrapping_add(u64::from(addend));
        if offset > section.size() {
            return Err(self.refusal(at, one, "an address outside of its variables"));
        }
        Ok(address_of(self.variables(symbol.section, &section)?, offset as usize))
    }

    fn name(&self, at: usize) -> String {
        self.object.sections.get(at).map(Section::label).unwrap_or_default()
    }

    fn write(&mut self, place: usize, word: u32) {
        if let Some(into) = self.code.get_mut(place..place + 4) {
            into.copy_from_slice(&word.to_le_bytes());
        }
    }

    /// The number of the map that `symbol` names. The first use creates the map.
    fn map(&mut self, section: usize, symbol: Symbol<'_>) -> Result<usize, ObjectError> {
        if let Some(number) = self.numbers.get(&(section, symbol.value)) {
            return Ok(*number);
        }
        let name = String::from_utf8_lossy(symbol.name).into_owned();
        let fail = |why: &str| ObjectError::Map { name: name.clone(), why: why.into() };
        let btf = self.object.sections.iter().find(|section| section.is(".BTF"));
        let btf = btf.ok_or_else(|| {
            fail("the object file has no type information (.BTF): compile with -g")
        })?;
        let spec = btf::map_named(btf.bytes, symbol.name).map_err(|why| fail(&why))?;
        if self.numbers.len() >= MOST_OBJECTS {
            return Err(fail("a program has at most 64 maps and sections of variables"));
        }
        let number = self.store.add_map(spec);
        self.numbers.insert((section, symbol.value), number);
        self.maps.push((name, number));
        Ok(number)
    }

    /// The number of the variables in a section.
    fn variables(&mut self, at: usize, section: &Section<'_>) -> Result<usize, ObjectError> {
        if let Some(number) = self.numbers.get(&(at, 0)) {
            return Ok(*number);
        }
        if section.size() > MOST_BYTES || self.numbers.len() >= MOST_OBJECTS {
            return Err(ObjectError::Damaged("its variables, which are more than 16 MiB"));
        }
        let mut bytes = section.bytes.to_vec();
        bytes.resize(section.size() as usize, 0);
        let number = self.store.add_variables(bytes, section.is_writable());
        self.numbers.insert((at, 0), number);
        Ok(number)
    }
}

fn is_data(section: &Section<'_>) -> bool {
    [".data", ".bss", ".rodata"].into_iter().any(|name| section.begins(name))
}
