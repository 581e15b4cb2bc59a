//! Statistics over repetitions: means with confidence intervals, and comparisons paired by seed.

use crate::metrics::Measured;
use slotline_scenario::metric::Better;
use std::f64::consts::FRAC_2_PI;

/// The confidence level of all intervals.
pub const CONFIDENCE: f64 = 0.95;

/// Differences below this share of the baseline do not count as differences, even if they are significant.
pub const NEGLIGIBLE: f64 = 0.001;

/// A mean over repetitions.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Estimate {
    /// The mean.
    pub mean: f64,
    /// Half width of its confidence interval; `None` with a single value.
    pub half: Option<f64>,
    /// Number of values.
    pub n: usize,
}

impl Estimate {
    /// The mean of `values` with its 95 % interval (Student's t); `None` where there are none.
    pub fn of(values: &[f64]) -> Option<Estimate> {
        let n = values.len();
        let mean = values.iter().sum::<f64>() / n as f64;
        let half = (n > 1).then(|| {
            let squares: f64 = values.iter().map(|v| (v - mean) * (v - mean)).sum();
            let variance = squares / (n - 1) as f64;
            t_quantile(n as u32 - 1, CONFIDENCE) * (variance / n as f64).sqrt()
        });
        (n > 0).then_some(Estimate { mean, half, n })
    }
    /// Lower end of the interval.
    pub fn low(&self) -> Option<f64> {
        self.half.map(|half| self.mean - half)
    }
    /// Upper end of the interval.
    pub fn high(&self) -> Option<f64> {
        self.half.map(|half| self.mean + half)
    }
    /// The estimate divided by `scale`.
    pub fn over(&self, scale: f64) -> Estimate {
        Estimate { mean: self.mean / scale, half: self.half.map(|h| (h / scale).abs()), n: self.n }
    }
}

/// The verdict of a comparison.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// Better than the baseline.
    Better,
    /// Worse than the baseline.
    Worse,
    /// The interval of the difference includes zero, or the difference is [`NEGLIGIBLE`].
    NoDifference,
    /// There is a single repetition, so the difference may be chance.
    TooFew,
    /// Unfinished flows leave it undecided.
    Open,
}

impl Verdict {
    /// The verdict as text.
    pub const fn text(self) -> &'static str {
        match self {
            Verdict::Better => "better",
            Verdict::Worse => "worse",
            Verdict::NoDifference => "no significant difference",
            Verdict::TooFew => "too few repetitions",
            Verdict::Open => "undecided: unfinished flows",
        }
    }
}

/// A scheme against the baseline, on one metric.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Comparison {
    /// Scheme minus baseline, mean over seeds.
    pub difference: Estimate,
    /// The scheme's mean over the baseline's; `None` where that is zero.
    pub ratio: Option<Ratio>,
    /// The verdict.
    pub verdict: Verdict,
}

/// Whether unfinished flows make values lower bounds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Open {
    /// Values of the baseline.
    pub base: bool,
    /// Values of the scheme.
    pub scheme: bool,
}

/// The values of the baseline and of the scheme for one seed.
pub type Pair = (Measured, Measured);

impl Comparison {
    /// Compares by seed; `None` where there is no pair, or where no value of the metric is better.
    pub fn paired(pairs: &[Pair], better: Better) -> Option<Comparison> {
        let differences: Vec<f64> = pairs.iter().map(|(b, s)| s.value - b.value).collect();
        let difference = Estimate::of(&differences)?;
        let ratio = Ratio::of(pairs);
        let open = Open {
            base: pairs.iter().any(|(base, _)| base.at_least),
            scheme: pairs.iter().any(|(_, scheme)| scheme.at_least),
        };
        let verdict = judged(&difference, ratio, open, better)?;
        Some(Comparison { difference, ratio, verdict })
    }
    /// Whether scheme and baseline are equal or differ by less than [`NEGLIGIBLE`].
    pub fn is_negligible(&self) -> bool {
        self.difference.mean == 0.0 || self.ratio.is_some_and(Ratio::is_negligible)
    }
}

/// The ratio of two means.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Ratio {
    /// The ratio.
    pub value: f64,
    /// Its confidence interval; `None` with a single pair, and where chance alone could have made the
    /// denominator zero.
    pub interval: Option<(f64, f64)>,
}

