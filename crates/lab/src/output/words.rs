//! Numbers and comparisons in words, for people.

use crate::metrics::{Metric, Unit};
use crate::statistics::{Comparison, Estimate, Verdict};

/// A unit's multiple that suits a magnitude.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Scale {
    /// One of the multiple, in the unit.
    pub factor: f64,
    /// Its symbol; empty for plain numbers.
    pub symbol: &'static str,
}

impl Scale {
    /// The largest multiple of `unit` that is not above `magnitude`, or the smallest there is.
    pub fn of(unit: Unit, magnitude: f64) -> Scale {
        let steps: &[(f64, &str)] = match unit {
            Unit::Seconds => &[(1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns")],
            Unit::BitsPerSecond => &[
                (1e12, "Tbit/s"),
                (1e9, "Gbit/s"),
                (1e6, "Mbit/s"),
                (1e3, "Kbit/s"),
                (1.0, "bit/s"),
            ],
            Unit::Bytes => &[(1e9, "GB"), (1e6, "MB"), (1e3, "KB"), (1.0, "B")],
            Unit::Count | Unit::Ratio => &[(1.0, "")],
        };
        let fits = steps.iter().find(|(factor, _)| *factor <= magnitude.abs() * (1.0 + 1e-9));
        // Zero has no magnitude: it is shown in the plain unit.
        let plain = if magnitude == 0.0 { steps.iter().find(|(f, _)| *f == 1.0) } else { None };
        let (factor, symbol) = *plain.or(fits).or(steps.last()).unwrap_or(&(1.0, ""));
        Scale { factor, symbol }
    }
    /// `text` and the symbol.
    pub fn with(&self, text: String) -> String {
        if self.symbol.is_empty() { text } else { format!("{text} {}", self.symbol) }
    }
}

/// Decimals that give `value` four significant digits; none for whole numbers.
fn decimals(value: f64) -> usize {
    if (value - value.round()).abs() <= 1e-9 * value.abs() {
        return 0;
    }
    (3.0 - value.abs().log10().floor()).clamp(0.0, 6.0) as usize
}

/// `value` in its unit, as `12.34 ms`.
pub fn quantity(unit: Unit, value: f64) -> String {
    let scale = Scale::of(unit, value);
    let scaled = value / scale.factor;
    scale.with(format!("{scaled:.*}", decimals(scaled)))
}

/// `mean ± half width` of `estimate` in multiples of `scale`; `≥` before a lower bound.
pub fn estimate(estimate: &Estimate, at_least: bool, scale: Scale) -> String {
    let scaled = estimate.over(scale.factor);
    let digits = decimals(scaled.mean).max(scaled.half.map_or(0, |h| decimals(h).min(1)));
    let bound = if at_least { "≥ " } else { "" };
    match scaled.half {
        Some(half) => format!("{bound}{:.digits$} ± {half:.digits$}", scaled.mean),
        None => format!("{bound}{:.digits$}", scaled.mean),
    }
}

/// A verdict with its reason, as `better: 34 % lower (30 to 38 %)`.
pub fn verdict(metric: Metric, comparison: &Comparison) -> String {
    let words = comparison.verdict.words();
    match comparison.verdict {
        Verdict::Open => words.to_string(),
        Verdict::NoDifference if comparison.difference.half == Some(0.0) => words.to_string(),
        _ => format!("{words}: {}", extent(metric, comparison)),
    }
}

fn extent(metric: Metric, comparison: &Comparison) -> String {
    match comparison.relative {
        Some(relative) if comparison.verdict == Verdict::NoDifference => around_zero(&relative),
        Some(relative) if relative.mean >= 1.0 => times(&relative),
        Some(relative) => percent(&relative),
        None => absolute(metric, &comparison.difference),
    }
}

fn around_zero(relative: &Estimate) -> String {
    let (low, high) = (relative.low().unwrap_or(0.0), relative.high().unwrap_or(0.0));
    format!("{:+.1} to {:+.1} %", low * 100.0, high * 100.0)
}

fn times(relative: &Estimate) -> String {
    let factor = Estimate { mean: 1.0 + relative.mean, ..*relative };
    format!("{:.1} times as high{}", factor.mean, interval(&factor, ""))
}

fn percent(relative: &Estimate) -> String {
    let (word, sign) = if relative.mean < 0.0 { ("lower", -0.01) } else { ("higher", 0.01) };
    let size = relative.over(sign);
    format!("{:.1} % {word}{}", size.mean, interval(&size, " %"))
}

/// The interval in brackets, unless it is as narrow as the digits shown.
fn interval(estimate: &Estimate, unit: &str) -> String {
    match (estimate.low(), estimate.high()) {
        (Some(low), Some(high)) if high - low >= 0.1 => format!(" ({low:.1} to {high:.1}{unit})"),
        _ => String::new(),
    }
}

fn absolute(metric: Metric, difference: &Estimate) -> String {
    let word = if difference.mean < 0.0 { "less" } else { "more" };
    format!("{} {word}", quantity(metric.unit(), difference.mean.abs()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::{Better, Measured};

    #[test]
    fn quantities_take_the_unit_that_suits() {
        let shown = [
            quantity(Unit::Seconds, 0.012_341),
            quantity(Unit::Seconds, 0.001),
            quantity(Unit::Seconds, 3.5e-7),
            quantity(Unit::Seconds, 0.0),
            quantity(Unit::BitsPerSecond, 9.4e9),
            quantity(Unit::Bytes, 150_000.0),
            quantity(Unit::Count, 1234567.0),
            quantity(Unit::Ratio, 0.001_234),
        ];
        let expected =
            ["12.34 ms", "1 ms", "350 ns", "0 s", "9.400 Gbit/s", "150 KB", "1234567", "0.001234"];
        assert_eq!(shown, expected);
    }

    fn said(values: &[(f64, f64)]) -> String {
        let exact = |value| Measured { value, at_least: false };
        let pairs: Vec<_> = values.iter().map(|(a, b)| (exact(*a), exact(*b))).collect();
        let comparison = Comparison::paired(&pairs, Better::Lower);
        comparison.map_or(String::new(), |c| verdict(Metric::FctMean, &c))
    }

    #[test]
    fn verdicts_read_as_sentences() {
        assert_eq!(said(&[(10.0, 7.0), (10.0, 7.0)]), "better: 30.0 % lower");
        assert_eq!(said(&[(10.0, 40.0), (10.0, 40.0)]), "worse: 4.0 times as high");
        assert_eq!(said(&[(10.0, 7.0), (10.0, 7.2)]), "better: 29.0 % lower (16.3 to 41.7 %)");
        assert_eq!(said(&[(10.0, 7.0)]), "too few repetitions: 30.0 % lower");
        assert_eq!(said(&[(0.0, 0.007), (0.0, 0.007)]), "worse: 7 ms more");
        assert_eq!(said(&[(5.0, 5.0), (5.0, 5.0)]), "no significant difference");
        let open = said(&[(10.0, 10.1), (10.0, 9.9)]);
        assert_eq!(open, "no significant difference: -12.7 to +12.7 %");
    }
}
