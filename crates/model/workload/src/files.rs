//! The files that workloads name.

/// A function that is called with the number, from 1, and the text of each line. It may refuse a line with a message.
pub type EachLine<'a> = dyn FnMut(usize, &[u8]) -> Result<(), String> + 'a;

/// Gives the content of files by the names that a scenario has for them. A function from names to texts is enough.
pub trait Files {
    /// The whole text of a file.
    ///
    /// # Errors
    /// The file cannot be read.
    fn text(&self, name: &str) -> Result<String, String>;

    /// Calls `each` with every line, without line breaks and byte order mark. A long file need not be in memory as a
    /// whole.
    ///
    /// # Errors
    /// The file cannot be read, or `each` refuses a line. The error has the number of the line.
    fn lines(&self, name: &str, each: &mut EachLine<'_>) -> Result<(), String> {
        let text = self.text(name)?;
        let text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&text);
        for (at, line) in text.as_bytes().split(|byte| *byte == b'\n').enumerate() {
            each(at + 1, line).map_err(|why| format!("line {}: {why}", at + 1))?;
        }
        Ok(())
    }
}

/// The byte order mark, with which some programs begin a text.
pub const BYTE_ORDER_MARK: char = '\u{feff}';

impl<F: Fn(&str) -> Result<String, String>> Files for F {
    fn text(&self, name: &str) -> Result<String, String> {
        let text = self(name)?;
        Ok(text.strip_prefix(BYTE_ORDER_MARK).map_or_else(|| text.clone(), String::from))
    }
}
