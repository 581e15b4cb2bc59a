//! The accuracy of estimates: their differences from the real queues.

use crate::id::PortId;
use crate::node::{Counters, counters};
use crate::time::Time;

/// The virtual and the real queue that a packet finds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Estimate {
    /// The time of the packet.
    pub at: Time,
    /// The number of the table of virtual queues at its switch.
    pub table: u16,
    /// The port of the switch.
    pub port: PortId,
    /// Bytes in the virtual queue.
    pub estimate: u64,
    /// Bytes that the port has not yet sent.
    pub real: u64,
}

impl Estimate {
    /// The difference between the two, in bytes.
    pub fn error(&self) -> u64 {
        self.estimate.abs_diff(self.real)
    }
}

/// Statistics of all comparisons, and samples of them.
#[derive(Clone, Debug)]
pub struct Accuracy {
    mtu: u64,
    /// By error in eighths of the largest packet, rounded up. The last entry counts all larger errors.
    histogram: Vec<u64>,
    sum: u64,
    worst: u64,
    every: Time,
    /// By table: the earliest time of the next sample.
    next: Vec<Time>,
    samples: Vec<Estimate>,
}

/// Steps of the histogram per packet.
const STEPS: u64 = 8;
/// The largest error in the histogram, in packets.
const PACKETS: u64 = 128;
/// The most samples of one switch.
const MOST_SAMPLES: usize = 1_000_000;

impl Accuracy {
    /// A state without comparisons. `every` is the shortest time between two samples of one table; zero for no samples.
    pub fn new(mtu: u64, every: Time, tables: usize) -> Accuracy {
        Accuracy {
            mtu,
            histogram: vec![0; (STEPS * PACKETS) as usize + 2],
            sum: 0,
            worst: 0,
            every,
            next: vec![Time::ZERO; tables],
            samples: Vec::new(),
        }
    }

    /// Adds a comparison.
    pub fn compare(&mut self, estimate: Estimate) {
        let error = estimate.error();
        let last = self.histogram.len() - 1;
        let step = (error * STEPS).div_ceil(self.mtu.max(1)) as usize;
        self.histogram[step.min(last)] += 1;
        self.sum += error;
        self.worst = self.worst.max(error);
        let next = &mut self.next[usize::from(estimate.table)];
        let wanted = self.every > Time::ZERO && estimate.at >= *next;
        if wanted && self.samples.len() < MOST_SAMPLES {
            *next = estimate.at + self.every;
            self.samples.push(estimate);
        }
    }

    /// The number of comparisons.
    pub fn count(&self) -> u64 {
        self.histogram.iter().sum()
    }

    /// The number of estimates with an error of at most `packets` packets of the largest size.
    pub fn within(&self, packets: u64) -> u64 {
        self.histogram.iter().take((packets * STEPS) as usize + 1).sum()
    }

    /// The largest error, in bytes.
    pub fn worst(&self) -> u64 {
        self.worst
    }

    /// The distribution of the errors, in steps of an eighth of the largest packet: an error in bytes, and the share of
    /// estimates with at most this error.
    pub fn distribution(&self) -> impl Iterator<Item = (f64, f64)> {
        let all = self.count().max(1) as f64;
        let below = self.histogram.iter().scan(0, |sum, count| {
            *sum += count;
            Some(*sum)
        });
        let bytes = move |step: usize| step as f64 * self.mtu as f64 / STEPS as f64;
        below.enumerate().map(move |(step, sum)| (bytes(step), sum as f64 / all))
    }

    /// The samples of estimates, in time order.
    pub fn samples(&self) -> &[Estimate] {
        &self.samples
    }

    /// Adds the counters of the comparisons.
    pub fn add_counters(&self, counters: &mut Counters) {
        counters.add(counters::BUMP_ESTIMATES, self.count());
        counters.add(counters::BUMP_WITHIN_1_MTU, self.within(1));
        counters.add(counters::BUMP_WITHIN_2_MTU, self.within(2));
        counters.add(counters::BUMP_WITHIN_3_MTU, self.within(3));
        counters.add(counters::BUMP_ERROR_BYTES, self.sum);
        counters.add(counters::BUMP_ERROR_MOST, self.worst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_counted_by_packets_and_some_are_sampled() {
        let mut accuracy = Accuracy::new(1_600, Time::us(10), 1);
        for (n, error) in [0u64, 1_600, 1_601, 3_200, 4_800, 4_801, 9_999_999].iter().enumerate() {
            let at = Time::us(5 * n as u64);
            let (estimate, real) = if n % 2 == 0 { (10, 10 + error) } else { (10 + error, 10) };
            accuracy.compare(Estimate { at, table: 0, port: PortId(0), estimate, real });
        }
        assert_eq!(accuracy.count(), 7);
        assert_eq!([1, 2, 3].map(|n| accuracy.within(n)), [2, 4, 5]);
        assert_eq!(accuracy.worst(), 9_999_999);
        assert_eq!(accuracy.samples().len(), 4);
        let distribution: Vec<_> = accuracy.distribution().collect();
        assert_eq!(distribution[0], (0.0, 1.0 / 7.0));
        assert_eq!(distribution[8], (1_600.0, 2.0 / 7.0));
        assert_eq!(distribution.last().map(|last| last.1), Some(1.0));
    }
}
