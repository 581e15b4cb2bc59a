//! Common parts of the readers of line-based files.

/// An error in a file, with its line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {message}")]
pub struct LineError {
    /// Counted from 1.
    pub line: usize,
    /// The error, with the expected text.
    pub message: String,
}

/// The words of each line that is not empty, with its number. Lines that start with `#` are comments.
pub(super) fn numbered(text: &str) -> impl Iterator<Item = (usize, Vec<&str>)> {
    let lines = text.lines().enumerate().map(|(at, line)| (at + 1, line.trim()));
    lines
        .filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
        .map(|(at, line)| (at, line.split_whitespace().collect()))
}

/// Reads a whole number. `what` is its name in the error.
pub(super) fn whole<T: std::str::FromStr>(what: &str, text: &str) -> Result<T, String> {
    text.parse().map_err(|_| format!("{what} `{text}`: expected a whole number"))
}
