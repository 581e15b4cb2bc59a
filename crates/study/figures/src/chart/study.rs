//! The result of a parameter study: a metric against a parameter, with intervals.

use super::Look;
use super::lines::{height, path, stars};
use crate::drawing::{Drawing, Step, Stroke, shifted};
use crate::scales::{self, BOTTOM, RIGHT, Scale, Span, TOP, label_room};
use crate::style;
use slotline_report::plot::{Study, StudyLine};

pub fn draw(plot: &Study, look: &Look<'_>) -> Drawing {
    let lines: Vec<&StudyLine> =
        plot.series.iter().filter(|line| !line.x.is_empty() && look.shows(line.scheme)).collect();
    let mut drawing = Drawing::new(look.width);
    drawing.height = height(look.width);
    let (floor, right) = (drawing.height - BOTTOM, look.width - RIGHT);
    let up = vertical(plot, &lines, look, Span { from: floor, to: TOP, parts: 6 });
    let left = label_room(&up);
    let (across, slot) = horizontal(plot, &lines, look, left, right);
    scales::beside(&mut drawing, &plot.y.label, &up, left, right);
    scales::below(&mut drawing, &plot.x.label, &across, (floor, TOP), (left, right));
    for (rank, line) in lines.iter().enumerate() {
        let dx = shift(rank, lines.len(), slot);
        if plot.names.is_empty() {
            let steps = path(&line.x, &line.y, false, &across, &up);
            drawing.line(shifted(&steps, dx, 0.0), style::stroke(line.scheme, 2.0));
        }
        for at in 0..line.x.len() {
            let x = across.at(line.x[at]) + dx;
            whisker(&mut drawing, line, at, x, &up, floor);
            style::mark(&mut drawing, line.scheme, (x, up.at(line.y[at])), 3.6, line.least[at]);
        }
        stars(&mut drawing, line.scheme, &line.stated, &across, &up);
    }
    drawing
}

fn vertical(plot: &Study, lines: &[&StudyLine], look: &Look<'_>, span: Span) -> Scale {
    let values = lines.iter().flat_map(|line| {
        let stated = line.stated.iter().map(|mark| mark.y);
        [&line.y[..], &line.low, &line.high].concat().into_iter().chain(stated)
    });
    let ys: Vec<f64> = values.filter(|y| y.is_finite()).collect();
    match look.is_log(&plot.y, 1) {
        true => scales::of(plot.y.unit, plot.y.scale, true, &ys, span),
        false => scales::from_zero(plot.y.unit, ys.into_iter().fold(0.0, f64::max), span),
    }
}

/// The scale of the parameter. If its values are names, also the width of a name's slot.
fn horizontal(
    plot: &Study,
    lines: &[&StudyLine],
    look: &Look<'_>,
    left: f64,
    right: f64,
) -> (Scale, Option<f64>) {
    if !plot.names.is_empty() {
        let (scale, slot) = scales::names(&plot.names, left, right);
        return (scale, Some(slot));
    }
    let xs: Vec<f64> = lines.iter().flat_map(|line| line.x.iter().copied()).collect();
    let span = Span { from: left, to: right, parts: ((look.width / 80.0) as usize).max(3) };
    (scales::of(plot.x.unit, plot.x.scale, look.is_log(&plot.x, 0), &xs, span), None)
}

/// How far a line is shifted sideways, so that none hides another.
fn shift(rank: usize, lines: usize, slot: Option<f64>) -> f64 {
    let n = lines.max(1) as f64;
    let gap = slot.map_or((20.0 / n).min(5.0), |slot| (slot * 0.7 / n).min(14.0));
    (rank as f64 - (n - 1.0) / 2.0) * gap
}

/// The interval of a point, cut at the edge of the drawing.
fn whisker(drawing: &mut Drawing, line: &StudyLine, at: usize, x: f64, up: &Scale, floor: f64) {
    if !line.low[at].is_finite() || !line.high[at].is_finite() {
        return;
    }
    let [low, high] = [line.low[at], line.high[at]].map(|value| up.at(value).clamp(TOP, floor));
    if low - high < 1.0 {
        return;
    }
    let mut steps = vec![Step::Move(x, low), Step::Line(x, high)];
    for y in [low, high].into_iter().filter(|y| *y != floor && *y != TOP) {
        steps.extend([Step::Move(x - 3.5, y), Step::Line(x + 3.5, y)]);
    }
    drawing.line(steps, Stroke::solid(style::scheme(line.scheme), 1.3));
}
