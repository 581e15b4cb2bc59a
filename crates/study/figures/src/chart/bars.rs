//! Horizontal bars, one for each scheme in each row.

use super::Look;
use crate::drawing::{Anchor, Drawing};
use crate::font::{fitted, width};
use crate::numbers::shown;
use crate::scales::{self, BOTTOM, LABEL, RIGHT, Scale, Span};
use crate::style;
use slotline_report::plot::{Bars, Measure};

/// The height of a bar with the gap below it.
const BAR: f64 = 11.0;
/// The room above the bars.
const TOP: f64 = 8.0;
/// The height of the value beside a bar.
const VALUE: f64 = 10.0;

pub fn draw(plot: &Bars, look: &Look<'_>) -> Drawing {
    let schemes: Vec<usize> = (0..plot.values.len()).filter(|at| look.shows(*at)).collect();
    let tall = (schemes.len() as f64 * BAR + 7.0).max(20.0);
    let names = plot.rows.iter().map(|name| width(name, LABEL)).fold(20.0, f64::max);
    let left = (14.0 + names).min(look.width * 0.42);
    let right = look.width - RIGHT - 46.0;
    let floor = TOP + plot.rows.len() as f64 * tall;
    let mut drawing = Drawing::new(look.width);
    drawing.height = floor + BOTTOM;
    let across = scale(plot, &schemes, look, left, right);
    scales::below(&mut drawing, plot.x.label, &across, (floor, TOP), (left, right));
    for (row, name) in plot.rows.iter().enumerate() {
        let top = TOP + row as f64 * tall;
        let name = fitted(name, left - 10.0, LABEL);
        drawing.text(
            (left - 7.0, top + tall / 2.0 + 4.0),
            &name,
            LABEL,
            Anchor::End,
            style::soft(),
        );
        let first = top + (tall - schemes.len() as f64 * BAR) / 2.0;
        for (rank, scheme) in schemes.iter().enumerate() {
            bar(&mut drawing, plot, *scheme, row, &across, (left, first + rank as f64 * BAR));
        }
    }
    drawing
}

fn bar(
    drawing: &mut Drawing,
    plot: &Bars,
    scheme: usize,
    row: usize,
    across: &Scale,
    (left, top): (f64, f64),
) {
    let value = plot.values[scheme].0[row];
    if value > 0.0 {
        let end = across.at(value).max(left);
        drawing.rect((left, top), (end - left, BAR - 2.0), style::scheme(scheme), 1.0);
        let words = shown(plot.x.unit, value);
        drawing.text((end + 4.0, top + 8.0), &words, VALUE, Anchor::Start, style::ink());
    }
    let stated = plot.stated.get(scheme).map_or(f64::NAN, |values| values.0[row]);
    if stated.is_finite() {
        style::star(drawing, scheme, (across.at(stated), top + BAR / 2.0 - 1.0), "about");
    }
}

fn scale(plot: &Bars, schemes: &[usize], look: &Look<'_>, left: f64, right: f64) -> Scale {
    let stated = schemes.iter().filter_map(|at| plot.stated.get(*at));
    let rows = schemes.iter().map(|at| &plot.values[*at]).chain(stated);
    let mut values: Vec<f64> =
        rows.flat_map(|row| row.0.iter().copied()).filter(|v| v.is_finite()).collect();
    let span = Span { from: left, to: right, parts: ((look.width / 110.0) as usize).max(2) };
    if look.is_log(&plot.x, 0) {
        let least = values.iter().copied().filter(|v| *v > 0.0).fold(f64::INFINITY, f64::min);
        values.push(least / 2.0);
        return scales::of(plot.x.unit, plot.x.scale, true, &values, span);
    }
    let most = values.into_iter().fold(0.0, f64::max);
    if plot.x.unit == Measure::Share {
        let end = scales::round_up(Measure::Share, most, 4).clamp(0.001, 1.0);
        return scales::linear(Measure::Share, 0.0, end, span);
    }
    scales::linear(plot.x.unit, 0.0, scales::round_up(plot.x.unit, most, 4), span)
}
