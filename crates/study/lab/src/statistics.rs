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
    /// The smallest and the largest value that the mean can have. The interval ends there.
    pub possible: (f64, f64),
}

/// Any value is possible.
pub const ANY: (f64, f64) = (f64::NEG_INFINITY, f64::INFINITY);

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
        (n > 0).then_some(Estimate { mean, half, n, possible: ANY })
    }
    /// The same estimate for a mean that lies within `possible`. The interval excludes impossible values, and contains
    /// the true mean as often as before.
    pub fn within(self, possible: (f64, f64)) -> Estimate {
        Estimate { possible, ..self }
    }
    /// A mean of `n` values with the ends of its interval, as read from a file.
    pub fn read(mean: f64, ends: Option<(f64, f64)>, n: usize) -> Estimate {
        let half = ends.map(|(low, high)| (high - mean).max(mean - low));
        Estimate { mean, half, n, possible: ends.unwrap_or(ANY) }
    }
    /// Lower end of the interval.
    pub fn low(&self) -> Option<f64> {
        self.half.map(|half| (self.mean - half).max(self.possible.0))
    }
    /// Upper end of the interval.
    pub fn high(&self) -> Option<f64> {
        self.half.map(|half| (self.mean + half).min(self.possible.1))
    }
    /// The ends of the interval, if one of them is the limit of possible values.
    pub fn cut(&self) -> Option<(f64, f64)> {
        let half = self.half?;
        let (least, most) = self.possible;
        // Ends that come from a file are rounded.
        let beyond = half * 1e-9;
        let is_cut = self.mean - half < least - beyond || self.mean + half > most + beyond;
        self.low().zip(self.high()).filter(|_| is_cut)
    }
    /// The estimate divided by `scale`, which is above zero.
    pub fn over(&self, scale: f64) -> Estimate {
        Estimate {
            mean: self.mean / scale,
            half: self.half.map(|half| half / scale),
            possible: (self.possible.0 / scale, self.possible.1 / scale),
            n: self.n,
        }
    }
}

/// The verdict of a comparison.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// Better than the baseline.
    Better,
    /// Worse than the baseline.
    Worse,
    /// The interval of the ratio includes one, or the difference is [`NEGLIGIBLE`].
    NoDifference,
    /// There is a single repetition, so the difference may be chance.
    TooFew,
    /// Unfinished flows leave it undecided.
    Open,
    /// The scheme, or the baseline, has a central scheduler that never acted.
    Idle,
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
            Verdict::Idle => "no verdict: the scheduler never acted",
        }
    }
}

/// A scheme against the baseline, on one metric.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Comparison {
    /// Scheme minus baseline, mean over seeds.
    pub difference: Estimate,
    /// The scheme over the baseline; `None` where the baseline's mean is zero.
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
    /// Compares by seed; `None` if there is no pair, or if the metric has no better direction.
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
    /// Whether a single repetition shows no difference.
    pub fn is_equal(&self) -> bool {
        self.verdict == Verdict::TooFew && self.is_negligible()
    }
}

/// Variances of the means of the baseline and of a scheme, and their covariance.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Variances {
    /// Of the baseline.
    pub base: f64,
    /// Of the scheme.
    pub scheme: f64,
    /// The covariance.
    pub both: f64,
}

/// A scheme over the baseline.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Ratio {
    /// The ratio.
    pub value: f64,
    /// Its confidence interval without negative values; `None` with a single pair, or if the mean of the baseline could
    /// be zero by chance.
    pub interval: Option<(f64, f64)>,
}

