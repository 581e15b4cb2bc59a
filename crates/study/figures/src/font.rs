//! The font of figures: Arimo, whose letters are as wide as those of Arial and Helvetica.

use crate::drawing::Step;
use std::sync::LazyLock;
use ttf_parser::{Face, GlyphId, OutlineBuilder};

/// The font's file: `fonts/README.md` says where it is from.
pub const FILE: &[u8] = include_bytes!("../fonts/Arimo-Regular.ttf");
/// The name of the font.
pub const NAME: &str = "Arimo";

static FACE: LazyLock<Face<'static>> =
    LazyLock::new(|| Face::parse(FILE, 0).expect("the file is part of the program"));

/// The font.
pub fn face() -> &'static Face<'static> {
    &FACE
}

/// The glyph of a letter; a letter that the font does not have becomes a question mark.
pub fn glyph(letter: char) -> GlyphId {
    let letter = if letter == '\u{a0}' { ' ' } else { letter };
    let known = FACE.glyph_index(letter).or_else(|| FACE.glyph_index('?'));
    known.unwrap_or(GlyphId(0))
}

/// The width of a letter in units of a font of height one.
pub fn advance(glyph: GlyphId) -> f64 {
    f64::from(FACE.glyph_hor_advance(glyph).unwrap_or(0)) / f64::from(FACE.units_per_em())
}

/// The width of `text` in a font of this height.
pub fn width(text: &str, size: f64) -> f64 {
    text.chars().map(|letter| advance(glyph(letter))).sum::<f64>() * size
}

/// `text` cut to `room`, with an ellipsis if something is missing.
pub fn fitted(text: &str, room: f64, size: f64) -> String {
    if width(text, size) <= room {
        return text.to_string();
    }
    let letters: Vec<char> = text.chars().collect();
    let cut = |n: &usize| letters[..*n].iter().collect::<String>() + "…";
    let fits = (1..letters.len()).rev().find(|n| width(&cut(n), size) <= room);
    cut(&fits.unwrap_or(1))
}

/// The outline of a glyph in units of a font of height one, with the base line at 0 and the top at negative values.
pub fn outline(glyph: GlyphId) -> Vec<Step> {
    let mut outline = Outline { scale: 1.0 / f64::from(FACE.units_per_em()), ..Outline::default() };
    // A space has no outline.
    let _: Option<_> = FACE.outline_glyph(glyph, &mut outline);
    outline.steps
}

#[derive(Default)]
struct Outline {
    steps: Vec<Step>,
    scale: f64,
    /// The end of the last step.
    at: (f64, f64),
}

impl Outline {
    fn place(&self, x: f32, y: f32) -> (f64, f64) {
        (f64::from(x) * self.scale, -f64::from(y) * self.scale)
    }
}

impl OutlineBuilder for Outline {
    fn move_to(&mut self, x: f32, y: f32) {
        self.at = self.place(x, y);
        self.steps.push(Step::Move(self.at.0, self.at.1));
    }
    fn line_to(&mut self, x: f32, y: f32) {
        self.at = self.place(x, y);
        self.steps.push(Step::Line(self.at.0, self.at.1));
    }
    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        let (from, control, end) = (self.at, self.place(x1, y1), self.place(x, y));
        let towards = |a: f64, b: f64| a + (b - a) * 2.0 / 3.0;
        self.steps.push(Step::Curve([
            towards(from.0, control.0),
            towards(from.1, control.1),
            towards(end.0, control.0),
            towards(end.1, control.1),
            end.0,
            end.1,
        ]));
        self.at = end;
    }
    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        let [a, b] = [self.place(x1, y1), self.place(x2, y2)];
        self.at = self.place(x, y);
        self.steps.push(Step::Curve([a.0, a.1, b.0, b.1, self.at.0, self.at.1]));
    }
    fn close(&mut self) {
        self.steps.push(Step::Close);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_letter_of_figures_is_in_the_font() {
        let letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 %(),.:/<>=+-[]\"'_µ–—…→×≥≤±~äöüéß";
        for letter in letters.chars() {
            let found = FACE.glyph_index(letter);
            assert!(found.is_some(), "{letter}");
            assert!(advance(found.unwrap()) > 0.1, "{letter}");
        }
        assert_eq!(glyph('\u{4e2d}'), glyph('?'));
    }

    #[test]
    fn widths_are_those_of_helvetica() {
        // Adobe's metrics of Helvetica: M 833, i 222, 0 556, space 278.
        for (letter, wide) in [("M", 0.833), ("i", 0.222), ("0", 0.556), (" ", 0.278)] {
            assert!((width(letter, 1.0) - wide).abs() < 0.001, "{letter}");
        }
        assert_eq!(fitted("Fastpass", 1e9, 12.0), "Fastpass");
        assert!(fitted("Fastpass", 30.0, 12.0).ends_with('…'));
        assert!(width(&fitted("Fastpass", 30.0, 12.0), 12.0) <= 30.0);
    }
}
