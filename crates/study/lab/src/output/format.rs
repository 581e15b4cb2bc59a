//! Formats numbers and comparisons as text.

use crate::record::{Emulation, FlowRow, Gate, Part, PortRow, WhyRow};
use crate::statistics::{Comparison, Estimate, Ratio, Verdict};
use crate::summary::EngineTotal;
use slotline_scenario::metric::{Metric, Unit};

/// A multiple of a unit that suits a magnitude.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Scale {
    /// The size of the multiple in the unit.
    pub factor: f64,
    /// Its symbol; empty for plain numbers.
    pub symbol: &'static str,
}

impl Scale {
    /// The largest multiple of `unit` that is not above `magnitude`, or else the smallest multiple.
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
            Unit::Count | Unit::Ratio | Unit::Share => &[(1.0, "")],
        };
        let fits = steps.iter().find(|(factor, _)| *factor <= magnitude.abs() * (1.0 + 1e-9));
        // Zero has no magnitude: it is shown in the plain unit.
        let plain = if magnitude == 0.0 { steps.iter().find(|(f, _)| *f == 1.0) } else { None };
        let (factor, symbol) = *plain.or(fits).or(steps.last()).unwrap_or(&(1.0, ""));
        Scale { factor, symbol }
    }
    /// `text` with the symbol.
    pub fn with(&self, text: String) -> String {
        if self.symbol.is_empty() { text } else { format!("{text} {}", self.symbol) }
    }
}

/// The number of decimals that gives `value` four significant digits; none for whole numbers.
fn decimals(value: f64) -> usize {
    if (value - value.round()).abs() <= 1e-9 * value.abs() {
        return 0;
    }
    (3.0 - value.abs().log10().floor()).clamp(0.0, 6.0) as usize
}

/// `value` with its unit, such as `12.34 ms`.
pub fn quantity(unit: Unit, value: f64) -> String {
    let scale = Scale::of(unit, value);
    let scaled = value / scale.factor;
    scale.with(format!("{scaled:.*}", decimals(scaled)))
}

/// `estimate` as `mean ± half width` in multiples of `scale`, with `≥` before a lower bound. An interval that ends at a
/// limit of possible values is shown as `mean (low to high)`.
pub fn estimate(estimate: &Estimate, at_least: bool, scale: Scale) -> String {
    let scaled = estimate.over(scale.factor);
    let digits = decimals(scaled.mean).max(scaled.half.map_or(0, |h| decimals(h).min(1)));
    let bound = if at_least { "≥ " } else { "" };
    match (scaled.cut(), scaled.half) {
        (Some((low, high)), _) => {
            format!(
                "{bound}{:.digits$} ({} to {})",
                scaled.mean,
                end(low, digits),
                end(high, digits)
            )
        }
        (None, Some(half)) => format!("{bound}{:.digits$} ± {half:.digits$}", scaled.mean),
        (None, None) => format!("{bound}{:.digits$}", scaled.mean),
    }
}

/// The end of an interval. Whole numbers, such as zero, have no decimals.
fn end(value: f64, digits: usize) -> String {
    let digits = if value == value.round() { 0 } else { digits };
    format!("{value:.digits$}")
}

/// `n` with commas between thousands: `1,234,567`.
pub fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let with_comma = |(at, digit): (usize, char)| {
        let comma = at > 0 && (digits.len() - at).is_multiple_of(3);
        comma.then_some(',').into_iter().chain([digit])
    };
    digits.chars().enumerate().flat_map(with_comma).collect()
}

/// Three lines with the packet balance, the cost and the digest of `runs` runs.
pub fn engine(total: &EngineTotal, runs: usize) -> [String; 3] {
    let (stats, census) = (&total.stats, &total.census);
    let accounted =
        if census.holds() { "all are accounted for" } else { "they are NOT all accounted for" };
    let per_hop = stats.cpu_s / stats.packet_hops.max(1) as f64;
    let digest =
        format!("Digest: {:016x}; the same runs give the same digest ({runs} runs)", stats.digest);
    if stats.flow_level {
        return flow_engine(total, digest);
    }
    let last = stats.emulation.map_or(digest, |emulation| emulated(&emulation));
    [
        format!(
            "Packets: {} sent = {} delivered + {} dropped + {} in flight: {accounted}",
            grouped(census.sent),
            grouped(census.delivered),
            grouped(census.lost()),
            grouped(census.in_flight),
        ),
        format!(
            "Engine: {} packet-hops in {} of CPU time, {} each; peak memory {}",
            grouped(stats.packet_hops),
            quantity(Unit::Seconds, stats.cpu_s),
            rounded(Unit::Seconds, per_hop),
            rounded(Unit::Bytes, stats.peak_rss_bytes as f64),
        ),
        last,
    ]
}

