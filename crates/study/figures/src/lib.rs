//! Figures of results for papers: as SVG, PDF and PNG, in the colours and the order of the report page.
//!
//! [`draw`] turns the data of a figure into a [`Drawing`], which consists of paths and texts; [`svg()`], [`pdf()`]
//! and [`png()`] write it. Nothing here reads or writes files.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod chart;
pub mod drawing;
mod font;
mod format;
mod numbers;
mod pdf;
mod png;
mod scales;
mod style;
mod svg;

pub use chart::{Look, draw};
pub use drawing::Drawing;
pub use format::Format;
pub use pdf::pdf;
pub use png::png;
pub use svg::svg;

/// A picture has too many pixels.
#[derive(Debug, PartialEq, thiserror::Error)]
#[error(
    "a picture of {width} x {height} pixels is too large, the limit is 100 million pixels: choose a smaller --dpi or --width"
)]
pub struct TooLarge {
    /// Pixels from left to right.
    pub width: f64,
    /// Pixels from top to bottom.
    pub height: f64,
}

/// The units of a drawing in so many millimetres.
pub fn units(millimetres: f64) -> f64 {
    millimetres / 25.4 * 72.0 / Drawing::POINTS
}
