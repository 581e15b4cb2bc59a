//! Small line plots as SVG, without scripts, styled by the page's `--c0` … `--c7`, `--ink`, `--grid`.

use crate::metrics::Unit;
use crate::output::words::{Scale, quantity};
use std::fmt::Write;

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 320.0;
const LEFT: f64 = 64.0;
const RIGHT: f64 = 32.0;
const TOP: f64 = 12.0;
const BOTTOM: f64 = 48.0;
/// Colours before they repeat with another dash.
const COLOURS: usize = 8;
const DASHES: [&str; 4] = ["none", "8 3", "2 3", "8 3 2 3"];

/// One axis.
#[derive(Clone, Copy, Debug)]
pub struct Axis<'a> {
    /// What it shows.
    pub label: &'a str,
    /// Unit of its values.
    pub unit: Unit,
    /// Logarithmic: for values above zero only.
    pub log: bool,
}

/// One line.
#[derive(Clone, Debug)]
pub struct Line {
    /// What it stands for, in the legend.
    pub name: String,
    /// Its points, by x.
    pub points: Vec<(f64, f64)>,
}

/// A range of values laid onto a range of pixels.
struct Ruler<'a> {
    axis: Axis<'a>,
    low: f64,
    high: f64,
    pixels: (f64, f64),
}

impl<'a> Ruler<'a> {
    /// Linear axes go from zero, so that heights can be compared, to a round number.
    fn new(axis: Axis<'a>, values: impl Iterator<Item = f64>, pixels: (f64, f64)) -> Ruler<'a> {
        let usable = values.filter(|v| v.is_finite() && (!axis.log || *v > 0.0));
        let (low, high) = usable.fold((f64::MAX, f64::MIN), |(l, h), v| (l.min(v), h.max(v)));
        let (low, high) = match (axis.log, low <= high) {
            (_, false) => (1.0, 10.0),
            (true, _) if low == high => (low / 2.0, high * 2.0),
            (true, _) => (low, high),
            (false, _) => (low.min(0.0), if high > 0.0 { round_up(high, axis.unit) } else { 1.0 }),
        };
        Ruler { axis, low, high, pixels }
    }
    /// A linear axis that ends with its values, as is right for time.
    fn snug(mut self, values: impl Iterator<Item = f64>) -> Ruler<'a> {
        let last = values.filter(|v| v.is_finite()).fold(0.0, f64::max);
        if !self.axis.log && last > 0.0 {
            self.high = last;
        }
        self
    }
    fn at(&self, value: f64) -> f64 {
        let part = if self.axis.log {
            (value / self.low).ln() / (self.high / self.low).ln()
        } else {
            (value - self.low) / (self.high - self.low)
        };
        self.pixels.0 + part * (self.pixels.1 - self.pixels.0)
    }
    fn shows(&self, value: f64) -> bool {
        value.is_finite() && (!self.axis.log || value > 0.0)
    }
    /// Values with a grid line and what is written there.
    fn ticks(&self) -> Vec<(f64, String)> {
        if self.axis.log { self.decades() } else { self.steps() }
    }
    /// One, two and five times the powers of ten; powers alone over three decades or more.
    fn decades(&self) -> Vec<(f64, String)> {
        let wide = self.high / self.low >= 1e3;
        let within = |v: &f64| *v >= self.low * (1.0 - 1e-9) && *v <= self.high * (1.0 + 1e-9);
        let (first, last) = (self.low.log10().floor() as i32, self.high.log10().ceil() as i32);
        let digits: &[f64] = if wide { &[1.0] } else { &[1.0, 2.0, 5.0] };
        let all = (first..=last).flat_map(|e| digits.iter().map(move |d| d * 10f64.powi(e)));
        all.filter(within).map(|v| (v, quantity(self.axis.unit, v))).collect()
    }
    /// Multiples of the step.
    fn steps(&self) -> Vec<(f64, String)> {
        let scale = self.scale();
        let step = round_step((self.high - self.low) / scale.factor);
        let decimals = (-step.log10().floor()).max(0.0) as usize;
        let first = (self.low / scale.factor / step).ceil() as i64;
        let last = (self.high / scale.factor / step * (1.0 + 1e-9)).floor() as i64;
        let tick = |i: i64| {
            let shown = i as f64 * step;
            (shown * scale.factor, format!("{shown:.decimals$}"))
        };
        (first..=last).map(tick).collect()
    }
    fn scale(&self) -> Scale {
        Scale::of(self.axis.unit, self.high)
    }
    /// The label; linear axes have their unit here, logarithmic ones at every tick.
    fn title(&self) -> String {
        let symbol = self.scale().symbol;
        let plain = self.axis.log || symbol.is_empty();
        if plain { self.axis.label.into() } else { format!("{} ({symbol})", self.axis.label) }
    }
}

/// One, two or five times a power of ten: about a fifth of `span`.
fn round_step(span: f64) -> f64 {
    let rough = span / 5.0;
    let power = 10f64.powf(rough.log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0].map(|digit| digit * power);
    steps.into_iter().find(|step| *step >= rough * (1.0 - 1e-9)).unwrap_or(steps[3])
}

/// `high` or a little more: whole steps from zero.
fn round_up(high: f64, unit: Unit) -> f64 {
    let factor = Scale::of(unit, high).factor;
    let step = round_step(high / factor) * factor;
    (high / step * (1.0 - 1e-9)).ceil() * step
}

