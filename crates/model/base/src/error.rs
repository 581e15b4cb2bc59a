//! The error of a specification that cannot be built.

use std::fmt::Display;

/// A value in a specification that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct SpecError {
    /// The key with the error, as written in a scenario file (`"k"`, `"overrides"`).
    pub key: String,
    /// The error, the value, and the expected value.
    pub message: String,
    /// The kind of error, for callers that go on after some of them.
    pub kind: SpecErrorKind,
}

/// The kind of a [`SpecError`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SpecErrorKind {
    /// The value cannot be used.
    #[default]
    Invalid,
    /// A workload has no flow. With another seed it may have some.
    NoFlow,
    /// A sample of a workload has all the flows that it may have.
    SampleFull,
}

impl SpecError {
    /// The value of `key` is wrong, as `message` says.
    pub fn new(key: impl Into<String>, message: impl Into<String>) -> SpecError {
        SpecError { key: key.into(), message: message.into(), kind: SpecErrorKind::Invalid }
    }

    /// Refuses `value` for `key` unless it is `valid`. `expected` describes valid values: "at least 1us".
    ///
    /// # Errors
    /// The value is not valid.
    pub fn unless(
        valid: bool,
        key: &str,
        value: impl Display,
        expected: impl FnOnce() -> String,
    ) -> Result<(), SpecError> {
        let message = || format!("`{key}` is {value}, but it has to be {}", expected());
        if valid { Ok(()) } else { Err(SpecError::new(key, message())) }
    }

    /// The same error, of another kind.
    pub fn of_kind(self, kind: SpecErrorKind) -> SpecError {
        SpecError { kind, ..self }
    }

    /// The same error, where the key is in the table at `path`.
    pub fn within(self, path: impl Display) -> SpecError {
        SpecError { key: format!("{path}.{}", self.key), ..self }
    }
}
