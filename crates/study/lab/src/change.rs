//! Compares the values of one metric in an old and a new result, and decides whether there is a regression.
//!
//! With the same seeds on both sides, values are compared seed by seed. Otherwise the means are compared with
//! Welch's interval. Where all values are above zero, their logarithms are compared, which gives the interval of
//! new over old. Source: Welch, "The generalization of 'Student's' problem when several different population
//! variances are involved", 1947; its degrees of freedom are rounded down.
//!
//! A *regression beyond the tolerance* is a change for the worse that is sure to exceed it: the whole 95 %
//! interval of new over old lies beyond `1 + tolerance` (or `1 - tolerance` where higher is better). With a
//! single value on a side there is no interval, and the means themselves are compared. A metric that depends on
//! unfinished flows is judged only where they cannot change the answer. Unfinished flows are always a regression
//! if all flows finished before.

use crate::metrics::Measured;
use crate::statistics::{
    ANY, CONFIDENCE, Comparison, Estimate, NEGLIGIBLE, Open, Ratio, Variances, judged, log_ratio,
    t_quantile,
};
use slotline_scenario::metric::{Better, Metric};

/// How values were compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pairing {
    /// Seed by seed.
    BySeed,
    /// As two independent samples.
    Independent,
}

/// One side of a change.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Side {
    /// Mean over seeds.
    pub estimate: Estimate,
    /// Whether it is a lower bound because of unfinished flows.
    pub at_least: bool,
}

/// The change of one metric from the old result to the new one.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Change {
    /// The old result.
    pub old: Side,
    /// The new result.
    pub new: Side,
    /// The comparison of new with old; `None` for a metric that has no better direction.
    pub comparison: Option<Comparison>,
    /// Whether it is a regression beyond the tolerance.
    pub regression: bool,
}

/// The values of one scheme on one metric, by seed.
pub type Values = [(u64, Measured)];

impl Side {
    fn of(values: &Values, possible: (f64, f64)) -> Option<Side> {
        let numbers: Vec<f64> = values.iter().map(|(_, m)| m.value).collect();
        let at_least = values.iter().any(|(_, m)| m.at_least);
        Some(Side { estimate: Estimate::of(&numbers)?.within(possible), at_least })
    }
}

impl Change {
    /// Compares `new` with `old`; `None` where a side has no value.
    pub fn of(metric: Metric, old: &Values, new: &Values, tolerance: f64) -> Option<Change> {
        let moments = Moments::of(old, new)?;
        let logs = logarithms(old).zip(logarithms(new));
        let logs = logs.and_then(|(old, new)| Moments::of(&old, &new));
        let (before, after) =
            (Side::of(old, metric.possible())?, Side::of(new, metric.possible())?);
        let open = Open { base: before.at_least, scheme: after.at_least };
        let comparison = moments.comparison(logs, open, metric.better());
        let lost = matches!(metric, Metric::Unfinished | Metric::NotStarted)
            && before.estimate.mean == 0.0
            && after.estimate.mean > 0.0;
        let factor = factor(tolerance, metric.better());
        let excess = match logs {
            Some(logs) => logs.shifted(libm::log(factor)),
            None => moments.excess(factor),
        };
        let beyond = worse_beyond(excess, metric.better(), open);
        let regression = comparison.is_some() && (lost || beyond);
        Some(Change { old: before, new: after, comparison, regression })
    }
}

/// How `old` and `new` are compared.
pub fn pairing(old: &Values, new: &Values) -> Pairing {
    let same = old.len() == new.len() && old.iter().zip(new).all(|((a, _), (b, _))| a == b);
    if same { Pairing::BySeed } else { Pairing::Independent }
}

/// The means of two samples, and their variances.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Moments {
    old: f64,
    new: f64,
    /// The number of values of the side with fewer values.
    n: usize,
    /// `None` if a side has a single value.
    spread: Option<Spread>,
}

#[derive(Clone, Copy, PartialEq, Debug)]
struct Spread {
    /// Variance of the old mean.
    old: f64,
    /// Variance of the new mean.
    new: f64,
    /// Their covariance.
    both: f64,
    /// Student's t for the degrees of freedom.
    t: f64,
}