impl Ratio {
    fn is_negligible(self) -> bool {
        (self.value - 1.0).abs() < NEGLIGIBLE
    }
    /// The scheme's mean over the baseline's, with Fieller's 95 % interval for pairs (Fieller, "Some
    /// problems in interval estimation", 1954): it is without 1 exactly where the interval of the mean
    /// difference is without 0.
    pub fn of(pairs: &[Pair]) -> Option<Ratio> {
        let n = pairs.len() as f64;
        let mean = |of: fn(&Pair) -> f64| pairs.iter().map(of).sum::<f64>() / n;
        let (base, scheme) = (mean(|p| p.0.value), mean(|p| p.1.value));
        let moment = |of: &dyn Fn(f64, f64) -> f64| {
            let products = pairs.iter().map(|(b, s)| of(b.value - base, s.value - scheme));
            let t = t_quantile(pairs.len() as u32 - 1, CONFIDENCE);
            t * t * products.sum::<f64>() / (n * (n - 1.0))
        };
        let interval = || {
            let a = base * base - moment(&|b, _| b * b);
            let b = base * scheme - moment(&|b, s| b * s);
            let c = scheme * scheme - moment(&|_, s| s * s);
            let root = (b * b - a * c).max(0.0).sqrt();
            (a > 0.0).then(|| ((b - root) / a, (b + root) / a))
        };
        (base != 0.0).then(|| Ratio {
            value: scheme / base,
            interval: if pairs.len() > 1 { interval() } else { None },
        })
    }
}

/// The verdict on a difference, scheme minus baseline; `None` where no value of the metric is better. `open`
/// says which values are lower bounds.
pub fn judged(
    difference: &Estimate,
    ratio: Option<Ratio>,
    open: Open,
    better: Better,
) -> Option<Verdict> {
    let negligible = ratio.is_some_and(Ratio::is_negligible);
    match verdict(difference, open, better)? {
        Verdict::Better | Verdict::Worse if negligible => Some(Verdict::NoDifference),
        other => Some(other),
    }
}

fn verdict(difference: &Estimate, open: Open, better: Better) -> Option<Verdict> {
    let half = match (better, difference.half) {
        (Better::Neither, _) => return None,
        (_, None) => return Some(Verdict::TooFew),
        (_, Some(half)) => half,
    };
    let lower = difference.mean < -half;
    let higher = difference.mean > half;
    // What is open can only grow: a lower value is sure where the scheme's is exact.
    let sure = match (lower, higher) {
        (true, _) => !open.scheme,
        (_, true) => !open.base,
        _ => !open.scheme && !open.base,
    };
    Some(match (sure, lower, higher) {
        (false, ..) => Verdict::Open,
        (_, false, false) => Verdict::NoDifference,
        (_, true, _) if better == Better::Lower => Verdict::Better,
        (_, _, true) if better == Better::Higher => Verdict::Better,
        _ => Verdict::Worse,
    })
}

/// The t for which Student's distribution with `df` degrees of freedom has `confidence` of its mass
/// between -t and t. Infinite for `df` 0.
pub fn t_quantile(df: u32, confidence: f64) -> f64 {
    if df == 0 {
        return f64::INFINITY;
    }
    let (mut low, mut high) = (0.0, 1.0);
    while t_mass(high, df) < confidence {
        high *= 2.0;
    }
    // Sixty halvings reach the last bit of any t that matters.
    for _ in 0..60 {
        let middle = (low + high) / 2.0;
        if t_mass(middle, df) < confidence { low = middle } else { high = middle }
    }
    (low + high) / 2.0
}

