//! Spans of time in rows: which host may send, and to whom. One chart for each scheme.

use super::Look;
use crate::drawing::{Anchor, Colour, Drawing};
use crate::font::width;
use crate::scales::{self, BOTTOM, LABEL, RIGHT, Scale, Span};
use crate::style;
use slotline_report::plot::{Gantt, GanttPanel, Measure, Spans};

/// The height of the names of rows.
const NAME: f64 = 11.0;
/// The height of a destination in a bar.
const INSIDE: f64 = 10.0;

pub fn draw(plot: &Gantt, look: &Look<'_>) -> Drawing {
    let panels = || plot.panels.iter().filter(|panel| look.shows(panel.scheme));
    let names =
        panels().flat_map(|panel| &panel.rows).map(|row| width(&name(plot, i64::from(*row)), NAME));
    let left = 12.0 + names.fold(10.0, f64::max);
    let mut drawing = Drawing::new(look.width);
    for panel in panels() {
        drawing.height = draw_panel(&mut drawing, plot, panel, look, left) + BOTTOM + 10.0;
    }
    drawing
}

fn name(plot: &Gantt, at: i64) -> String {
    let known = usize::try_from(at).ok().and_then(|at| plot.hosts.get(at).cloned());
    known.unwrap_or_else(|| format!("host {at}"))
}

fn colour(plot: &Gantt, to: i64) -> Colour {
    match to {
        ..0 => style::named("edge"),
        _ => style::scheme((to / i64::from(plot.step.max(1))) as usize),
    }
}

/// Draws a panel below the drawing, and returns where it ends.
fn draw_panel(
    drawing: &mut Drawing,
    plot: &Gantt,
    panel: &GanttPanel,
    look: &Look<'_>,
    left: f64,
) -> f64 {
    let tall = match panel.rows.len() {
        ..=40 => 16.0,
        41..=160 => 11.0,
        _ => 6.0,
    };
    let (top, right) = (drawing.height + 20.0, look.width - RIGHT);
    let floor = top + panel.rows.len() as f64 * tall;
    let parts = ((look.width / 100.0) as usize).max(3);
    let across =
        scales::linear(Measure::Seconds, 0.0, panel.end, Span { from: left, to: right, parts });
    drawing.text((0.0, top - 8.0), look.name(panel.scheme), LABEL, Anchor::Start, style::ink());
    scales::below(drawing, "time", &across, (floor, top), (left, right));
    let every = (12.0f64 / tall).ceil() as usize;
    for (row, host) in panel.rows.iter().enumerate() {
        if row % every == 0 && (row == 0 || panel.rows[row - 1] != *host) {
            let y = top + row as f64 * tall + tall / 2.0 + 4.0;
            drawing.text(
                (left - 6.0, y),
                &name(plot, i64::from(*host)),
                NAME,
                Anchor::End,
                style::soft(),
            );
        }
    }
    for at in 0..panel.bars.row.len() {
        bar(drawing, plot, &panel.bars, at, &across, (top, tall));
    }
    floor
}

fn bar(
    drawing: &mut Drawing,
    plot: &Gantt,
    spans: &Spans,
    at: usize,
    across: &Scale,
    (top, tall): (f64, f64),
) {
    let (x, end) = (across.at(spans.from[at]), across.at(spans.until[at]));
    let (wide, y) = ((end - x).max(0.7), top + f64::from(spans.row[at]) * tall);
    let own = colour(plot, spans.to[at]);
    let gap = if tall > 8.0 { 2.0 } else { 1.0 };
    drawing.rect((x, y), (wide, tall - gap), own, 0.25 + 0.75 * spans.share[at]);
    if spans.to[at] < 0 || tall < 16.0 {
        return;
    }
    let to = name(plot, spans.to[at]);
    if wide > width(&to, INSIDE) + 6.0 {
        drawing.text((x + wide / 2.0, y + 11.0), &to, INSIDE, Anchor::Middle, style::on(own));
    }
}
