//! The maps and global variables of an eBPF program, which persist between packets.

use std::collections::BTreeMap;

/// The kind of a map. The per-CPU kinds of Linux have a single copy here.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MapKind {
    /// A hash table: `BPF_MAP_TYPE_HASH` and `BPF_MAP_TYPE_PERCPU_HASH`.
    Hash,
    /// An array, whose values all exist from the beginning: `BPF_MAP_TYPE_ARRAY` and
    /// `BPF_MAP_TYPE_PERCPU_ARRAY`.
    Array,
}

/// The definition of a map.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MapSpec {
    /// The kind.
    pub kind: MapKind,
    /// The size of a key in bytes.
    pub key: u32,
    /// The size of a value in bytes.
    pub value: u32,
    /// The largest number of values.
    pub entries: u32,
}

/// The largest size of all values of a map, or of a section of variables, in bytes. An address has 24 bits
/// of offset.
pub const MOST_BYTES: u64 = 1 << 24;
/// The largest size of a key or value in bytes.
const MOST_VALUE: u32 = 4_096;

/// The error numbers of Linux.
mod errno {
    pub const NOT_FOUND: i64 = -2;
    pub const TOO_BIG: i64 = -7;
    pub const EXISTS: i64 = -17;
    pub const INVALID: i64 = -22;
}

impl MapSpec {
    /// The kind with this number in Linux.
    pub fn kind_of(number: u32) -> Option<MapKind> {
        match number {
            1 | 5 => Some(MapKind::Hash),
            2 | 6 => Some(MapKind::Array),
            _ => None,
        }
    }

    /// The distance between values in bytes.
    fn stride(&self) -> usize {
        self.value.next_multiple_of(8) as usize
    }

    /// Checks the definition.
    ///
    /// # Errors
    /// The reason why there is no such map.
    pub fn validate(&self) -> Result<(), String> {
        let sizes = 1..=MOST_VALUE;
        if !sizes.contains(&self.key) || !sizes.contains(&self.value) {
            return Err(format!(
                "keys of {} bytes and values of {} bytes: the limits are 1 and {MOST_VALUE} bytes",
                self.key, self.value
            ));
        }
        if self.kind == MapKind::Array && self.key != 4 {
            return Err(format!("keys of {} bytes: the key of an array has 4 bytes", self.key));
        }
        let bytes = u64::from(self.entries) * self.stride() as u64;
        if self.entries == 0 || bytes > MOST_BYTES {
            return Err(format!(
                "{} values of {} bytes: a map has at least one value and at most 16 MiB of values",
                self.entries, self.value
            ));
        }
        Ok(())
    }
}

/// A map, or a section of global variables.
#[derive(Clone, Debug)]
struct Object {
    bytes: Vec<u8>,
    writable: bool,
    /// The definition, if the object is a map.
    spec: Option<MapSpec>,
    /// The position of the value of each key, for a hash map.
    index: BTreeMap<Box<[u8]>, u32>,
    /// The positions of deleted values, for a hash map.
    free: Vec<u32>,
}

/// All maps and global variables of a program, by number.
#[derive(Clone, Debug, Default)]
pub struct Store {
    objects: Vec<Object>,
}

/// The largest number of maps and sections of variables.
pub const MOST_OBJECTS: usize = 64;

impl Store {
    /// Whether there are no maps and variables.
    pub fn is_empty(&self) -> bool {
        self.objects.is_empty()
    }

    /// Adds a map that is [valid](MapSpec::validate), and returns its number.
    pub fn add_map(&mut self, spec: MapSpec) -> usize {
        let array = spec.kind == MapKind::Array;
        let bytes = if array { spec.entries as usize * spec.stride() } else { 0 };
        self.add(vec![0; bytes], true, Some(spec))
    }

    /// Adds variables with their initial values, and returns their number.
    pub fn add_variables(&mut self, bytes: Vec<u8>, writable: bool) -> usize {
        self.add(bytes, writable, None)
    }

    fn add(&mut self, bytes: Vec<u8>, writable: bool, spec: Option<MapSpec>) -> usize {
        self.objects.push(Object {
            bytes,
            writable,
            spec,
            index: BTreeMap::new(),
            free: Vec::new(),
        });
        self.objects.len() - 1
    }

