//! Reduces the number of points of a figure: quantiles stay exact, and peaks stay visible.

/// The largest number of points of a distribution.
const POINTS: usize = 1_000;
/// The number of values at each end that are all shown.
const ENDS: usize = 100;
/// The number of points between the ends at equal distances.
const EVEN: usize = 600;
/// The number of points with decreasing distances to the upper end, for the tail on a logarithmic axis.
const TAIL: usize = POINTS - EVEN - 2 * ENDS;

/// The ranks that are shown of `n` values in ascending order: all, or at most `POINTS` including the `ENDS` lowest and
/// the `ENDS` highest.
pub fn ranks(n: usize) -> Vec<usize> {
    if n <= POINTS {
        return (0..n).collect();
    }
    let inner = n - 2 * ENDS;
    let even = (0..EVEN).map(|i| ENDS + i * inner / EVEN);
    // Distances from the end: from ENDS to a tenth of all values, in geometric progression.
    let reach = (n as f64 / 10.0 / ENDS as f64).max(1.0);
    let tail = (0..TAIL).map(|i| {
        let distance = ENDS as f64 * reach.powf(i as f64 / TAIL as f64);
        n - 1 - (distance as usize).min(n - 1)
    });
    let mut all: Vec<usize> = (0..ENDS).chain(even).chain(tail).chain(n - ENDS..n).collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// Whether [`ranks`] omits values.
pub fn is_thinned(n: usize) -> bool {
    n > POINTS
}

/// The part of a caption about omitted points, if the longest line has `most` values.
pub fn note(most: usize) -> String {
    if !is_thinned(most) {
        return String::new();
    }
    format!(
        " Each line shows at most 1,000 of its values, with all of the {ENDS} lowest and {ENDS} highest."
    )
}

/// A value of a quantity over time: the mean of a span.
pub struct Moment {
    /// The middle of the span, in seconds.
    pub at: f64,
    /// The weight in means.
    pub weight: f64,
    /// The value.
    pub value: f64,
}

/// A quantity over time, reduced to few points.
#[derive(Default)]
pub struct Envelope {
    /// The middle of each interval, in seconds.
    pub at: Vec<f64>,
    /// The weighted mean in each interval.
    pub mean: Vec<f64>,
    /// The smallest value in each interval.
    pub low: Vec<f64>,
    /// The largest value in each interval.
    pub high: Vec<f64>,
    /// The number of values in an interval; 1 if nothing was summed up.
    pub each: usize,
}

/// The number of intervals of a quantity over time.
const INTERVALS: usize = 300;

/// At most `INTERVALS` groups of neighbouring values, each with its mean and extremes.
pub fn envelope(moments: &[Moment]) -> Envelope {
    let each = moments.len().div_ceil(INTERVALS).max(1);
    let mut out = Envelope { each, ..Envelope::default() };
    for run in moments.chunks(each) {
        let weight: f64 = run.iter().map(|m| m.weight).sum();
        out.at.push(run.iter().map(|m| m.at * m.weight).sum::<f64>() / weight);
        out.mean.push(run.iter().map(|m| m.value * m.weight).sum::<f64>() / weight);
        if each > 1 {
            out.low.push(run.iter().map(|m| m.value).fold(f64::INFINITY, f64::min));
            out.high.push(run.iter().map(|m| m.value).fold(f64::NEG_INFINITY, f64::max));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_values_are_all_shown() {
        assert_eq!(ranks(0), [0usize; 0]);
        assert_eq!(ranks(1_000), (0..1_000).collect::<Vec<_>>());
    }

    #[test]
    fn many_values_leave_both_ends_whole() {
        for n in [1_001, 1_500, 5_000, 1_000_000, 40_000_000] {
            let ranks_left = ranks(n);
            assert!(
                ranks_left.len() <= POINTS && ranks_left.len() > 700,
                "{n}: {}",
                ranks_left.len()
            );
            assert!(
                ranks_left.is_sorted_by(|a, b| a < b) && ranks_left[ranks_left.len() - 1] == n - 1
            );
            assert_eq!(ranks_left[..ENDS], (0..ENDS).collect::<Vec<_>>());
            assert_eq!(ranks_left[ranks_left.len() - ENDS..], (n - ENDS..n).collect::<Vec<_>>());
            let widest = ranks_left.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap();
            assert!(widest <= n / EVEN + 1, "{n}: a gap of {widest}");
        }
    }

    #[test]
    fn peaks_and_means_survive() {
        let value = |i: usize| if i == 7_777 { 99.0 } else { (i % 10) as f64 };
        let moment = |i: usize| Moment { at: i as f64, weight: 1.0, value: value(i) };
        let all: Vec<Moment> = (0..10_200).map(moment).collect();
        let thin = envelope(&all);
        assert!(thin.at.len() <= INTERVALS && thin.each == 34);
        assert_eq!(thin.high.iter().copied().fold(0.0, f64::max), 99.0);
        assert!(thin.low.iter().all(|low| *low == 0.0));
        let mean = thin.mean.iter().sum::<f64>() / thin.mean.len() as f64;
        assert!((mean - all.iter().map(|m| m.value).sum::<f64>() / 10_200.0).abs() < 1e-9);
        assert!(envelope(&all[..100]).low.is_empty());
    }

    #[test]
    fn means_are_weighted_by_time() {
        let moments = [(0.5, 1.0, 8.0), (2.5, 3.0, 0.0)];
        let of = |(at, weight, value): (f64, f64, f64)| Moment { at, weight, value };
        let many: Vec<Moment> = (0..500).flat_map(|_| moments.map(of)).collect();
        assert!(envelope(&many).mean.iter().all(|mean| *mean == 2.0));
    }
}