impl Ratio {
    fn is_negligible(self) -> bool {
        (self.value - 1.0).abs() < NEGLIGIBLE
    }
    /// The ratio of the scheme to the baseline. If all values are above zero, it is the geometric mean of the ratios of
    /// the pairs, with the interval of the mean of their logarithms (Student's t). If some are zero, it is the ratio of
    /// the means, with the interval of [`Ratio::fieller`].
    pub fn of(pairs: &[Pair]) -> Option<Ratio> {
        let log = |(base, scheme): &Pair| log_ratio(base.value, scheme.value);
        let logs: Option<Vec<f64>> = pairs.iter().map(log).collect();
        match logs {
            Some(logs) => Some(Ratio::of_logarithm(&Estimate::of(&logs)?)),
            None => Ratio::of_means(pairs),
        }
    }
    /// The ratio for an estimate of its logarithm.
    pub fn of_logarithm(log: &Estimate) -> Ratio {
        let ends = log.low().zip(log.high());
        Ratio {
            value: libm::exp(log.mean),
            interval: ends.map(|(low, high)| (libm::exp(low), libm::exp(high))),
        }
    }
    fn of_means(pairs: &[Pair]) -> Option<Ratio> {
        let n = pairs.len() as f64;
        let mean = |of: fn(&Pair) -> f64| pairs.iter().map(of).sum::<f64>() / n;
        let (base, scheme) = (mean(|p| p.0.value), mean(|p| p.1.value));
        let moment = |of: &dyn Fn(f64, f64) -> f64| {
            let products = pairs.iter().map(|(b, s)| of(b.value - base, s.value - scheme));
            products.sum::<f64>() / (n * (n - 1.0))
        };
        let variances = || Variances {
            base: moment(&|b, _| b * b),
            scheme: moment(&|_, s| s * s),
            both: moment(&|b, s| b * s),
        };
        let t = t_quantile(pairs.len() as u32 - 1, CONFIDENCE);
        let interval = || Ratio::fieller(base, scheme, variances(), t);
        (base != 0.0).then(|| Ratio {
            value: scheme / base,
            interval: if pairs.len() > 1 { interval() } else { None },
        })
    }
    /// Fieller's interval (Fieller, "Some problems in interval estimation", 1954) of the ratio of two means, from their
    /// variances and covariance. It excludes 1 exactly if the interval of the mean difference excludes 0. No metric is
    /// negative, so no negative ratio is possible: the interval ends at zero.
    pub fn fieller(base: f64, scheme: f64, variances: Variances, t: f64) -> Option<(f64, f64)> {
        let a = base * base - t * t * variances.base;
        let b = base * scheme - t * t * variances.both;
        let c = scheme * scheme - t * t * variances.scheme;
        let root = (b * b - a * c).max(0.0).sqrt();
        (a > 0.0).then(|| (((b - root) / a).max(0.0), ((b + root) / a).max(0.0)))
    }
    /// Whether the whole interval is below one, and whether it is above one.
    fn side(self) -> Option<(bool, bool)> {
        self.interval.map(|(low, high)| (high < 1.0, low > 1.0))
    }
}

/// The logarithm of the ratio of two values above zero.
pub fn log_ratio(base: f64, scheme: f64) -> Option<f64> {
    let positive = |value: f64| value > 0.0 && value.is_finite();
    (positive(base) && positive(scheme)).then(|| libm::log(scheme / base))
}

/// The verdict on a difference, scheme minus baseline; `None` if the metric has no better direction. It follows from
/// the interval of the ratio, or from that of the difference if the ratio has none. `open` says which values are lower
/// bounds.
pub fn judged(
    difference: &Estimate,
    ratio: Option<Ratio>,
    open: Open,
    better: Better,
) -> Option<Verdict> {
    let negligible = ratio.is_some_and(Ratio::is_negligible);
    match verdict(difference, ratio, open, better)? {
        Verdict::Better | Verdict::Worse if negligible => Some(Verdict::NoDifference),
        other => Some(other),
    }
}

