//! Horizontal bars made of parts: where the time of flows went.

use super::{Look, legend};
use crate::drawing::{Anchor, Drawing, Stroke, rectangle};
use crate::font::{fitted, width};
use crate::numbers::{grouped, quantity};
use crate::scales::{self, BOTTOM, LABEL, RIGHT, Span};
use crate::style;
use slotline_report::plot::{Flows, Measure, Stack};

/// The height of a bar.
const TALL: f64 = 20.0;
/// The height of a percentage in a bar.
const PERCENT: f64 = 11.0;

/// A bar: its scheme, its title and its parts.
struct Bar<'a> {
    scheme: usize,
    title: String,
    seconds: &'a [f64],
}

impl Bar<'_> {
    fn total(&self) -> f64 {
        self.seconds.iter().sum()
    }
}

pub fn draw(plot: &Stack, look: &Look<'_>) -> Drawing {
    let bar = |bar: &'_ slotline_report::plot::StackBar| {
        let flows = if bar.flows == 1 { "flow" } else { "flows" };
        let n = grouped(&bar.flows.to_string());
        format!("{}, {} ({n} {flows})", look.name(bar.scheme), bar.group)
    };
    let shown = plot.bars.iter().filter(|bar| look.shows(bar.scheme));
    let bars: Vec<Bar<'_>> =
        shown.map(|b| Bar { scheme: b.scheme, title: bar(b), seconds: &b.seconds }).collect();
    stacked(&plot.parts, &bars, look.width, "mean time per flow")
}

/// The slowest of the flows of each scheme.
pub fn draw_flows(plot: &Flows, look: &Look<'_>) -> Drawing {
    let mut bars: Vec<Bar<'_>> = vec![];
    for flow in plot.flows.iter().filter(|flow| look.shows(flow.scheme)) {
        if bars.iter().all(|bar| bar.scheme != flow.scheme) {
            let title = format!("{}, {}", look.name(flow.scheme), flow.name);
            bars.push(Bar { scheme: flow.scheme, title, seconds: &flow.seconds });
        }
    }
    stacked(&plot.parts, &bars, look.width, "time of the slowest flow")
}

fn stacked(parts: &[&str], bars: &[Bar<'_>], wide: f64, label: &str) -> Drawing {
    let used = |part: usize| bars.iter().any(|bar| bar.seconds.get(part).is_some_and(|s| *s > 0.0));
    let entries: Vec<_> = parts
        .iter()
        .enumerate()
        .filter(|(at, _)| used(*at))
        .map(|(at, name)| (style::part(at), *name))
        .collect();
    let mut drawing = legend::swatches(&entries, wide);
    let right = wide - RIGHT;
    let longest = bars.iter().map(Bar::total).fold(0.0, f64::max);
    let span = Span { from: 0.0, to: right, parts: ((wide / 100.0) as usize).max(3) };
    let across = scales::from_zero(Measure::Seconds, longest, span);
    let mut y = drawing.height + 4.0;
    let top = y;
    let mut tops = vec![];
    for (at, bar) in bars.iter().enumerate() {
        if at > 0 && bars[at - 1].scheme != bar.scheme {
            y += 12.0;
        }
        tops.push(y);
        y += TALL + 24.0;
    }
    let floor = y + 4.0;
    scales::below(&mut drawing, label, &across, (floor, top), (0.0, right));
    for (bar, top) in bars.iter().zip(tops) {
        let title = format!("{}: {}", bar.title, quantity(Measure::Seconds, bar.total(), 3));
        // The grid does not cross the title.
        let title = fitted(&title, right, LABEL);
        drawing.rect((0.0, top + 2.0), (width(&title, LABEL) + 4.0, 14.0), style::paper(), 1.0);
        drawing.text((1.0, top + 13.0), &title, LABEL, Anchor::Start, style::ink());
        pieces(&mut drawing, bar, across.at(bar.total()), top + 19.0);
    }
    drawing.height = floor + BOTTOM;
    drawing
}

fn pieces(drawing: &mut Drawing, bar: &Bar<'_>, wide: f64, y: f64) {
    let total = bar.total();
    let mut from = 0.0;
    for (part, seconds) in bar.seconds.iter().enumerate().filter(|(_, seconds)| **seconds > 0.0) {
        let own = seconds / total * wide;
        let colour = style::part(part);
        let steps = rectangle((from, y), (own.max(0.5), TALL));
        drawing.shape(steps, colour, Stroke::solid(style::paper(), 0.5));
        let label = format!("{:.0}\u{a0}%", seconds / total * 100.0);
        if own > width(&label, PERCENT) + 8.0 {
            let middle = (from + own / 2.0, y + TALL / 2.0 + 4.0);
            drawing.text(middle, &label, PERCENT, Anchor::Middle, style::on(colour));
        }
        from += own;
    }
}