impl Moments {
    fn of(old: &Values, new: &Values) -> Option<Moments> {
        let (a, b): (Vec<f64>, Vec<f64>) = (numbers(old), numbers(new));
        let n = a.len().min(b.len());
        let spread = || match pairing(old, new) {
            Pairing::BySeed => Spread::paired(&a, &b),
            Pairing::Independent => Spread::welch(&a, &b),
        };
        let spread = if n > 1 { Some(spread()) } else { None };
        (n > 0).then(|| Moments { old: mean(&a), new: mean(&b), n, spread })
    }
    /// New minus `factor` times old.
    fn excess(&self, factor: f64) -> Estimate {
        let half = |s: Spread| {
            let variance = s.new + factor * (factor * s.old - 2.0 * s.both);
            s.t * variance.max(0.0).sqrt()
        };
        let mean = self.new - factor * self.old;
        Estimate { mean, half: self.spread.map(half), n: self.n, possible: ANY }
    }
    /// The ratio of the means with Fieller's interval, where the logarithms of the values are not known.
    fn ratio(&self) -> Option<Ratio> {
        let interval = |s: Spread| {
            let variances = Variances { base: s.old, scheme: s.new, both: s.both };
            Ratio::fieller(self.old, self.new, variances, s.t)
        };
        let value = self.new / self.old;
        (self.old != 0.0).then(|| Ratio { value, interval: self.spread.and_then(interval) })
    }
    /// New minus old, less `shift`.
    fn shifted(&self, shift: f64) -> Estimate {
        let difference = self.excess(1.0);
        Estimate { mean: difference.mean - shift, ..difference }
    }
    /// The comparison; `logs` are the moments of the logarithms of the values.
    fn comparison(&self, logs: Option<Moments>, open: Open, better: Better) -> Option<Comparison> {
        let ratio = match logs {
            Some(logs) => Some(Ratio::of_logarithm(&logs.excess(1.0))),
            None => self.ratio(),
        };
        let difference = self.excess(1.0);
        let verdict = judged(&difference, ratio, open, better)?;
        Some(Comparison { difference, ratio, verdict })
    }
}

/// The ratio of new to old at which a change exceeds `tolerance`, a share of old.
fn factor(tolerance: f64, better: Better) -> f64 {
    let tolerance = tolerance.max(NEGLIGIBLE);
    if better == Better::Higher { (1.0 - tolerance).max(0.0) } else { 1.0 + tolerance }
}

/// Whether `excess`, new minus the tolerated multiple of old, is surely a change for the worse. Lower bounds can only
/// grow.
fn worse_beyond(excess: Estimate, better: Better, open: Open) -> bool {
    let half = excess.half.unwrap_or(0.0);
    match better {
        Better::Lower => !open.base && excess.mean > half,
        Better::Higher => !open.scheme && -excess.mean > half,
        Better::Neither => false,
    }
}

/// The logarithms of `values`; `None` if one of them is not above zero.
fn logarithms(values: &Values) -> Option<Vec<(u64, Measured)>> {
    let one = |(seed, measured): &(u64, Measured)| {
        Some((*seed, Measured { value: log_ratio(1.0, measured.value)?, ..*measured }))
    };
    values.iter().map(one).collect()
}

impl Spread {
    fn paired(old: &[f64], new: &[f64]) -> Spread {
        let n = old.len() as f64;
        let (a, b) = (mean(old), mean(new));
        let products = old.iter().zip(new).map(|(x, y)| (x - a) * (y - b));
        Spread {
            old: variance_of_mean(old),
            new: variance_of_mean(new),
            both: products.sum::<f64>() / (n * (n - 1.0)),
            t: t_quantile(old.len() as u32 - 1, CONFIDENCE),
        }
    }
    fn welch(old: &[f64], new: &[f64]) -> Spread {
        let (a, b) = (variance_of_mean(old), variance_of_mean(new));
        let t = t_quantile(welch_df(a, old.len(), b, new.len()), CONFIDENCE);
        Spread { old: a, new: b, both: 0.0, t }
    }
}

