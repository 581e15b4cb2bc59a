//! Types in BTF: the definitions of the maps that an object file declares (`SEC(".maps")`), from its section `.BTF`, and
//! where the structures of a kernel have their fields (`/sys/kernel/btf/vmlinux`).
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
    pub const FLOAT: u32 = 16;
    pub const DECLARATION_TAG: u32 = 17;
    pub const ENUM64: u32 = 19;
}

/// A type: its name, kind, size or type, and the data that follow.
#[derive(Clone, Copy, Debug)]
struct Type<'a> {
    name: &'a [u8],
    kind: u32,
    /// Whether offsets of members contain their sizes in bits.
    has_bit_sizes: bool,
    /// The size, or the number of the type that it refers to.
    size_or_type: u32,
    rest: &'a [u8],
}

/// A field of a structure.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Field {
    /// The number of the member that it belongs to.
    pub member: u32,
    /// The offset in bits.
    pub bit: u32,
    /// The size in bits.
    pub bits: u32,
}

/// The types of an object file or a kernel by number, of which the first is `void`, and their names.
pub struct Types<'a> {
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
    /// Reads the types; `None` if the bytes are not BTF.
    pub fn read(btf: &'a [u8]) -> Option<Types<'a>> {
        if u32_at(btf, 0)? & 0xff_ffff != MAGIC {
            return None;
        }
        let part = |at: usize| -> Option<&'a [u8]> {
            let begin = u32_at(btf, 4)?.checked_add(u32_at(btf, at)?)? as usize;
            btf.get(begin..begin.checked_add(u32_at(btf, at + 4)? as usize)?)
        };
        let (mut left, names) = (part(8)?, part(16)?);
        let void = Type { name: b"", kind: 0, has_bit_sizes: false, size_or_type: 0, rest: &[] };
        let mut types = vec![void];
        while !left.is_empty() {
            let info = u32_at(left, 4)?;
            let (kind, members) = (info >> 24 & 31, (info & 0xffff) as usize);
            let length = 12 + follows(kind, members);
            types.push(Type {
                name: text(names, u32_at(left, 0)? as usize),
                kind,
                has_bit_sizes: info >> 31 != 0,
                size_or_type: u32_at(left, 8)?,
                rest: left.get(12..length)?,
            });
            left = &left[length..];
        }
        Some(Types { all: types, names })
    }

    /// The number of the structure `name`.
    pub fn structure(&self, name: &str) -> Option<u32> {
        let is = |one: &Type<'_>| one.kind == kind::STRUCT && one.name == name.as_bytes();
        self.all.iter().position(is).map(|at| at as u32)
    }

    /// The size of a type in bytes.
    pub fn bytes(&self, number: u32) -> Option<u32> {
        self.size(number, 0)
    }

    /// The field of a structure at `path`: names of members, from outside to inside. Members without a name are passed
    /// through.
    pub fn field(&self, structure: u32, path: &[&str]) -> Option<Field> {
        let (first, rest) = path.split_first()?;
        let (found, of) = self.member(structure, first.as_bytes(), 0)?;
        if rest.is_empty() {
            return Some(found);
        }
        let inner = self.field(of, rest)?;
        Some(Field { bit: found.bit + inner.bit, member: found.member, ..inner })
    }

    /// The member `name` of a structure, and the number of its type.
    fn member(&self, structure: u32, name: &[u8], depth: usize) -> Option<(Field, u32)> {
        let whole = self.plain(structure).filter(|_| depth < MOST_DEPTH)?;
        if !matches!(whole.kind, kind::STRUCT | kind::UNION) {
            return None;
        }
        (0..).zip(whole.rest.chunks_exact(12)).find_map(|(member, chunk)| {
            let [called, of, offset] = [0, 4, 8].map(|at| u32_at(chunk, at).unwrap_or_default());
            let (bit, bits) = match whole.has_bit_sizes {
                true => (offset & 0xff_ffff, offset >> 24),
                false => (offset, 0),
            };
            match text(self.names, called as usize) {
                own if own == name => {
                    let all = || Some(8 * self.size(of, 0)?);
                    let bits = if bits > 0 { Some(bits) } else { all() };
                    Some((Field { member, bit, bits: bits? }, of))
                }
                b"" => {
                    let (inner, of) = self.member(of, name, depth + 1)?;
                    Some((Field { member, bit: bit + inner.bit, ..inner }, of))
                }
                _ => None,
            }
        })
    }

    /// The value of the constant `name` of an enumeration.
    pub fn constant(&self, name: &str) -> Option<u32> {
        let lists = self.all.iter().filter(|one| one.kind == kind::ENUM);
        let mut entries = lists.flat_map(|list| list.rest.chunks_exact(8));
        let named = |entry: &&[u8]| {
            u32_at(entry, 0).is_some_and(|at| text(self.names, at as usize) == name.as_bytes())
        };
        u32_at(entries.find(named)?, 4)
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
            kind::INT | kind::FLOAT | kind::STRUCT | kind::UNION | kind::ENUM | kind::ENUM64 => {
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
