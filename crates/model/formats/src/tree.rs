//! What JSON and YAML have in common: values in lists and maps, each with its line.

use crate::error::FormatError;

/// Deeper nesting is refused.
pub(crate) const DEEPEST: usize = 64;

/// A value and its line.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Tree {
    pub line: usize,
    pub value: Value,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Null,
    Flag(bool),
    /// As it was written.
    Number(String),
    Text(String),
    List(Vec<Tree>),
    Map(Vec<Entry>),
}

/// A key of a map and its value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Entry {
    pub key: String,
    pub line: usize,
    pub tree: Tree,
}

impl Tree {
    pub fn map(&self, what: &str) -> Result<&[Entry], FormatError> {
        match &self.value {
            Value::Map(entries) => Ok(entries),
            _ => Err(self.unlike(what, "keys with values")),
        }
    }

    pub fn list(&self, what: &str) -> Result<&[Tree], FormatError> {
        match &self.value {
            Value::List(items) => Ok(items),
            _ => Err(self.unlike(what, "a list")),
        }
    }

    /// A plain value as text.
    pub fn plain(&self, what: &str) -> Result<String, FormatError> {
        self.as_plain().ok_or_else(|| self.unlike(what, "text or a number"))
    }

    /// A text or a number.
    pub fn as_plain(&self) -> Option<String> {
        match &self.value {
            Value::Text(text) | Value::Number(text) => Some(text.clone()),
            _ => None,
        }
    }

    fn unlike(&self, what: &str, expected: &str) -> FormatError {
        FormatError::new(
            self.line,
            format!("{what} must be {expected}, but it is {}", self.described()),
        )
    }

    fn described(&self) -> String {
        match &self.value {
            Value::Null => "nothing".into(),
            Value::Flag(yes) => format!("`{yes}`"),
            Value::Number(text) | Value::Text(text) => format!("`{}`", short(text)),
            Value::List(_) => "a list".into(),
            Value::Map(_) => "keys with values".into(),
        }
    }
}

/// The value of `key` among `entries`.
pub(crate) fn get<'a>(entries: &'a [Entry], key: &str) -> Option<&'a Tree> {
    entries.iter().find(|entry| entry.key == key).map(|entry| &entry.tree)
}

/// Refuses a key that is given twice.
pub(crate) fn check_keys(entries: &[Entry]) -> Result<(), FormatError> {
    let mut keys: Vec<(&str, usize)> = entries.iter().map(|e| (e.key.as_str(), e.line)).collect();
    keys.sort_unstable();
    let twice = keys.windows(2).find(|pair| pair[0].0 == pair[1].0);
    twice.map_or(Ok(()), |pair| {
        let message = format!("`{}` is given twice, first in line {}", pair[1].0, pair[0].1);
        Err(FormatError::new(pair[1].1, message))
    })
}

/// `text`, or its beginning if it is long, for a message.
pub(crate) fn short(text: &str) -> String {
    match text.char_indices().nth(60) {
        Some((end, _)) => format!("{}…", text[..end].escape_debug()),
        None => text.escape_debug().to_string(),
    }
}
