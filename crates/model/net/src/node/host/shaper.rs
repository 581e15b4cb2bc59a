//! A shaper behind the transports of a host. Packets that arrive at the same time leave together, when all of them
//! would have been sent at the rate of the shaper.

use crate::time::Time;
use crate::units::InverseRate;

/// The rate, and the time at which all packets have left.
pub(super) struct Shaper {
    pace: InverseRate,
    free_at: Time,
}

impl Shaper {
    pub fn new(pace: InverseRate) -> Shaper {
        Shaper { pace, free_at: Time::ZERO }
    }

    /// Takes a packet of `bytes`. Returns the time until it leaves, together with all packets that arrived at the same
    /// time.
    #[inline]
    pub fn hold(&mut self, bytes: u16, now: Time) -> Time {
        self.free_at = now.max(self.free_at) + self.pace.time_for(bytes.into());
        self.free_at.since(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Rate;

    #[test]
    fn the_rate_holds_over_any_time() {
        let mut shaper = Shaper::new(Rate(10_000_000_000).inverse_rate());
        let us = |tenths: u64| Time::ns(100 * tenths);
        assert_eq!(shaper.hold(9_000, Time::us(5)), us(72));
        assert_eq!(shaper.hold(9_000, Time::us(5)), us(144), "both go after 14.4 us");
        assert_eq!(shaper.hold(9_000, Time::us(10)), us(166), "behind these");
        assert_eq!(shaper.hold(125, Time::us(100)), us(1), "what was not used is lost");
    }
}
