//! How late events of an emulation were, which shows how far its results can be trusted.

use slotline_net::histogram::Histogram;
use std::time::Duration;

/// The lateness of events in real time.
#[derive(Clone, Default, Debug)]
pub struct Lateness {
    nanoseconds: Histogram,
    most: u64,
    sum: u128,
}

impl Lateness {
    /// Counts an event that was late by `late`.
    pub fn add(&mut self, late: Duration) {
        let ns = u64::try_from(late.as_nanos()).unwrap_or(u64::MAX);
        self.nanoseconds.add(ns);
        self.most = self.most.max(ns);
        self.sum += u128::from(ns);
    }
    /// The number of events that were counted.
    pub fn events(&self) -> u64 {
        self.nanoseconds.total()
    }
    /// The lateness that `thousandths` of all events do not exceed.
    pub fn per_mille(&self, thousandths: u64) -> Duration {
        Duration::from_nanos(self.nanoseconds.per_mille(thousandths).unwrap_or_default())
    }
    /// The greatest lateness.
    pub fn most(&self) -> Duration {
        Duration::from_nanos(self.most)
    }
    /// The mean lateness.
    pub fn mean(&self) -> Duration {
        let events = u128::from(self.events().max(1));
        Duration::from_nanos(u64::try_from(self.sum / events).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_of_lateness() {
        let mut late = Lateness::default();
        (1..=1_000).for_each(|us| late.add(Duration::from_micros(us)));
        assert_eq!(late.most(), Duration::from_millis(1));
        assert_eq!(late.mean(), Duration::from_nanos(500_500));
        let near = |per_mille, us: f64| {
            let ratio = late.per_mille(per_mille).as_secs_f64() * 1e6 / us;
            assert!((ratio - 1.0).abs() < 0.01, "{per_mille}: {ratio}");
        };
        near(500, 500.0);
        near(999, 999.0);
    }
}
