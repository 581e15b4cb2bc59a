//! Slotline for Python: the extension module `slotline._core`.
//!
//! It is thin. The classes here hold a scenario, a result, a table and a study; `python/slotline` makes from them what
//! users see. Errors become exceptions of `slotline.errors`.
#![forbid(unsafe_code)]

mod compiled;
mod compiled_circuits;
mod control;
mod errors;
mod gym;
mod metrics;
mod outcome;
mod plan;
mod running;
mod scenario;
mod session;
mod study;
mod table;

use pyo3::prelude::*;
use std::ffi::OsString;
use std::path::PathBuf;

/// The compiled part of the package `slotline`. A plug-in has a module of its own, which calls [`fill`].
#[cfg(feature = "module")]
#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    fill(module)
}

/// Adds everything to the module `slotline._core`.
///
/// # Errors
/// Python has no memory left.
pub fn fill(module: &Bound<'_, PyModule>) -> PyResult<()> {
    // The panic of a run is reported as the reason why the run has no result, and nowhere else.
    std::panic::set_hook(Box::new(|_| ()));
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<gym::Episode>()?;
    module.add_class::<outcome::Outcome>()?;
    module.add_class::<plan::NetworkView>()?;
    module.add_class::<plan::Plan>()?;
    module.add_class::<scenario::Scenario>()?;
    module.add_class::<session::Run>()?;
    module.add_class::<study::Study>()?;
    module.add_class::<table::Table>()?;
    module.add_function(wrap_pyfunction!(study::collect, module)?)?;
    module.add_function(wrap_pyfunction!(command, module)?)?;
    module.add_function(wrap_pyfunction!(duration, module)?)?;
    module.add_function(wrap_pyfunction!(open_result, module)?)
}

/// Runs the command `slotline`, and returns its exit code. `program` is a file that starts it again.
#[pyfunction]
fn command(py: Python<'_>, program: PathBuf, arguments: Vec<OsString>) -> u8 {
    drop(std::panic::take_hook());
    let code = py.detach(|| slotline_cli::main_of(program, arguments));
    // The only codes are those of `ARCHITECTURE.md`, and `ExitCode` does not say which it is.
    (0..=u8::MAX).find(|n| std::process::ExitCode::from(*n) == code).unwrap_or(1)
}

/// A duration such as `"20us"` in picoseconds.
#[pyfunction]
fn duration(text: &str) -> PyResult<u64> {
    let time: Result<slotline_net::time::Time, _> = text.parse();
    time.map(|time| time.as_ps()).map_err(errors::wrong)
}

/// Reads the result in a folder.
#[pyfunction]
#[pyo3(name = "open")]
fn open_result(py: Python<'_>, folder: PathBuf) -> PyResult<outcome::Outcome> {
    let read = py.detach(|| slotline_lab::output::read::open(&folder));
    read.map(|stored| outcome::Outcome::new(stored.set)).map_err(errors::of_result)
}