/// Degrees of freedom of the difference of two means with variances `a` and `b`, of `m` and `n` values (Welch and
/// Satterthwaite), rounded down. If both variances are zero, the degrees of freedom for equal variances.
fn welch_df(a: f64, m: usize, b: f64, n: usize) -> u32 {
    let (m, n) = (m as f64 - 1.0, n as f64 - 1.0);
    let df = (a + b) * (a + b) / (a * a / m + b * b / n);
    if df.is_finite() { (df + 1e-9) as u32 } else { (m + n) as u32 }
}

fn numbers(values: &Values) -> Vec<f64> {
    values.iter().map(|(_, m)| m.value).collect()
}
fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}
fn variance_of_mean(values: &[f64]) -> f64 {
    let (n, mean) = (values.len() as f64, mean(values));
    values.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / (n * (n - 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::Verdict;

    fn values(first: u64, values: &[f64]) -> Vec<(u64, Measured)> {
        let exact = |value: &f64| Measured { value: *value, at_least: false };
        (first..).zip(values.iter().map(exact)).collect()
    }
    fn near(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-4 * b.abs().max(1e-3)
    }

    /// Two samples whose means, degrees of freedom and interval (Welch) were computed by another program.
    const OLD: [f64; 6] = [20.1, 19.8, 21.0, 20.5, 19.9, 20.7];
    const NEW: [f64; 4] = [22.0, 23.5, 21.2, 24.1];

    #[test]
    fn welch_gives_what_was_worked_out_elsewhere() {
        let moments = Moments::of(&values(1, &OLD), &values(10, &NEW)).unwrap();
        let difference = moments.excess(1.0);
        // Computed by another program with 30 digits. The 3.52 degrees of freedom are rounded down to 3.
        let (a, b) = (variance_of_mean(&OLD), variance_of_mean(&NEW));
        assert!(near(a, WELCH.0) && near(b, WELCH.1), "{a} {b}");
        assert_eq!(welch_df(a, 6, b, 4), WELCH.2);
        assert!(near(difference.mean, WELCH.3), "{difference:?}");
        assert!(near(difference.half.unwrap(), WELCH.4), "{difference:?}");
    }
    const WELCH: (f64, f64, u32, f64, f64) =
        (0.037777778, 0.445000000, 3, 2.366666667, 2.211234087);

    #[test]
    fn pairs_give_what_comparisons_give() {
        let (old, new) = ([100.0, 140.0, 180.0, 220.0], [99.0, 139.1, 178.9, 219.0]);
        let change = Change::of(Metric::FctMean, &values(1, &old), &values(1, &new), 0.05).unwrap();
        let exact = |value| Measured { value, at_least: false };
        let pairs: Vec<_> = old.iter().zip(new).map(|(a, b)| (exact(*a), exact(b))).collect();
        let expected = Comparison::paired(&pairs, Better::Lower).unwrap();
        let got = change.comparison.unwrap();
        assert!(near(got.difference.half.unwrap(), expected.difference.half.unwrap()));
        let (got_edges, edges) = (got.ratio.unwrap().interval, expected.ratio.unwrap().interval);
        assert!(near(got_edges.unwrap().0, edges.unwrap().0));
        assert!(near(got_edges.unwrap().1, edges.unwrap().1));
        assert_eq!((got.verdict, change.regression), (Verdict::Better, false));
        // As independent samples, the same numbers show no difference.
        let independent =
            Change::of(Metric::FctMean, &values(1, &old), &values(9, &new), 0.05).unwrap();
        assert_eq!(independent.comparison.map(|c| c.verdict), Some(Verdict::NoDifference));
    }

    fn regresses(metric: Metric, old: &[f64], new: &[f64], tolerance: f64) -> bool {
        Change::of(metric, &values(1, old), &values(1, new), tolerance).unwrap().regression
    }

    #[test]
    fn a_regression_is_sure_to_exceed_the_tolerance() {
        use Metric::{FctMean, Goodput, Marks};
        let old = [100.0, 101.0, 99.0];
        assert!(regresses(FctMean, &old, &[110.0, 111.0, 109.0], 0.05));
        assert!(!regresses(FctMean, &old, &[110.0, 111.0, 109.0], 0.15));
        // Surely worse, by 6 % on average, but not surely by more than 5 %.
        let wide = [104.0, 107.0, 107.0];
        assert!(!regresses(FctMean, &old, &wide, 0.05) && regresses(FctMean, &old, &wide, 0.0));
        assert!(!regresses(FctMean, &old, &[90.0, 91.0, 89.0], 0.05));
        assert!(!regresses(Goodput, &old, &[110.0, 111.0, 109.0], 0.05));
        assert!(regresses(Goodput, &old, &[90.0, 91.0, 89.0], 0.05));
        assert!(!regresses(Marks, &old, &[500.0, 501.0, 499.0], 0.05));
        // A negligible difference.
        assert!(!regresses(FctMean, &[100.0; 3], &[100.05; 3], 0.0));
        // None before, some now: a share of zero tolerates nothing.
        assert!(regresses(Metric::Drops, &[0.0; 3], &[5.0, 6.0, 7.0], 0.05));
        assert!(!regresses(Metric::Drops, &[0.0; 3], &[0.0, 0.0, 1.0], 0.05));
    }

    #[test]
    fn the_decision_is_that_of_the_interval_shown() {
        let mut rng = 3u64;
        let mut draw = || {
            rng = rng.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (rng >> 40) as f64 / 16_777_216.0
        };
        let mut seen = [0; 2];
        for case in 0..2_000u32 {
            let shift = f64::from(case % 20) * 0.05;
            let old: Vec<f64> = (0..4).map(|_| 5.0 + draw()).collect();
            let new: Vec<f64> = (0..5).map(|_| 5.0 + draw() + shift).collect();
            let seeds = if case % 2 == 0 { 1 } else { 9 };
            let new = if seeds == 1 { &new[..4] } else { &new[..] };
            let change = Change::of(Metric::FctMean, &values(1, &old), &values(seeds, new), 0.05);
            let change = change.unwrap();
            let (low, _) = change.comparison.unwrap().ratio.unwrap().interval.unwrap();
            assert_eq!(change.regression, low > 1.05, "{old:?} {new:?}");
            seen[usize::from(change.regression)] += 1;
        }
        assert!(seen[0] > 100 && seen[1] > 100, "{seen:?}");
    }

    #[test]
    fn a_single_seed_is_compared_plainly() {
        assert!(regresses(Metric::FctMean, &[100.0], &[106.0], 0.05));
        assert!(!regresses(Metric::FctMean, &[100.0], &[104.0], 0.05));
        let one = Change::of(Metric::FctMean, &values(1, &[100.0]), &values(1, &[106.0]), 0.05);
        assert_eq!(one.unwrap().comparison.map(|c| c.verdict), Some(Verdict::TooFew));
        assert!(Change::of(Metric::FctMean, &values(1, &[]), &values(1, &[1.0]), 0.05).is_none());
    }

    #[test]
    fn bounds_are_no_measurements() {
        let open = |numbers: &[f64]| {
            let mut values = values(1, numbers);
            values[0].1.at_least = true;
            values
        };
        let (low, high) = ([100.0, 100.0, 100.0], [150.0, 150.0, 150.0]);
        let judge = |old: &Values, new: &Values| {
            let change = Change::of(Metric::FctMean, old, new, 0.05).unwrap();
            (change.comparison.map(|c| c.verdict), change.regression)
        };
        // A larger new value stays larger if it is a lower bound. If the old value is a lower bound, the verdict is
        // open.
        assert_eq!(judge(&values(1, &low), &open(&high)), (Some(Verdict::Worse), true));
        assert_eq!(judge(&open(&low), &values(1, &high)), (Some(Verdict::Open), false));
        assert_eq!(judge(&values(1, &high), &open(&low)), (Some(Verdict::Open), false));
        assert_eq!(judge(&open(&high), &values(1, &low)), (Some(Verdict::Better), false));
    }

    #[test]
    fn flows_that_no_longer_finish_are_a_regression_in_themselves() {
        assert!(regresses(Metric::Unfinished, &[0.0, 0.0, 0.0], &[0.0, 0.0, 1.0], 0.5));
        assert!(!regresses(Metric::Unfinished, &[3.0, 5.0, 4.0], &[4.0, 4.0, 5.0], 0.05));
    }
}
