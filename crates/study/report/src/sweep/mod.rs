//! The pages of a parameter study: `sweep.html` has its points, and `sweep.vl.json` draws its table with Vega-Lite.

mod figures;
mod page;
mod page_table;
mod vega;

pub use figures::plots;
pub use page::html;
pub use vega::vega_lite;

use slotline_lab::output::OutputError;
use slotline_lab::sweep::part::Sweep;
use slotline_lab::sweep::store;
use std::path::{Path, PathBuf};

/// The files that show a sweep: their names and contents. `there` says whether the result of this name is beside the
/// sweep.
pub fn files(sweep: &Sweep, there: &dyn Fn(&str) -> bool) -> [(&'static str, String); 2] {
    [("sweep.html", html(sweep, there)), ("sweep.vl.json", vega_lite(sweep))]
}

/// Writes the tables and pages of a sweep below `root`, and returns their folder. The page links the reports that are
/// there.
pub fn write(root: &Path, sweep: &Sweep) -> Result<PathBuf, OutputError> {
    let there = |id: &str| root.join(id).join("report.html").is_file();
    store::write_sweep(root, sweep, &files(sweep, &there))
}

#[cfg(test)]
mod tests;
