//! Marking at an instantaneous threshold, as DCTCP needs it (Alizadeh et al., SIGCOMM 2010, 3.1).

use super::discipline::{Arrival, Discipline, Verdict};
use super::settings::{QueueParams, Settings, at_most};
use crate::error::SpecError;
use crate::time::Time;
use crate::units::{Bytes, InverseRate};
use serde::{Deserialize, Serialize};

/// The settings of an instantaneous threshold.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
#[schemars(transform = crate::schema::keep_comment)]
pub struct EcnSpec {
    /// Packets that find more than this in the queue are marked, if they can be marked.
    pub threshold: Bytes,
    /// Whether packets that cannot be marked are dropped above the threshold, instead of queued.
    ///
    /// Source: RFC 3168, section 5.
    pub drop_non_ect: bool,
}

impl Default for EcnSpec {
    fn default() -> EcnSpec {
        EcnSpec { threshold: Bytes(22_500), drop_non_ect: false }
    }
}

impl Settings for EcnSpec {
    type Discipline = Threshold;

    fn discipline(&self, queue: QueueParams) -> Threshold {
        Threshold::new(self.threshold, queue.pace).dropping(self.drop_non_ect)
    }
    fn validate(&self, limit: Bytes) -> Result<(), SpecError> {
        at_most(("threshold", self.threshold), ("limit", limit))
    }
    fn describe(&self, size: &dyn Fn(Bytes) -> String) -> String {
        let others = if self.drop_non_ect { ", or dropped where they cannot be" } else { "" };
        format!("packets that find more than {} are marked{others}", size(self.threshold))
    }
    fn marks(&self) -> bool {
        true
    }
    fn is_plain(&self) -> bool {
        true
    }
}

/// Marks ECN-capable packets that find more than `bytes` queued. Others pass unmarked, or are dropped (RFC 3168, 5).
/// The comparison uses times, because a port knows its backlog as a time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Threshold {
    bytes: Bytes,
    wait: Time,
    drops_others: bool,
}

impl Threshold {
    /// A threshold of `bytes` for a queue drained at `pace`.
    pub fn new(bytes: Bytes, pace: InverseRate) -> Threshold {
        Threshold { bytes, wait: pace.time_for(bytes.0), drops_others: false }
    }

    /// Whether packets that cannot be marked are dropped instead.
    pub fn dropping(self, drops_others: bool) -> Threshold {
        Threshold { drops_others, ..self }
    }

    /// A packet arrives and finds a backlog that takes `wait` to send.
    #[inline]
    pub fn arrive(&self, wait: Time, ect: bool) -> Verdict {
        match wait > self.wait {
            true if ect => Verdict::Mark,
            true if self.drops_others => Verdict::Drop,
            _ => Verdict::Pass,
        }
    }
}

impl Discipline for Threshold {
    #[inline]
    fn arrive(&mut self, arrival: &Arrival) -> Verdict {
        Threshold::arrive(self, arrival.backlog.wait, arrival.ect)
    }

    fn set_pace(&mut self, pace: InverseRate) {
        *self = Threshold::new(self.bytes, pace).dropping(self.drops_others);
    }

    #[inline]
    fn decides_on_departure(&self) -> bool {
        false
    }

    fn marks_above(&self) -> Option<Time> {
        (!self.drops_others).then_some(self.wait)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Rate;

    #[test]
    fn marks_strictly_above_and_only_capable_packets() {
        let pace = Rate(10_000_000_000).inverse_rate();
        let mut threshold = Threshold::new(Bytes(22_500), pace);
        assert_eq!(threshold.arrive(Time::us(18), true), Verdict::Pass);
        assert_eq!(threshold.arrive(Time::us(18) + Time::ps(1), true), Verdict::Mark);
        assert_eq!(threshold.arrive(Time::us(19), false), Verdict::Pass);
        threshold.set_pace(Rate(1_000_000_000).inverse_rate());
        assert_eq!(threshold.marks_above(), Some(Time::us(180)));
        assert_eq!(threshold.arrive(Time::us(180), true), Verdict::Pass);
        assert_eq!(threshold.arrive(Time::us(181), true), Verdict::Mark);
    }

    #[test]
    fn others_are_dropped_above_where_that_is_asked_for() {
        let pace = Rate(10_000_000_000).inverse_rate();
        let mut threshold = Threshold::new(Bytes(22_500), pace).dropping(true);
        assert_eq!(threshold.marks_above(), None);
        assert_eq!(threshold.arrive(Time::us(18), false), Verdict::Pass);
        assert_eq!(threshold.arrive(Time::us(19), false), Verdict::Drop);
        assert_eq!(threshold.arrive(Time::us(19), true), Verdict::Mark);
        threshold.set_pace(Rate(1_000_000_000).inverse_rate());
        assert_eq!(threshold.arrive(Time::us(180), false), Verdict::Pass);
        assert_eq!(threshold.arrive(Time::us(181), false), Verdict::Drop);
    }
}
