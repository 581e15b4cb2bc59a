//! Messages as bytes: one file per protocol, each with parse and emit.

pub mod bump;
pub mod cnm;
pub mod mac_control;
pub mod packet;
pub mod path_news;

/// The reason why bytes are not a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ParseError {
    /// There are fewer bytes than the message needs.
    #[error("truncated: {have} bytes where {need} are needed")]
    Truncated {
        /// Bytes needed.
        need: usize,
        /// Bytes present.
        have: usize,
    },
    /// Bytes after the end of the message.
    #[error("{0} bytes after the end of the message")]
    Trailing(usize),
    /// A field has an invalid value.
    #[error("field `{field}` has no meaning for value {value}")]
    Field {
        /// The field.
        field: &'static str,
        /// Its value.
        value: u64,
    },
}

/// Bytes of the headers of IPv4 and UDP.
pub const UDP_HEADERS: u32 = 28;

/// The bytes that Ethernet adds to a control message without headers of its own: preamble 8, header 14, checksum 4, gap
/// 12.
pub const ETHERNET_OVERHEAD: u16 = 38;

/// Appends a number in groups of seven bits, the lowest first. All bytes except the last have their highest bit set.
pub fn put_number(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Reads fields from the beginning of a message.
pub struct Reader<'a>(pub &'a [u8]);

impl<'a> Reader<'a> {
    /// The next `need` bytes.
    ///
    /// # Errors
    /// The message is too short.
    pub fn bytes(&mut self, need: usize) -> Result<&'a [u8], ParseError> {
        let have = self.0.len();
        let (head, tail) =
            self.0.split_at_checked(need).ok_or(ParseError::Truncated { need, have })?;
        self.0 = tail;
        Ok(head)
    }
    /// The next `N` bytes.
    ///
    /// # Errors
    /// The message is too short.
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], ParseError> {
        let mut out = [0; N];
        out.copy_from_slice(self.bytes(N)?);
        Ok(out)
    }
    /// One byte.
    ///
    /// # Errors
    /// The message is too short.
    pub fn u8(&mut self) -> Result<u8, ParseError> {
        self.array().map(u8::from_be_bytes)
    }
    /// Two bytes, big-endian.
    ///
    /// # Errors
    /// The message is too short.
    pub fn u16(&mut self) -> Result<u16, ParseError> {
        self.array().map(u16::from_be_bytes)
    }
    /// Four bytes, big-endian.
    ///
    /// # Errors
    /// The message is too short.
    pub fn u32(&mut self) -> Result<u32, ParseError> {
        self.array().map(u32::from_be_bytes)
    }
    /// Eight bytes, big-endian.
    ///
    /// # Errors
    /// The message is too short.
    pub fn u64(&mut self) -> Result<u64, ParseError> {
        self.array().map(u64::from_be_bytes)
    }
    /// A number in the form of [`put_number`], in as few bytes as possible.
    pub fn number(&mut self, field: &'static str) -> Result<u64, ParseError> {
        let mut number = 0;
        for place in 0..10 {
            let byte = self.u8()?;
            let bits = u64::from(byte & 0x7f);
            let value = bits << (7 * place);
            let needless = place > 0 && byte == 0;
            if needless || value >> (7 * place) != bits {
                return Err(ParseError::Field { field, value: byte.into() });
            }
            number |= value;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err(ParseError::Field { field, value: number })
    }
    /// A number that fits into 32 bits.
    pub fn number32(&mut self, field: &'static str) -> Result<u32, ParseError> {
        let value = self.number(field)?;
        u32::try_from(value).map_err(|_| ParseError::Field { field, value })
    }
    /// Checks that nothing follows.
    ///
    /// # Errors
    /// There are more bytes.
    pub fn end(&self) -> Result<(), ParseError> {
        if self.0.is_empty() { Ok(()) } else { Err(ParseError::Trailing(self.0.len())) }
    }
}

/// Reads a count of 16 bits, and that many items.
///
/// # Errors
/// The message is too short, or an item is refused.
pub fn list<'a, T>(
    reader: &mut Reader<'a>,
    item: impl Fn(&mut Reader<'a>) -> Result<T, ParseError>,
) -> Result<Vec<T>, ParseError> {
    let count = reader.u16()?;
    (0..count).map(|_| item(reader)).collect()
}

/// Whether sequence number `a` comes after `b`, modulo 2³² (RFC 1982).
#[inline]
pub const fn newer(a: u32, b: u32) -> bool {
    a != b && a.wrapping_sub(b) < 1 << 31
}
