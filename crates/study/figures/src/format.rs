//! The formats of figures.

use crate::{Look, TooLarge, draw, pdf, png, svg};
use slotline_report::plot::Plot;

/// A format.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// Paths and texts, which other programs can edit.
    Svg,
    /// For LaTeX, with the font embedded.
    Pdf,
    /// Pixels.
    Png,
}

impl Format {
    /// All formats.
    pub const ALL: [Format; 3] = [Format::Svg, Format::Pdf, Format::Png];

    /// Its name, which is also the ending of its files.
    pub fn name(self) -> &'static str {
        match self {
            Format::Svg => "svg",
            Format::Pdf => "pdf",
            Format::Png => "png",
        }
    }

    /// The format with this name, in any case.
    pub fn named(name: &str) -> Option<Format> {
        Format::ALL.into_iter().find(|format| name.eq_ignore_ascii_case(format.name()))
    }

    /// The content of a file with `plot`. PNG has `dpi` pixels per inch.
    ///
    /// # Errors
    /// A PNG has too many pixels.
    pub fn render(self, plot: &Plot, look: &Look<'_>, dpi: u16) -> Result<Vec<u8>, TooLarge> {
        let drawing = draw(plot, look);
        match self {
            Format::Svg => Ok(svg(&drawing, &plot.title).into_bytes()),
            Format::Pdf => Ok(pdf(&drawing, &plot.title)),
            Format::Png => png(&drawing, f64::from(dpi)),
        }
    }
}
