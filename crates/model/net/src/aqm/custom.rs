//! Queue policies that the calling program supplies.

use super::guest::Guest;
use super::settings::{QueueParams, Settings};
use crate::custom::{Named, Options};
use crate::error::SpecError;
use crate::units::Bytes;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A queue policy behind a pointer. All [`Settings`] whose discipline can be cloned and sent are one.
pub trait QueuePart: Send + Sync {
    /// See [`Settings::discipline`].
    fn make(&self, queue: QueueParams) -> Box<dyn Guest>;
    /// See [`Settings::validate`].
    ///
    /// # Errors
    /// A value is outside its range, or two values contradict each other.
    fn check(&self, limit: Bytes) -> Result<(), SpecError>;
    /// See [`Settings::describe`].
    fn text(&self, size: &dyn Fn(Bytes) -> String) -> String;
    /// See [`Settings::marks`].
    fn may_mark(&self) -> bool;
    /// See [`Settings::notifies`].
    fn may_notify(&self) -> bool;
    /// See [`Settings::is_lossless`].
    fn keeps_queued(&self) -> bool;
}

impl<S> QueuePart for S
where
    S: Settings + Send + Sync,
    S::Discipline: Clone + fmt::Debug + Send + 'static,
{
    fn make(&self, queue: QueueParams) -> Box<dyn Guest> {
        Box::new(self.discipline(queue))
    }
    fn check(&self, limit: Bytes) -> Result<(), SpecError> {
        self.validate(limit)
    }
    fn text(&self, size: &dyn Fn(Bytes) -> String) -> String {
        self.describe(size)
    }
    fn may_mark(&self) -> bool {
        self.marks()
    }
    fn may_notify(&self) -> bool {
        self.notifies()
    }
    fn keeps_queued(&self) -> bool {
        self.is_lossless()
    }
}

/// A queue policy that the calling program supplies.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[schemars(transform = crate::schema::keep_comment)]
pub struct CustomSpec {
    /// The name of the policy in the calling program.
    pub name: Named<dyn QueuePart>,
    /// The policy's own options.
    #[serde(default, skip_serializing_if = "Options::is_empty")]
    pub options: Options,
}

impl CustomSpec {
    /// Whether the program has supplied the policy and `says` is true for it.
    fn is(&self, says: impl Fn(&dyn QueuePart) -> bool) -> bool {
        self.name.part().is_ok_and(|part| says(&**part))
    }
}

impl Settings for CustomSpec {
    type Discipline = Box<dyn Guest>;

    fn discipline(&self, queue: QueueParams) -> Box<dyn Guest> {
        self.name.part().expect("a valid queue has its policy").make(queue)
    }
    fn validate(&self, limit: Bytes) -> Result<(), SpecError> {
        self.name.part()?.check(limit).map_err(|e| e.within("options"))
    }
    fn describe(&self, size: &dyn Fn(Bytes) -> String) -> String {
        let own = self.name.part().map(|part| part.text(size)).unwrap_or_default();
        format!("{own} (\"{}\" of the calling program)", self.name.name())
    }
    fn marks(&self) -> bool {
        self.is(|part| part.may_mark())
    }
    fn notifies(&self) -> bool {
        self.is(|part| part.may_notify())
    }
    fn is_lossless(&self) -> bool {
        self.is(|part| part.keeps_queued())
    }
}
