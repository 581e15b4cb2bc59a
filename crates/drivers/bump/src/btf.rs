//! The definitions of the maps that an object file declares (`SEC(".maps")`), from the types in its section
//! `.BTF`.
//!
//! Source: the Linux kernel's documentation, `bpf/btf.rst`; the encoding of a map as a structure is
//! that of libbpf: `int (*type)[2]` means that `type` is 2, and a pointer to a type gives the size of a key or
//! value.

use crate::maps::MapSpec;

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

/// The zero-terminated text that begins at `at`.
fn text(names: &[u8], at: usize) -> &[u8] {
    names.get(at..).unwrap_or_default().split(|byte| *byte == 0).next().unwrap_or_default()
}

/// The magic number and the version, 1.
const MAGIC: u32 = 0x01_eb9f;
/// The largest depth of references between types.
const MOST_DEPTH: usize = 32;

mod kind {
    pub const INT: u32 = 1;
    pub const POINTER: u32 = 2;
    pub const ARRAY: u32 = 3;
    pub const STRUCT: u32 = 4;
    pub const UNION: u32 = 5;
    pub const ENUM: u32 = 6;
    pub const TYPEDEF: u32 = 8;
    pub const VOLATILE: u32 = 9;
    pub const CONST: u32 = 10;
    pub const RESTRICT: u32 = 11;
    pub const FUNCTION_TYPE: u32 = 13;
    pub const VARIABLE: u32 = 14;
    pub const SECTION: u32 = 15;
    pub const DECLARATION_TAG: u32 = 17;
    pub const ENUM64: u32 = 19;
}

/// A type: its name, kind, size or type, and the data that follow.
#[derive(Clone, Copy, Debug)]
struct Type<'a> {
    name: &'a [u8],
    kind: u32,
    /// The size, or the number of the type that it refers to.
    size_or_type: u32,
    rest: &'a [u8],
}

/// The types of an object file by number, of which the first is `void`, and their names.
struct Types<'a> {
    all: Vec<Type<'a>>,
    names: &'a [u8],
}

/// The definition of the map `name` in the section `.maps`. The types do not contain its offset in the
/// section, because compilers leave that to the linker.
///
/// # Errors
/// The reason why the definition is not valid.
pub(crate) fn map_named(btf: &[u8], name: &[u8]) -> Result<MapSpec, String> {
    let types = Types::read(btf).ok_or("the types of the object file (.BTF) are damaged")?;
    let fields =
        types.map_fields(name).ok_or("the type information (.BTF) does not describe it")?;
    let mut spec = [0; 4];
    for (name, field) in fields {
        let value = match name {
            b"type" | b"max_entries" | b"key_size" | b"value_size" => types.number(field),
            b"key" | b"value" => types.pointed(field).and_then(|to| types.size(to, 0)),
            _ => {
                let name = String::from_utf8_lossy(name);
                return Err(format!("the field `{name}` is not supported"));
            }
        };
        let at = match name {
            b"type" => 0,
            b"max_entries" => 1,
            b"key" | b"key_size" => 2,
            _ => 3,
        };
        spec[at] = value.ok_or("a field is neither `__uint` nor `__type`")?;
    }
    let [number, entries, key, value] = spec;
    let kind = MapSpec::kind_of(number).ok_or(format!(
        "maps of type {number} are not supported; supported are hash (1) and array (2), also per CPU (5, 6)"
    ))?;
    let spec = MapSpec { kind, key, value, entries };
    spec.validate().map(|()| spec)
}

impl<'a> Types<'a> {
    fn read(btf: &'a [u8]) -> Option<Types<'a>> {
        if u32_at(btf, 0)? & 0xff_ffff != MAGIC {
            return None;
        }
        let part = |at: usize| -> Option<&'a [u8]> {
            let begin = u32_at(btf, 4)?.checked_add(u32_at(btf, at)?)? as usize;
            btf.get(begin..begin.checked_add(u32_at(btf, at + 4)? as usize)?)
        };
        let (mut left, names) = (part(8)?, part(16)?);
        let void = Type { name: b"", kind: 0, size_or_type: 0, rest: &[] };
        let mut types = vec![void];
        while !left.is_empty() {
            let info = u32_at(left, 4)?;
            let (kind, members) = (info >> 24 & 31, (info & 0xffff) as usize);
            let length = 12 + follows(kind, members);
            types.push(Type {
                name: text(names, u32_at(left, 0)? as usize),
                kind,
                size_or_type: u32_at(left, 8)?,
                rest: left.get(12..length)?,
            });
            left = &left[length..];
        }
        Some(Types { all: types, names })
    }

    fn get(&self, number: u32) -> Option<Type<'a>> {
        self.all.get(number as usize).copied()
    }

    /// The fields of the structure that is the type of the map `name`.
    fn map_fields(&self, map: &[u8]) -> Option<Vec<(&'a [u8], u32)>> {
        let section = self.all.iter().find(|t| t.kind == kind::SECTION && t.name == b".maps")?;
        let words = |chunk: &'a [u8]| Some([u32_at(chunk, 0)?, u32_at(chunk, 4)?]);
        let variables = section.rest.chunks_exact(12).filter_map(|at| self.get(u32_at(at, 0)?));
        let mut named = variables.filter(|t| t.kind == kind::VARIABLE && t.name == map);
        let variable = named.next()?;
        let map = self.plain(variable.size_or_type)?;
        if map.kind != kind::STRUCT {
            return None;
        }
        let field = |[name, of]: [u32; 2]| (text(self.names, name as usize), of);
        Some(map.rest.chunks_exact(12).filter_map(words).map(field).collect())
    }

    /// A type without typedefs and qualifiers.
    fn plain(&self, number: u32) -> Option<Type<'a>> {
        let mut found = self.get(number)?;
        for _ in 0..MOST_DEPTH {
            match found.kind {
                kind::TYPEDEF | kind::VOLATILE | kind::CONST | kind::RESTRICT => {
                    found = self.get(found.size_or_type)?;
                }
                _ => return Some(found),
            }
        }
        None
    }

    /// The number of the type that a pointer points to.
    fn pointed(&self, number: u32) -> Option<u32> {
        let pointer = self.plain(number).filter(|t| t.kind == kind::POINTER)?;
        Some(pointer.size_or_type)
    }

    /// The number that is encoded as a pointer to an array of that many elements.
    fn number(&self, number: u32) -> Option<u32> {
        let array = self.plain(self.pointed(number)?).filter(|t| t.kind == kind::ARRAY)?;
        u32_at(array.rest, 8)
    }

    /// The size of a type in bytes.
    fn size(&self, number: u32, depth: usize) -> Option<u32> {
        let found = self.plain(number).filter(|_| depth < MOST_DEPTH)?;
        match found.kind {
            kind::INT | kind::STRUCT | kind::UNION | kind::ENUM | kind::ENUM64 => {
                Some(found.size_or_type)
            }
            kind::POINTER => Some(8),
            kind::ARRAY => {
                let of = self.size(u32_at(found.rest, 0)?, depth + 1)?;
                of.checked_mul(u32_at(found.rest, 8)?)
            }
            _ => None,
        }
    }
}

/// The number of bytes that follow the three words of a type.
fn follows(kind: u32, members: usize) -> usize {
    match kind {
        kind::INT | kind::VARIABLE | kind::DECLARATION_TAG => 4,
        kind::ARRAY => 12,
        kind::STRUCT | kind::UNION | kind::SECTION | kind::ENUM64 => 12 * members,
        kind::ENUM | kind::FUNCTION_TYPE => 8 * members,
        _ => 0,
    }
}
