//! A histogram of values with a relative error of at most 1/128.

/// Counts of values from 0 on. Values below 256 are exact. Larger values are counted by their eight leading bits; each
/// is returned as the middle of the range with these bits.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Histogram {
    counts: Vec<u64>,
    total: u64,
}

const SUB: u32 = 7;

impl Histogram {
    /// Counts `value` once.
    #[inline]
    pub fn add(&mut self, value: u64) {
        let bucket = bucket(value);
        if bucket >= self.counts.len() {
            self.counts.resize(bucket + 1, 0);
        }
        self.counts[bucket] += 1;
        self.total += 1;
    }

    /// Adds all counts of `other`.
    pub fn merge(&mut self, other: &Histogram) {
        if other.counts.len() > self.counts.len() {
            self.counts.resize(other.counts.len(), 0);
        }
        self.counts.iter_mut().zip(&other.counts).for_each(|(mine, other)| *mine += other);
        self.total += other.total;
    }

    /// How many values were counted.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// The value that `percent` % of all values do not exceed (nearest rank); `None` if nothing was counted.
    pub fn percentile(&self, percent: u64) -> Option<u64> {
        self.per_mille(percent * 10)
    }

    /// The value that `thousandths` ‰ of all values do not exceed (nearest rank); `None` if nothing was counted.
    pub fn per_mille(&self, thousandths: u64) -> Option<u64> {
        let rank = (self.total * thousandths).div_ceil(1_000).max(1);
        let mut below = 0;
        let found = self.counts.iter().position(|count| {
            below += count;
            below >= rank
        });
        found.filter(|_| self.total > 0).map(middle)
    }
}

#[inline]
fn bucket(value: u64) -> usize {
    let shift = (value | 1).ilog2().saturating_sub(SUB);
    (u64::from(shift) << SUB) as usize + (value >> shift) as usize
}

/// The middle of a bucket.
fn middle(bucket: usize) -> u64 {
    let bucket = bucket as u64;
    let shift = (bucket >> SUB).saturating_sub(1);
    let lead = bucket - (shift << SUB);
    (lead << shift) + ((1 << shift) >> 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn small_values_are_exact() {
        let mut histogram = Histogram::default();
        (0..=200).for_each(|value| histogram.add(value));
        assert_eq!(histogram.percentile(50), Some(100));
        assert_eq!(histogram.percentile(100), Some(200));
        assert_eq!(Histogram::default().percentile(50), None);
    }

    proptest! {
        #[test]
        fn percentiles_are_near_those_of_a_sorted_list(
            values in prop::collection::vec(0u64..1 << 40, 1..200), other: usize, percent in 0u64..=100
        ) {
            let (mut a, mut b) = (Histogram::default(), Histogram::default());
            for (at, value) in values.iter().enumerate() {
                if at % 3 == other % 3 { a.add(*value) } else { b.add(*value) }
            }
            a.merge(&b);
            let mut sorted = values;
            sorted.sort_unstable();
            let rank = (sorted.len() * percent as usize).div_ceil(100).max(1);
            let (want, got) = (sorted[rank - 1], a.percentile(percent).unwrap_or(u64::MAX));
            prop_assert!(got.abs_diff(want) * 128 <= want, "{got} for {want}");
            prop_assert_eq!(a.total(), sorted.len() as u64);
        }
    }
}