/// How well the machine kept up, in the worst of all runs.
pub fn emulated(emulation: &Emulation) -> String {
    let span = |ns: u64| rounded(Unit::Seconds, ns as f64 / 1e9);
    let valid = if emulation.is_valid() {
        "Emulation: valid".to_owned()
    } else {
        format!(
            "Emulation: NOT VALID (at most {} and no loss outside)",
            span(emulation.late_limit_ns)
        )
    };
    let (late, gate) = match emulation.gate {
        Gate::OpenVswitch => ("switches answered after", "Open vSwitch".to_owned()),
        gate => ("deliveries late by", format!("gate `{}`", gate.name())),
    };
    format!(
        "{valid}; {late} {} (median), {} (99 %), {} (99.9 %), {} (most); {} packets lost outside of the network; \
         {gate}; dilation {}; the network took {:.0} % of a processor",
        span(emulation.late_p50_ns),
        span(emulation.late_p99_ns),
        span(emulation.late_p999_ns),
        span(emulation.late_most_ns),
        grouped(emulation.lost_outside),
        emulation.dilation,
        emulation.cpu_share * 100.0,
    )
}

/// The lines of [`engine`] for the flow-level engine.
fn flow_engine(total: &EngineTotal, digest: String) -> [String; 3] {
    let (stats, census) = (&total.stats, &total.census);
    [
        format!(
            "Bytes on the wire: {} sent = {} delivered + {} in flight",
            grouped(census.sent),
            grouped(census.delivered),
            grouped(census.in_flight),
        ),
        format!(
            "Engine: flow level, {} events in {} of CPU time; peak memory {}",
            grouped(stats.events),
            quantity(Unit::Seconds, stats.cpu_s),
            rounded(Unit::Bytes, stats.peak_rss_bytes as f64),
        ),
        digest,
    ]
}

/// `value` with its unit, without decimals.
fn rounded(unit: Unit, value: f64) -> String {
    let scale = Scale::of(unit, value);
    scale.with(format!("{:.0}", value / scale.factor))
}

/// Metrics that need an explanation.
const EXPLAINED: [(&[Metric], &str); 2] = [
    (
        &[Metric::QctMean, Metric::QctP99],
        "QCT: query completion time, from a request to the last byte of its response; in an incast, of a whole block.",
    ),
    (
        &[Metric::FctSmallP99, Metric::FctLargeMean],
        "Small flows have up to 100 KB, large ones 10 MB or more.",
    ),
];

/// The explanations that `shown` metrics need.
pub fn explanations(shown: &[Metric]) -> impl Iterator<Item = &'static str> {
    let needed = |(of, _): &&(&[Metric], _)| of.iter().any(|m| shown.contains(m));
    EXPLAINED.iter().filter(needed).map(|(_, text)| *text)
}

/// How to read a table of metrics.
pub const TABLE_NOTE: &str = "Mean over seeds ± half width of its 95 % confidence interval (Student's t), or the ends of the \
     interval where it ends at what is possible. Verdicts compare with the first scheme, paired by seed. Each verdict has an \
     error rate of 5 %: among many, one in twenty may be chance. Differences below 0.1 % do not count.";

/// The meaning of `≥`, for tables that have it.
pub const BOUND_NOTE: &str =
    "≥ is a lower bound: unfinished flows count with their time until the end of the run.";

/// One direction of a link, such as `s0 → h3`.
pub fn direction(node: &str, port: &str) -> String {
    format!("{node} → {port}")
}

/// The largest part of the time of `flow`, as `87 % of its 12.4 ms waiting in the queue of s0 towards h0; 14
/// round trips; 1 time-out`. `waits` are the ports where it waited longest, with picoseconds.
pub fn time_summary(flow: &FlowRow, why: &WhyRow, waits: &[(&PortRow, u64)]) -> String {
    let total: u64 = why.parts.iter().sum();
    let largest =
        Part::ALL.into_iter().rev().max_by_key(|part| why.of(*part)).unwrap_or(Part::Unknown);
    let share = why.of(largest) as f64 * 100.0 / total.max(1) as f64;
    let time = three_digits(Unit::Seconds, total as f64 / 1e12);
    let count = |n: u32, one: &str, many: &str| match n {
        0 => String::new(),
        1 => format!("; 1 {one}"),
        n => format!("; {} {many}", grouped(u64::from(n))),
    };
    format!(
        "{share:.0} % of its {time} {}{}{}{}{}",
        doing(largest, why, waits),
        count(why.round_trips, "round trip", "round trips"),
        count(flow.timeouts, "time-out", "time-outs"),
        count(flow.retransmits, "retransmission", "retransmissions"),
        if flow.finished() { "" } else { "; unfinished" },
    )
}

