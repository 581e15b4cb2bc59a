//! Ranges of values laid onto ranges of a drawing, and the axes drawn for them: as on the report page.

use crate::drawing::{Anchor, Drawing, Step, Stroke};
use crate::font::width;
use crate::numbers::{grouped, multiple, quantity, significant};
use crate::style;
use slotline_report::plot::{Division, Measure};

/// The height of labels.
pub const LABEL: f64 = 12.0;
/// The room above an axis for its title, below it for labels and title, and on the right.
pub const TOP: f64 = 26.0;
/// The room below a drawing for the labels and the title of an axis.
pub const BOTTOM: f64 = 42.0;
/// The room on the right of a drawing.
pub const RIGHT: f64 = 14.0;

/// How values are laid out.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Linear,
    Log,
    /// By the logarithm of the distance to one, which is at least this.
    Tail(f64),
}

/// A range of values on a range of the drawing.
#[derive(Clone, Debug)]
pub struct Scale {
    low: f64,
    high: f64,
    from: f64,
    to: f64,
    kind: Kind,
    /// Values with labels.
    pub ticks: Vec<(f64, String)>,
    /// The unit of the labels, if they do not have it themselves.
    pub suffix: &'static str,
}

impl Scale {
    /// The position of a value.
    pub fn at(&self, value: f64) -> f64 {
        let part = match self.kind {
            Kind::Linear => (value - self.low) / (self.high - self.low),
            Kind::Log if value <= self.low => 0.0,
            Kind::Log => (value / self.low).ln() / (self.high / self.low).ln(),
            Kind::Tail(floor) => (1.0 / floor.max(1.0 - value)).ln() / (1.0 / floor).ln(),
        };
        self.from + part * (self.to - self.from)
    }
}

/// The ends of a scale in the drawing, and for about how many ticks there is room.
#[derive(Clone, Copy)]
pub struct Span {
    /// The position of the lowest value.
    pub from: f64,
    /// The position of the highest value.
    pub to: f64,
    /// The number of ticks.
    pub parts: usize,
}

/// One, two or five times a power of ten: `span` in about `parts` steps.
fn round_step(span: f64, parts: usize) -> f64 {
    let rough = span / parts as f64;
    let power = 10f64.powf(rough.log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0].map(|digit| digit * power);
    steps.into_iter().find(|step| *step >= rough * (1.0 - 1e-9)).unwrap_or(10.0 * power)
}

/// A linear scale.
pub fn linear(unit: Measure, low: f64, high: f64, span: Span) -> Scale {
    let high = if high > low { high } else { low + if low == 0.0 { 1.0 } else { low.abs() } };
    let (factor, suffix) = multiple(unit, high);
    let step = round_step((high - low) / factor, span.parts);
    let decimals = (-(step.log10() + 1e-9).floor()).max(0.0) as usize;
    let first = (low / factor / step - 1e-9).ceil() as i64;
    let label =
        |i: i64| (i as f64 * step * factor, grouped(&format!("{:.decimals$}", i as f64 * step)));
    let ticks = (first..).map(label).take_while(|(at, _)| *at <= high * (1.0 + 1e-9)).collect();
    Scale { low, high, from: span.from, to: span.to, kind: Kind::Linear, ticks, suffix }
}

/// The end of a linear scale that begins at zero: whole steps.
pub fn round_up(unit: Measure, high: f64, parts: usize) -> f64 {
    if high.is_nan() || high <= 0.0 {
        return 1.0;
    }
    let (factor, _) = multiple(unit, high);
    let step = round_step(high / factor, parts) * factor;
    (high / step - 1e-9).ceil() * step
}

/// A linear scale from zero.
pub fn from_zero(unit: Measure, high: f64, span: Span) -> Scale {
    linear(unit, 0.0, round_up(unit, high, span.parts), span)
}

