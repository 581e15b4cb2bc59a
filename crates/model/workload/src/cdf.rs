//! Flow-size distributions. They are cumulative tables, which are read strictly and sampled by inversion.

use super::text::{LineError, numbered};
use slotline_base::rng::Stream;

/// The scale of the probabilities in a table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scale {
    /// 0 to 100, assumed if the last value is 100.
    Percent,
    /// 0 to 1, assumed if the last value is 1.
    Fraction,
}

impl Scale {
    /// The assumed scale with the reason, as text.
    pub fn in_words(self) -> &'static str {
        match self {
            Scale::Percent => "per cent, as the last cumulative value is 100",
            Scale::Fraction => "fractions, as the last cumulative value is 1",
        }
    }
}

/// A cumulative distribution of flow sizes, linear between its points. The probability of the first point
/// is concentrated there.
#[derive(Clone, Debug, PartialEq)]
pub struct Cdf {
    /// Sizes in bytes, each with the probability (0 to 1) that a flow is not larger.
    points: Vec<(f64, f64)>,
    scale: Scale,
}

macro_rules! published {
    ($name:literal) => {
        (
            $name,
            include_str!(concat!(
                env!("CARGO_MANIFEST_DIR"),
                "/../../../data/distributions/",
                $name,
                ".txt"
            )),
        )
    };
}

/// The published distributions that are part of the program: name and table. The first lines of a table name its
/// source.
pub const DISTRIBUTIONS: [(&str, &str); 4] = [
    published!("websearch"),
    published!("hadoop"),
    published!("alistorage"),
    published!("googlerpc"),
];

/// The table of a published distribution.
pub fn published(name: &str) -> Option<&'static str> {
    DISTRIBUTIONS.iter().find(|(known, _)| *known == name).map(|(_, table)| *table)
}

impl Cdf {
    /// Reads lines `size cumulative`, in bytes and either percent or fractions; `#` starts a comment line.
    pub fn parse(text: &str) -> Result<Cdf, LineError> {
        let mut points: Vec<(f64, f64)> = Vec::new();
        let mut end = 1;
        for (line, words) in numbered(text) {
            let point = point(&words).and_then(|p| follows(points.last(), p));
            points.push(point.map_err(|message| LineError { line, message })?);
            end = line;
        }
        Cdf::new(points).map_err(|message| LineError { line: end, message })
    }

    /// The distribution in which every flow has `bytes`.
    pub fn constant(bytes: u64) -> Result<Cdf, String> {
        Cdf::new(vec![(bytes as f64, 0.0), (bytes as f64, 1.0)])
    }

    /// A distribution from monotone points.
    fn new(mut points: Vec<(f64, f64)>) -> Result<Cdf, String> {
        let [_, .., (_, last)] = points[..] else {
            return Err(format!("{} points: a distribution needs at least 2", points.len()));
        };
        let scale = match last {
            100.0 => Scale::Percent,
            1.0 => Scale::Fraction,
            _ => {
                return Err(format!("the last cumulative value is {last}: expected 100 or 1"));
            }
        };
        points.iter_mut().for_each(|(_, c)| *c /= last);
        let cdf = Cdf { points, scale };
        if cdf.mean() > 0.0 { Ok(cdf) } else { Err("the mean size is 0: flows need bytes".into()) }
    }

    /// The scale with which the table was read.
    pub fn scale(&self) -> Scale {
        self.scale
    }

    /// Mean size in bytes, in closed form.
    pub fn mean(&self) -> f64 {
        let (size, atom) = self.points[0];
        let linear = self.points.windows(2).map(|w| (w[1].1 - w[0].1) * (w[0].0 + w[1].0) / 2.0);
        size * atom + linear.sum::<f64>()
    }

    /// The size at cumulative probability `u` in `[0, 1)`.
    pub fn quantile(&self, u: f64) -> f64 {
        let above = self.points.partition_point(|&(_, c)| c <= u);
        if above == 0 {
            return self.points[0].0;
        }
        let Some(&(size, c)) = self.points.get(above) else {
            return self.points[above - 1].0;
        };
        let (from, below) = self.points[above - 1];
        from + (size - from) * ((u - below) / (c - below))
    }

    /// A random size, rounded to whole bytes, at least 1.
    pub fn sample(&self, rng: &mut Stream) -> u64 {
        (self.quantile(rng.unit()).round() as u64).max(1)
    }
}

fn point(words: &[&str]) -> Result<(f64, f64), String> {
    let [size, cumulative] = words else {
        return Err(format!("`{}`: expected two numbers, size and cumulative", words.join(" ")));
    };
    Ok((number(size, 1e15)?, number(cumulative, 100.0)?))
}

fn number(text: &str, most: f64) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if (0.0..=most).contains(&value) => Ok(value),
        _ => Err(format!("`{text}` is not a number from 0 to {most}")),
    }
}