/// The largest part of the time of a flow, with the port where it waited most of it.
fn doing(part: Part, why: &WhyRow, waits: &[(&PortRow, u64)]) -> String {
    let here = |of_host: bool| {
        let most = waits.iter().find(|(port, _)| port.host == of_host);
        most.filter(|(_, ps)| *ps * 2 > why.of(part))
    };
    match (part, here(false)) {
        (Part::Queue, Some((port, ps))) if *ps * 10 >= why.of(part) * 9 => {
            format!("waiting in the queue of {} towards {}", port.node, port.port)
        }
        (Part::Queue, Some((port, _))) => {
            format!("queued in switches, most of it at {} towards {}", port.node, port.port)
        }
        _ => part.title().into(),
    }
}

/// `value` with its unit, with three significant digits.
fn three_digits(unit: Unit, value: f64) -> String {
    let scale = Scale::of(unit, value);
    let scaled = value / scale.factor;
    scale.with(format!("{scaled:.*}", decimals(scaled).saturating_sub(1)))
}

/// A verdict with its reason, such as `better: 34 % lower (30 to 38 %)`.
pub fn verdict(metric: Metric, comparison: &Comparison) -> String {
    let text = comparison.verdict.text();
    match comparison.verdict {
        Verdict::Open | Verdict::Idle => text.to_string(),
        Verdict::NoDifference if is_narrow(comparison) => text.to_string(),
        _ => format!("{text}: {}", extent(metric, comparison)),
    }
}

/// Whether the ends of the interval of the difference round to zero.
fn is_narrow(comparison: &Comparison) -> bool {
    let shows = |edge: f64| (edge - 1.0).abs() >= 0.0005;
    match comparison.ratio.and_then(|ratio| ratio.interval) {
        Some((low, high)) => !shows(low) && !shows(high),
        None => comparison.difference.half == Some(0.0),
    }
}

/// A single repetition without a difference.
pub const EQUAL: &str = "equal";

/// The size of a difference, such as `34 % lower (30 to 38 %)`.
pub fn extent(metric: Metric, comparison: &Comparison) -> String {
    match comparison.ratio {
        _ if comparison.is_equal() => EQUAL.into(),
        Some(ratio) if comparison.verdict == Verdict::NoDifference => around_one(&ratio),
        Some(Ratio { value: 0.0, .. }) => none_left(metric, &comparison.difference),
        Some(ratio) if ratio.value >= 2.0 => times(&ratio),
        Some(ratio) => percent(&ratio),
        None => absolute(metric, &comparison.difference),
    }
}

fn around_one(ratio: &Ratio) -> String {
    // Adding zero turns a negative zero into a plain one.
    let percent = |edge: f64| ((edge - 1.0) * 1000.0).round() / 10.0 + 0.0;
    match ratio.interval {
        Some((low, high)) => format!("{:+.1} to {:+.1} %", percent(low), percent(high)),
        None => format!("{:+.1} %, without an interval", percent(ratio.value)),
    }
}

/// The difference to a scheme whose value is zero.
fn none_left(metric: Metric, difference: &Estimate) -> String {
    format!("none instead of {}", quantity(metric.unit(), -difference.mean))
}

fn times(ratio: &Ratio) -> String {
    format!("{:.1} times as high{}", ratio.value, interval(ratio.interval, ""))
}

fn percent(ratio: &Ratio) -> String {
    let lower = ratio.value < 1.0;
    let size = |value: f64| (value - 1.0).abs() * 100.0;
    let edges = |(low, high): (f64, f64)| match lower {
        true => ((1.0 - high) * 100.0, (1.0 - low) * 100.0),
        false => ((low - 1.0) * 100.0, (high - 1.0) * 100.0),
    };
    let word = if lower { "lower" } else { "higher" };
    format!("{:.1} % {word}{}", size(ratio.value), interval(ratio.interval.map(edges), " %"))
}