/// A logarithmic scale. Values that are not above zero are drawn at its lower end.
pub fn log(unit: Measure, low: f64, high: f64, span: Span) -> Scale {
    let (low, high) = if low > 0.0 && low.is_finite() { (low, high) } else { (1.0, 10.0) };
    let (low, high) = if high > low * 1.0001 { (low, high) } else { (low / 2.0, high * 2.0) };
    let decades = (high / low).log10();
    let fits = |each: f64| decades * each <= span.parts as f64 * 1.2;
    let digits: &[f64] = match () {
        () if fits(9.0) => &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0],
        () if fits(3.0) => &[1.0, 2.0, 5.0],
        () => &[1.0],
    };
    let every =
        if digits.len() > 1 { 1 } else { (decades / span.parts as f64).ceil().max(1.0) as i32 };
    let powers = low.log10().floor() as i32..=high.log10().ceil() as i32;
    let values = powers
        .filter(|power| power.rem_euclid(every) == 0)
        .flat_map(|power| digits.iter().map(move |digit| digit * 10f64.powi(power)));
    let inside = values.filter(|v| *v >= low * (1.0 - 1e-9) && *v <= high * (1.0 + 1e-9));
    let ticks: Vec<_> = inside.map(|value| (value, quantity(unit, value, 4))).collect();
    // Values that are close to each other have the labels of a linear scale.
    let labels = linear(unit, low, high, span);
    let (ticks, suffix) = if ticks.len() < 2 { (labels.ticks, labels.suffix) } else { (ticks, "") };
    Scale { low, high, from: span.from, to: span.to, kind: Kind::Log, ticks, suffix }
}

/// Shares by the logarithm of their distance to 100 %: the steps from 90 % to 99 % to 99.9 % are equal.
fn tail(least: f64, span: Span) -> Scale {
    let floor = (least / 2.0).clamp(1e-9, 0.05);
    let nines = (1..10).map(|n| 0.1f64.powi(n)).take_while(|left| *left >= floor * (1.0 - 1e-9));
    let label = |left: f64| (1.0 - left, significant((1.0 - left) * 100.0, 12));
    let ticks = std::iter::once((0.0, "0".to_string())).chain(nines.map(label)).collect();
    Scale {
        low: 0.0,
        high: 1.0,
        from: span.from,
        to: span.to,
        kind: Kind::Tail(floor),
        ticks,
        suffix: "%",
    }
}

/// The scale of an axis with these values; `is_log` is the reader's choice.
pub fn of(unit: Measure, division: Division, is_log: bool, values: &[f64], span: Span) -> Scale {
    let finite = || values.iter().copied().filter(|value| value.is_finite());
    match (is_log, division) {
        (false, _) if unit == Measure::Share => {
            linear(unit, 0.0, 1.0, Span { parts: span.parts.min(5), ..span })
        }
        (true, Division::Tail) => {
            let left = finite().filter(|value| *value < 1.0).map(|value| 1.0 - value);
            tail(left.fold(0.05, f64::min), span)
        }
        (true, _) => {
            let positive = || finite().filter(|value| *value > 0.0);
            log(
                unit,
                positive().fold(f64::INFINITY, f64::min),
                positive().fold(0.0, f64::max),
                span,
            )
        }
        (false, _) => {
            linear(unit, finite().fold(0.0, f64::min), finite().fold(0.0, f64::max), span)
        }
    }
}

/// Places for names: the middles of equal slots.
pub fn names(names: &[String], from: f64, to: f64) -> (Scale, f64) {
    let slot = (to - from) / names.len().max(1) as f64;
    let room = (slot - 8.0).max(44.0);
    let tick = |(at, name): (usize, &String)| (at as f64, crate::font::fitted(name, room, LABEL));
    let ticks = names.iter().enumerate().map(tick).collect();
    let (low, high) = (-0.5, names.len() as f64 - 0.5);
    (Scale { low, high, from, to, kind: Kind::Linear, ticks, suffix: "" }, slot)
}

/// The label of an axis with its unit.
fn title(label: &str, scale: &Scale) -> String {
    if scale.suffix.is_empty() { label.to_string() } else { format!("{label} ({})", scale.suffix) }
}

/// The room for the labels of a vertical axis.
pub fn label_room(scale: &Scale) -> f64 {
    12.0 + scale.ticks.iter().map(|(_, text)| width(text, LABEL)).fold(12.0, f64::max)
}

fn grid(drawing: &mut Drawing, lines: Vec<[(f64, f64); 2]>) {
    let steps = lines.iter().flat_map(|[a, b]| [Step::Move(a.0, a.1), Step::Line(b.0, b.1)]);
    drawing.line(steps.collect(), Stroke::solid(style::named("grid"), 1.0));
}

