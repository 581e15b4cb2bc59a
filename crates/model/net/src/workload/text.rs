//! What the readers of line-based files share.

/// What is wrong with a file, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {message}")]
pub struct LineError {
    /// Counted from 1.
    pub line: usize,
    /// What is wrong, and what would be right.
    pub message: String,
}

/// The words of each line that has any, with its number; lines that start with `#` are comments.
pub(super) fn numbered(text: &str) -> impl Iterator<Item = (usize, Vec<&str>)> {
    let lines = text.lines().enumerate().map(|(at, line)| (at + 1, line.trim()));
    lines
        .filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
        .map(|(at, line)| (at, line.split_whitespace().collect()))
}

/// A whole number; `what` is it called in the error.
pub(super) fn whole<T: std::str::FromStr>(what: &str, text: &str) -> Result<T, String> {
    text.parse().map_err(|_| format!("{what} `{text}`: expected a whole number"))
}
