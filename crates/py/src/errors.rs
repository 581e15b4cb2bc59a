//! Exceptions: the classes are in `slotline.errors`.

use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use slotline_lab::output::OutputError;
use slotline_lab::output::read::ReadError;
use slotline_lab::sweep::part::JoinError;
use slotline_scenario::ScenarioError;
use std::fmt::Display;

/// The exception of class `name` of `slotline.errors`.
fn exception<'py>(py: Python<'py>, name: &str, text: String) -> PyResult<Bound<'py, PyAny>> {
    py.import("slotline.errors")?.getattr(name)?.call1((text,))
}

/// The exception `made`, or the one that came up while it was made.
fn raised(made: PyResult<Bound<'_, PyAny>>) -> PyErr {
    made.map_or_else(|error| error, PyErr::from_value)
}

/// A wrong scenario, with file, line and key.
pub fn of_scenario(error: ScenarioError) -> PyErr {
    Python::attach(|py| match error {
        ScenarioError::Read { path, error } => {
            PyOSError::new_err((error.raw_os_error(), strerror(&error), path))
        }
        ScenarioError::Fault(fault) => raised((|| {
            let made = exception(py, "ScenarioError", fault.to_string())?;
            made.setattr("file", &fault.file)?;
            made.setattr("line", fault.line)?;
            made.setattr("column", fault.column)?;
            made.setattr("key", &fault.key)?;
            made.setattr("message", &fault.message)?;
            made.setattr("hint", &fault.hint)?;
            Ok(made)
        })()),
        ScenarioError::Session(why) => wrong(why),
        other => raised(exception(py, "RunError", other.to_string())),
    })
}

/// The text of an error of the operating system, without its number.
fn strerror(error: &std::io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or(&text).to_string()
}

/// A run without a result.
pub fn of_run(text: String) -> PyErr {
    Python::attach(|py| raised(exception(py, "RunError", text)))
}

/// A result that cannot be read.
pub fn of_result(error: ReadError) -> PyErr {
    Python::attach(|py| raised(exception(py, "ResultError", error.to_string())))
}

/// A result that cannot be written.
pub fn of_output(error: OutputError) -> PyErr {
    Python::attach(|py| raised(exception(py, "ResultError", error.to_string())))
}

/// A sweep that cannot be joined.
pub fn of_join(error: JoinError) -> PyErr {
    Python::attach(|py| raised(exception(py, "ResultError", error.to_string())))
}

/// An argument that is wrong.
pub fn wrong(error: impl Display) -> PyErr {
    PyValueError::new_err(error.to_string())
}
