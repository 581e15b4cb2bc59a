//! A run in progress, to which Python adds flows.

use crate::control::Faults;
use crate::errors::{of_run, of_scenario, wrong};
use crate::outcome::Outcome;
use crate::running::watched_by;
use crate::scenario::Scenario;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use slotline_lab::record::RunSet;
use slotline_lab::session::{NewFlow, Session};
use slotline_net::time::Time;
use slotline_net::units::Bytes;
use slotline_scenario::Loaded;
use slotline_sim::Watch;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard};

/// A run of one scheme with one seed.
#[pyclass(frozen, module = "slotline._core")]
pub struct Run {
    /// `None` after its end. It is locked while the run goes on.
    session: Mutex<Option<Session>>,
    faults: Arc<Faults>,
}

/// Complete flows: their numbers, and when their last bytes arrived.
type Done = Vec<(u32, u64)>;

impl Run {
    /// Starts the only run of `loaded`.
    pub fn start(
        loaded: Loaded,
        workload: bool,
        threads: usize,
        faults: Arc<Faults>,
    ) -> PyResult<Run> {
        let session = Session::start(loaded, workload, threads).map_err(of_scenario)?;
        Ok(Run { session: Mutex::new(Some(session)), faults })
    }
    /// Calls `act` with the session.
    fn with<T>(&self, act: impl FnOnce(&mut Session) -> T) -> PyResult<T> {
        let mut session = self.lock()?;
        session.as_mut().map(act).ok_or_else(over)
    }
    fn lock(&self) -> PyResult<MutexGuard<'_, Option<Session>>> {
        let busy = |_| PyRuntimeError::new_err("another thread uses this run, or it panicked");
        self.session.try_lock().map_err(busy)
    }
}

fn over() -> PyErr {
    PyRuntimeError::new_err("the run is over")
}

/// A time: a text such as `"1ms"`.
fn time(text: &str) -> PyResult<Time> {
    text.parse::<Time>().map_err(wrong)
}

#[pymethods]
impl Run {
    /// The time that the run has reached, in picoseconds.
    #[getter]
    fn now(&self) -> PyResult<u64> {
        self.with(|session| session.now().as_ps())
    }
    /// The number of complete flows, and of all flows.
    #[getter]
    fn flows(&self) -> PyResult<(u64, u64)> {
        self.with(|session| (session.completed(), session.flows()))
    }
    /// Whether it has reached its end.
    #[getter]
    fn over(&self) -> PyResult<bool> {
        self.with(|session| session.now() >= session.end())
    }
    /// Adds a flow, and returns its number.
    fn add(
        &self,
        src: String,
        dst: String,
        size: &str,
        at: Option<&str>,
        class: u8,
    ) -> PyResult<u32> {
        let bytes = size.parse::<Bytes>().map_err(wrong)?.0;
        let at = at.map(time).transpose()?;
        let new = NewFlow { src, dst, bytes, at, class };
        self.with(|session| session.add(&new))?.map_err(wrong)
    }
    /// Continues until `to`, or until the next flow is complete. Returns the flows that have become complete, and the
    /// exception that stopped it.
    fn advance(&self, py: Python<'_>, to: Option<&str>) -> PyResult<(Done, Option<PyErr>)> {
        let to = to.map(time).transpose()?;
        let (watch, faults) = (Watch::default(), Arc::clone(&self.faults));
        let cancel = || watch.cancel.store(true, Ordering::Relaxed);
        let (done, stopped) = self.with(|session| {
            watched_by(py, &faults, cancel, |_| Ok(()), || session.advance(to, &watch))
        })?;
        Ok((done.into_iter().map(|(flow, at)| (flow, at.as_ps())).collect(), stopped))
    }
    /// The added flows as a trace in CSV.
    fn trace(&self) -> PyResult<String> {
        self.with(|session| session.trace())
    }
    /// Runs to the end. Returns the result as that of `scenario`, which has the added flows as a trace.
    fn finish(&self, py: Python<'_>, scenario: &Scenario) -> PyResult<Outcome> {
        let session = self.lock()?.take().ok_or_else(over)?;
        let (watch, faults) = (Watch::default(), Arc::clone(&self.faults));
        let cancel = || watch.cancel.store(true, Ordering::Relaxed);
        let (record, stopped) =
            watched_by(py, &faults, cancel, |_| Ok(()), || session.finish(&watch));
        stopped.map_or(Ok(()), Err)?;
        let loaded = scenario.loaded();
        let record = record.ok_or_else(|| of_run("the run was stopped".into()))?;
        Ok(py.detach(|| Outcome::of(loaded.clone(), RunSet::new(loaded, vec![record]))))
    }
}
