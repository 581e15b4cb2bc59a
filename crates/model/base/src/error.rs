//! The error of a specification that cannot be built.

/// A value in a specification that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct SpecError {
    /// The key with the error, as written in a scenario file (`"k"`, `"overrides"`).
    pub key: String,
    /// The error, the value, and the expected value.
    pub message: String,
}

impl SpecError {
    /// The value of `key` is wrong, as `message` says.
    pub fn new(key: impl Into<String>, message: impl Into<String>) -> SpecError {
        SpecError { key: key.into(), message: message.into() }
    }
}