/// The interval in brackets, unless it is as narrow as the digits shown.
fn interval(edges: Option<(f64, f64)>, unit: &str) -> String {
    match edges {
        Some((low, high)) if high - low >= 0.1 => format!(" ({low:.1} to {high:.1}{unit})"),
        _ => String::new(),
    }
}

fn absolute(metric: Metric, difference: &Estimate) -> String {
    let word = if difference.mean < 0.0 { "less" } else { "more" };
    format!("{} {word}", quantity(metric.unit(), difference.mean.abs()))
}

/// A number with its noun: `1 run`, `3 runs`.
pub fn several(n: u64, what: &str) -> String {
    let plural = match n {
        1 => "",
        _ if what.ends_with("ch") => "es",
        _ => "s",
    };
    format!("{} {what}{plural}", grouped(n))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::Measured;
    use slotline_scenario::metric::Better;

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

    fn shown(values: &[(f64, f64)]) -> String {
        let exact = |value| Measured { value, at_least: false };
        let pairs: Vec<_> = values.iter().map(|(a, b)| (exact(*a), exact(*b))).collect();
        let comparison = Comparison::paired(&pairs, Better::Lower);
        comparison.map_or(String::new(), |c| verdict(Metric::FctMean, &c))
    }

    #[test]
    fn the_summary_of_a_flow_names_its_largest_part() {
        let port = |node: &str, port: &str| PortRow {
            node: node.into(),
            port: port.into(),
            ..PortRow::default()
        };
        let (one, other) = (port("s0", "h0"), port("s1", "s0"));
        let flow = FlowRow { timeouts: 1, retransmits: 2_000, ..FlowRow::default() };
        let mut why = WhyRow { round_trips: 14, ..WhyRow::default() };
        why.parts[Part::Queue as usize] = 10_800_000_000;
        why.parts[Part::Propagating as usize] = 1_600_000_000;
        let shown = time_summary(&flow, &why, &[(&one, 10_000_000_000)]);
        let rest = "; 14 round trips; 1 time-out; 2,000 retransmissions";
        assert_eq!(
            shown,
            format!("87 % of its 12.4 ms waiting in the queue of s0 towards h0{rest}")
        );
        let shown = time_summary(&flow, &why, &[(&one, 6_000_000_000), (&other, 4_800_000_000)]);
        let most = "87 % of its 12.4 ms queued in switches, most of it at s0 towards h0";
        assert_eq!(shown, format!("{most}{rest}"));
        why.parts[Part::Timeout as usize] = 200_000_000_000;
        let open = FlowRow { finish_ps: crate::record::NEVER, ..FlowRow::default() };
        let shown = time_summary(&open, &WhyRow { round_trips: 1, ..why }, &[]);
        assert_eq!(shown, "94 % of its 212 ms waiting for a time-out; 1 round trip; unfinished");
    }

    #[test]
    fn long_numbers_are_grouped() {
        let shown = [0, 999, 1_000, 12_345, 1_234_567].map(grouped);
        assert_eq!(shown, ["0", "999", "1,000", "12,345", "1,234,567"]);
    }

    #[test]
    fn verdicts_read_as_sentences() {
        assert_eq!(shown(&[(10.0, 7.0), (10.0, 7.0)]), "better: 30.0 % lower");
        assert_eq!(
            shown(&[(0.22, 0.0), (0.18, 0.0), (0.2, 0.0)]),
            "better: none instead of 200 ms"
        );
        assert_eq!(shown(&[(10.0, 40.0), (10.0, 40.0)]), "worse: 4.0 times as high");
        assert_eq!(shown(&[(10.0, 7.0), (10.0, 7.2)]), "better: 29.0 % lower (15.1 to 40.6 %)");
        assert_eq!(shown(&[(10.0, 7.0)]), "too few repetitions: 30.0 % lower");
        for same in [(10.0, 10.0), (10.0, 10.001), (0.0, 0.0)] {
            assert_eq!(shown(&[same]), "too few repetitions: equal");
        }
        assert_eq!(shown(&[(0.0, 0.007), (0.0, 0.007)]), "worse: 7 ms more");
        assert_eq!(shown(&[(5.0, 5.0), (5.0, 5.0)]), "no significant difference");
        let open = shown(&[(10.0, 10.1), (10.0, 9.9)]);
        assert_eq!(open, "no significant difference: -11.9 to +13.5 %");
    }
}
