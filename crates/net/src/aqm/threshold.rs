//! Marking at an instantaneous threshold, as DCTCP wants it (Alizadeh et al., SIGCOMM 2010, 3.1).

use super::discipline::{Arrival, Discipline, Verdict};
use crate::time::Time;
use crate::units::{Bytes, Pace};

/// Marks ECN-capable packets that find more than `bytes` queued; others pass unmarked. The comparison
/// is made in time, which is what a port knows about its backlog.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Threshold {
    bytes: Bytes,
    wait: Time,
}

impl Threshold {
    /// A threshold of `bytes` for a queue drained at `pace`.
    pub fn new(bytes: Bytes, pace: Pace) -> Threshold {
        Threshold { bytes, wait: pace.time_for(bytes.0) }
    }

    /// A packet arrives and finds a backlog that takes `wait` to send.
    #[inline]
    pub fn arrive(&self, wait: Time, ect: bool) -> Verdict {
        if ect && wait > self.wait { Verdict::Mark } else { Verdict::Pass }
    }
}

impl Discipline for Threshold {
    #[inline]
    fn arrive(&mut self, arrival: &Arrival) -> Verdict {
        Threshold::arrive(self, arrival.backlog.wait, arrival.ect)
    }

    fn set_pace(&mut self, pace: Pace) {
        *self = Threshold::new(self.bytes, pace);
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
}
