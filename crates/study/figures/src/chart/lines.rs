//! Lines over two axes.

use super::Look;
use crate::drawing::{Drawing, Step, Stroke, polyline};
use crate::scales::{self, BOTTOM, RIGHT, Scale, Span, TOP, label_room};
use crate::style;
use slotline_report::plot::{Lines, Mark, Measure, Series};

/// The light line of two of a scheme.
const LIGHT: &str = "median";

/// The height of a figure with two axes.
pub fn height(width: f64) -> f64 {
    (width * 0.62).clamp(190.0, 330.0)
}

pub fn draw(plot: &Lines, look: &Look<'_>) -> Drawing {
    let lines: Vec<&Series> =
        plot.series.iter().filter(|line| !line.x.is_empty() && look.shows(line.scheme)).collect();
    let mut drawing = Drawing::new(look.width);
    drawing.height = height(look.width);
    let (floor, right) = (drawing.height - BOTTOM, look.width - RIGHT);
    let up = vertical(plot, &lines, look, Span { from: floor, to: TOP, parts: 6 });
    let left = label_room(&up);
    let xs: Vec<f64> = lines
        .iter()
        .flat_map(|l| l.x.iter().copied().chain(l.stated.iter().map(|m| m.x)))
        .collect();
    let parts = ((look.width / 80.0) as usize).max(3);
    let across = scales::of(
        plot.x.unit,
        plot.x.scale,
        look.is_log(&plot.x, 0),
        &xs,
        Span { from: left, to: right, parts },
    );
    scales::beside(&mut drawing, plot.y.label, &up, left, right);
    scales::below(&mut drawing, plot.x.label, &across, (floor, TOP), (left, right));
    // A line that goes up and down is harder to follow if it has gaps.
    let over_time = plot.x.unit == Measure::Seconds && plot.y.unit != Measure::Share;
    for line in &lines {
        if !line.low.is_empty() {
            drawing.area(band(line, &across, &up), style::scheme(line.scheme), 0.18);
        }
        drawing.line(path(&line.x, &line.y, line.step, &across, &up), stroke(line, over_time));
    }
    for line in &lines {
        for at in marks(line, &across) {
            let place = (across.at(line.x[at]), up.at(line.y[at]));
            style::mark(&mut drawing, line.scheme, place, 3.2, line.part == LIGHT);
        }
        stars(&mut drawing, line.scheme, &line.stated, &across, &up);
    }
    drawing
}

fn stroke(line: &Series, over_time: bool) -> Stroke {
    match (line.part == LIGHT, over_time) {
        (true, _) => style::stroke(line.scheme, 1.1),
        (_, true) => Stroke::solid(style::scheme(line.scheme), 1.4),
        _ => style::stroke(line.scheme, 2.0),
    }
}

fn vertical(plot: &Lines, lines: &[&Series], look: &Look<'_>, span: Span) -> Scale {
    let values = |line: &&Series| {
        let own =
            if line.low.is_empty() { line.y.clone() } else { [&line.low[..], &line.high].concat() };
        own.into_iter().chain(line.stated.iter().map(|mark| mark.y)).collect::<Vec<f64>>()
    };
    let ys: Vec<f64> = lines.iter().flat_map(values).collect();
    let is_log = look.is_log(&plot.y, 1);
    if is_log || plot.y.unit == Measure::Share {
        return scales::of(plot.y.unit, plot.y.scale, is_log, &ys, span);
    }
    scales::from_zero(
        plot.y.unit,
        ys.into_iter().filter(|y| y.is_finite()).fold(0.0, f64::max),
        span,
    )
}

/// The path of a line, without points that would move it by less than a third of a unit.
pub fn path(x: &[f64], y: &[f64], step: bool, across: &Scale, up: &Scale) -> Vec<Step> {
    let mut out: Vec<Step> = vec![];
    let mut last: Option<(f64, f64)> = None;
    for (at, (x, y)) in x.iter().zip(y).map(|(x, y)| (across.at(*x), up.at(*y))).enumerate() {
        if !x.is_finite() || !y.is_finite() {
            continue;
        }
        match last {
            None => out.push(Step::Move(x, y)),
            Some((a, b)) if (x - a).abs() < 0.33 && (y - b).abs() < 0.33 && at > 0 => continue,
            Some((_, b)) if step => out.extend([Step::Line(x, b), Step::Line(x, y)]),
            Some(_) => out.push(Step::Line(x, y)),
        }
        last = Some((x, y));
    }
    out
}

fn band(line: &Series, across: &Scale, up: &Scale) -> Vec<Step> {
    let edge = |values: &[f64]| -> Vec<(f64, f64)> {
        line.x.iter().zip(values).map(|(x, y)| (across.at(*x), up.at(*y))).collect()
    };
    let back = edge(&line.low).into_iter().rev();
    let mut steps = polyline(edge(&line.high).into_iter().chain(back));
    steps.push(Step::Close);
    steps
}

/// Places for a few marks along a line, at other places for each scheme.
fn marks(line: &Series, across: &Scale) -> Vec<usize> {
    let n = line.x.len();
    if line.marks || n <= 24 {
        return (0..n).collect();
    }
    let places: Vec<f64> = line.x.iter().map(|x| across.at(*x)).collect();
    let (from, span) = (places[0], places[n - 1] - places[0]);
    let offset = 0.3 + 0.15 * (line.scheme % 4) as f64;
    (0..5).map(|i| nearest(&places, from + span * (f64::from(i) + offset) / 5.0)).collect()
}

/// The index of the one of ascending values that is nearest to `target`.
fn nearest(values: &[f64], target: f64) -> usize {
    let next = values.partition_point(|value| *value <= target);
    let far = |at: &usize| (values[*at] - target).abs();
    let around = next.saturating_sub(1)..(next + 1).min(values.len());
    around.min_by(|a, b| far(a).total_cmp(&far(b))).unwrap_or(0)
}

/// Draws the values that papers state.
pub fn stars(drawing: &mut Drawing, scheme: usize, stated: &[Mark], across: &Scale, up: &Scale) {
    for mark in stated {
        style::star(drawing, scheme, (across.at(mark.x), up.at(mark.y)), mark.sense);
    }
}
