//! Marking at an instantaneous threshold, as DCTCP wants it (Alizadeh et al., SIGCOMM 2010, 3.1).

use super::discipline::{Arrival, Discipline, Verdict};
use crate::time::Time;
use crate::units::{Bytes, Pace};

/// Marks ECN-capable packets that find more than `bytes` queued. Others pass unmarked, or are dropped
/// (RFC 3168, 5). The comparison is made in time, which is what a port knows about its backlog.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Threshold {
    bytes: Bytes,
    wait: Time,
    drops_others: bool,
}

impl Threshold {
    /// A threshold of `bytes` for a queue drained at `pace`.
    pub fn new(bytes: Bytes, pace: Pace) -> Threshold {
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

    fn set_pace(&mut self, pace: Pace) {
        *self = Threshold::new(self.bytes, pace).dropping(self.drops_others);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Rate;

    #[test]
    fn marks_strictly_above_and_only_capable_packets() {
        let pace = Rate(10_000_000_000).pace();
        let mut threshold = Threshold::new(Bytes(22_500), pace);
        assert_eq!(threshold.arrive(Time::us(18), true), Verdict::Pass);
        assert_eq!(threshold.arrive(Time::us(18) + Time::ps(1), true), Verdict::Mark);
        assert_eq!(threshold.arrive(Time::us(19), false), Verdict::Pass);
        threshold.set_pace(Rate(1_000_000_000).pace());
        assert_eq!(threshold.arrive(Time::us(180), true), Verdict::Pass);
        assert_eq!(threshold.arrive(Time::us(181), true), Verdict::Mark);
    }

    #[test]
    fn others_are_dropped_above_where_that_is_asked_for() {
        let pace = Rate(10_000_000_000).pace();
        let mut threshold = Threshold::new(Bytes(22_500), pace).dropping(true);
        assert_eq!(threshold.arrive(Time::us(18), false), Verdict::Pass);
        assert_eq!(threshold.arrive(Time::us(19), false), Verdict::Drop);
        assert_eq!(threshold.arrive(Time::us(19), true), Verdict::Mark);
        threshold.set_pace(Rate(1_000_000_000).pace());
        assert_eq!(threshold.arrive(Time::us(180), false), Verdict::Pass);
        assert_eq!(threshold.arrive(Time::us(181), false), Verdict::Drop);
    }
}
