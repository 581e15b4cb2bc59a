//! Errors in files.

/// An error in a file, with its place and what is expected there.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {message}")]
pub struct FormatError {
    /// The line, from 1. In a binary file, the number of the block or packet.
    pub line: usize,
    /// The error, and what is expected instead.
    pub message: String,
}

impl FormatError {
    /// An error at `line`, counted from 1.
    pub fn new(line: usize, message: impl Into<String>) -> FormatError {
        FormatError { line, message: message.into() }
    }
}
