//! Rows of coloured cells over time, one map for each scheme.

use super::{Look, legend};
use crate::drawing::{Anchor, Drawing};
use crate::font::{fitted, width};
use crate::scales::{self, BOTTOM, LABEL, RIGHT, Scale, Span};
use crate::style;
use slotline_report::plot::{Heat, HeatPanel, Measure};

/// The height of the names of rows.
const NAME: f64 = 11.0;

pub fn draw(plot: &Heat, look: &Look<'_>) -> Drawing {
    let tall = if plot.rows.len() > 20 { 13.0 } else { 17.0 };
    let names = plot.rows.iter().map(|name| width(name, NAME)).fold(10.0, f64::max);
    let left = (14.0 + names).min(look.width * 0.36);
    let right = look.width - RIGHT;
    let mut drawing = legend::ramp(look.width);
    let mut y = drawing.height + 4.0;
    for panel in plot.panels.iter().filter(|panel| look.shows(panel.scheme)) {
        let end = panel.edges.last().copied().unwrap_or(1.0);
        let parts = ((look.width / 100.0) as usize).max(3);
        let across =
            scales::linear(Measure::Seconds, 0.0, end, Span { from: left, to: right, parts });
        drawing.text((0.0, y + 12.0), look.name(panel.scheme), LABEL, Anchor::Start, style::ink());
        for (row, name) in plot.rows.iter().enumerate() {
            let top = y + 20.0 + row as f64 * tall;
            let name = fitted(name, left - 8.0, NAME);
            drawing.text(
                (left - 6.0, top + tall / 2.0 + 4.0),
                &name,
                NAME,
                Anchor::End,
                style::soft(),
            );
            cells(&mut drawing, panel, row, &across, (top, tall - 1.0));
        }
        let floor = y + 20.0 + plot.rows.len() as f64 * tall;
        scales::below(&mut drawing, "time", &across, (floor, floor), (left, right));
        y = floor + BOTTOM + 12.0;
    }
    drawing.height = y - 12.0;
    drawing
}

/// Adjacent cells of equal colour are drawn as one.
fn cells(
    drawing: &mut Drawing,
    panel: &HeatPanel,
    row: usize,
    across: &Scale,
    (y, tall): (f64, f64),
) {
    let cells = &panel.permille[row];
    let mut from = 0;
    for at in 1..=cells.len() {
        let colour = style::level(cells[from]);
        if at < cells.len() && style::level(cells[at]) == colour {
            continue;
        }
        let (x, end) = (across.at(panel.edges[from]), across.at(panel.edges[at]));
        drawing.rect((x, y), ((end - x).max(0.4), tall), colour, 1.0);
        from = at;
    }
}
