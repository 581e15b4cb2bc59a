//! Messages as bytes: one file per protocol, each with parse and emit.

pub mod bump;
pub mod circuits;
pub mod cnm;
pub mod fastpass;
pub mod fcp;
pub mod hedera;
pub mod mac_control;
pub mod packet;
pub mod tdma;
pub mod xco;

/// Why bytes are not a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ParseError {
    /// Fewer bytes than the message says or needs.
    #[error("truncated: {have} bytes where {need} are needed")]
    Truncated {
        /// Bytes needed.
        need: usize,
        /// Bytes there.
        have: usize,
    },
    /// Bytes after the end of the message.
    #[error("{0} bytes after the end of the message")]
    Trailing(usize),
    /// A field has a value without a meaning.
    #[error("field `{field}` has no meaning for value {value}")]
    Field {
        /// The field.
        field: &'static str,
        /// Its value.
        value: u64,
    },
}

/// Takes fields off the front of a message.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn bytes(&mut self, need: usize) -> Result<&'a [u8], ParseError> {
        let have = self.0.len();
        let (head, tail) =
            self.0.split_at_checked(need).ok_or(ParseError::Truncated { need, have })?;
        self.0 = tail;
        Ok(head)
    }
    fn array<const N: usize>(&mut self) -> Result<[u8; N], ParseError> {
        let mut out = [0; N];
        out.copy_from_slice(self.bytes(N)?);
        Ok(out)
    }
    fn u8(&mut self) -> Result<u8, ParseError> {
        self.array().map(u8::from_be_bytes)
    }
    fn u16(&mut self) -> Result<u16, ParseError> {
        self.array().map(u16::from_be_bytes)
    }
    fn u32(&mut self) -> Result<u32, ParseError> {
        self.array().map(u32::from_be_bytes)
    }
    fn u64(&mut self) -> Result<u64, ParseError> {
        self.array().map(u64::from_be_bytes)
    }
    fn end(&self) -> Result<(), ParseError> {
        if self.0.is_empty() { Ok(()) } else { Err(ParseError::Trailing(self.0.len())) }
    }
}