    /// The definition of object `number`, if it is a map.
    pub fn spec(&self, number: usize) -> Option<MapSpec> {
        self.objects.get(number)?.spec
    }

    /// The bytes of object `number` from `offset` to the end of the value.
    pub fn bytes(&self, number: usize, offset: usize) -> Option<&[u8]> {
        let object = self.objects.get(number)?;
        object.bytes.get(offset..object.end(offset)?)
    }

    /// The same bytes for writing; `None` if the object is not writable.
    pub fn bytes_mut(&mut self, number: usize, offset: usize) -> Option<&mut [u8]> {
        let object = self.objects.get_mut(number).filter(|object| object.writable)?;
        let end = object.end(offset)?;
        object.bytes.get_mut(offset..end)
    }

    /// The offset of the value of `key` in the map `number`.
    pub fn lookup(&self, number: usize, key: &[u8]) -> Option<usize> {
        self.objects.get(number)?.lookup(key)
    }

    /// Sets the value of `key`. Returns zero or the negative error number of Linux.
    pub fn update(&mut self, number: usize, key: &[u8], value: &[u8], flags: u64) -> i64 {
        match self.objects.get_mut(number) {
            Some(object) => object.update(key, value, flags).err().unwrap_or(0),
            None => errno::INVALID,
        }
    }

    /// Deletes the value of `key`. Returns zero or the negative error number of Linux.
    pub fn delete(&mut self, number: usize, key: &[u8]) -> i64 {
        let Some(object) = self.objects.get_mut(number) else { return errno::INVALID };
        if object.spec.is_none_or(|spec| spec.kind == MapKind::Array) {
            return errno::INVALID;
        }
        match object.index.remove(key) {
            Some(place) => {
                object.free.push(place);
                0
            }
            None => errno::NOT_FOUND,
        }
    }

    /// All keys of the map `number` with their values, in order.
    pub fn entries(&self, number: usize) -> Vec<(Vec<u8>, Vec<u8>)> {
        let Some((object, spec)) = self.objects.get(number).and_then(|o| Some((o, o.spec?))) else {
            return Vec::new();
        };
        let value = |place: u32| {
            let at = place as usize * spec.stride();
            object.bytes[at..at + spec.value as usize].to_vec()
        };
        match spec.kind {
            MapKind::Hash => {
                object.index.iter().map(|(key, place)| (key.to_vec(), value(*place))).collect()
            }
            MapKind::Array => {
                (0..spec.entries).map(|at| (at.to_le_bytes().to_vec(), value(at))).collect()
            }
        }
    }
}

impl Object {
    /// The end of the value that contains `offset`.
    fn end(&self, offset: usize) -> Option<usize> {
        let Some(spec) = self.spec else { return Some(self.bytes.len()) };
        let end = offset / spec.stride() * spec.stride() + spec.value as usize;
        (offset <= end).then_some(end)
    }

    fn lookup(&self, key: &[u8]) -> Option<usize> {
        let spec = self.spec?;
        let place = match spec.kind {
            MapKind::Hash => *self.index.get(key)?,
            MapKind::Array => u32::from_le_bytes(key.try_into().ok()?).min(spec.entries),
        };
        let at = place as usize * spec.stride();
        (at < self.bytes.len()).then_some(at)
    }

    fn update(&mut self, key: &[u8], value: &[u8], flags: u64) -> Result<(), i64> {
        let spec = self.spec.ok_or(errno::INVALID)?;
        let known = self.lookup(key);
        match (flags, known) {
            (1, Some(_)) => return Err(errno::EXISTS),
            (2, None) => return Err(errno::NOT_FOUND),
            (0..=2, _) => {}
            _ => return Err(errno::INVALID),
        }
        let at = match (known, spec.kind) {
            (Some(at), _) => at,
            (None, MapKind::Array) => return Err(errno::TOO_BIG),
            (None, MapKind::Hash) => self.place(spec, key)?,
        };
        let into = self.bytes.get_mut(at..at + spec.value as usize).ok_or(errno::INVALID)?;
        into.copy_from_slice(value.get(..into.len()).ok_or(errno::INVALID)?);
        Ok(())
    }

