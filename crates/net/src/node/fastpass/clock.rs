//! A host's own idea of when a timeslot begins (§6.3).

use super::Common;
use crate::rng::{Stream, mix64};
use crate::time::Time;

/// A clock that is off by a fixed amount, and transmissions that begin late by a different one each time.
#[derive(Clone, Copy)]
pub(super) struct Clock {
    slot: Time,
    offset: Time,
    early: bool,
    jitter: Time,
    salt: u64,
}

impl Clock {
    pub fn new(common: &Common, host: u32) -> Clock {
        let spec = common.options.spec();
        let mut stream = Stream::named(common.seed, "fastpass.clock", host.into());
        let offset = stream.below(spec.clock_offset.as_ps().saturating_mul(2).saturating_add(1));
        let most = spec.clock_offset.as_ps();
        Clock {
            slot: common.timing.slot,
            offset: Time::ps(offset.abs_diff(most)),
            early: offset < most,
            jitter: spec.jitter,
            salt: stream.bits(),
        }
    }
    /// When a timeslot begins.
    pub fn start(&self, slot: u64) -> Time {
        let exact = self.slot.times(slot);
        if self.early { exact.since(self.offset) } else { exact.after(self.offset) }
    }
    /// When its transmission begins.
    pub fn fire(&self, slot: u64) -> Time {
        let part = mix64(self.salt ^ slot) >> 32;
        let late = (u128::from(self.jitter.as_ps()) * u128::from(part)) >> 32;
        self.start(slot).after(Time::ps(late as u64))
    }
}
