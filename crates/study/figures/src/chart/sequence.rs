//! The trace of the first followed flow under each scheme.

use super::Look;
use super::lines::{height, path};
use crate::drawing::{Drawing, Step, Stroke, rectangle};
use crate::scales::{self, BOTTOM, RIGHT, Scale, Span, TOP, label_room};
use crate::style;
use slotline_report::plot::{Division, Measure, Points, Sequence, Track};

pub fn draw(plot: &Sequence, look: &Look<'_>) -> Drawing {
    let tracks: Vec<&Track> =
        plot.tracks.iter().filter(|track| track.flow == 0 && look.shows(track.scheme)).collect();
    let mut drawing = Drawing::new(look.width);
    drawing.height = height(look.width) * 1.15;
    let (floor, right) = (drawing.height - BOTTOM, look.width - RIGHT);
    let steps = |track: &&Track| {
        [&track.sent, &track.resent, &track.acknowledged].map(|p| (p.x.clone(), p.y.clone()))
    };
    let all: Vec<(Vec<f64>, Vec<u64>)> = tracks.iter().flat_map(steps).collect();
    let most = all.iter().flat_map(|(_, y)| y).max().copied().unwrap_or(0) as f64;
    let up = scales::from_zero(Measure::Bytes, most, Span { from: floor, to: TOP, parts: 6 });
    let left = label_room(&up);
    let xs: Vec<f64> = all.into_iter().flat_map(|(x, _)| x).collect();
    let span = Span { from: left, to: right, parts: ((look.width / 80.0) as usize).max(3) };
    let across =
        scales::of(Measure::Seconds, Division::LinearFirst, look.other_scale[0], &xs, span);
    for track in &tracks {
        shade(&mut drawing, track, &across, floor);
    }
    scales::beside(&mut drawing, "bytes of the flow", &up, left, right);
    scales::below(
        &mut drawing,
        "time since its first segment",
        &across,
        (floor, TOP),
        (left, right),
    );
    tracks.iter().for_each(|track| trace(&mut drawing, track, &across, &up));
    drawing
}

/// The time in which the sender was permitted to send.
fn shade(drawing: &mut Drawing, track: &Track, across: &Scale, floor: f64) {
    for (open, shut) in track.open.iter().zip(&track.shut) {
        let (x, end) = (across.at(*open), across.at(*shut));
        let steps = rectangle((x, TOP), ((end - x).max(0.5), floor - TOP));
        drawing.area(steps, style::scheme(track.scheme), 0.13);
    }
}

fn trace(drawing: &mut Drawing, track: &Track, across: &Scale, up: &Scale) {
    let bytes: Vec<f64> = track.acknowledged.y.iter().map(|bytes| *bytes as f64).collect();
    let line = path(&track.acknowledged.x, &bytes, true, across, up);
    drawing.line(line, style::stroke(track.scheme, 1.1));
    let own = style::scheme(track.scheme);
    let dot = |x: f64, y: f64| vec![Step::Move(x, y), Step::Line(x + 0.01, y)];
    let dots = Stroke { round: true, ..Stroke::solid(own, 3.2) };
    drawing.line(scatter(&track.sent, across, up, dot), dots);
    let cross = |x: f64, y: f64| {
        let (l, r, t, b) = (x - 3.0, x + 3.0, y - 3.0, y + 3.0);
        vec![Step::Move(l, t), Step::Line(r, b), Step::Move(r, t), Step::Line(l, b)]
    };
    drawing.line(scatter(&track.resent, across, up, cross), Stroke::solid(own, 1.6));
}

/// Signs at points, without those that would lie on another.
fn scatter(
    points: &Points,
    across: &Scale,
    up: &Scale,
    sign: impl Fn(f64, f64) -> Vec<Step>,
) -> Vec<Step> {
    let mut out = vec![];
    let mut last = (f64::NAN, f64::NAN);
    for (x, y) in points.x.iter().zip(&points.y) {
        let at = (across.at(*x), up.at(*y as f64));
        if (at.0 - last.0).abs() < 0.5 && (at.1 - last.1).abs() < 0.5 {
            continue;
        }
        out.extend(sign(at.0, at.1));
        last = at;
    }
    out
}
