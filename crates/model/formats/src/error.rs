//! What is wrong with a file.

/// Why a file cannot be used: where, what is wrong, and what would be right.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {message}")]
pub struct FormatError {
    /// Line, from 1; in a binary file the number of the block or packet.
    pub line: usize,
    /// What is wrong, and what would be right.
    pub message: String,
}

impl FormatError {
    /// Something wrong at `line`, counted from 1.
    pub fn new(line: usize, message: impl Into<String>) -> FormatError {
        FormatError { line, message: message.into() }
    }
}
