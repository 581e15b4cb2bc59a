//! The pages of a parameter study: `sweep.html` has its points, and `sweep.vl.json` draws its table with Vega-Lite.

mod figures;
mod page;
mod page_table;
mod vega;

pub use figures::plots;
pub use page::html;
pub use vega::vega_lite;

use slotline_lab::sweep::part::Sweep;

/// The files that show a sweep: their names and contents. `there` says whether the result of this name is beside the
/// sweep.
pub fn files(sweep: &Sweep, there: &dyn Fn(&str) -> bool) -> [(&'static str, String); 2] {
    [("sweep.html", html(sweep, there)), ("sweep.vl.json", vega_lite(sweep))]
}

#[cfg(test)]
mod tests;
