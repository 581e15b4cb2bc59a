//! Errors in scenarios: the place, the reason, and the correction.

use super::document::quoted;
use std::fmt;
use std::path::PathBuf;

/// Why a scenario cannot be used. The program ends with exit code 2.
#[derive(Debug, thiserror::Error)]
pub enum ScenarioError {
    /// The file, or one that it names, cannot be read.
    #[error("cannot read `{}`: {error}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        error: std::io::Error,
    },
    /// The scenario has an error.
    #[error("{0}")]
    Fault(Box<Fault>),
    /// A run ended with an error of the program.
    #[error("{0}; this is an error of the program and not of the scenario, please report it")]
    Panic(String),
    /// A run to which no flows can be added.
    #[error("{0}")]
    Session(String),
    /// An emulation could not be run.
    #[error("{0}")]
    Emulation(String),
}

/// An error at one place of a scenario file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The file.
    pub file: PathBuf,
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// The text of that line.
    pub source: String,
    /// Characters at fault.
    pub width: usize,
    /// The key, with the tables it is in; empty if the file is not TOML.
    pub key: String,
    /// The fault and its correction.
    pub message: String,
    /// A suggestion of what was meant.
    pub hint: Option<String>,
    /// Whether a table lacks a key that it needs.
    pub lacks_key: bool,
}

impl Fault {
    /// The place and the message, in one line: `incast.toml:6:9: unknown key …`.
    pub fn heading(&self) -> String {
        format!("{}:{}:{}: {}", self.file.display(), self.line, self.column, self.message)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = self.line.to_string();
        let margin = " ".repeat(number.len());
        let lead: String = self.source.chars().take(self.column - 1).map(blank).collect();
        let carets = "^".repeat(self.width);
        writeln!(f, "{}", self.heading())?;
        writeln!(f, "{margin} |")?;
        writeln!(f, "{number} | {}", self.source)?;
        write!(f, "{margin} | {lead}{carets}")?;
        if !self.key.is_empty() {
            write!(f, "\n{margin} = at {}", self.key)?;
        }
        match &self.hint {
            Some(hint) => write!(f, "\n{margin} = {hint}"),
            None => Ok(()),
        }
    }
}

/// The character below `c` in the line of the caret: tabs remain tabs.
fn blank(c: char) -> char {
    if c == '\t' { '\t' } else { ' ' }
}

/// A suggestion of what was meant, from the choices that `message` lists after "expected".
pub fn suggestion(message: &str) -> Option<String> {
    if !message.starts_with("unknown") {
        return None;
    }
    let (what, choices) = message.split_once(", expected")?;
    let choice = nearest(quoted(what).next()?, quoted(choices))?;
    Some(format!("did you mean `{choice}`?"))
}

/// The choice with the fewest edits from `given`, unless all have too many.
pub fn nearest<'a>(given: &str, choices: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let (distance, choice) = choices.map(|choice| (edits(given, choice), choice)).min()?;
    let begin_alike = given.chars().next() == choice.chars().next();
    let most = if begin_alike { 1 + given.chars().count() / 3 } else { 1 };
    (distance <= most).then_some(choice)
}

/// The least number of letters to insert, delete, replace or swap with their neighbour to get from `a` to
/// `b` (optimal string alignment).
fn edits(a: &str, b: &str) -> usize {
    strsim::osa_distance(a, b)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edits_count_typing_errors() {
        assert_eq!(edits("dctcp", "dctcp"), 0);
        assert_eq!(edits("dctpc", "dctcp"), 1);
        assert_eq!(edits("treshold", "threshold"), 1);
        assert_eq!(edits("", "abc"), 3);
        assert_eq!(edits("kitten", "sitting"), 3);
    }

    #[test]
    fn only_what_is_near_is_suggested() {
        let near = suggestion("unknown variant `dctpc`, expected one of `newreno`, `dctcp`");
        assert_eq!(near.as_deref(), Some("did you mean `dctcp`?"));
        assert_eq!(suggestion("unknown variant `bbr`, expected one of `newreno`, `dctcp`"), None);
        assert_eq!(suggestion("invalid type: string \"3\", expected u32"), None);
    }
}
