//! From an object file to a program with its maps and variables: what a loader of eBPF does.

use crate::btf;
use crate::maps::{MOST_BYTES, MOST_OBJECTS, Store};
use crate::memory::{address_of, handle_of};
use crate::object::{Object, ObjectError, Relocation, Section};
use crate::vm::{Program, Refused};
use std::collections::BTreeMap;

/// Why an object file cannot be used.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum LoadError {
    /// The file is not what it should be.
    #[error(transparent)]
    Object(#[from] ObjectError),
    /// The program is not accepted.
    #[error(transparent)]
    Program(#[from] Refused),
}

/// A program with what it keeps.
#[derive(Clone, Debug)]
pub struct Linked {
    /// The program.
    pub program: Program,
    /// Its maps and variables, as they are before the first packet.
    pub store: Store,
    /// The maps by name, in the order in which the program mentions them.
    pub maps: Vec<(String, usize)>,
}

/// Put into a 64-bit load: the address of a map or of variables.
const R_BPF_64_64: u32 = 1;
/// Put into a call: where the function begins.
const R_BPF_64_32: u32 = 10;
const INSTRUCTION: u64 = 8;

/// Reads the program in section `name` of an object file, together with the functions in `.text` that it
/// calls, the maps in `.maps` and the variables in `.data`, `.bss` and `.rodata`.
pub fn link(file: &[u8], name: &str) -> Result<Linked, LoadError> {
    let object = Object::read(file)?;
    let main = object.code(name).ok_or_else(|| ObjectError::Missing(name.into()))?;
    let mut linker = Linker {
        object: &object,
        base: BTreeMap::new(),
        code: Vec::new(),
        store: Store::default(),
        placed: BTreeMap::new(),
        maps: Vec::new(),
    };
    let functions = object.code(".text").filter(|at| *at != main);
    for at in [Some(main), functions].into_iter().flatten() {
        linker.base.insert(at, linker.code.len() as u64);
        linker.code.extend(object.sections[at].bytes);
    }
    let parts: Vec<usize> = linker.base.keys().copied().collect();
    for at in parts {
        object.relocations(at).into_iter().try_for_each(|one| linker.put(at, one))?;
    }
    let program = Program::new(&linker.code)?;
    Ok(Linked { program, store: linker.store, maps: linker.maps })
}

struct Linker<'a> {
    object: &'a Object<'a>,
    /// By section of instructions: where it begins in `code`.
    base: BTreeMap<usize, u64>,
    code: Vec<u8>,
    store: Store,
    /// By section and place in it (maps), or section alone (variables, place 0): the object's number.
    placed: BTreeMap<(usize, u64), usize>,
    maps: Vec<(String, usize)>,
}

impl Linker<'_> {
    /// Puts an address into the section `at`.
    fn put(&mut self, at: usize, one: Relocation) -> Result<(), ObjectError> {
        let fail = |what: &str| ObjectError::Reference {
            section: self.name(at),
            at: one.offset / INSTRUCTION,
            what: what.into(),
        };
        let symbol = *self.object.symbols.get(one.symbol).ok_or(fail("no symbol"))?;
        let place = (self.base[&at] + one.offset) as usize;
        let old = crate::object::u32_at(&self.code, place + 4).ok_or(fail("nothing: it ends"))?;
        match one.kind {
            R_BPF_64_32 => {
                let base = self.base.get(&symbol.section);
                let base = *base.ok_or(fail(
                    "a function of another section: write `static` before it, or leave its SEC out",
                ))?;
                let to = (base + symbol.value) as i64 / 8 + i64::from(old as i32) + 1;
                let distance = to - (place as i64 / 8 + 1);
                self.write(place + 4, distance as u32);
                Ok(())
            }
            R_BPF_64_64 if self.code.len() >= place + 16 => {
                let section = self.object.sections.get(symbol.section).copied();
                let section = section.ok_or(fail("what is not in the object file"))?;
                let offset = symbol.value.wrapping_add(u64::from(old));
                let address = match () {
                    () if section.is(".maps") => handle_of(self.map(symbol.section, symbol)?),
                    () if section.is("maps") => {
                        return Err(fail(
                            "a map of the old kind: declare it in SEC(\".maps\"), and compile with -g",
                        ));
                    }
                    () if is_data(&section) => {
                        address_of(self.variables(symbol.section, &section)?, offset as usize)
                    }
                    () => return Err(fail("neither a map nor a variable")),
                };
                self.write(place + 4, address as u32);
                self.write(place + 12, (address >> 32) as u32);
                Ok(())
            }
            _ => Err(fail("something in a way that is not known here")),
        }
    }

    fn name(&self, at: usize) -> String {
        self.object.sections.get(at).map(Section::label).unwrap_or_default()
    }

    fn write(&mut self, place: usize, word: u32) {
        if let Some(into) = self.code.get_mut(place..place + 4) {
            into.copy_from_slice(&word.to_le_bytes());
        }
    }

    /// The number of the map that `symbol` names.
    fn map(
        &mut self,
        section: usize,
        symbol: crate::object::Symbol<'_>,
    ) -> Result<usize, ObjectError> {
        if let Some(number) = self.placed.get(&(section, symbol.value)) {
            return Ok(*number);
        }
        let name = String::from_utf8_lossy(symbol.name).into_owned();
        let fail = |why: &str| ObjectError::Map { name: name.clone(), why: why.into() };
        let btf = self.object.sections.iter().find(|section| section.is(".BTF"));
        let btf = btf.ok_or_else(|| fail("nothing says what it is: compile with -g"))?;
        let spec = btf::map_named(btf.bytes, symbol.name).map_err(|why| fail(&why))?;
        if self.placed.len() >= MOST_OBJECTS {
            return Err(fail("a program has at most 64 maps and sections of variables"));
        }
        let number = self.store.add_map(spec);
        self.placed.insert((section, symbol.value), number);
        self.maps.push((name, number));
        Ok(number)
    }

    /// The number of the variables in a section.
    fn variables(&mut self, at: usize, section: &Section<'_>) -> Result<usize, ObjectError> {
        if let Some(number) = self.placed.get(&(at, 0)) {
            return Ok(*number);
        }
        if section.size > MOST_BYTES || self.placed.len() >= MOST_OBJECTS {
            return Err(ObjectError::Damaged("its variables, which are more than 16 MiB"));
        }
        let mut bytes = section.bytes.to_vec();
        bytes.resize(section.size as usize, 0);
        let number = self.store.add_variables(bytes, section.is_writable());
        self.placed.insert((at, 0), number);
        Ok(number)
    }
}

fn is_data(section: &Section<'_>) -> bool {
    [".data", ".bss", ".rodata"].into_iter().any(|name| section.begins(name))
}