fn follows(last: Option<&(f64, f64)>, point: (f64, f64)) -> Result<(f64, f64), String> {
    let Some(&last) = last else { return Ok(point) };
    if point.0 < last.0 || point.1 < last.1 || point == last {
        return Err(format!(
            "{} {}: must be above the previous point, {} {}",
            point.0, point.1, last.0, last.1
        ));
    }
    Ok(point)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn named(name: &str) -> Cdf {
        Cdf::parse(published(name).expect("published")).expect("valid")
    }

    #[test]
    fn published_means_are_exact() {
        // Closed forms over the tables, worked out with rational arithmetic.
        for (name, mean) in [
            ("websearch", 1_711_250.0),
            ("hadoop", 120_420.75),
            ("alistorage", 40_869.8),
            ("googlerpc", 2_891.621_250_05),
        ] {
            let got = named(name).mean();
            assert!((got / mean - 1.0).abs() < 1e-9, "{name}: {got} is not {mean}");
            assert_eq!(named(name).scale(), Scale::Percent);
        }
    }

    #[test]
    fn published_tables_name_their_source() {
        for (name, table) in DISTRIBUTIONS {
            assert!(table.starts_with("# ") && table.contains("# Source: "), "{name}");
        }
    }

    #[test]
    fn quantiles_interpolate() {
        let cdf = Cdf::parse("10 0.2\n20 0.6\n20 0.8\n40 1\n").unwrap();
        assert_eq!(cdf.scale(), Scale::Fraction);
        for (u, size) in [(0.0, 10.0), (0.1, 10.0), (0.4, 15.0), (0.7, 20.0), (0.9, 30.0)] {
            assert!((cdf.quantile(u) - size).abs() < 1e-9, "{u}");
        }
        let mean = 0.2 * 10.0 + 0.4 * 15.0 + 0.2 * 20.0 + 0.2 * 30.0;
        assert!((cdf.mean() - mean).abs() < 1e-12);
        assert_eq!(Cdf::constant(1460).unwrap().sample(&mut Stream::named(1, "t", 0)), 1460);
    }

    /// Kolmogorov-Smirnov: 100,000 samples stay within the 0.1 % critical distance.
    #[test]
    fn samples_follow_the_distribution() {
        const N: usize = 100_000;
        for (name, _) in DISTRIBUTIONS {
            let (cdf, mut rng) = (named(name), Stream::named(3, "ks", 0));
            let mut sizes: Vec<u64> = (0..N).map(|_| cdf.sample(&mut rng)).collect();
            sizes.sort_unstable();
            // A whole size k stands for all sizes up to k + 1/2.
            let distance = |size: u64| {
                let seen = sizes.partition_point(|&s| s <= size) as f64 / N as f64;
                (seen - probability(&cdf, size as f64 + 0.5)).abs()
            };
            let worst = sizes.iter().step_by(17).map(|&s| distance(s)).fold(0.0, f64::max);
            assert!(worst < 1.95 / (N as f64).sqrt(), "{name}: {worst}");
        }
    }

    fn probability(cdf: &Cdf, size: f64) -> f64 {
        let at = cdf.points.partition_point(|&(s, _)| s <= size);
        match (at.checked_sub(1).map(|i| cdf.points[i]), cdf.points.get(at)) {
            (Some((s0, c0)), Some((s1, c1))) => c0 + (c1 - c0) * (size - s0) / (s1 - s0),
            (below, _) => below.map_or(0.0, |(_, c)| c),
        }
    }

    #[test]
    fn errors_name_the_line() {
        for (text, line, why) in [
            ("", 1, "at least 2"),
            ("5 100\n", 1, "at least 2"),
            ("0 0\n10 50\n", 2, "expected 100 or 1"),
            ("# c\n0 0\n10 x\n", 3, "`x` is not a number"),
            ("0 0\n10\n", 2, "two numbers"),
            ("0 0\n10 50 1\n", 2, "two numbers"),
            ("0 0\n10 60\n9 100\n", 3, "above the previous point"),
            ("0 0\n10 60\n20 50\n", 3, "above the previous point"),
            ("0 0\n0 0\n", 2, "above the previous point"),
            ("0 -1\n", 1, "`-1`"),
            ("0 nan\n", 1, "`nan`"),
            ("0 0\n0 100\n", 2, "mean size is 0"),
        ] {
            let error = Cdf::parse(text).expect_err(text);
            assert_eq!(error.line, line, "{text:?}: {error}");
            assert!(error.to_string().contains(why), "{text:?}: {error}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in any::<Vec<u8>>()) {
            let _ = Cdf::parse(&String::from_utf8_lossy(&text));
        }

        /// A damaged table is refused or is still a distribution, with a finite mean and quantiles in order.
        #[test]
        fn a_damaged_table_never_misleads(at in 0usize..400, byte in any::<u8>()) {
            let mut bytes = published("websearch").unwrap().as_bytes().to_vec();
            let at = at % bytes.len();
            bytes[at] = byte;
            if let Ok(cdf) = Cdf::parse(&String::from_utf8_lossy(&bytes)) {
                prop_assert!(cdf.mean().is_finite() && cdf.mean() > 0.0);
                let quantiles: Vec<f64> = (0..100).map(|i| cdf.quantile(f64::from(i) / 100.0)).collect();
                prop_assert!(quantiles.windows(2).all(|w| w[0] <= w[1]));
            }
        }
    }
}
