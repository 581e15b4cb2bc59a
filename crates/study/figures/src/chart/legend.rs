//! The names of schemes with their signs.

use super::Look;
use crate::drawing::{Anchor, Colour, Drawing, Step};
use crate::font::{fitted, width};
use crate::scales::LABEL;
use crate::style;
use slotline_report::plot::Shape;

/// The width of a line with a mark.
const SIGN: f64 = 30.0;
/// The height of a row.
const ROW: f64 = 18.0;
/// The room between entries.
const GAP: f64 = 14.0;

/// The schemes of a figure. Panels with names, and bars with their own titles, need none.
pub fn schemes(shape: &Shape, look: &Look<'_>) -> Drawing {
    let entries: Vec<(usize, &str)> = match shape {
        Shape::Lines(lines) => lines
            .series
            .iter()
            .filter(|line| !line.x.is_empty())
            .map(|line| (line.scheme, line.note.as_str()))
            .collect(),
        Shape::Study(study) => study.series.iter().map(|line| (line.scheme, "")).collect(),
        Shape::Bars(bars) => (0..bars.values.len()).map(|at| (at, "")).collect(),
        Shape::Sequence(sequence) => sequence
            .tracks
            .iter()
            .filter(|track| track.flow == 0)
            .map(|track| (track.scheme, ""))
            .collect(),
        _ => vec![],
    };
    let filled = matches!(shape, Shape::Bars(_));
    let mut seen = vec![];
    let mut rows = Rows::new(look.width);
    for (scheme, note) in entries.into_iter().filter(|(scheme, _)| look.shows(*scheme)) {
        if seen.contains(&scheme) {
            continue;
        }
        seen.push(scheme);
        let note = if note.is_empty() { String::new() } else { format!(" ({note})") };
        let text = format!("{}{note}", look.name(scheme));
        rows.entry(&text, SIGN, |drawing, x, y| sign(drawing, scheme, filled, x, y));
    }
    rows.done()
}

fn sign(drawing: &mut Drawing, scheme: usize, filled: bool, x: f64, y: f64) {
    if filled {
        drawing.rect((x + SIGN - 14.0, y - 5.0), (12.0, 10.0), style::scheme(scheme), 1.0);
        return;
    }
    let line = vec![Step::Move(x, y), Step::Line(x + SIGN - 4.0, y)];
    drawing.line(line, style::stroke(scheme, 2.0));
    style::mark(drawing, scheme, (x + SIGN / 2.0 - 2.0, y), 3.4, false);
}

/// Swatches with names.
pub fn swatches(entries: &[(Colour, &str)], width: f64) -> Drawing {
    let mut rows = Rows::new(width);
    for (colour, name) in entries {
        rows.entry(name, 16.0, |drawing, x, y| {
            drawing.rect((x, y - 5.0), (11.0, 10.0), *colour, 1.0)
        });
    }
    rows.done()
}

/// The colours of utilisation.
pub fn ramp(width: f64) -> Drawing {
    let mut drawing = Drawing::new(width);
    drawing.height = ROW;
    drawing.text((0.0, 13.0), "0 %", LABEL, Anchor::Start, style::soft());
    for at in 0..10 {
        drawing.rect((26.0 + f64::from(at) * 14.0, 4.0), (14.0, 10.0), style::level(at * 100), 1.0);
    }
    drawing.text((172.0, 13.0), "100 % of a link", LABEL, Anchor::Start, style::soft());
    drawing
}

/// Entries in rows.
struct Rows {
    drawing: Drawing,
    x: f64,
    y: f64,
}

impl Rows {
    fn new(width: f64) -> Rows {
        Rows { drawing: Drawing::new(width), x: 0.0, y: 0.0 }
    }

    /// Adds a sign of width `room`, which `draw` draws, and a text.
    fn entry(&mut self, text: &str, room: f64, draw: impl FnOnce(&mut Drawing, f64, f64)) {
        let text = fitted(text, self.drawing.width - room, LABEL);
        let wide = room + width(&text, LABEL);
        if self.x > 0.0 && self.x + wide > self.drawing.width {
            (self.x, self.y) = (0.0, self.y + ROW);
        }
        let middle = self.y + ROW / 2.0;
        draw(&mut self.drawing, self.x, middle);
        self.drawing.text((self.x + room, middle + 4.0), &text, LABEL, Anchor::Start, style::ink());
        self.x += wide + GAP;
    }

    fn done(mut self) -> Drawing {
        self.drawing.height = if self.x > 0.0 { self.y + ROW + 6.0 } else { 0.0 };
        self.drawing
    }
}