fn verdict(
    difference: &Estimate,
    ratio: Option<Ratio>,
    open: Open,
    better: Better,
) -> Option<Verdict> {
    let half = match (better, difference.half) {
        (Better::Neither, _) => return None,
        (_, None) => return Some(Verdict::TooFew),
        (_, Some(half)) => half,
    };
    let linear = (difference.mean < -half, difference.mean > half);
    let (lower, higher) = ratio.and_then(Ratio::side).unwrap_or(linear);
    // Lower bounds can only grow. A lower value is sure if the value of the scheme is exact.
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
        // Two-sided 95 %, from printed tables.
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
        assert_eq!(Estimate::of(&[7.0]), Some(Estimate::read(7.0, None, 1)));
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
        // Seeds differ far more than the schemes do, but the second is always some 2 % lower.
        let values = [(10.0, 9.8), (50.0, 49.1), (90.0, 88.0), (130.0, 127.6)];
        assert_eq!(judged(&values, Better::Lower), Some(Verdict::Better));
        assert_eq!(judged(&values, Better::Higher), Some(Verdict::Worse));
        assert_eq!(judged(&values, Better::Neither), None);
        let ratio = Ratio::of(&pairs(&values)).map(|r| r.value);
        let logs: f64 = values.iter().map(|(b, s): &(f64, f64)| (s / b).ln()).sum();
        assert!(ratio.is_some_and(|r| (r - (logs / 4.0).exp()).abs() < 1e-12));
    }

    fn draws(mut rng: u64) -> impl FnMut() -> f64 {
        move || {
            rng = rng.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (rng >> 40) as f64 / 16_777_216.0
        }
    }

    #[test]
    fn what_is_always_half_is_half_for_sure() {
        let half = Ratio::of(&pairs(&[(100.0, 50.0), (110.0, 55.0), (90.0, 45.0)]));
        let near = |a: f64, b: f64| (a - b).abs() < 1e-6;
        let edges = half.and_then(|r| r.interval);
        assert!(edges.is_some_and(|(low, high)| near(low, 0.5) && near(high, 0.5)), "{half:?}");
        assert_eq!(Ratio::of(&pairs(&[(0.0, 1.0), (0.0, 2.0)])), None);
        assert_eq!(Ratio::of(&pairs(&[(2.0, 1.0)])).map(|r| r.interval), Some(None));
    }

    /// Computed by hand: the logarithms to base 2 are 1, 2 and 3; their mean is 2, their deviation 1.
    #[test]
    fn the_interval_of_a_ratio_is_that_of_its_logarithm() {
        let ratio = Ratio::of(&pairs(&[(1.0, 2.0), (10.0, 40.0), (5.0, 40.0)])).unwrap();
        let half = 4.302_652_7 / 3f64.sqrt();
        let (low, high) = ratio.interval.unwrap();
        assert!((ratio.value - 4.0).abs() < 1e-9);
        assert!((low - 2f64.powf(2.0 - half)).abs() < 1e-4, "{low}");
        assert!((high - 2f64.powf(2.0 + half)).abs() < 1e-3, "{high}");
    }

    /// Rare events vary much, but an interval such as "97.6 to 101.6 % lower" is impossible for a count.
    #[test]
    fn no_interval_says_what_cannot_be() {
        let mut draw = draws(7);
        let mut seen = [0; 2];
        for case in 0..4_000 {
            // Counts, with zeros in every second case.
            let least = f64::from(case % 2);
            let few = 1.0 + f64::from(case % 7);
            let values: Vec<_> = (0..3 + case % 4)
                .map(|_| (least + (20.0 * draw()).floor(), least + (few * draw()).floor()))
                .collect();
            let pairs = pairs(&values);
            let Some(c) = Comparison::paired(&pairs, Better::Lower) else { panic!("{values:?}") };
            let Some((low, high)) = c.ratio.and_then(|ratio| ratio.interval) else { continue };
            let value = c.ratio.map_or(0.0, |ratio| ratio.value);
            assert!(
                0.0 <= low && low <= value && value <= high,
                "{values:?}: {low} {value} {high}"
            );
            let says = (c.verdict == Verdict::Better, c.verdict == Verdict::Worse);
            assert!(c.is_negligible() || says == (high < 1.0, low > 1.0), "{values:?}");
            seen[usize::from(says.0 || says.1)] += 1;
            let numbers: Vec<f64> = values.iter().map(|(_, s)| *s).collect();
            let estimate = Estimate::of(&numbers).unwrap().within((0.0, f64::INFINITY));
            assert!(estimate.low().unwrap() >= 0.0 && estimate.low().unwrap() <= estimate.mean);
        }
        assert!(seen[0] > 300 && seen[1] > 300, "{seen:?}");
        let shares = Estimate::of(&[0.99, 0.7, 1.0]).unwrap().within((0.0, 1.0));
        assert_eq!(shares.high(), Some(1.0));
        assert_eq!(Estimate::of(&[5.0, 5.1]).unwrap().within((0.0, 100.0)).cut(), None);
    }

    /// Of 100 intervals at 95 %, 95 contain the true ratio, whatever the correlation between the schemes.
    #[test]
    fn the_interval_of_a_ratio_has_the_true_one_as_often_as_it_says() {
        let mut draw = draws(11);
        // The sum of twelve draws is close to normal.
        let mut normal = || (0..12).map(|_| draw()).sum::<f64>() - 6.0;
        let mut cases = |n: usize| {
            let hit = |_: &usize| {
                let pair = |_| {
                    let seed = 0.5 * normal();
                    let (a, b) = (seed + 0.3 * normal(), seed + 0.3 * normal());
                    (a.exp(), 0.3 * b.exp())
                };
                let ratio = Ratio::of(&pairs(&(0..n).map(pair).collect::<Vec<_>>()));
                let (low, high) = ratio.and_then(|r| r.interval).unwrap();
                low < 0.3 && 0.3 < high
            };
            (0..4_000).filter(hit).count() as f64 / 4_000.0
        };
        for n in [3, 5, 10] {
            let share = cases(n);
            assert!((share - 0.95).abs() < 0.015, "{n}: {share}");
        }
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
