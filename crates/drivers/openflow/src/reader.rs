//! Reading and writing numbers, with the checks of lengths in one place.

/// The reason why bytes are no message of OpenFlow 1.3.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum DecodeError {
    /// A structure says that it is longer than what contains it, or shorter than its fixed part.
    #[error("OpenFlow: `{what}` has {has} bytes, it needs {needs}")]
    Length {
        /// The structure, as the specification names it.
        what: &'static str,
        /// The bytes that are there.
        has: usize,
        /// The bytes that it needs at least.
        needs: usize,
    },
    /// The message has another version than 1.3.
    #[error("OpenFlow: version {0} on the wire; 4 (OpenFlow 1.3) is needed")]
    Version(u8),
    /// A field has a value that the specification does not have.
    #[error("OpenFlow: `{what}` = {value} is unknown")]
    Value {
        /// The field.
        what: &'static str,
        /// Its value.
        value: u64,
    },
}

/// The rest of the bytes of a structure.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reader<'a> {
    what: &'static str,
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    /// Reads `bytes`, which are a structure of this name.
    pub fn new(what: &'static str, bytes: &'a [u8]) -> Reader<'a> {
        Reader { what, rest: bytes }
    }
    /// Whether all bytes are read.
    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }
    /// The next `count` bytes.
    pub fn take(&mut self, count: usize) -> Result<&'a [u8], DecodeError> {
        let what = self.what;
        let (taken, rest) = self.rest.split_at_checked(count).ok_or(DecodeError::Length {
            what,
            has: self.rest.len(),
            needs: count,
        })?;
        self.rest = rest;
        Ok(taken)
    }
    /// All bytes that are left.
    pub fn all(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.rest)
    }
    /// Leaves out bytes that have no meaning.
    pub fn skip(&mut self, count: usize) -> Result<(), DecodeError> {
        self.take(count).map(drop)
    }
    fn array<const N: usize>(&mut self) -> Result<[u8; N], DecodeError> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N)?);
        Ok(array)
    }
    pub fn u8(&mut self) -> Result<u8, DecodeError> {
        Ok(self.array::<1>()?[0])
    }
    pub fn u16(&mut self) -> Result<u16, DecodeError> {
        self.array().map(u16::from_be_bytes)
    }
    pub fn u32(&mut self) -> Result<u32, DecodeError> {
        self.array().map(u32::from_be_bytes)
    }
    pub fn u64(&mut self) -> Result<u64, DecodeError> {
        self.array().map(u64::from_be_bytes)
    }
    /// A part of this structure with a name of its own.
    pub fn part(&mut self, what: &'static str, count: usize) -> Result<Reader<'a>, DecodeError> {
        let bytes = self.take(count);
        bytes.map(|bytes| Reader::new(what, bytes)).map_err(|error| match error {
            DecodeError::Length { has, needs, .. } => DecodeError::Length { what, has, needs },
            other => other,
        })
    }
    /// The rest of a structure that began `read` bytes ago and says that it has `length`, at least `least`.
    pub fn rest_of(
        &mut self,
        what: &'static str,
        length: u16,
        read: usize,
        least: usize,
    ) -> Result<Reader<'a>, DecodeError> {
        let length = usize::from(length);
        if length < least.max(read) {
            return Err(DecodeError::Length { what, has: length, needs: least.max(read) });
        }
        self.part(what, length - read)
    }
}

/// Bytes after `length` until a multiple of eight.
pub(crate) fn padding(length: usize) -> usize {
    length.wrapping_neg() % 8
}

/// Appends zeros until `out` has grown to a multiple of eight since `start`.
pub(crate) fn pad(out: &mut Vec<u8>, start: usize) {
    let zeros = padding(out.len() - start);
    out.resize(out.len() + zeros, 0);
}

/// Writes the length of the structure that begins at `start` into its two bytes at `at`. A structure of more than 65,535
/// bytes cannot be written; its length is then the largest one, which receivers refuse.
pub(crate) fn set_length(out: &mut [u8], start: usize, at: usize) {
    let length = u16::try_from(out.len() - start).unwrap_or(u16::MAX);
    out[at..at + 2].copy_from_slice(&length.to_be_bytes());
}

/// Appends numbers, the highest byte first.
pub(crate) trait Write {
    fn u8(&mut self, value: u8);
    fn u16(&mut self, value: u16);
    fn u32(&mut self, value: u32);
    fn u64(&mut self, value: u64);
    fn zeros(&mut self, count: usize);
}

impl Write for Vec<u8> {
    fn u8(&mut self, value: u8) {
        self.push(value);
    }
    fn u16(&mut self, value: u16) {
        self.extend(value.to_be_bytes());
    }
    fn u32(&mut self, value: u32) {
        self.extend(value.to_be_bytes());
    }
    fn u64(&mut self, value: u64) {
        self.extend(value.to_be_bytes());
    }
    fn zeros(&mut self, count: usize) {
        self.resize(self.len() + count, 0);
    }
}
