//! How schemes look: a colour, a dash and a mark each, as on the report page.

use crate::drawing::{Colour, Drawing, Step, Stroke, circle, polyline, rectangle, shifted};
use slotline_report::colours;

/// The colour that the style sheet of pages calls `name`.
pub fn named(name: &str) -> Colour {
    let digits = colours::named(name);
    let part = |at: usize| digits.get(at..at + 2).and_then(|two| u8::from_str_radix(two, 16).ok());
    [1, 3, 5].map(|at| part(at).unwrap_or(0))
}

/// Labels and titles.
pub fn ink() -> Colour {
    named("ink")
}

/// Labels of ticks.
pub fn soft() -> Colour {
    named("soft")
}

/// The background.
pub fn paper() -> Colour {
    named("paper")
}

/// The colour of a scheme.
pub fn scheme(at: usize) -> Colour {
    named(&format!("c{}", at % 8))
}

/// The colour of a part of time.
pub fn part(at: usize) -> Colour {
    named(&format!("p{}", at % 10))
}

/// The colour of a utilisation per mille; white if it is not known.
pub fn level(permille: i32) -> Colour {
    match permille {
        ..0 => named("none"),
        _ => named(&format!("h{}", (permille / 100).min(9))),
    }
}

/// The colour of text on `colour`.
pub fn on(colour: Colour) -> Colour {
    let [r, g, b] = colour.map(f64::from);
    if 0.299 * r + 0.587 * g + 0.114 * b > 140.0 { ink() } else { paper() }
}

const DASHES: [&[f64]; 8] = [
    &[],
    &[7.0, 3.0],
    &[2.0, 3.0],
    &[9.0, 3.0, 2.0, 3.0],
    &[12.0, 3.0],
    &[4.0, 2.0, 1.0, 2.0],
    &[1.0, 2.0],
    &[6.0, 2.0, 2.0, 2.0, 2.0, 2.0],
];

/// The line of a scheme. The first eight differ in colour and dash, the next eight in the pair of them.
pub fn stroke(at: usize, width: f64) -> Stroke {
    let dash = DASHES[(at + at / 8) % 8].to_vec();
    Stroke { colour: scheme(at), width, dash, round: false }
}

/// The mark of a scheme, and whether it is drawn by lines alone.
fn sign(at: usize, r: f64) -> (Vec<Step>, bool) {
    let closed = |points: &[(f64, f64)]| {
        let mut steps = polyline(points.iter().map(|(x, y)| (x * r, y * r)));
        steps.push(Step::Close);
        (steps, false)
    };
    let cross = |a: [(f64, f64); 4]| {
        let [from, to, then, end] = a.map(|(x, y)| (x * r, y * r));
        (
            vec![
                Step::Move(from.0, from.1),
                Step::Line(to.0, to.1),
                Step::Move(then.0, then.1),
                Step::Line(end.0, end.1),
            ],
            true,
        )
    };
    match at % 8 {
        0 => (circle((0.0, 0.0), r), false),
        1 => (rectangle((-r, -r), (2.0 * r, 2.0 * r)), false),
        2 => closed(&[(0.0, -1.2), (1.15, 0.9), (-1.15, 0.9)]),
        3 => closed(&[(0.0, -1.35), (1.35, 0.0), (0.0, 1.35), (-1.35, 0.0)]),
        4 => closed(&[(0.0, 1.2), (1.15, -0.9), (-1.15, -0.9)]),
        5 => cross([(-1.0, -1.0), (1.0, 1.0), (-1.0, 1.0), (1.0, -1.0)]),
        6 => cross([(-1.2, 0.0), (1.2, 0.0), (0.0, -1.2), (0.0, 1.2)]),
        _ => (rectangle((-r, -0.6 * r), (2.0 * r, 1.2 * r)), false),
    }
}

/// Draws the mark of a scheme. A hollow one is a bound, or the lighter line of two.
pub fn mark(drawing: &mut Drawing, scheme_at: usize, at: (f64, f64), r: f64, hollow: bool) {
    let (steps, lines) = sign(scheme_at, r);
    let steps = shifted(&steps, at.0, at.1);
    let own = scheme(scheme_at);
    match (lines, hollow) {
        (true, _) => drawing.line(steps, Stroke::solid(own, 1.6)),
        (_, true) => drawing.shape(steps, paper(), Stroke::solid(own, 1.3)),
        (_, false) => drawing.shape(steps, own, Stroke::solid(paper(), 0.8)),
    }
}

/// Draws a hollow star: a value that a paper states. A stroke up or down marks a bound.
pub fn star(drawing: &mut Drawing, scheme_at: usize, (x, y): (f64, f64), sense: &str) {
    let corner = |at: i32| {
        let far = if at % 2 == 1 { 2.8 } else { 6.5 };
        let turn = std::f64::consts::PI * (f64::from(at) / 5.0 - 0.5);
        (x + far * turn.cos(), y + far * turn.sin())
    };
    let mut steps = polyline((0..10).map(corner));
    steps.push(Step::Close);
    drawing.shape(steps, paper(), Stroke::solid(scheme(scheme_at), 1.5));
    let up = match sense {
        "over" => -1.0,
        "under" => 1.0,
        _ => return,
    };
    let arrow = [(0.0, 7.0), (0.0, 15.0), (-3.0, 12.0), (0.0, 15.0), (3.0, 12.0)];
    let steps = polyline(arrow.map(|(dx, dy)| (x + dx, y + up * dy)));
    drawing.line(steps, Stroke::solid(scheme(scheme_at), 1.5));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_those_of_the_page_in_light() {
        assert_eq!((scheme(0), scheme(9)), ([0x00, 0x72, 0xb2], [0xd5, 0x5e, 0x00]));
        assert_eq!((paper(), named("h9")), ([255, 255, 255], [0x56, 0x0f, 0x33]));
        for at in 0..8 {
            let others = (0..8).filter(|other| *other != at);
            assert!(others.map(scheme).all(|other| other != scheme(at)), "{at}");
        }
        assert_eq!((on(part(4)), on(part(8))), (ink(), paper()));
    }

    #[test]
    fn sixteen_schemes_are_distinguishable() {
        let look = |at: usize| {
            (
                scheme(at),
                stroke(at, 2.0).dash.len(),
                stroke(at, 2.0).dash.first().map(|d| *d as u32),
            )
        };
        for a in 0..16 {
            assert!((0..a).all(|b| look(a) != look(b)), "{a}");
        }
    }
}