    /// A position for a new key.
    fn place(&mut self, spec: MapSpec, key: &[u8]) -> Result<usize, i64> {
        if self.index.len() >= spec.entries as usize {
            return Err(errno::TOO_BIG);
        }
        let fresh = (self.bytes.len() / spec.stride()) as u32;
        let place = self.free.pop().unwrap_or(fresh);
        if place == fresh {
            self.bytes.resize(self.bytes.len() + spec.stride(), 0);
        }
        self.index.insert(key.into(), place);
        Ok(place as usize * spec.stride())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn hash(entries: u32) -> (Store, usize) {
        let mut store = Store::default();
        store.add_variables(vec![9; 3], false);
        let spec = MapSpec { kind: MapKind::Hash, key: 2, value: 5, entries };
        assert_eq!(spec.validate(), Ok(()));
        let map = store.add_map(spec);
        (store, map)
    }

    proptest! {
        /// Against the map of the standard library.
        #[test]
        fn a_hash_map_is_a_map(
            steps in prop::collection::vec((0u8..3, 0u16..12, any::<[u8; 5]>(), 0u64..4), 0..200)
        ) {
            let (mut store, map) = hash(6);
            let mut model = BTreeMap::<u16, [u8; 5]>::new();
            for (what, key, value, flags) in steps {
                let bytes = key.to_le_bytes();
                match what {
                    0 => {
                        let known = model.contains_key(&key);
                        let expected = match flags {
                            1 if known => errno::EXISTS,
                            2 if !known => errno::NOT_FOUND,
                            3 => errno::INVALID,
                            _ if !known && model.len() == 6 => errno::TOO_BIG,
                            _ => {
                                model.insert(key, value);
                                0
                            }
                        };
                        prop_assert_eq!(store.update(map, &bytes, &value, flags), expected);
                    }
                    1 => {
                        let expected = model.remove(&key).map_or(errno::NOT_FOUND, |_| 0);
                        prop_assert_eq!(store.delete(map, &bytes), expected);
                    }
                    _ => {
                        let at = store.lookup(map, &bytes);
                        let got = at.map(|at| store.bytes(map, at).unwrap().to_vec());
                        prop_assert_eq!(got, model.get(&key).map(|value| value.to_vec()));
                    }
                }
                prop_assert_eq!(store.entries(map).len(), model.len());
            }
        }
    }

    #[test]
    fn an_array_has_a_fixed_number_of_values() {
        let mut store = Store::default();
        let map = store.add_map(MapSpec { kind: MapKind::Array, key: 4, value: 4, entries: 3 });
        let key = |n: u32| n.to_le_bytes();
        assert_eq!(store.update(map, &key(2), &[1, 2, 3, 4], 0), 0);
        assert_eq!(store.update(map, &key(3), &[1, 2, 3, 4], 0), errno::TOO_BIG);
        assert_eq!(store.update(map, &key(0), &[0; 4], 1), errno::EXISTS);
        assert_eq!(store.delete(map, &key(0)), errno::INVALID);
        assert_eq!(store.lookup(map, &key(2)), Some(16));
        assert_eq!((store.lookup(map, &key(3)), store.lookup(map, &key(u32::MAX))), (None, None));
        assert_eq!(store.bytes(map, 16), Some(&[1, 2, 3, 4][..]));
        // The padding after a value is not accessible.
        assert_eq!(store.bytes(map, 18), Some(&[3, 4][..]));
        assert_eq!(store.bytes(map, 21), None);
        assert_eq!(store.bytes(map, 24), None);
    }

    #[test]
    fn constants_are_not_writable_and_invalid_maps_are_refused() {
        let (mut store, _) = hash(1);
        assert_eq!(store.bytes(0, 1), Some(&[9, 9][..]));
        assert!(store.bytes_mut(0, 1).is_none() && store.bytes(7, 0).is_none());
        let refused =
            |kind, key, value, entries| MapSpec { kind, key, value, entries }.validate().is_err();
        assert!(refused(MapKind::Array, 8, 4, 1) && refused(MapKind::Hash, 4, 0, 1));
        assert!(refused(MapKind::Hash, 4, 4_096, 1 << 20) && refused(MapKind::Hash, 4, 8, 0));
        assert_eq!(MapSpec::kind_of(27), None);
    }
}
