//! Parts of one's own for Slotline, as a command and as a library for Python.

pub mod turns;

use slotline::Extensions;

/// All parts, by the names that scenarios use. Queue policies, transports, workloads and circuit schedulers are added in
/// the same way.
pub fn parts() -> Extensions {
    Extensions::new().control("turns", turns::factory)
}

/// Slotline for Python, with these parts.
#[cfg(feature = "python")]
#[pyo3::pymodule]
fn _core(module: &pyo3::Bound<'_, pyo3::types::PyModule>) -> pyo3::PyResult<()> {
    slotline::provide(parts());
    ::_core::fill(module)
}
