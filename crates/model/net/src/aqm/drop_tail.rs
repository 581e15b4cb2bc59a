//! Drop-tail: packets pass until the queue is full.

use super::discipline::{Arrival, Discipline, Verdict};
use super::settings::{QueueParams, Settings};
use crate::time::Time;
use crate::units::Bytes;
use serde::{Deserialize, Serialize};

/// Drop-tail has no settings.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(transform = crate::schema::keep_comment)]
pub struct DropTailSpec {}

/// A queue that only its capacity limits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DropTail;

impl Settings for DropTailSpec {
    type Discipline = DropTail;

    fn discipline(&self, _queue: QueueParams) -> DropTail {
        DropTail
    }
    fn describe(&self, _size: &dyn Fn(Bytes) -> String) -> String {
        "drop-tail".into()
    }
    fn is_plain(&self) -> bool {
        true
    }
}

impl Discipline for DropTail {
    #[inline]
    fn arrive(&mut self, _arrival: &Arrival) -> Verdict {
        Verdict::Pass
    }

    #[inline]
    fn decides_on_departure(&self) -> bool {
        false
    }

    fn marks_above(&self) -> Option<Time> {
        Some(Time::MAX)
    }
}