/// Mass of Student's distribution between -t and t: the finite series for whole degrees of freedom
/// (Abramowitz and Stegun, 26.7.3 and 26.7.4).
fn t_mass(t: f64, df: u32) -> f64 {
    let angle = libm::atan(t / f64::from(df).sqrt());
    let (sin, cos) = (libm::sin(angle), libm::cos(angle));
    let odd = df % 2 == 1;
    let mut term = if odd { cos } else { 1.0 };
    let mut series = if df == 1 { 0.0 } else { term };
    let mut k = if odd { 3 } else { 2 };
    while k < df {
        term *= cos * cos * f64::from(k - 1) / f64::from(k);
        series += term;
        k += 2;
    }
    if odd { FRAC_2_PI * (angle + sin * series) } else { sin * series }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t_quantiles_match_the_tables() {
        // Two-sided 95 %, from the usual printed tables.
        let table = [
            (1, 12.7062),
            (2, 4.3027),
            (3, 3.1824),
            (4, 2.7764),
            (5, 2.5706),
            (9, 2.2622),
            (10, 2.2281),
            (29, 2.0452),
            (30, 2.0423),
            (120, 1.9799),
            (10_000, 1.9602),
        ];
        for (df, t) in table {
            assert!((t_quantile(df, 0.95) - t).abs() < 6e-5, "df {df}: {}", t_quantile(df, 0.95));
        }
        assert!((t_quantile(4, 0.99) - 4.6041).abs() < 6e-5);
        assert!((t_quantile(7, 0.90) - 1.8946).abs() < 6e-5);
        assert!(t_quantile(0, 0.95).is_infinite());
    }

    #[test]
    fn an_interval_worked_by_hand() {
        // Mean 3, variance 2.5, standard error sqrt(0.5), t(4) 2.7764.
        let e = Estimate::of(&[1.0, 2.0, 3.0, 4.0, 5.0]);
        assert_eq!(e.map(|e| (e.mean, e.n)), Some((3.0, 5)));
        let low = e.and_then(|e| e.low());
        assert!(low.is_some_and(|low| (low - 1.0368).abs() < 1e-4), "{low:?}");
        assert_eq!(Estimate::of(&[7.0]), Some(Estimate { mean: 7.0, half: None, n: 1 }));
        assert_eq!(Estimate::of(&[]), None);
    }

    fn pairs(values: &[(f64, f64)]) -> Vec<Pair> {
        let exact = |value| Measured { value, at_least: false };
        values.iter().map(|(b, s)| (exact(*b), exact(*s))).collect()
    }
    fn judged(values: &[(f64, f64)], better: Better) -> Option<Verdict> {
        Comparison::paired(&pairs(values), better).map(|c| c.verdict)
    }

    #[test]
    fn pairing_sees_what_means_hide() {
        // Seeds differ far more than the schemes do, but the second is always one lower.
        let values = [(10.0, 9.0), (50.0, 49.1), (90.0, 88.9), (130.0, 129.0)];
        assert_eq!(judged(&values, Better::Lower), Some(Verdict::Better));
        assert_eq!(judged(&values, Better::Higher), Some(Verdict::Worse));
        assert_eq!(judged(&values, Better::Neither), None);
        let ratio = Ratio::of(&pairs(&values)).map(|r| r.value);
        assert!(ratio.is_some_and(|r| (r - 69.0 / 70.0).abs() < 1e-12));
    }

    #[test]
    fn the_interval_of_a_ratio_agrees_with_that_of_the_difference() {
        // What is always half is half for sure, however much the baseline varies.
        let half = Ratio::of(&pairs(&[(100.0, 50.0), (110.0, 55.0), (90.0, 45.0)]));
        let near = |a: f64, b: f64| (a - b).abs() < 1e-6;
        let edges = half.and_then(|r| r.interval);
        assert!(edges.is_some_and(|(low, high)| near(low, 0.5) && near(high, 0.5)), "{half:?}");
        assert_eq!(Ratio::of(&pairs(&[(0.0, 1.0), (0.0, 2.0)])), None);
        assert_eq!(Ratio::of(&pairs(&[(2.0, 1.0)])).map(|r| r.interval), Some(None));
        let mut rng = 1u64;
        let mut draw = || {
            rng = rng.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (rng >> 40) as f64 / 16_777_216.0
        };
        let mut seen = [0; 2];
        for case in 0..2_000 {
            let shift = f64::from(case % 20) * 0.02;
            let values: Vec<_> = (0..5).map(|_| (5.0 + draw(), 5.0 + draw() + shift)).collect();
            let pairs = pairs(&values);
            let Some(Comparison { difference, ratio: Some(ratio), .. }) =
                Comparison::paired(&pairs, Better::Lower)
            else {
                panic!("{values:?}")
            };
            let significant = difference.mean.abs() > difference.half.unwrap();
            let (low, high) = ratio.interval.unwrap();
            assert!(low <= ratio.value && ratio.value <= high);
            assert_eq!(significant, low > 1.0 || high < 1.0, "{values:?}");
            seen[usize::from(significant)] += 1;
        }
        assert!(seen[0] > 100 && seen[1] > 100, "{seen:?}");
    }

    #[test]
    fn chance_is_called_chance() {
        let values = [(10.0, 9.0), (10.0, 11.0), (10.0, 10.5), (10.0, 9.4)];
        assert_eq!(judged(&values, Better::Lower), Some(Verdict::NoDifference));
        assert_eq!(judged(&[(10.0, 1.0)], Better::Lower), Some(Verdict::TooFew));
        assert_eq!(judged(&[], Better::Lower), None);
        assert_eq!(judged(&[(5.0, 5.0), (5.0, 5.0)], Better::Lower), Some(Verdict::NoDifference));
        assert_eq!(judged(&[(5.0, 4.0), (5.0, 4.0)], Better::Lower), Some(Verdict::Better));
    }

    #[test]
    fn what_is_negligible_is_no_difference() {
        let around = |factor: f64| [(100.0, 100.0 * factor); 3];
        let lower = |factor| judged(&around(factor), Better::Lower);
        assert_eq!(lower(0.9991), Some(Verdict::NoDifference));
        assert_eq!(lower(0.9989), Some(Verdict::Better));
        assert_eq!(lower(1.0009), Some(Verdict::NoDifference));
        assert_eq!(lower(1.0011), Some(Verdict::Worse));
    }

    #[test]
    fn unfinished_flows_leave_open_only_what_they_decide() {
        let mut open_scheme = pairs(&[(10.0, 5.0), (10.0, 5.1)]);
        open_scheme[0].1.at_least = true;
        let verdict = |p: &[Pair]| Comparison::paired(p, Better::Lower).map(|c| c.verdict);
        assert_eq!(verdict(&open_scheme), Some(Verdict::Open));
        let mut open_base = pairs(&[(10.0, 5.0), (10.0, 5.1)]);
        open_base[0].0.at_least = true;
        assert_eq!(verdict(&open_base), Some(Verdict::Better));
        open_base[0].1.value = 15.0;
        open_base[1].1.value = 15.1;
        assert_eq!(verdict(&open_base), Some(Verdict::Open));
    }
}