/// A plot of `lines`, described by `title` for those who cannot see it.
pub fn svg(title: &str, x: Axis<'_>, y: Axis<'_>, lines: &[Line]) -> String {
    let points = || lines.iter().flat_map(|line| line.points.iter());
    let along = || points().map(|p| p.0);
    let across = Ruler::new(x, along(), (LEFT, WIDTH - RIGHT)).snug(along());
    let up = Ruler::new(y, points().map(|p| p.1), (HEIGHT - BOTTOM, TOP));
    let mut out = format!(
        "<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{}\">\n",
        escape(title)
    );
    out += &grid(&across, &up);
    for (at, line) in lines.iter().enumerate() {
        out += &stroke(at, line, &across, &up);
    }
    out + "</svg>\n"
}

fn grid(across: &Ruler<'_>, up: &Ruler<'_>) -> String {
    let mut out = String::new();
    let (floor, right) = (HEIGHT - BOTTOM, WIDTH - RIGHT);
    for (value, text) in across.ticks() {
        let x = across.at(value);
        out += &format!("<path class=\"grid\" d=\"M{x:.1} {TOP}V{floor}\"/>\n");
        out += &label(x, floor + 16.0, "middle", &text);
    }
    for (value, text) in up.ticks() {
        let y = up.at(value);
        out += &format!("<path class=\"grid\" d=\"M{LEFT} {y:.1}H{right}\"/>\n");
        out += &label(LEFT - 6.0, y + 4.0, "end", &text);
    }
    out += &label((LEFT + right) / 2.0, HEIGHT - 10.0, "middle", &across.title());
    let middle = (TOP + floor) / 2.0;
    out += &format!(
        "<text transform=\"translate(14 {middle}) rotate(-90)\" text-anchor=\"middle\">{}</text>\n",
        escape(&up.title())
    );
    out
}

fn label(x: f64, y: f64, anchor: &str, text: &str) -> String {
    format!("<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{}</text>\n", escape(text))
}

/// The look of the line in place `at`: colour and, so that colour is never needed, dash.
pub fn style(at: usize) -> String {
    let dash = DASHES[at % DASHES.len()];
    format!("stroke:var(--c{});stroke-dasharray:{dash}", at % COLOURS)
}

/// Leaves out points that would move the line by less than half a pixel.
fn stroke(at: usize, line: &Line, across: &Ruler<'_>, up: &Ruler<'_>) -> String {
    let mut path = String::new();
    let mut last: Option<(f64, f64)> = None;
    let end = line.points.len().saturating_sub(1);
    for (i, (x, y)) in line.points.iter().enumerate() {
        if !across.shows(*x) || !up.shows(*y) {
            continue;
        }
        let (px, py) = (across.at(*x), up.at(*y));
        let near = last.is_some_and(|(lx, ly)| (px - lx).abs() < 0.5 && (py - ly).abs() < 0.5);
        if !near || i == end {
            let command = if last.is_some() { 'L' } else { 'M' };
            write!(path, "{command}{px:.1} {py:.1}").expect("a String");
            last = Some((px, py));
        }
    }
    format!("<path class=\"line\" style=\"{}\" d=\"{path}\"/>\n", style(at))
}

/// `text` where HTML and SVG expect text.
pub fn escape(text: &str) -> String {
    let pairs = [("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ("\"", "&quot;")];
    pairs.iter().fold(text.to_string(), |text, (from, to)| text.replace(from, to))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIME: Axis<'static> = Axis { label: "FCT", unit: Unit::Seconds, log: true };
    const SHARE: Axis<'static> = Axis { label: "share", unit: Unit::Ratio, log: false };

    fn labels(axis: Axis<'_>, low: f64, high: f64) -> Vec<String> {
        let ruler = Ruler::new(axis, [low, high].into_iter(), (0.0, 100.0));
        ruler.ticks().into_iter().map(|(_, text)| text).collect()
    }

    #[test]
    fn ticks_are_round() {
        assert_eq!(labels(TIME, 3e-5, 0.2), ["100 µs", "1 ms", "10 ms", "100 ms"]);
        assert_eq!(labels(TIME, 1e-3, 2e-2), ["1 ms", "2 ms", "5 ms", "10 ms", "20 ms"]);
        assert_eq!(labels(SHARE, 0.0, 1.0), ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]);
        let bytes = Axis { label: "queue", unit: Unit::Bytes, log: false };
        assert_eq!(labels(bytes, 0.0, 150_000.0), ["0", "50", "100", "150"]);
        assert_eq!(Ruler::new(bytes, [150_000.0].into_iter(), (0.0, 1.0)).title(), "queue (KB)");
        let time = Axis { label: "time", unit: Unit::Seconds, log: false };
        let ends = || [0.0, 4.2].into_iter();
        assert_eq!(Ruler::new(time, ends(), (0.0, 1.0)).high, 5.0);
        let snug = Ruler::new(time, ends(), (0.0, 1.0)).snug(ends());
        assert_eq!((snug.high, snug.ticks().len()), (4.2, 5));
    }

    #[test]
    fn odd_data_still_makes_a_plot() {
        for points in [vec![], vec![(0.0, 0.0)], vec![(1e-3, 0.5)], vec![(f64::NAN, f64::INFINITY)]]
        {
            let plot = svg("a < b", TIME, SHARE, &[Line { name: "x".into(), points }]);
            assert!(plot.contains("a &lt; b") && !plot.contains("NaN") && !plot.contains("inf"));
        }
    }
}
