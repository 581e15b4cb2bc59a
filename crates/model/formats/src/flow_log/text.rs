//! Lines of a text that comes in pieces.

use crate::FormatError;

/// The longest line in bytes.
const LONGEST: usize = 1 << 16;
/// The byte order mark in UTF-8.
const MARK: &str = "\u{feff}";

/// Splits pieces of a text into lines.
#[derive(Default)]
pub(super) struct TextLines {
    /// The beginning of a line whose end has not come yet.
    rest: Vec<u8>,
    /// Lines so far.
    number: usize,
}

impl TextLines {
    /// Calls `each` for every line that `bytes` complete, without its line break.
    pub fn push(
        &mut self,
        bytes: &[u8],
        mut each: impl FnMut(&str) -> Result<(), String>,
    ) -> Result<(), FormatError> {
        let mut from = 0;
        while let Some(length) = bytes[from..].iter().position(|byte| *byte == b'\n') {
            let piece = &bytes[from..from + length];
            from += length + 1;
            if self.rest.is_empty() {
                self.line(piece, &mut each)?;
                continue;
            }
            let mut whole = std::mem::take(&mut self.rest);
            whole.extend_from_slice(piece);
            self.line(&whole, &mut each)?;
        }
        self.rest.extend_from_slice(&bytes[from..]);
        self.check(self.rest.len())
    }

    /// Reads a last line without a line break. Returns the number of lines.
    pub fn end(
        &mut self,
        mut each: impl FnMut(&str) -> Result<(), String>,
    ) -> Result<usize, FormatError> {
        if !self.rest.is_empty() {
            self.push(b"\n", &mut each)?;
        }
        Ok(self.number)
    }

    fn check(&self, length: usize) -> Result<(), FormatError> {
        if length <= LONGEST {
            return Ok(());
        }
        Err(FormatError::new(self.number + 1, format!("longer than {LONGEST} bytes")))
    }

    fn line(
        &mut self,
        line: &[u8],
        each: &mut impl FnMut(&str) -> Result<(), String>,
    ) -> Result<(), FormatError> {
        self.check(line.len())?;
        self.number += 1;
        let wrong = |why: String| FormatError::new(self.number, why);
        let text = std::str::from_utf8(line).map_err(|_| {
            wrong("this is no text in UTF-8: is it a binary or compressed file?".into())
        })?;
        let text = if self.number == 1 { text.strip_prefix(MARK).unwrap_or(text) } else { text };
        each(text.strip_suffix('\r').unwrap_or(text)).map_err(wrong)
    }
}
