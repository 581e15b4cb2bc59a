//! The interface between a scenario and a discipline: the trait of a discipline's settings.

use super::discipline::Discipline;
use crate::error::SpecError;
use crate::rng::Stream;
use crate::time::Time;
use crate::units::{Bytes, InverseRate};

/// The parameters of a discipline's queue.
#[derive(Clone, Debug)]
pub struct QueueParams {
    /// The rate at which the queue drains.
    pub pace: InverseRate,
    /// Bytes that the queue holds.
    pub capacity: Bytes,
    /// Its largest packet in bytes on the wire.
    pub mtu: u64,
    /// The source of the discipline's random numbers.
    pub rng: Stream,
}

/// The settings of a discipline, as in the `queue` table of a scenario.
///
/// A new discipline is one file with its settings, this trait, and [`Discipline`] for the state of a queue, and one
/// line in [`super::policy`].
pub trait Settings {
    /// The state of one queue.
    type Discipline: Discipline;
    /// Whether the discipline comes from outside this program, and therefore can fail.
    const FOREIGN: bool = false;

    /// A fresh state.
    fn discipline(&self, queue: QueueParams) -> Self::Discipline;
    /// Checks the settings for a queue that holds `limit`.
    ///
    /// # Errors
    /// A value is outside its range, or two values contradict each other.
    fn validate(&self, _limit: Bytes) -> Result<(), SpecError> {
        Ok(())
    }
    /// A short description of its effect on packets; `size` writes a number of bytes.
    fn describe(&self, size: &dyn Fn(Bytes) -> String) -> String;
    /// Whether it may mark packets.
    fn marks(&self) -> bool {
        false
    }
    /// Whether it notifies senders.
    fn notifies(&self) -> bool {
        false
    }
    /// Whether it never drops a packet that is in the queue.
    fn is_lossless(&self) -> bool {
        true
    }
    /// Whether the packet engine's own FIFO port supports it: it decides when packets arrive, and notifies nobody. The packet
    /// engine's own switches also support CoDel and QCN.
    fn is_plain(&self) -> bool {
        false
    }
}

/// Refuses the value of `key` if `holds` is false.
pub(crate) fn ensure(
    holds: bool,
    key: &str,
    why: impl FnOnce() -> String,
) -> Result<(), SpecError> {
    if holds { Ok(()) } else { Err(SpecError::new(key, why())) }
}

/// Refuses the value of the first key if it is above that of the second.
pub(super) fn at_most(low: (&str, Bytes), high: (&str, Bytes)) -> Result<(), SpecError> {
    ensure(low.1 <= high.1, low.0, || {
        format!("`{}` = {} must be at most `{}` = {}", low.0, low.1, high.0, high.1)
    })
}

/// Refuses a value that is not a number above zero.
pub(super) fn positive(key: &str, value: f64) -> Result<(), SpecError> {
    ensure(value > 0.0 && value.is_finite(), key, || {
        format!("`{key}` = {value} must be a number above 0")
    })
}

/// Refuses a time of zero.
pub(super) fn lasting(key: &str, value: Time) -> Result<(), SpecError> {
    ensure(value > Time::ZERO, key, || format!("`{key}` is 0: for example \"100us\""))
}

/// The effect on chosen packets.
pub(super) fn marks_or_drops(ecn: bool) -> &'static str {
    if ecn { "marks" } else { "drops" }
}
