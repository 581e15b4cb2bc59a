//! Round-trip time estimation and the retransmission time-out (RFC 6298).

use crate::time::Time;

/// Smoothed round-trip time, its variation, and the time-out, in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub struct Rtt {
    smoothed: u32,
    variation: u32,
    backoff: u32,
}

/// Limits of the time-out.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The smallest time-out.
    pub min: Time,
    /// The largest time-out, including back-off.
    pub max: Time,
}

impl Rtt {
    /// A state without samples.
    pub const fn new() -> Rtt {
        Rtt { smoothed: 0, variation: 0, backoff: 0 }
    }

    /// A new sample (§2.2, §2.3): gains 1/8 and 1/4. Ends any back-off.
    #[inline]
    pub fn sample(&mut self, nanoseconds: u32) {
        let sample = nanoseconds.max(1);
        self.backoff = 0;
        if self.smoothed == 0 {
            self.smoothed = sample;
            self.variation = sample / 2;
            return;
        }
        let error = self.smoothed.abs_diff(sample);
        self.variation = self.variation - self.variation / 4 + error / 4;
        self.smoothed = self.smoothed - self.smoothed / 8 + sample / 8;
    }

    /// The smoothed round-trip time; zero before the first sample.
    pub fn smoothed(&self) -> Time {
        Time::ns(u64::from(self.smoothed))
    }

    /// The present time-out: SRTT + max(4·RTTVAR, minimum) as in Linux, doubled per back-off. Before the first sample
    /// it is the minimum, as after a handshake on an idle network.
    #[inline]
    pub fn timeout(&self, limits: &Limits) -> Time {
        let spread = Time::ns(4 * u64::from(self.variation)).max(limits.min);
        let base = Time::ns(u64::from(self.smoothed)).after(spread);
        base.times(1 << self.backoff.min(31)).min(limits.max)
    }

    /// Ends any back-off, because a segment was acknowledged.
    pub fn end_back_off(&mut self) {
        self.backoff = 0;
    }

    /// The timer expired: the next time-out is twice as long (§5.5).
    pub fn back_off(&mut self) {
        self.backoff += 1;
    }
}

impl Default for Rtt {
    fn default() -> Rtt {
        Rtt::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits { min: Time::ms(10), max: Time::s(60) };

    #[test]
    fn follows_the_recursion() {
        let mut rtt = Rtt::new();
        assert_eq!(rtt.timeout(&LIMITS), Time::ms(10));
        rtt.sample(80_000_000);
        assert_eq!(rtt.smoothed(), Time::ms(80));
        assert_eq!(rtt.timeout(&LIMITS), Time::ms(80 + 4 * 40));
        rtt.sample(160_000_000);
        assert_eq!(rtt.smoothed(), Time::ms(90));
        assert_eq!(rtt.timeout(&LIMITS), Time::ms(90 + 4 * 50));
    }

    #[test]
    fn backs_off_to_the_maximum_and_recovers() {
        let mut rtt = Rtt::new();
        (0..40).for_each(|_| rtt.back_off());
        assert_eq!(rtt.timeout(&LIMITS), Time::s(60));
        rtt.sample(1_000);
        assert!(rtt.timeout(&LIMITS) < Time::ms(11));
    }
}
