//! The line of each byte of a text.

/// Where the lines of a text begin.
pub(crate) struct Lines(Vec<usize>);

impl Lines {
    pub fn new(text: &str) -> Lines {
        Lines(text.match_indices('\n').map(|(at, _)| at + 1).collect())
    }

    /// The line, from 1, of the byte at `offset`.
    pub fn at(&self, offset: usize) -> usize {
        self.0.partition_point(|&start| start <= offset) + 1
    }
}