/// Draws the grid, the labels and the title of a horizontal axis at `y`, with lines up to `top`.
pub fn below(
    drawing: &mut Drawing,
    label: &str,
    scale: &Scale,
    (y, top): (f64, f64),
    (left, right): (f64, f64),
) {
    if top < y {
        grid(
            drawing,
            scale.ticks.iter().map(|(v, _)| [(scale.at(*v), top), (scale.at(*v), y)]).collect(),
        );
    }
    let base = vec![Step::Move(left, y), Step::Line(right, y)];
    drawing.line(base, Stroke::solid(style::named("edge"), 1.0));
    let mut end = f64::NEG_INFINITY;
    for (value, text) in &scale.ticks {
        let half = width(text, LABEL) / 2.0;
        let at = scale.at(*value);
        if at - half < end + 8.0 {
            continue;
        }
        end = at + half;
        let most = (drawing.width - half).max(half);
        drawing.text((at.clamp(half, most), y + 17.0), text, LABEL, Anchor::Middle, style::soft());
    }
    let words = title(label, scale);
    let half = width(&words, LABEL) / 2.0;
    let middle = ((left + right) / 2.0)
        .clamp(half.min(drawing.width / 2.0), (drawing.width - half).max(drawing.width / 2.0));
    drawing.text((middle, y + 36.0), &words, LABEL, Anchor::Middle, style::ink());
}

/// Draws the grid, the labels and, above them, the title of a vertical axis.
pub fn beside(drawing: &mut Drawing, label: &str, scale: &Scale, left: f64, right: f64) {
    grid(
        drawing,
        scale.ticks.iter().map(|(v, _)| [(left, scale.at(*v)), (right, scale.at(*v))]).collect(),
    );
    let mut last = f64::INFINITY;
    for (value, text) in &scale.ticks {
        let at = scale.at(*value);
        if last - at < 13.0 {
            continue;
        }
        last = at;
        drawing.text((left - 7.0, at + 4.0), text, LABEL, Anchor::End, style::soft());
    }
    drawing.text((0.0, 12.0), &title(label, scale), LABEL, Anchor::Start, style::ink());
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPAN: Span = Span { from: 100.0, to: 300.0, parts: 5 };

    fn labels(scale: &Scale) -> Vec<&str> {
        scale.ticks.iter().map(|(_, label)| label.as_str()).collect()
    }

    #[test]
    fn a_linear_scale_has_round_steps_and_one_unit() {
        let scale = from_zero(Measure::Seconds, 0.0037, SPAN);
        assert_eq!((labels(&scale), scale.suffix), (vec!["0", "1", "2", "3", "4"], "ms"));
        assert_eq!((scale.at(0.0), scale.at(0.004)), (100.0, 300.0));
        assert_eq!(title("FCT", &scale), "FCT (ms)");
        assert_eq!(
            labels(&linear(Measure::Share, 0.0, 1.0, SPAN)),
            ["0", "20", "40", "60", "80", "100"]
        );
    }

    #[test]
    fn a_logarithmic_scale_has_a_unit_at_each_label() {
        let scale = log(Measure::Seconds, 1e-5, 1e-2, SPAN);
        assert_eq!(labels(&scale), ["10\u{a0}µs", "100\u{a0}µs", "1\u{a0}ms", "10\u{a0}ms"]);
        assert_eq!((scale.at(0.0), scale.at(1e-5), scale.at(1e-2)), (100.0, 100.0, 300.0));
        assert!((scale.at(1e-4) - 100.0 - 200.0 / 3.0).abs() < 1e-9);
    }

    #[test]
    fn close_values_have_labels_on_a_logarithmic_scale() {
        let scale = log(Measure::Seconds, 0.00521, 0.00532, SPAN);
        assert_eq!((labels(&scale), scale.suffix), (vec!["5.25", "5.30"], "ms"));
    }

    #[test]
    fn the_tail_has_equal_steps_to_each_nine() {
        let scale = of(Measure::Share, Division::Tail, true, &[0.5, 0.9999, 1.0], SPAN);
        let step = |a: f64, b: f64| scale.at(b) - scale.at(a);
        assert!((step(0.9, 0.99) - step(0.99, 0.999)).abs() < 1e-6);
        assert_eq!(labels(&scale), ["0", "90", "99", "99.9", "99.99"]);
        assert!((scale.at(1.0) - 300.0).abs() < 1e-9);
    }

    #[test]
    fn odd_values_do_not_break_a_scale() {
        for values in [&[][..], &[0.0], &[f64::NAN], &[5.0, 5.0], &[-1.0, 0.0]] {
            for is_log in [false, true] {
                let scale = of(Measure::Number, Division::LinearFirst, is_log, values, SPAN);
                assert!(
                    values.iter().all(|v| v.is_nan() || scale.at(*v).is_finite()),
                    "{values:?}"
                );
                assert!(scale.ticks.len() < 30, "{values:?}: {:?}", scale.ticks);
            }
        }
    }
}
